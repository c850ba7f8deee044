import LarderModel
import Synchronization

/// The one counter of revisions: numbers from blocks that `state.db` has reserved.
///
/// A number is never given twice, also not by a later process, as a block counts as given once it
/// is reserved. Whoever takes one says when its step is done with, committed or given up: until
/// then nothing that comes after it is released (``RevisionSequencer``).
final class RevisionSource: Sendable {
    private struct Block {
        var next: Int64
        var end: Int64
    }

    private let block: Mutex<Block>
    private let changes: ChangeFeed
    /// Reserves numbers from the given one on, with a synced write; how many it reserved is known.
    private let reserve: @Sendable (Int64) throws(StoreError) -> Void

    /// Goes on at `first`, for which a block is reserved already, or is to be with the first number.
    init(
        first: Int64,
        isReserved: Bool = true,
        changes: ChangeFeed,
        reserve: @escaping @Sendable (Int64) throws(StoreError) -> Void
    ) {
        block = Mutex(Block(next: first, end: isReserved ? first + Limits.revisionBlock : first))
        self.changes = changes
        self.reserve = reserve
        changes.begin(after: Revision(first - 1))
    }

    /// The next number, which is open until ``close(_:_:)``.
    ///
    /// At a block's end it waits for the next one to be reserved.
    func open() throws(StoreError) -> Revision {
        try block.withLock { block throws(StoreError) in
            if block.next == block.end {
                try reserve(block.end + Limits.revisionBlock)
                block.end += Limits.revisionBlock
            }
            block.next += 1
            // Under this lock, so that numbers are opened in their order.
            return changes.open()
        }
    }

    /// Steps are committed together with what they have changed, or given up; `areAll` says whether
    /// these are all the changes.
    func close(_ revisions: [Revision], _ changed: [Change] = [], areAll: Bool = true) {
        changes.close(revisions, changed, areAll: areAll)
    }

    /// Carries out a step under the next number, which is done with when it returns.
    func step<Value>(
        _ work: (Revision) async throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        let revision = try open()
        defer { close([revision]) }
        return try await work(revision)
    }

    /// Carries out several steps that are committed as one, under the next numbers.
    func steps<Value>(
        _ count: Int,
        _ work: ([Revision]) async throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        var revisions: [Revision] = []
        defer { close(revisions) }
        for _ in 0..<count { revisions.append(try open()) }
        return try await work(revisions)
    }

    /// The number of a step that leaves nothing in the files.
    func spend() throws(StoreError) -> Revision {
        let revision = try open()
        close([revision])
        return revision
    }

    /// The first number that is not reserved yet.
    var reservedEnd: Int64 { block.withLock { $0.end } }

    /// The last number that was given.
    var last: Revision {
        block.withLock { Revision($0.next - 1) }
    }
}
