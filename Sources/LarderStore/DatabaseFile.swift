import Glibc
import LarderModel
import Synchronization

/// Path and settings of an SQLite file, which can be created, opened and set aside.
struct DatabaseFile {
    let path: String
    let schema: Schema
    /// `NORMAL` or `FULL` (https://sqlite.org/pragma.html#pragma_synchronous).
    let synchronous: String
    var keepsCopy = false
    /// Whether the store may recreate the file at any time: then it opens ordinary files only.
    var isExpendable = false
    let faults: (any FaultPlan)?
    /// The mark that is set when damage is met; nil for a file that is checked while it is in use.
    var mark: CorruptionMarker?
    var freeBytes: @Sendable (String) -> Int64? = DiskSpace.freeBytes

    /// Opens the file for its only writer, making or migrating it; no file is replaced here.
    ///
    /// With the version that the file had if it had an earlier one.
    func openWriter() throws(StoreError) -> (connection: SQLiteConnection, migratedFrom: Int?) {
        try create()
        removeUnfinishedCopies()
        let connection = try connect(.readWrite)
        // A file that proves damaged stays as it is, with its WAL.
        connection.keepWALOnClose(true)
        var version = 0
        switch try schema.version(of: connection) {
        case .empty: try connection.execute(Schema.opening)
        case .known(let found): version = found
        case .newer(let found): throw newer(found)
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
        let isEarlier = (1..<schema.steps.count).contains(version)
        if isEarlier, keepsCopy { try copyBeforeMigration(connection, from: version) }
        try schema.migrate(connection, from: version)
        connection.keepWALOnClose(false)
        return (connection, isEarlier ? version : nil)
    }

    /// Opens another connection that only reads; with `allowsCut` also a file that is shorter than
    /// its header says.
    func openReader(
        cacheBytes: Int64,
        allowsCut: Bool = false
    ) throws(StoreError) -> SQLiteConnection {
        let connection = try connect(.readOnly)
        if allowsCut { try connection.execute("PRAGMA writable_schema=ON") }
        try connection.execute(
            "PRAGMA query_only=ON; PRAGMA cell_size_check=ON; PRAGMA trusted_schema=OFF"
        )
        try connection.setPageCache(bytes: cacheBytes)
        return connection
    }

    func sibling(_ path: String, _ schema: Schema? = nil) -> DatabaseFile {
        let schema = schema ?? self.schema
        return DatabaseFile(path: path, schema: schema, synchronous: synchronous, faults: faults)
    }

    func connect(_ mode: SQLiteConnection.Mode) throws(StoreError) -> SQLiteConnection {
        try SQLiteConnection(path: path, mode: mode, faults: faults, mark: mark)
    }

    /// Makes an empty file that only its owner reads; SQLite gives the WAL the same rights.
    private func create() throws(StoreError) {
        if isExpendable { try checkKinds() }
        let flags = O_RDWR | O_CREAT | O_CLOEXEC | (isExpendable ? O_NOFOLLOW : 0)
        let descriptor = open(path, flags, 0o600)
        guard descriptor < 0 else {
            close(descriptor)
            return
        }
        let (cause, reason) = (errno, lastSystemError())
        if cause == ENOSPC || cause == EDQUOT { throw .diskFull(file: path, step: "make \(path)") }
        guard isExpendable, path.isThere else { throw .cannotOpen(path: path, reason: reason) }
        throw .unusable(path: path, reason: reason)
    }

    /// Refuses a link or a folder in place of a file, and removes a WAL without its file.
    private func checkKinds() throws(StoreError) {
        guard path.isThere else { return Self.removeFiles(path) }
        for name in Self.suffixes.map({ path + $0 }) where name.isThere {
            let isFile = FileStamp(name) != nil
            guard !isFile || access(name, R_OK | W_OK) != 0 else { continue }
            let reason = isFile ? lastSystemError() : "it is no ordinary file"
            // The last connection to the file removes the WAL and its index as it closes.
            guard !name.isThere else { throw .unusable(path: name, reason: reason) }
        }
    }

    var isDeleted: Bool { !path.isThere && errno == ENOENT }

    var name: String { String(path.split(separator: "/").last ?? "") }

    func check(before step: String) throws(StoreError) {
        guard let code = faults?.failure(before: step, of: path) else { return }
        throw StoreError(code: code, file: path, step: step, message: "injected")
    }

    static func ofCache(_ configuration: StoreConfiguration) -> DatabaseFile {
        DatabaseFile(
            path: configuration.cacheDirectory + "/cache.db",
            schema: .cache,
            synchronous: "NORMAL",
            isExpendable: true,
            faults: configuration.faults
        )
    }

    /// The file, its WAL and the index of the WAL, in the order in which they are removed.
    ///
    /// A file without its WAL would pass for whole.
    static let suffixes = ["", "-wal", "-shm"]

    static func removeFiles(_ path: String) {
        for suffix in suffixes { unlink(path + suffix) }
    }

    /// Renames the file and its WAL, over the copy that an earlier time left.
    ///
    /// Processes that have them open go on with them under their new names.
    func quarantine() throws(StoreError) {
        for suffix in Self.suffixes {
            try check(before: "set aside \(path + suffix)")
            let old = asidePath(1) + suffix
            if unlink(old) != 0, errno == EISDIR { rmdir(old) }
            guard (path + suffix).isThere else { continue }
            guard rename(path + suffix, old) == 0 else { throw .system(path + suffix) }
        }
    }

    var bytes: Int64 {
        Self.suffixes.dropLast().reduce(0) { $0 + DiskSpace.fileBytes(at: path + $1) }
    }

    /// Whether the disk reads every byte of the file and of its WAL.
    var isReadable: Bool {
        guard faults?.failure(before: "read \(path)", of: path) == nil else { return false }
        return Self.suffixes.dropLast().allSatisfy { suffix in
            let descriptor = open(path + suffix, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return true }
            defer { close(descriptor) }
            var piece = [UInt8](repeating: 0, count: 1 << 20)
            while true {
                let count = read(descriptor, &piece, piece.count)
                guard count > 0 else { return count == 0 }
            }
        }
    }

    @discardableResult func removeAside() -> Bool {
        Self.suffixes.reduce(false) { unlink(asidePath(1) + $1) == 0 || $0 }
    }

    /// Removes the file and its WAL, so that their space is free immediately.
    ///
    /// Both are truncated first, because a process that has them open would keep the space. That
    /// process finds them damaged.
    func remove() throws(StoreError) {
        for suffix in Self.suffixes where (path + suffix).isThere {
            if suffix != "-shm" { truncate(path + suffix, 0) }
            guard unlink(path + suffix) == 0 else { throw .system(path + suffix) }
        }
    }

    var snapshotPath: String { path + ".snapshot" }

    private var copyPrefix: String { name + ".before-" }

    /// The copy that a migration from a version of the schema makes.
    func copyPath(before version: Int) -> String { "\(path).before-\(version)" }

    /// Versions of the copies that migrations have left, the highest first.
    private var copiedVersions: [Int] {
        folder.names.compactMap { name in
            name.hasPrefix(copyPrefix) ? Int(name.dropFirst(copyPrefix.count)) : nil
        }
        .sorted(by: >)
    }

    /// The error for a file of a later version, with the newest copy that this version can read.
    func newer(_ found: Int) -> StoreError {
        let known = schema.steps.count
        let copy = copiedVersions.first { $0 <= known }.map { copyPath(before: $0) }
        return .newer(path: path, found: found, known: known, copy: copy)
    }

    /// Writes the file with its WAL to ``copyPath(before:)``, and syncs it there; without a copy
    /// nothing is migrated.
    ///
    /// Of the earlier copies the newest stays. The copy is not begun on a disk without room for it:
    /// it would take the space of all other programs, again with each start.
    func copyBeforeMigration(
        _ connection: SQLiteConnection,
        from version: Int
    ) throws(StoreError) {
        let place = copyPath(before: version)
        func refusal(_ reason: String) -> StoreError {
            let result = "\(path) is not migrated without a copy of it"
            return .cannotOpen(path: place, reason: "\(result): \(reason)")
        }
        let pages = try connection.integer("PRAGMA page_count") ?? 0
        let unused = try connection.integer("PRAGMA freelist_count") ?? 0
        // The migration itself writes a WAL.
        let needed = (pages - unused) * 4_096 + Limits.stateSpaceMin
        if let free = freeBytes(folder), free < needed {
            throw refusal("\(needed) bytes are needed in \(folder), and \(free) are free")
        }
        do throws(StoreError) {
            try copy(connection, to: place)
        } catch {
            if case .corrupt = error { throw error }
            throw refusal(error.message)
        }
        for old in copiedVersions.filter({ $0 != version }).dropFirst() {
            unlink(copyPath(before: old))
        }
        // The name that an earlier larderd gave its copy.
        unlink(path + ".before-migration")
    }

    /// Removes copies that a killed process has begun, because they may still have credentials.
    private func removeUnfinishedCopies() {
        Self.removeFiles(path + ".new")
        unlink(snapshotPath + ".new")
        for name in folder.names where name.hasPrefix(copyPrefix) && name.hasSuffix(".new") {
            unlink("\(folder)/\(name)")
        }
    }

    /// Copies a connection's view of the file, without credentials, to `place`, syncs the copy, and
    /// lets only its owner read it.
    ///
    /// An earlier copy stays until the new one is whole. The copy's time is that of its beginning,
    /// because it does not have what is written meanwhile.
    func copy(_ connection: SQLiteConnection, to place: String) throws(StoreError) {
        let new = place + ".new"
        unlink(new)
        do throws(StoreError) {
            let begin = try createEmpty(new)
            // VACUUM INTO is told the path as a value, so that any folder's name will do.
            let statement = try connection.prepare("VACUUM INTO :path")
            try statement.run((":path", new))
            let copy = try SQLiteConnection(path: new, mode: .readWrite)
            let hasCredentials = "SELECT 1 FROM sqlite_schema WHERE name = 'credential'"
            if try copy.integer(hasCredentials) != nil {
                try copy.execute(
                    "PRAGMA journal_mode=OFF; PRAGMA secure_delete=ON; DELETE FROM credential"
                )
            }
            let isTimed = [begin, begin].withUnsafeBufferPointer {
                utimensat(AT_FDCWD, new, $0.baseAddress, 0) == 0
            }
            guard isTimed, sync(new), rename(new, place) == 0, sync(folder) else {
                throw .system(new)
            }
        } catch {
            unlink(new)
            throw error
        }
    }

    /// Creates an empty file for its owner, which VACUUM INTO takes; its time.
    private func createEmpty(_ path: String) throws(StoreError) -> timespec {
        let descriptor = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .system(path) }
        defer { close(descriptor) }
        var answer = stat()
        guard fstat(descriptor, &answer) == 0 else { throw .system(path) }
        return answer.st_mtim
    }

    var folder: String {
        let end = path.lastIndex(of: "/") ?? path.startIndex
        return end == path.startIndex ? "/" : String(path[..<end])
    }

    func sync(_ path: String) -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return fsync(descriptor) == 0
    }
}

func lastSystemError() -> String { String(cString: strerror(errno)) }

extension String {
    /// Whether there is anything under this path, a link that leads nowhere included.
    var isThere: Bool {
        var answer = stat()
        return lstat(self, &answer) == 0
    }

    var names: [String] {
        guard let stream = opendir(self) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            names.append(name)
        }
        return names
    }
}

/// Decides which SQLite operation fails; the real one is then not carried out.
///
/// Nil in the daemon. Tests fail the n-th operation, for every n.
package protocol FaultPlan: Sendable {
    /// The SQLite result code to fail with, or nil to go on; `path` is the file's.
    func failure(before step: String, of path: String) -> Int32?
}

/// A note in the folder of a file that damage was met: the next start reads the whole file.
final class CorruptionMarker: Sendable {
    private let path: String
    private let met = Mutex<String?>(nil)

    init(of file: String) { path = file + ".damaged" }

    /// The step that met damage first since the start; nil if none has.
    var step: String? { met.withLock { $0 } }

    var isThere: Bool { path.isThere }

    func set(by step: String) {
        let isFirst = met.withLock { met in
            defer { met = met ?? step }
            return met == nil
        }
        guard isFirst else { return }
        // On a full disk a name alone still finds room, as a rule; the status says it all the same.
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        if descriptor >= 0 { close(descriptor) }
    }

    /// Counts a start that could not read the file: the note gets one byte longer for each.
    ///
    /// The bytes are a hole, which needs no block, so that starts on a full disk count, too.
    func countStart() -> Int {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return 0 }
        defer { close(descriptor) }
        _ = ftruncate(descriptor, off_t(DiskSpace.fileBytes(at: path) + 1))
        return Int(DiskSpace.fileBytes(at: path))
    }

    func remove() {
        met.withLock { $0 = nil }
        unlink(path)
    }
}
