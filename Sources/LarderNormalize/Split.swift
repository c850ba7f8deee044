package import LarderModel

/// A split answer: its entities, with what it brought of each, and where they stand in it.
///
/// What is stored of it is made in three steps, as what a slot has to keep depends on what the
/// entity holds in the end:
///
/// 1. for each of ``keys`` what is held of it is read from the store;
/// 2. ``merged(_:into:fetch:)`` says what it holds now, and what of it has changed;
/// 3. ``template(_:)`` is the answer's own part, which goes with the ``skeleton``; where it gives
///    none, the answer is stored whole, and its entities are merged all the same.
package final class Split: Sendable {
    /// The answer's bytes, as they came.
    package let body: [UInt8]
    /// Its entities, each once, in the order in which they begin.
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
        /// Its place in the shape.
        let position: Int
        let item: Int
        /// The occurrences within its value: their numbers, among them those within each other.
        let inner: Range<Int>
    }

    /// The members of an occurrence, in the order in which they stand.
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
            let behind = Int(split.tape.items[item].next)
            while inner < innerEnd, split.occurrences[inner].item < behind {
                inner = split.occurrences[inner].next
            }
            defer {
                position += 1
                item = behind
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
