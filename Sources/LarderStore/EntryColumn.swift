/// The columns of an entry: those of the table `entry` of `cache.db`, and the first ones of `claim` of
/// `state.db`, whose key is its number.
enum EntryColumn: Int32, TableColumn {
    case key, scope, id, kind, storedAt, freshUntil, rev, origin, status, mediaType, etag,
        lastModified, headers, bytes, json, digestHigh, digestLow, body, data, skeleton, checksum

    static let list = list(nil)
    static let listOfClaim = list(nil, [.key: "claim"])

    /// Columns for a list: SQLite reads the pages of the bytes for `data` and for all columns after it.
    static let listed = all(but: [.data, .skeleton, .checksum])
    static let put = all(but: [.key, .scope, .id])
    /// Columns that a confirmation without a new body, as a 304, replaces.
    static let confirmed: Set<EntryColumn> = [
        .storedAt, .freshUntil, .headers, .origin, .mediaType,
    ]
    static let deleted = list([.scope, .id, .kind, .body, .skeleton])
    static let found = all(but: [
        .storedAt, .freshUntil, .status, .mediaType, .headers, .json, .data,
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
