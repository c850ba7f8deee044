import LarderModel
import Synchronization

/// The one counter of revisions: numbers from blocks that `state.db` has reserved.
///
/// No number is given twice, not even by a later process: a reserved block counts as given. The
/// writer says when the steps of a group are committed or given up. Until then no later step is
/// released (``ChangeFeed``).
final class RevisionSource: Sendable {
    private struct Block {
        var next: Int64
        var end: Int64
        var failure: StoreError?
    }

    private let block: Mutex<Block>
    private let changes: ChangeFeed
    private let reserve: Reserve

    /// Goes on at `first`, for which a block is reserved already, or is to be with the first
    /// number.
    init(first: Int64, isReserved: Bool = true, changes: ChangeFeed, reserve: Reserve) {
        block = Mutex(Block(next: first, end: isReserved ? first + Limits.revisionBlock : first))
        self.changes = changes
        self.reserve = reserve
        changes.begin(after: Revision(first - 1))
    }

    /// The next number, for a step of the writer's open transaction, until ``close()``.
    func next() throws(StoreError) -> Revision {
        guard let revision = take(isStep: true) else { throw failure }
        return revision
    }

    /// Ends the steps of a group, after their changes are published.
    ///
    /// So a watcher that is told of a change can read it.
    func close() { changes.close() }

    /// The number of a step that leaves nothing in the files; nil at a block's end, until the next
    /// one is reserved.
    func spend() -> Revision? { take(isStep: false) }

    private func take(isStep: Bool) -> Revision? {
        block.withLock { block in
            guard block.next < block.end else { return nil }
            block.next += 1
            // Under this lock, so that numbers are given in their order.
            return changes.next(isStep: isStep)
        }
    }

    var failure: StoreError { block.withLock { $0.failure ?? .overloaded } }

    /// Reserves the next block when half of one is left; to be called between two transactions.
    ///
    /// `reserve` writes down and syncs that every number below the given one counts as given.
    func reserveAhead(_ reserve: (Int64) throws(StoreError) -> Void) {
        let end = block.withLock { block in
            block.end - block.next < Limits.revisionBlock / 2 ? block.end : nil
        }
        guard let end else { return }
        let next = end + Limits.revisionBlock
        var failure: StoreError?
        do throws(StoreError) {
            try self.reserve.settle { () throws(StoreError) in try reserve(next) }
        } catch {
            failure = error
        }
        block.withLock { block in
            if failure == nil { block.end = next }
            block.failure = failure
        }
    }

    var reservedEnd: Int64 { block.withLock { $0.end } }

    var last: Revision { block.withLock { Revision($0.next - 1) } }
}
