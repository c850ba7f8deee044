import LarderModel
import Synchronization

/// `state.db`: what must survive the loss of the cache.
///
/// So far the reserved revisions.
///
/// Its connection is guarded by a lock and used for short synced writes only.
final class StateFile: Sendable {
    /// Hands the connection into the lock, which is the only place that it is used from then on.
    // A SQLiteConnection may be used by one thread at a time; the mutex sees to that.
    private struct Guarded: @unchecked Sendable {
        let connection: SQLiteConnection
    }

    private let guarded: Mutex<Guarded>
    /// What was found wrong with the file, in words for the log.
    let findings: [String]

    /// Opens or makes the file.
    ///
    /// A damaged one is set aside: all that it holds now is the counter, which goes on after
    /// `highest`, the highest revision that the cache knows.
    init(
        directory: String,
        highest: Revision,
        faults: (any FaultPlan)?
    ) throws(StoreError) {
        let file = DatabaseFile(
            path: directory + "/state.db",
            schema: .state,
            synchronous: "FULL",
            faults: faults
        )
        let connection: SQLiteConnection
        do {
            connection = try Self.open(file)
            findings = []
        } catch .corrupt(let step) {
            try file.setAside()
            connection = try Self.open(file)
            findings = [
                "\(StoreError.corrupt(step: step).message): "
                    + "it was set aside as \(file.path).aside and made anew"
            ]
        }
        guarded = Mutex(Guarded(connection: connection))
        if try nextRevision() <= highest.number {
            try reserve(upTo: highest.number + Limits.revisionBlock)
        }
    }

    /// Opens the file and reads its counter, as a cut file is found out no earlier.
    private static func open(_ file: DatabaseFile) throws(StoreError) -> SQLiteConnection {
        let connection = try file.openWriter()
        _ = try nextRevision(connection)
        return connection
    }

    /// The counter that goes on where the file says, with its first block reserved.
    func makeRevisionSource() throws(StoreError) -> RevisionSource {
        let first = try nextRevision()
        try reserve(upTo: first + Limits.revisionBlock)
        return RevisionSource(first: first) { end throws(StoreError) in
            try self.reserve(upTo: end)
        }
    }

    private func nextRevision() throws(StoreError) -> Int64 {
        try guarded.withLock { guarded throws(StoreError) in
            try Self.nextRevision(guarded.connection)
        }
    }

    private static func nextRevision(_ connection: SQLiteConnection) throws(StoreError) -> Int64 {
        let sql = "SELECT next_rev FROM revision_block WHERE one = 1"
        guard let next = try connection.integer(sql) else { throw .corrupt(step: sql) }
        return next
    }

    private func reserve(upTo end: Int64) throws(StoreError) {
        try guarded.withLock { guarded throws(StoreError) in
            try guarded.connection.execute(
                "UPDATE revision_block SET next_rev = \(end) WHERE one = 1"
            )
        }
    }

    /// Writes the WAL back into the file; for an orderly end.
    func checkpoint() throws(StoreError) {
        try guarded.withLock { guarded throws(StoreError) in
            try guarded.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        }
    }
}
