import LarderJSON
import LarderModel
import LarderNormalize

/// What must hold of answers that are split and put together again, whatever their bytes are.
package struct SplitOpinion: Sendable {
    private let rules: EntityRules

    /// Rules of every kind, with short names.
    package init() {
        func key(_ names: String...) -> EntityKeyRule { EntityKeyRule(names.map { .member($0) }) }
        func place(_ tokens: String...) -> MemberPath { MemberPath(tokens: tokens) }
        let rules = NormalizeRules(
            byType: .init(type: ["t"], id: ["id", "i"]),
            types: [
                TypeRule(type: "V", version: place("v")),
                TypeRule(
                    type: "L",
                    lists: [place("l"): .append, place("o", "l"): .by("k"), place("r"): .replace]
                ),
                TypeRule(type: "E", isEmbedded: true),
                TypeRule(
                    type: "K",
                    key: EntityKeyRule([.member("a"), .within("b", [.member("c")])])
                ),
                TypeRule(type: "S", key: EntityKeyRule([])),
                TypeRule(type: "O", onDeleted: .omit), TypeRule(type: "C", onDeleted: .cascade),
            ],
            paths: [
                PathRule(url: "/x/*", at: place("p"), type: "U", key: key("k")),
                PathRule(url: "/x/*", at: place("q", "*"), type: "L"),
            ]
        )
        self.rules = EntityRules(rules)
    }

    /// How an input was judged.
    package enum Verdict: Equatable, Sendable {
        /// At least one answer of it was split, and rebuilt as it has to be.
        case split
        case whole
        /// What must not be, in words.
        case disagrees(String)
    }

    /// Stores the answers of an input one after the other, which are divided by the byte FF, and
    /// looks at each.
    ///
    /// Where one is empty, or `-`, the last entity of the one before it is deleted, or evicted.
    package func verdict(on input: [UInt8]) -> Verdict {
        var store = Entities()
        var forms: [Form] = []
        for body in input.split(separator: 0xFF, maxSplits: 5, omittingEmptySubsequences: false) {
            let body = Array(body)
            if body.isEmpty {
                store.deleteLast()
                continue
            }
            if body == [UInt8(ascii: "-")] {
                store.evictLast()
                continue
            }
            switch Splitter(rules).split(body, path: "/x/1") {
            case .whole(let reason, _):
                if let complaint = complaint(of: reason, body) { return .disagrees(complaint) }
            case .split(let split):
                guard let form = store.put(split) else { continue }
                forms.append(form)
                // What came last overwrites all, but where a rule says otherwise; before the first
                // nothing was known.
                let isPlain = split.keys.allSatisfy { !["V", "L"].contains($0.type) }
                if isPlain || store.answersCount == 1,
                    let complaint = complaint(of: form, store, body)
                {
                    return .disagrees(complaint)
                }
            }
        }
        for form in forms {
            for isPartial in [false, true] {
                let complaint = complaint(of: form, store, nil, isPartial: isPartial)
                if let complaint { return .disagrees(complaint) }
            }
        }
        return forms.isEmpty ? .whole : .split
    }

    private func complaint(of reason: WholeReason, _ body: [UInt8]) -> String? {
        let isJSON = JSONValidator.accepts(body)
        switch reason {
        case .notJSON, .tooDeep: return isJSON ? "JSON is refused: \(reason.message)" : nil
        case .noEntity, .tooLarge, .tooManyValues, .entitiesTooDeep, .templateTooLarge:
            return isJSON ? nil : "what is no JSON is split: \(reason.message)"
        }
    }

    /// What is wrong with what is rebuilt; with `bytes`, where it is not these.
    private func complaint(
        of form: Form,
        _ store: Entities,
        _ bytes: [UInt8]?,
        isPartial: Bool = false
    ) -> String? {
        let outcome: RebuildOutcome
        do throws(NormalizeError) {
            let skeleton = try Skeleton(form.skeleton)
            let template = try Template(form.template, skeleton)
            outcome = Rebuilder(rules, bytesMax: 1 << 24)
                .rebuild(template, skeleton, isPartial: isPartial) { store.find($0) }
        } catch {
            return "a form of ours cannot be read: \(error)"
        }
        switch outcome {
        case .shown(let shown):
            return complaint(of: shown, bytes)
        case .deleted: return store.hasDeleted ? nil : "it counts as deleted"
        case .evicted(let key): return store.hasEvicted ? nil : "nothing is known of \(key)"
        case .tooLarge: return bytes == nil ? nil : "it has become too large"
        }
    }

    private func complaint(of shown: RebuiltAnswer, _ bytes: [UInt8]?) -> String? {
        let text = String(decoding: shown.bytes, as: UTF8.self)
        guard let value = try? JSONValue(parsing: shown.bytes) else {
            return "what is rebuilt is no JSON: \(text)"
        }
        guard shown.isComplete == shown.missing.isEmpty else {
            return "it is complete, and something is missing: \(text)"
        }
        for pointer in shown.missing {
            // Nothing, null, or an entity of which this answer lists no member.
            guard let there = value.value(at: pointer), !there.isNull,
                there.members?.isEmpty != true
            else { continue }
            return "\(pointer.text) is not missing: \(text)"
        }
        guard let bytes, shown.bytes != bytes else { return nil }
        return "other bytes come back: \(text)"
    }
}

/// The stored forms of an answer.
private struct Form {
    let skeleton: [UInt8]
    let template: [UInt8]
}

private struct Entities {
    private var held: [EntityKey: HeldEntity] = [:]
    private var lastKey: EntityKey?
    private(set) var answersCount = 0
    private(set) var hasDeleted = false
    private(set) var hasEvicted = false

    mutating func deleteLast() {
        guard let lastKey else { return }
        answersCount += 1
        hasDeleted = true
        held[lastKey] = .deleted(EntityStamp(version: nil, fetch: Int64(answersCount)))
    }

    mutating func evictLast() {
        guard let lastKey else { return }
        hasEvicted = true
        held[lastKey] = nil
    }

    /// Nil where the answer is to be stored whole.
    mutating func put(_ split: Split) -> Form? {
        answersCount += 1
        var merged: [MergedEntity] = []
        for (number, key) in split.keys.enumerated() {
            let entity = split.merged(
                number,
                into: held[key] ?? .unknown,
                fetch: Int64(answersCount)
            )
            merged.append(entity)
            held[key] = entity.held
        }
        lastKey = split.keys.last
        return split.template(merged).map { Form(skeleton: split.skeleton.bytes, template: $0) }
    }

    func find(_ key: EntityKey) -> HeldEntity { held[key] ?? .unknown }
}
