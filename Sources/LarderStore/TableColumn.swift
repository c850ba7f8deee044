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
        lastModified, headers, bytes, json, digestHigh, digestLow, body, data, skeleton, checksum

    static let list = list(nil)
    static let listOfClaim = list(nil, [.key: "claim"])

    /// Columns for a list: SQLite reads the pages of the bytes for `data` and for all columns after
    /// it.
    static let listed = all(but: [.data, .skeleton, .checksum])
    static let put = all(but: [.key, .scope, .id])
    /// Columns that a confirmation without a new body, as a 304, replaces.
    static let confirmed: Set<EntryColumn> = [
        .storedAt, .freshUntil, .headers, .origin, .mediaType,
    ]
    static let deleted = list([.scope, .id, .kind, .body, .skeleton])
    static let found = all(but: [
        .storedAt, .freshUntil, .mediaType, .headers, .json, .data,
    ])
}

enum RecencyColumn: Int32, TableColumn {
    case size, lastUsed, owner, storedAt, expiresAt

    static var first: Int32 { EntryColumn.checksum.place + 1 }

    static func row(_ entry: Set<EntryColumn>) -> String {
        "\(EntryColumn.list(entry, [.storedAt: "entry.stored_at"])), \(list([.size, .lastUsed, .owner]))"
    }
}

enum VictimColumn: Int32, TableColumn {
    case key, lastUsed, kind, expiresAt
}

enum DurableColumn: Int32, TableColumn {
    case size, pinnedAt, state, problem, reason, goneStatus, wanted, targeted, shared, held, inPins,
        payer
    case targets
    case lastUsed, shownSince

    static var first: Int32 { EntryColumn.checksum.place + 1 }

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
