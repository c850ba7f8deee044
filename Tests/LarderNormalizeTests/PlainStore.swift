import LarderJSON
import LarderModel
import LarderNormalize
import Testing

/// A store of entities and answers in memory, which keeps nothing but stored forms.
struct PlainStore {
    struct Answer {
        let template: [UInt8]
        let skeleton: [UInt8]
    }

    private enum Row {
        case deleted(EntityStamp)
        case present([UInt8], EntityStamp)
    }

    let rules: EntityRules
    let typeRules: NormalizeRules
    private var rows: [EntityKey: Row] = [:]
    private(set) var fetches: Int64 = 0
    /// What the last put has changed.
    private(set) var changes: [EntityKey: MergedEntity.Change] = [:]
    private(set) var contradictions = 0

    init(_ rules: NormalizeRules = NormalizeRules(byType: .standard)) throws {
        try rules.validate()
        typeRules = rules
        self.rules = EntityRules(rules)
    }

    func held(_ key: EntityKey) throws -> HeldEntity {
        switch rows[key] {
        case nil: .unknown
        case .deleted(let stamp): .deleted(stamp)
        case .present(let bytes, let stamp): .present(try EntityBody(bytes), stamp)
        }
    }

    func split(_ text: String, path: String = "/", query: Substring? = nil) throws -> Split {
        let outcome = Splitter(rules).split(Array(text.utf8), path: path, query: query)
        guard case .split(let split) = outcome else {
            Issue.record("\(outcome)")
            throw Unsplit()
        }
        return split
    }

    struct Unsplit: Error {}

    private static let bytesMax = 1 << 24

    /// Splits an answer and stores it; a fetch without a number is the next one.
    mutating func put(
        _ text: String,
        path: String = "/",
        fetch: Int64? = nil,
        keeping kept: [String: TouchedMembers] = [:]
    ) throws -> Answer {
        let split = try split(text, path: path)
        return try put(split, fetch: fetch, keeping: kept)
    }

    mutating func put(
        _ split: Split,
        fetch: Int64? = nil,
        keeping kept: [String: TouchedMembers] = [:]
    ) throws -> Answer {
        fetches = max(fetches + 1, fetch ?? 0)
        changes = [:]
        contradictions = 0
        var merged: [MergedEntity] = []
        for (number, key) in split.keys.enumerated() {
            let entity = split.merged(
                number,
                into: try held(key),
                fetch: fetch ?? fetches,
                keeping: kept[key.text] ?? .none
            )
            merged.append(entity)
            changes[key] = entity.change
            contradictions += entity.isContradicted ? 1 : 0
            switch entity.held {
            case .unknown: Issue.record("\(key) is unknown after it was merged")
            case .deleted(let stamp): rows[key] = .deleted(stamp)
            case .present(let body, let stamp):
                if case .present(let bytes, let old) = rows[key], !entity.isWritten {
                    #expect(bytes == body.bytes && old == stamp)
                }
                rows[key] = .present(body.bytes, stamp)
            }
        }
        guard let template = split.template(merged) else { throw Unsplit() }
        return Answer(template: template, skeleton: split.skeleton.bytes)
    }

    mutating func delete(_ key: String) throws {
        fetches += 1
        rows[try EntityKey(key)] = .deleted(EntityStamp(version: nil, fetch: fetches))
    }

    mutating func evict(_ key: String) throws {
        rows[try EntityKey(key)] = nil
    }

    /// The text of an entity with all of its members.
    func entity(_ key: String, expanding depth: Int = 0) throws -> String {
        let outcome = try Rebuilder(rules, bytesMax: Self.bytesMax)
            .show(EntityKey(key), expanding: depth, held)
        guard case .shown(let shown) = outcome else { return "\(outcome)" }
        #expect(JSONValidator.accepts(shown.bytes))
        return String(decoding: shown.bytes, as: UTF8.self)
    }

    func rebuild(
        _ answer: Answer,
        isPartial: Bool = false,
        bytesMax: Int = bytesMax
    ) throws -> RebuildOutcome {
        let skeleton = try Skeleton(answer.skeleton)
        let template = try Template(answer.template, skeleton)
        return try Rebuilder(rules, bytesMax: bytesMax)
            .rebuild(template, skeleton, isPartial: isPartial, held)
    }

    /// The text of an answer as it is now, which has to be shown.
    func text(of answer: Answer, isPartial: Bool = false) throws -> String {
        String(decoding: try shown(answer, isPartial: isPartial).bytes, as: UTF8.self)
    }

    func shown(_ answer: Answer, isPartial: Bool = false) throws -> RebuiltAnswer {
        let outcome = try rebuild(answer, isPartial: isPartial)
        guard case .shown(let shown) = outcome else {
            Issue.record("\(outcome)")
            throw Unsplit()
        }
        #expect(
            JSONValidator.accepts(shown.bytes),
            "\(String(decoding: shown.bytes, as: UTF8.self))"
        )
        #expect(shown.isComplete == shown.missing.isEmpty)
        return shown
    }
}
