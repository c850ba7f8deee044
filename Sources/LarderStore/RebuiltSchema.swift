import CSQLite
import Glibc

/// The list of the tables of a `state.db`, built again in its first page alone.
///
/// It replaces the few pages that list them in a damaged file. SQLite reads nothing of a file that
/// lacks one of these pages. The steps of the schema give each table its first page, whatever rows
/// a file held meanwhile. With auto_vacuum these pages come before all others, in the order in
/// which they were made (https://sqlite.org/fileformat2.html#pointer_map_or_ptrmap_pages).
struct RebuiltSchema {
    static let pageBytes = 4_096
    /// Whether there is a WAL, how many pages there are, and the list of free ones
    /// (https://sqlite.org/fileformat2.html#the_database_header).
    private static let journalPlace = 18..<20
    private static let pageCountPlace = 28..<32
    private static let freeListPlace = 32..<40
    private static let versionPlace = 60..<64
    private static let ownerPlace = 68..<72
    /// Types of pages, and the place of the first page's type, which follows the header of the
    /// file.
    private static let leafOfTable: UInt8 = 13
    private static let typePlace = 100
    private static let typesOfTables: Set<UInt8> = [5, 13]
    private static let typesOfIndexes: Set<UInt8> = [2, 10]

    let version: Int
    private let firstPage: [UInt8]
    private var tables: Set<Int> = []
    private var indexes: Set<Int> = []

    init(_ schema: Schema) throws(StoreError) {
        version = schema.steps.count
        let model = try schema.makeModel()
        let list = try model.prepare("SELECT type, name, rootpage, sql FROM sqlite_schema")
        var brief: [(name: String, root: Int64, sql: String)] = []
        while try list.step() {
            let (root, sql) = (list.integer("rootpage"), list.text("sql") ?? "")
            let isTable = list.text("type") == "table"
            if isTable { brief.append((list.text("name") ?? "", root, Self.brief(sql))) }
            if isTable, !sql.hasSuffix("WITHOUT ROWID") {
                tables.insert(Int(root))
            } else {
                indexes.insert(Int(root))
            }
        }
        try model.execute("PRAGMA writable_schema=ON; DELETE FROM sqlite_schema")
        // The log is not taken over, and longer than most.
        for (name, root, sql) in brief where name != "change_log" {
            let row = "INSERT INTO sqlite_schema VALUES ('table', :name, :name, \(root), :sql)"
            let insert = try model.prepare(row)
            try insert.run((":name", name), (":sql", sql))
        }
        var bytes: Int64 = 0
        guard let pages = sqlite3_serialize(model.handle, "main", &bytes, 0) else {
            throw .corrupt(file: model.path, step: "list the tables")
        }
        defer { sqlite3_free(pages) }
        firstPage = Array(UnsafeBufferPointer(start: pages, count: Self.pageBytes))
        precondition(firstPage[Self.typePlace] == Self.leafOfTable, "the tables fit into a page")
    }

    /// Without comments, columns of spaces and what only who writes needs, so that there is room
    /// for all of them.
    private static func brief(_ sql: String) -> String {
        sql.split(separator: "\n")
            .flatMap { line in
                line.split(separator: "--", maxSplits: 1, omittingEmptySubsequences: false)[0]
                    .split(separator: " ")
            }
            .joined(separator: " ")
            .replacing(" NOT NULL", with: "")
            .replacing(" AUTOINCREMENT", with: "")
            // A stored value has its own type (https://sqlite.org/datatype3.html).
            .replacing(#/ (INTEGER|TEXT|BLOB)(?! PRIMARY)/#, with: "")
            .replacing(#/ REFERENCES \w+( ON (UPDATE|DELETE) CASCADE)*/#, with: "")
            .replacing(#/ ?([(),]) ?/#) { $0.output.1 }
    }

    /// The first page of a file with `pages` pages.
    ///
    /// A page for a WAL has no application id, so the version is only known if the WAL has it.
    func page(of pages: Int, isForWAL: Bool = false) -> [UInt8] {
        var page = firstPage
        if isForWAL {
            page.replaceSubrange(Self.journalPlace, with: [2, 2])
            page.replaceSubrange(Self.ownerPlace, with: [0, 0, 0, 0])
        }
        let count = UInt32(clamping: pages).bigEndian
        withUnsafeBytes(of: count) { page.replaceSubrange(Self.pageCountPlace, with: $0) }
        page.replaceSubrange(Self.freeListPlace, with: repeatElement(0, count: 8))
        return page
    }

    // MARK: Checking pages of a file

    static func version(saidBy page: [UInt8]) -> Int? {
        func number(_ place: Range<Int>) -> Int { page[place].reduce(0) { $0 << 8 | Int($1) } }
        let isOurs = page.count == pageBytes && number(ownerPlace) == Schema.applicationID
        return isOurs ? number(versionPlace) : nil
    }

    /// Whether this is the list of the tables of a file: its second page names their first pages.
    func fits(
        said: Int?,
        pageOf number: (Int) throws(StoreError) -> [UInt8]
    ) throws(StoreError) -> Bool {
        if let said, said != version { return false }
        for root in tables.union(indexes) {
            let other = tables.contains(root) ? Self.typesOfIndexes : Self.typesOfTables
            guard let type = try number(root).first, !other.contains(type) else { return false }
        }
        // Five bytes a page, of which the first is 1 for the first page of a table or an index.
        let map = try number(2)
        let roots = (0..<map.count / 5).filter { map[5 * $0] == 1 }.map { $0 + 3 }
        return tables.union(indexes) == Set(roots)
    }
}

/// A damaged `state.db`, opened for reading; the file stays as it is.
///
/// A truncated file is read up to its end: with `writable_schema`, SQLite takes a file that is
/// shorter than its header says (https://sqlite.org/pragma.html#pragma_writable_schema). If a page
/// that lists the tables is lost, a copy is read in which they are listed again (``RebuiltSchema``).
/// The same applies if only the WAL is left.
struct DamagedStateReader {
    let connection: SQLiteConnection
    let version: Int
    private let copy: String?

    static func find(of file: DatabaseFile) throws(StoreError) -> DamagedStateReader? {
        let copy = file.path + ".remains"
        DatabaseFile.removeFiles(copy)
        let found = try readable { () throws(StoreError) in try openAsItIs(file) }
        if let found, found.isWhole { return found.damaged }
        var isListed = false
        defer { if !isListed { DatabaseFile.removeFiles(copy) } }
        let listed = try readable { () throws(StoreError) in
            let version = try Self.copy(file, to: copy)
            return DamagedStateReader(
                connection: try open(file, copy),
                version: version,
                copy: copy
            )
        }
        isListed = listed != nil
        return listed ?? found?.damaged
    }

    private static func readable<Value>(
        _ open: () throws(StoreError) -> Value
    ) throws(StoreError) -> Value? {
        do throws(StoreError) {
            return try open()
        } catch .corrupt {
            return nil
        }
    }

    /// With `writable_schema` SQLite leaves out tables whose listing it does not understand.
    private static func openAsItIs(
        _ file: DatabaseFile
    ) throws(StoreError) -> (damaged: DamagedStateReader, isWhole: Bool) {
        // SQLite would delete the WAL of a file of no bytes.
        guard DiskSpace.fileBytes(at: file.path) > 0 else {
            throw .corrupt(file: file.path, step: "read \(file.path)")
        }
        let connection = try open(file, file.path)
        let (version, isWhole) = try file.schema.version(ofDamaged: connection)
        return (DamagedStateReader(connection: connection, version: version, copy: nil), isWhole)
    }

    /// Removes what was made; the connection is used no more.
    func close() { if let copy { DatabaseFile.removeFiles(copy) } }

    private static func open(
        _ file: DatabaseFile,
        _ path: String
    ) throws(StoreError) -> SQLiteConnection {
        let connection = try file.sibling(path).openReader(cacheBytes: 0, allowsCut: true)
        connection.keepWALOnClose(true)
        return connection
    }

    // MARK: Copying

    /// Copies the file, writes its WAL back into the copy, and lists the tables there again.
    ///
    /// Returns the version of the tables; throws `corrupt` if it is unknown.
    private static func copy(_ file: DatabaseFile, to copy: String) throws(StoreError) -> Int {
        let versions = (1...file.schema.steps.count).reversed()
        let listings = try versions.map { version throws(StoreError) in
            try RebuiltSchema(file.schema.at(version))
        }
        try bytes(of: file.path.isThere ? file.path : "/dev/null", to: copy, file.faults)
        var said = RebuiltSchema.version(saidBy: try page(1, of: copy))
        if (file.path + "-wal").isThere {
            // Pages in the WAL are newer than the file, and have checksums of their own.
            try bytes(of: file.path + "-wal", to: copy + "-wal", file.faults)
            try write(listings[0].page(of: 1, isForWAL: true), to: copy)
            try writeBack(copy)
            said = RebuiltSchema.version(saidBy: try page(1, of: copy)) ?? said
        }
        for listing in listings {
            let fits = try listing.fits(said: said) { number throws(StoreError) in
                try page(number, of: copy)
            }
            guard fits else { continue }
            let pages = Int(DiskSpace.fileBytes(at: copy)) / RebuiltSchema.pageBytes
            try write(listing.page(of: pages), to: copy)
            // Versions 14 and 15 have the same tables; the step between changes nothing twice.
            return said == nil && listing.version == 15 ? 14 : listing.version
        }
        throw .corrupt(file: file.path, step: "list the tables of \(file.path)")
    }

    private static func writeBack(_ copy: String) throws(StoreError) {
        let connection = try SQLiteConnection(path: copy, mode: .readWrite)
        // SQLite opens the WAL with the first read. Neither step needs to know the tables.
        _ = try connection.integer("PRAGMA user_version")
        let mode = SQLITE_CHECKPOINT_TRUNCATE
        let code = sqlite3_wal_checkpoint_v2(connection.handle, nil, mode, nil, nil)
        guard code == SQLITE_OK else { throw connection.error(code, step: "checkpoint \(copy)") }
    }

    private static func page(_ number: Int, of path: String) throws(StoreError) -> [UInt8] {
        let source = try descriptor(path, O_RDONLY)
        defer { Glibc.close(source) }
        var page = [UInt8](repeating: 0, count: RebuiltSchema.pageBytes)
        let count = pread(source, &page, page.count, (number - 1) * page.count)
        guard count >= 0 else { throw failed(path) }
        return Array(page.prefix(count))
    }

    private static func write(_ firstPage: [UInt8], to path: String) throws(StoreError) {
        let target = try descriptor(path, O_RDWR)
        defer { Glibc.close(target) }
        let count = pwrite(target, firstPage, firstPage.count, 0)
        guard count == firstPage.count else { throw failed(path) }
    }

    /// Copies a file, with an empty page in place of each that the disk cannot read.
    private static func bytes(
        of path: String,
        to copy: String,
        _ faults: (any FaultPlan)?
    ) throws(StoreError) {
        let source = try descriptor(path, O_RDONLY)
        defer { Glibc.close(source) }
        let target = try descriptor(copy, O_WRONLY | O_CREAT | O_TRUNC)
        defer { Glibc.close(target) }
        var piece = [UInt8](repeating: 0, count: 1 << 20)
        var place = 0
        while true {
            let isFault = faults?.failure(before: "read \(path) at \(place)", of: path) != nil
            var count = isFault ? -1 : pread(source, &piece, piece.count, place)
            if isFault || count < 0 && errno == EIO {
                piece = [UInt8](repeating: 0, count: piece.count)
                count = RebuiltSchema.pageBytes
            }
            guard count >= 0 else { throw failed(path) }
            guard count > 0 else { return }
            guard Glibc.write(target, piece, count) == count else { throw failed(copy) }
            place += count
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
            : .system(path)
    }
}
