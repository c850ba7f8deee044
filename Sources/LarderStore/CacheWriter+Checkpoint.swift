import CSQLite
import LarderModel

/// Writing the WAL back: done by this connection only, as SQLite before 3.51.3 can lose committed
/// pages when two connections checkpoint and commit at once.
extension CacheWriter {
    /// Counts the pages in the WAL after each commit (https://sqlite.org/c3ref/wal_hook.html).
    final class WALSize {
        private(set) var pages = 0
        /// From how many pages on the next checkpoint is made.
        private var checkpointAt = Limits.walPagesMax

        var wantsCheckpoint: Bool { pages >= checkpointAt }

        /// Fewer pages than before: the WAL has started anew.
        fileprivate func committed(pages: Int) {
            if pages < self.pages { checkpointAt = Limits.walPagesMax }
            self.pages = pages
        }

        /// The WAL starts anew with a later commit, unless a reader stands in the way or the
        /// checkpoint failed; so the next try comes a quarter later.
        fileprivate func triedCheckpoint() {
            checkpointAt = pages + Limits.walPagesMax / 4
        }
    }

    static func countWALPages(of connection: SQLiteConnection) -> WALSize {
        let size = WALSize()
        // The writer keeps both, so the size outlives the hook that points to it.
        let pointer = Unmanaged.passUnretained(size).toOpaque()
        sqlite3_wal_hook(
            connection.handle,
            { context, _, _, pages in
                guard let context else { return SQLITE_OK }
                Unmanaged<WALSize>.fromOpaque(context).takeUnretainedValue()
                    .committed(pages: Int(pages))
                return SQLITE_OK
            },
            pointer
        )
        return size
    }

    /// Writes back what no reader is in the way of.
    ///
    /// Readers hold no transaction while they wait, so the WAL starts anew soon after; when it does
    /// not, the next try comes a quarter later.
    func checkpoint(truncating: Bool) throws(StoreError) {
        walSize.triedCheckpoint()
        try connection.check(before: "checkpoint")
        let mode = truncating ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE
        let code = sqlite3_wal_checkpoint_v2(connection.handle, nil, mode, nil, nil)
        guard code == SQLITE_OK || code == SQLITE_BUSY else {
            throw connection.error(code, step: "checkpoint")
        }
    }
}
