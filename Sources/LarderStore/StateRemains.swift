import Glibc

/// What is left of a damaged `state.db`, opened to be read; the file stays as it is.
///
/// One that was cut is read up to its end: with `writable_schema` SQLite takes a file that is
/// shorter than its header says (https://sqlite.org/pragma.html#pragma_writable_schema). One whose
/// first page is lost, where the tables are listed, is read from a copy that has the first page of
/// a new file: both were made by the same steps, and whether their tables are the same is looked at.
/// So is one of which nothing but the WAL is left.
struct StateRemains {
    let connection: SQLiteConnection
    private let copy: String?

    private static let pageBytes = 4_096
    /// Of the database header (https://sqlite.org/fileformat2.html#the_database_header): how many
    /// pages there are, and the list of free ones.
    private static let pageCountPlace = 28..<32
    private static let freeListPlace = 32..<40

    /// Throws `corrupt` where not even the tables are known.
    init(of file: DatabaseFile, like new: SQLiteConnection) throws(StoreError) {
        do throws(StoreError) {
            // SQLite would delete the WAL of a file of no bytes.
            guard DiskSpace.fileBytes(at: file.path) > 0 else {
                throw .corrupt(file: file.path, step: "read \(file.path)")
            }
            let connection = try Self.open(file, file.path)
            try Self.readTables(connection)
            (self.connection, copy) = (connection, nil)
        } catch .corrupt {
            let copy = file.path + ".remains"
            Self.remove(copy)
            do throws(StoreError) {
                connection = try Self.openCopy(file, copy, like: new)
            } catch {
                Self.remove(copy)
                throw error
            }
            self.copy = copy
        }
    }

    private static func openCopy(
        _ file: DatabaseFile,
        _ copy: String,
        like new: SQLiteConnection
    ) throws(StoreError) -> SQLiteConnection {
        try Self.copy(file.path, to: copy, firstPageOf: new)
        let connection = try open(file, copy)
        guard try readTables(connection) == readTables(new) else {
            throw .corrupt(file: file.path, step: "list the tables of \(file.path)")
        }
        return connection
    }

    /// Removes what was made; the connection is used no more.
    func close() {
        if let copy { Self.remove(copy) }
    }

    private static func open(
        _ file: DatabaseFile,
        _ path: String
    ) throws(StoreError) -> SQLiteConnection {
        let other = DatabaseFile(
            path: path,
            schema: file.schema,
            synchronous: file.synchronous,
            faults: file.faults
        )
        let connection = try other.openReader(cacheBytes: 0, allowsCut: true)
        connection.keepWALOnClose(true)
        return connection
    }

    /// The tables and indexes, by what made them.
    @discardableResult
    private static func readTables(
        _ connection: SQLiteConnection
    ) throws(StoreError) -> [String] {
        let statement = try connection.prepare("SELECT name, sql FROM sqlite_schema ORDER BY name")
        var tables: [String] = []
        while try statement.step() {
            tables.append("\(statement.text(0) ?? ""): \(statement.text(1) ?? "")")
        }
        return tables
    }

    private static func remove(_ path: String) {
        for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) }
    }

    // MARK: Copying

    private static func copy(
        _ path: String,
        to copy: String,
        firstPageOf new: SQLiteConnection
    ) throws(StoreError) {
        try new.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        try Self.bytes(of: path.isThere ? path : "/dev/null", to: copy)
        // What stands in the WAL is newer than the file, and has checksums of its own.
        if (path + "-wal").isThere { try Self.bytes(of: path + "-wal", to: copy + "-wal") }
        let source = try descriptor(new.path, O_RDONLY)
        defer { Glibc.close(source) }
        let target = try descriptor(copy, O_RDWR)
        defer { Glibc.close(target) }
        var page = [UInt8](repeating: 0, count: pageBytes)
        guard pread(source, &page, pageBytes, 0) == pageBytes else {
            throw .cannotOpen(path: new.path, reason: "its first page cannot be read")
        }
        let pages = UInt32(clamping: Int(lseek(target, 0, SEEK_END)) / pageBytes)
        withUnsafeBytes(of: pages.bigEndian) { page.replaceSubrange(pageCountPlace, with: $0) }
        page.replaceSubrange(freeListPlace, with: repeatElement(0, count: freeListPlace.count))
        guard pwrite(target, page, pageBytes, 0) == pageBytes else { throw Self.failed(copy) }
    }

    private static func bytes(of path: String, to copy: String) throws(StoreError) {
        let source = try descriptor(path, O_RDONLY)
        defer { Glibc.close(source) }
        let target = try descriptor(copy, O_WRONLY | O_CREAT | O_TRUNC)
        defer { Glibc.close(target) }
        var piece = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = read(source, &piece, piece.count)
            guard count >= 0 else { throw failed(path) }
            guard count > 0 else { return }
            guard write(target, piece, count) == count else { throw failed(copy) }
        }
    }

    private static func descriptor(_ path: String, _ flags: CInt) throws(StoreError) -> CInt {
        let descriptor = Glibc.open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failed(path) }
        return descriptor
    }

    private static func failed(_ path: String) -> StoreError {
        errno == ENOSPC || errno == EDQUOT
            ? .diskFull(file: path, step: "copy what is left of \(path)")
            : .cannotOpen(path: path, reason: lastSystemError())
    }
}
