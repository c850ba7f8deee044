import LarderModel
import Synchronization

/// The one counter of revisions: numbers from blocks that `state.db` has reserved.
///
/// A number is never given twice, also not by a later process, as a block counts as given once it
/// is reserved.
final class RevisionSource: Sendable {
    private struct Block {
        var next: Int64
        var end: Int64
    }

    private let block: Mutex<Block>
    /// Reserves numbers from the given one on, with a synced write; how many it reserved is known.
    private let reserve: @Sendable (Int64) throws(StoreError) -> Void

    /// Goes on at `first`, for which a block is reserved already, or is to be with the first number.
    init(
        first: Int64,
        isReserved: Bool = true,
        reserve: @escaping @Sendable (Int64) throws(StoreError) -> Void
    ) {
        block = Mutex(Block(next: first, end: isReserved ? first + Limits.revisionBlock : first))
        self.reserve = reserve
    }

    /// The next number.
    ///
    /// At a block's end it waits for the next one to be reserved.
    func next() throws(StoreError) -> Revision {
        try block.withLock { block throws(StoreError) in
            if block.next == block.end {
                try reserve(block.end + Limits.revisionBlock)
                block.end += Limits.revisionBlock
            }
            defer { block.next += 1 }
            return Revision(block.next)
        }
    }

    /// The last number that was given.
    var last: Revision {
        block.withLock { Revision($0.next - 1) }
    }
}
