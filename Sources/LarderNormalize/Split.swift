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
    /// The first occurrence of each key.
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
        occurrences = run.occurrences.map { $0.with(shape: writer.shapeNumbers[$0.shape]) }
        do throws(NormalizeError) {
            skeleton = try Skeleton(writer.written())
        } catch {
            preconditionFailure("what was written is read: \(error.message)")
        }
    }
}

extension Occurrence {
    fileprivate func with(shape: Int) -> Occurrence {
        Occurrence(
            key: key,
            item: item,
            shape: shape,
            next: next,
            sibling: sibling
        )
    }
}

extension Split {
    /// A member of an occurrence.
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
            end = Int(split.tape.items[object].next)
            inner = occurrence + 1
            innerEnd = split.occurrences[occurrence].next
        }

        mutating func next() -> Member? {
            guard item < end else { return nil }
            let first = inner
            let after = Int(split.tape.items[item].next)
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

    /// Appends a value with the entities cut out.
    func cut(_ member: Member, _ bytes: UnsafeRawBufferPointer, to builder: inout CutBuilder) {
        let item = tape.items[member.item]
        var start = Int(item.start)
        var occurrence = member.inner.lowerBound
        while occurrence < member.inner.upperBound {
            let entity = tape.items[occurrences[occurrence].item]
            builder.text(bytes.part(start..<Int(entity.start)))
            builder.reference(keys[occurrences[occurrence].key])
            start = Int(entity.end)
            occurrence = occurrences[occurrence].next
        }
        builder.text(bytes.part(start..<Int(item.end)))
    }
}
