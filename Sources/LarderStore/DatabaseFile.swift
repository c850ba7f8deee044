import CSQLite
import Glibc

/// One of the two SQLite files: how it is made, opened and set aside.
struct DatabaseFile {
    let path: String
    let schema: Schema
    /// `NORMAL` or `FULL` (https://sqlite.org/pragma.html#pragma_synchronous).
    let synchronous: String
    let faults: (any FaultPlan)?

    /// Opens the file for its only writer, making or migrating it; no file is replaced here.
    func openWriter() throws(StoreError) -> SQLiteConnection {
        try create()
        let connection = try SQLiteConnection(path: path, mode: .readWrite, faults: faults)
        let version: Int
        switch try schema.version(of: connection) {
        case .empty:
            try connection.execute(schema.opening)
            version = 0
        case .known(let found):
            version = found
        case .newer(let found):
            throw .newer(path: path, found: found, known: schema.steps.count)
        }
        // Debian builds SQLite with secure_delete on: each eviction would write zeroes.
        try connection.execute(
            """
            PRAGMA journal_mode=WAL;
            PRAGMA synchronous=\(synchronous);
            PRAGMA wal_autocheckpoint=0;
            PRAGMA journal_size_limit=67108864;
            PRAGMA secure_delete=OFF;
            PRAGMA cell_size_check=ON;
            PRAGMA trusted_schema=OFF;
            """
        )
        guard try connection.text("PRAGMA journal_mode") == "wal" else {
            throw .cannotOpen(path: path, reason: "its file system allows no WAL")
        }
        try schema.migrate(connection, from: version)
        return connection
    }

    /// Opens another connection that only reads.
    func openReader(cacheBytes: Int64) throws(StoreError) -> SQLiteConnection {
        let connection = try SQLiteConnection(path: path, mode: .readOnly, faults: faults)
        try connection.execute(
            """
            PRAGMA query_only=ON;
            PRAGMA cell_size_check=ON;
            PRAGMA trusted_schema=OFF;
            """
        )
        try connection.setPageCache(bytes: cacheBytes)
        return connection
    }

    /// Renames the file and its WAL out of the way, over the copy that an earlier time left.
    func setAside() throws(StoreError) {
        for suffix in ["", "-wal", "-shm"] {
            let old = path + ".aside" + suffix
            unlink(old)
            guard access(path + suffix, F_OK) == 0 else { continue }
            guard rename(path + suffix, old) == 0 else {
                throw .cannotOpen(path: path + suffix, reason: lastSystemError())
            }
        }
    }

    /// Makes an empty file that only its owner reads; SQLite gives the WAL the same rights.
    private func create() throws(StoreError) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .cannotOpen(path: path, reason: lastSystemError()) }
        close(descriptor)
    }
}

/// What the last failed system call says.
func lastSystemError() -> String {
    String(cString: strerror(errno))
}
