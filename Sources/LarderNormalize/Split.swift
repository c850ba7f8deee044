package import LarderJSON
package import LarderModel

/// A split answer: its entities, their members in this answer, and their positions.
///
/// The parts for the store are made in three steps, because the text that a slot keeps depends on
/// the merged entity:
///
/// 1. The caller reads the stored state of each of ``keys``.
/// 2. ``merged(_:into:fetch:)`` returns the new state of each, and the changes.
/// 3. ``template(_:)`` returns the answer's own part, which belongs to the ``skeleton``.
///
/// If there is no template, the answer is stored whole, and its entities are merged all the same.
package final class Split: Sendable {
    /// The answer's bytes, as they came.
    package let body: [UInt8]
    /// The distinct entities, in the order in which they begin.
    package let keys: [EntityKey]
    package let skeleton: Skeleton
    package let report: SplitReport
    let rules: EntityRules
    let query: Substring?
    let tape: JSONTape
    let occurrences: [Occurrence]
    let firstOccurrences: [Int]

    init(body: [UInt8], rules: EntityRules, query: Substring?, _ run: consuming SplitRun) {
        self.body = body
        self.rules = rules
        self.query = query
        keys = run.keys
        report = run.report
        tape = run.recognition.tape
        firstOccurrences = run.firstOccurrences
        let writer = SkeletonWriter(run.selection)
        var occurrences = run.occurrences
        for index in occurrences.indices {
            occurrences[index].shape = writer.shapeNumbers[occurrences[index].shape]
        }
        self.occurrences = occurrences
        do throws(NormalizeError) {
            skeleton = try Skeleton(writer.written())
        } catch {
            preconditionFailure("what was written is read: \(error.message)")
        }
    }
}

extension Split {
    struct Member {
        /// Index in the shape.
        let position: Int
        let item: Int
        /// The occurrences within its value: their numbers, among them those within each other.
        let inner: Range<Int>
    }

    /// The members of an occurrence, in document order.
    func members(of occurrence: Int) -> Members {
        Members(split: self, occurrence: occurrence)
    }

    struct Members: Sequence, IteratorProtocol {
        private let split: Split
        private var position = 0
        private var item: Int
        private let end: Int
        private var inner: Int
        private let innerEnd: Int

        init(split: Split, occurrence: Int) {
            self.split = split
            let object = split.occurrences[occurrence].item
            item = object + 1
            end = split.tape.items[object].next
            inner = occurrence + 1
            innerEnd = split.occurrences[occurrence].next
        }

        mutating func next() -> Member? {
            guard item < end else { return nil }
            let first = inner
            let after = split.tape.items[item].next
            while inner < innerEnd, split.occurrences[inner].item < after {
                inner = split.occurrences[inner].next
            }
            defer {
                position += 1
                item = after
            }
            return Member(position: position, item: item, inner: first..<inner)
        }
    }

    /// Makes of a builder a value with the entities cut out.
    func cut(_ member: Member, _ bytes: UnsafeRawBufferPointer, to builder: inout CutBuilder) {
        builder.removeAll()
        let item = tape.items[member.item]
        var start = Int(item.start)
        for occurrence in occurrences.siblings(in: member.inner) {
            let entity = tape.items[occurrences[occurrence].item]
            builder.text(bytes.part(start..<Int(entity.start)))
            builder.reference(keys[occurrences[occurrence].key])
            start = Int(entity.end)
        }
        builder.text(bytes.part(start..<Int(item.end)))
        builder.finish()
    }
}

extension Split {
    /// Merges an entity of the answer into its stored state.
    ///
    /// A member of the answer replaces the stored one, also with `null`. A member that the answer
    /// does not have stays. A member with an equal value keeps its bytes, so that templates which
    /// show it stay valid.
    ///
    /// A late answer only adds members that are not known. A late answer does not restore a deleted
    /// entity.
    ///
    /// - Parameters:
    ///   - number: The entity's index in ``keys``.
    ///   - held: The entity's state in the store.
    ///   - fetch: The number that the fetch took when it started.
    ///   - kept: Members that stay as they are, because a write has touched them since.
    /// - Returns: The new state, and the changes.
    package func merged(
        _ number: Int,
        into held: HeldEntity,
        fetch: Int64,
        keeping kept: TouchedMembers = .none
    ) -> MergedEntity {
        let before: EntityStamp?
        let base: EntityBody?
        switch held {
        case .unknown: (before, base) = (nil, nil)
        case .present(let body, let stamp): (before, base) = (stamp, body)
        case .deleted(let stamp): (before, base) = (stamp, nil)
        }
        var merged = MergedEntity(
            key: keys[number],
            held: held,
            before: before,
            fetch: fetch,
            kept: kept
        )
        if kept == .all || base == nil && isLate(number, after: before, fetch: fetch) {
            return merged
        }
        body.withUnsafeBytes { bytes in
            var merging = EntityMerging(self, bytes, base: base)
            // A new entity does not keep the tombstone's stamp.
            var stamp = base == nil ? nil : before
            var occurrence = firstOccurrences[number]
            while occurrence >= 0 {
                let version = version(of: occurrence, bytes)
                let isLate = stamp?.isAhead(of: version, fetch: fetch) ?? false
                merging.apply(occurrence, isLate: isLate, keeping: kept)
                if !isLate {
                    stamp = EntityStamp(
                        version: version ?? stamp?.version,
                        fetch: max(fetch, stamp?.fetch ?? fetch)
                    )
                }
                occurrence = occurrences[occurrence].sibling
            }
            let after = stamp ?? EntityStamp(version: nil, fetch: fetch)
            let (body, change) = merging.finished()
            merged.held = .present(body ?? base ?? .empty, after)
            merged.change = change
            merged.isWritten = body != nil || after != before
            merged.isContradicted = merging.isContradicted
        }
        return merged
    }

    /// Whether no occurrence of the entity is new enough to replace the state with this stamp.
    private func isLate(_ number: Int, after stamp: EntityStamp?, fetch: Int64) -> Bool {
        guard let stamp else { return false }
        return body.withUnsafeBytes { bytes in
            var occurrence = firstOccurrences[number]
            while occurrence >= 0 {
                let version = version(of: occurrence, bytes)
                guard stamp.isAhead(of: version, fetch: fetch) else { return false }
                occurrence = occurrences[occurrence].sibling
            }
            return true
        }
    }

    /// Version of an occurrence by the rule of its type.
    func version(of occurrence: Int, _ bytes: UnsafeRawBufferPointer) -> EntityVersion? {
        guard let path = rule(of: occurrence)?.version else { return nil }
        var item = occurrences[occurrence].item
        for name in path {
            guard tape[item].kind == .beginObject,
                let member = tape.member(name, of: item, in: bytes)
            else { return nil }
            item = member
        }
        guard !tape[item].isContainer,
            let value = try? JSONValue(parsing: bytes.part(tape[item].range))
        else { return nil }
        return EntityVersion(value)
    }

    func rule(of occurrence: Int) -> EntityRules.OfType? {
        guard !rules.types.isEmpty else { return nil }
        let list = skeleton.shapes[occurrences[occurrence].shape].list
        return rules.types[Array(skeleton.bytes[skeleton.types[skeleton.lists[list].type]])]
    }
}

extension EntityBody {
    /// An entity of which no member is known.
    static var empty: EntityBody {
        var form = FormWriter(.entity)
        form.number(0)
        return EntityBody(form, [])
    }
}

/// Irregularities of an answer that the rules did not expect, for operators.
package struct SplitReport: Equatable, Sendable {
    /// Objects that are entities by their type or place, and have no key: they stay in what holds
    /// them.
    package internal(set) var keylessCount = 0
    /// Position of the first such object.
    package internal(set) var keylessSample: JSONPointer?
    /// Entities with a repeated name whose values have different bytes; the last value counts.
    package internal(set) var repeatedCount = 0

    package init() {}
}

/// Why an answer is stored as it came.
package enum WholeReason: Equatable, Sendable {
    case notJSON(JSONError)
    /// The answer has no entity, so there is nothing to share.
    case noEntity
    /// The answer has more bytes than the limit.
    case tooLarge
    case tooDeep
    case tooManyValues
    /// More entities within each other than are rebuilt.
    case entitiesTooDeep
    /// The template would be far too large in proportion to the answer.
    case templateTooLarge

    /// A sentence for people, without a full stop.
    package var message: String {
        switch self {
        case .notJSON(let error): error.message
        case .noEntity: "none of its objects is an entity by the origin's rules"
        case .tooLarge: "it is too large to be normalized"
        case .tooDeep: "its arrays and objects are nested too deeply to be normalized"
        case .tooManyValues: "it has too many values to be normalized"
        case .entitiesTooDeep: "its entities are nested too deeply to be rebuilt"
        case .templateTooLarge: "its entities differ too much from place to place"
        }
    }
}

/// Result of splitting an answer.
package enum SplitOutcome: Sendable {
    case whole(WholeReason, SplitReport)
    case split(Split)
}

/// Splits answers of one origin into entities and what is their own.
package struct Splitter: Sendable {
    private let rules: EntityRules
    private let bodyBytesMax: Int

    /// An answer of more than `bodyBytesMax` bytes stays whole.
    package init(_ rules: EntityRules, bodyBytesMax: Int = Int(UInt32.max)) {
        self.rules = rules
        self.bodyBytesMax = min(bodyBytesMax, Int(UInt32.max))
    }

    /// Splits an answer.
    ///
    /// - Parameters:
    ///   - body: The answer's bytes, as the origin sent them.
    ///   - path: The path of its URL after the base URL, without the query: `/articles/42`.
    ///   - query: The query of its URL; nil if the body is not an origin's answer to a read.
    ///   - key: The key of the whole body, if a client sets an entity under its key. Only an object
    ///     is split then.
    /// - Returns: The parts, or why the answer stays whole.
    package func split(
        _ body: [UInt8],
        path: String,
        query: Substring? = nil,
        as key: EntityKey? = nil
    ) -> SplitOutcome {
        guard body.count <= bodyBytesMax else { return .whole(.tooLarge, SplitReport()) }
        return body.withUnsafeBytes { bytes in
            let tape: JSONTape
            do throws(JSONTape.Failure) {
                tape = try JSONTape(bytes)
            } catch {
                return .whole(WholeReason(error), SplitReport())
            }
            var run = SplitRun(recognition(tape, bytes, path), rootKey: key)
            guard run.visitAll() else { return .whole(.entitiesTooDeep, run.report) }
            guard !run.occurrences.isEmpty else { return .whole(.noEntity, run.report) }
            return .split(Split(body: body, rules: rules, query: query, run))
        }
    }
}

extension Splitter {
    /// Key of a body by the rules; nil if it is not an entity or not JSON.
    package func key(of body: [UInt8], path: String) -> EntityKey? {
        guard body.count <= bodyBytesMax else { return nil }
        return body.withUnsafeBytes { bytes in
            guard let tape = try? JSONTape(bytes), tape.items[0].kind == .beginObject else {
                return nil
            }
            let verdict = recognition(tape, bytes, path).verdict(on: 0, at: [])
            guard case .entity(let key, _) = verdict else { return nil }
            return key
        }
    }

    private func recognition(
        _ tape: JSONTape,
        _ bytes: UnsafeRawBufferPointer,
        _ path: String
    ) -> EntityRecognition {
        EntityRecognition(
            rules: rules,
            paths: rules.paths(for: path),
            tape: tape,
            bytes: bytes
        )
    }
}

extension WholeReason {
    fileprivate init(_ failure: JSONTape.Failure) {
        switch failure {
        case .json(.tooDeep): self = .tooDeep
        case .json(let error): self = .notJSON(error)
        case .tooManyValues: self = .tooManyValues
        }
    }
}
