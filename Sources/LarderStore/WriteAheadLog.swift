import CSQLite
import LarderModel

/// Writes the WAL of a file back when it is long: pages are counted after each commit
/// (https://sqlite.org/c3ref/wal_hook.html).
///
/// The writer's connection alone does it: SQLite before 3.51.3 can lose committed pages when two
/// connections checkpoint and commit at the same time.
final class WriteAheadLog {
    private let connection: SQLiteConnection
    private var pages = 0
    private var checkpointAt = Limits.walPagesMax

    init(of connection: SQLiteConnection) {
        self.connection = connection
        // The writer keeps both, so this outlives the hook that points to it.
        let pointer = Unmanaged.passUnretained(self).toOpaque()
        sqlite3_wal_hook(
            connection.handle,
            { context, _, _, pages in
                guard let context else { return SQLITE_OK }
                Unmanaged<WriteAheadLog>.fromOpaque(context).takeUnretainedValue()
                    .committed(pages: Int(pages))
                return SQLITE_OK
            },
            pointer
        )
    }

    var wantsCheckpoint: Bool { pages >= checkpointAt }

    /// Fewer pages than before: the WAL has started anew.
    private func committed(pages: Int) {
        if pages < self.pages { checkpointAt = Limits.walPagesMax }
        self.pages = pages
    }

    /// Writes back what no reader is in the way of.
    ///
    /// The WAL starts anew with a later commit, unless a reader stands in the way or the checkpoint
    /// failed; so the next try comes a quarter later. Readers hold no transaction while they wait.
    /// True when everything that was committed is in the file, and synced.
    @discardableResult func checkpoint(truncating: Bool) throws(StoreError) -> Bool {
        checkpointAt = pages + Limits.walPagesMax / 4
        try connection.check(before: "checkpoint")
        let mode = truncating ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE
        var inLog: Int32 = 0
        var inFile: Int32 = 0
        let code = sqlite3_wal_checkpoint_v2(connection.handle, nil, mode, &inLog, &inFile)
        guard code == SQLITE_OK || code == SQLITE_BUSY else {
            throw connection.error(code, step: "checkpoint")
        }
        return code == SQLITE_OK && inLog == inFile
    }
}
