import LarderModel

/// The one connection that writes a file, as its ``CommitQueue`` drives it.
///
/// Used on the queue's thread and nowhere else.
protocol CommitWriter: AnyObject, SendableMetatype {
    /// A small step of what is done between two groups of commands.
    associatedtype Housekeeping: Sendable

    /// Whether so much waits in the WAL that it is to be written back.
    var wantsCheckpoint: Bool { get }
    /// What has to be done anyway; nil when there is nothing.
    var nextHousekeeping: Housekeeping? { get }

    func begin() throws(StoreError)
    /// Commits, and makes the commit known before anybody is answered.
    func commit() throws(StoreError)
    /// Undoes what the open transaction did, in the file and in memory.
    func rollBack()
    /// Does what can be done about a failure, outside a transaction.
    ///
    /// True when the same command may succeed now.
    func recover(from error: StoreError) -> Bool
    /// Writes the WAL back; when it is truncated, waits for readers and cuts it to nothing.
    func checkpoint(truncating: Bool) throws(StoreError)
    func keepHouse(_ step: Housekeeping, now: Timestamp) throws(StoreError)
}

/// What somebody wants of a writer, and waits for.
protocol CommitCommand<Writer>: AnyObject, Sendable {
    associatedtype Writer

    /// Carries it out inside a transaction; remembers what came of it.
    func apply(to writer: Writer) throws(StoreError)
    /// Tells the caller: what ``apply(to:)`` remembered, or why nothing of it is there.
    func finish(_ error: StoreError?)
}
