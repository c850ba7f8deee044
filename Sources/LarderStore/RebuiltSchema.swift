import CSQLite

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
        try model.execute(
            """
            PRAGMA application_id=\(Schema.applicationID); PRAGMA user_version=\(version);
            PRAGMA writable_schema=ON; DELETE FROM sqlite_schema
            """
        )
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
            // Another name of the same affinity.
            .replacing(#/ INTEGER(?! PRIMARY)/#, with: " INT")
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
