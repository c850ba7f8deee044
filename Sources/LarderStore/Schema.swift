import CSQLite
import CSchema
import Synchronization

/// Which tables a file has and how an older one becomes the current one.
///
/// The numbered files under `schema/` are the source, and `CSchema` embeds them. `user_version`
/// says how many of them a file has taken.
struct Schema {
    /// `Lard`, so that `file` and a careful reader know whose database it is.
    static let applicationID: Int64 = 0x4C61_7264

    static let cache = Schema(steps: texts(larder_cache_steps()))
    static let state = Schema(steps: texts(larder_state_steps()))

    static let opening = "PRAGMA page_size=4096; PRAGMA auto_vacuum=INCREMENTAL"

    private static let known = Mutex<[[String]: (image: [UInt8], names: Set<Substring>)]>([:])

    let steps: [String]

    private static func texts(_ embedded: larder_embedded) -> [String] {
        UnsafeRawBufferPointer(start: embedded.bytes, count: embedded.count).split(separator: 0)
            .map { String(decoding: $0, as: UTF8.self) }
    }

    enum Version: Equatable {
        case empty
        case known(Int)
        case newer(Int)
    }

    /// Throws `corrupt` for a file that is not of ours, or does not have the tables of its version.
    func version(of connection: SQLiteConnection) throws(StoreError) -> Version {
        // Both numbers are in the header, so they can be read even if a later version has other
        // tables.
        let version = Int(try connection.integer("PRAGMA user_version") ?? 0)
        let owner = try connection.integer("PRAGMA application_id")
        if owner == Self.applicationID, version > steps.count { return .newer(version) }
        let found = try Self.names(connection)
        if found.isEmpty, version == 0 { return .empty }
        guard owner == Self.applicationID, version > 0 else {
            throw .corrupt(file: connection.path, step: "recognise \(connection.path)")
        }
        let names = try at(version).names()
        let later = version < steps.count ? try self.names().subtracting(names) : []
        guard names.isSubset(of: found), later.isDisjoint(with: found) else {
            throw .corrupt(file: connection.path, step: "look for the tables of \(connection.path)")
        }
        return .known(version)
    }

    /// The version of a damaged file, and whether all of that version's tables exist.
    ///
    /// It is the version of the header, or a later one of which a table exists. If neither tells,
    /// it is the current one.
    func version(
        ofDamaged connection: SQLiteConnection
    ) throws(StoreError) -> (version: Int, isWhole: Bool) {
        let said = Int(try connection.integer("PRAGMA user_version") ?? 0)
        let found = try Self.names(connection)
        for version in (1...steps.count).reversed() {
            let names = try at(version).names()
            let added = names.subtracting(try at(version - 1).names())
            if version == said || !added.isDisjoint(with: found) {
                return (version, names.isSubset(of: found))
            }
        }
        return (steps.count, false)
    }

    func at(_ version: Int) -> Schema { Schema(steps: Array(steps.prefix(version))) }

    /// A connection to an empty database in memory with these tables.
    func makeModel() throws(StoreError) -> SQLiteConnection {
        let model = try SQLiteConnection(path: ":memory:", mode: .readWrite)
        let image = try empty().image
        let pages = sqlite3_malloc64(UInt64(image.count))
        let count = Int64(image.count)
        let flags = UInt32(SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE)
        pages?.copyMemory(from: image, byteCount: image.count)
        let place = pages?.assumingMemoryBound(to: UInt8.self)
        let code = sqlite3_deserialize(model.handle, "main", place, count, count, flags)
        guard code == SQLITE_OK else { throw model.error(code, step: "make the tables") }
        return model
    }

    private func names() throws(StoreError) -> Set<Substring> { try empty().names }

    /// The pages of an empty database with these tables, and the names in it.
    ///
    /// SQLite needs 25 ms for the steps of the present version, so a process runs them once.
    private func empty() throws(StoreError) -> (image: [UInt8], names: Set<Substring>) {
        if let known = Self.known.withLock({ $0[steps] }) { return known }
        let model = try SQLiteConnection(path: ":memory:", mode: .readWrite)
        try model.execute(Self.opening)
        try run(steps[...], in: model)
        var bytes: Int64 = 0
        guard let pages = sqlite3_serialize(model.handle, "main", &bytes, 0) else {
            throw model.error(SQLITE_NOMEM, step: "make the tables")
        }
        defer { sqlite3_free(pages) }
        let image = Array(UnsafeBufferPointer(start: pages, count: Int(bytes)))
        let empty = (image: image, names: try Self.names(model))
        Self.known.withLock { $0[steps] = empty }
        return empty
    }

    private static func names(_ connection: SQLiteConnection) throws(StoreError) -> Set<Substring> {
        let names = try connection.text(
            """
            SELECT group_concat(entry.type || ' ' || entry.name || ' ' || coalesce(part.name, ''), ',')
            FROM sqlite_schema AS entry LEFT JOIN pragma_table_info(entry.name) AS part
            WHERE entry.name NOT LIKE 'sqlite%'
            """
        )
        return Set((names ?? "").split(separator: ","))
    }

    /// Brings the file to the current version in one transaction; an empty file is made whole.
    func migrate(_ connection: SQLiteConnection, from version: Int) throws(StoreError) {
        guard version < steps.count else { return }
        guard version > 0 else { return try connection.take(pagesOf: makeModel()) }
        try run(steps[version...], in: connection)
    }

    private func run(
        _ missing: ArraySlice<String>,
        in connection: SQLiteConnection
    ) throws(StoreError) {
        try connection.transaction { () throws(StoreError) in
            for step in missing { try connection.execute(step) }
            try connection.execute("PRAGMA application_id=\(Self.applicationID)")
            try connection.execute("PRAGMA user_version=\(steps.count)")
        }
    }
}

protocol SQLiteColumn {
    func place(in row: SQLiteStatement) -> Int32
}

/// The columns of a table, in the order in which every statement lists them.
///
/// The cases make the SQL, so it has Swift's order. A statement that needs only some columns
/// answers NULL for the others. If a row has the columns of two tables, those of the second come
/// after all of the first.
protocol TableColumn: SQLiteColumn, RawRepresentable<Int32>, CaseIterable, Hashable, Sendable {
    static var first: Int32 { get }
    /// The column in a select list: its name, or the expression that its values come from.
    var sql: String { get }
}

extension TableColumn {
    static var first: Int32 { 0 }
    @inline(__always) var place: Int32 { Self.first + rawValue }
    @inline(__always) func place(in row: SQLiteStatement) -> Int32 { place }

    var name: String {
        "\(self)".reduce(into: "") { name, letter in
            name += letter.isUppercase ? "_\(letter.lowercased())" : String(letter)
        }
    }
    var sql: String { name }

    /// All columns for a select list, those that are not `wanted` as NULL; `named` has other SQL
    /// for some.
    static func list(_ wanted: Set<Self>? = nil, _ named: [Self: String] = [:]) -> String {
        allCases.map { column in
            wanted?.contains(column) ?? true ? named[column] ?? column.sql : "NULL"
        }.joined(separator: ", ")
    }

    /// Columns for an `INSERT`, and the parameters for their values: those of their names.
    static func names(_ wanted: Set<Self>? = nil) -> String { joined(wanted) { $0.name } }
    static func parameters(_ wanted: Set<Self>? = nil) -> String {
        joined(wanted) { ":\($0.name)" }
    }
    static func assignments(_ wanted: Set<Self>? = nil) -> String {
        joined(wanted) { "\($0.name) = :\($0.name)" }
    }

    private static func joined(_ wanted: Set<Self>?, _ text: (Self) -> String) -> String {
        allCases.filter { wanted?.contains($0) ?? true }.map(text).joined(separator: ", ")
    }

    static func all(but unwanted: Set<Self>) -> Set<Self> { Set(allCases).subtracting(unwanted) }
}

struct OnlyColumn: SQLiteColumn {
    func place(in row: SQLiteStatement) -> Int32 { 0 }
}

extension SQLiteColumn where Self == OnlyColumn {
    static var only: OnlyColumn { OnlyColumn() }
}

/// A column by its name in SQL, which is looked up each time: for statements that are not run
/// often.
extension String: SQLiteColumn {
    func place(in row: SQLiteStatement) -> Int32 { row.place(of: self) }
}

/// The columns of an entry: those of the table `entry` of `cache.db`, and the first ones of `claim`
/// of `state.db`, whose key is its number.
enum EntryColumn: Int32, TableColumn {
    case key, scope, id, kind, storedAt, freshUntil, rev, origin, status, mediaType, etag,
        lastModified, headers, bytes, json, digestHigh, digestLow, body, data, skeleton, checksum,
        request

    static let list = list(nil)
    static let listOfClaim = list(nil, [.key: "claim"])

    /// Columns for a list: SQLite reads the pages of the bytes for `data` and for all columns after
    /// it.
    static let listed = all(but: [.data, .skeleton, .checksum, .request])
    static let put = all(but: [.key, .scope, .id])
    /// Columns that a confirmation without a new body, as a 304, replaces.
    static let confirmed: Set<EntryColumn> = [
        .storedAt, .freshUntil, .headers, .origin, .mediaType,
    ]
    static let deleted = list([.scope, .id, .kind, .rev, .body, .skeleton])
    static let found = all(but: [
        .storedAt, .freshUntil, .mediaType, .headers, .json, .data, .request,
    ])
}

enum RecencyColumn: Int32, TableColumn {
    case size, lastUsed, owner, storedAt, expiresAt

    static var first: Int32 { EntryColumn.request.place + 1 }

    static func row(_ entry: Set<EntryColumn>) -> String {
        "\(EntryColumn.list(entry, [.storedAt: "entry.stored_at"])), \(list([.size, .lastUsed, .owner]))"
    }
}

enum VictimColumn: Int32, TableColumn {
    case key, lastUsed, kind, expiresAt
}

enum DurableColumn: Int32, TableColumn {
    case size, pinnedAt, state, problem, reason, goneStatus, wanted, targeted, shared, held, inPins,
        payer, refresh, prefetched
    case targets
    case lastUsed, shownSince

    static var first: Int32 { EntryColumn.request.place + 1 }

    var sql: String {
        switch self {
        case .targets:
            """
            CASE WHEN targeted THEN (SELECT count(*) FROM change INDEXED BY change_target
                WHERE change.scope = claim.scope AND change.id = claim.id AND settled = 0) END
            """
        case .lastUsed: RowTable.lastUsedOfClaim
        case .shownSince: RowTable.storedAtOfClaim
        case _: name
        }
    }

    static func row(_ entry: Set<EntryColumn>, _ claim: Set<DurableColumn>) -> String {
        "\(EntryColumn.list(entry, [.key: "claim"])), \(list(claim))"
    }
}
