import LarderModel

/// What an opened `cache.db` says of itself, every number checked: a disk can hold anything.
///
/// That its totals are those of its rows is seen once the daemon serves: ``checkTotals(_:)``.
struct CacheContents {
    let keySeed: UInt64
    let bytes: Int64
    let entries: Int64
    let owners: OwnerTotals
    let highestRevision: Revision
    /// Whether a row is hidden from a user.
    let hasHiddenRows: Bool
    /// The number of the last use.
    let highestTick: Int64
    /// The highest number that a body ever had.
    let highestBody: Int64
    /// Bodies that no row names: left by an earlier process, to be swept.
    let unlinkedBodies: [Int64]
    /// Of which start of the machine the last change is.
    let boot: Int64?
    /// The next revision by `state.db` when the file was closed in good order.
    let closedAt: Int64?

    init(reading connection: SQLiteConnection) throws(StoreError) {
        let seed = try connection.integer("SELECT value FROM meta WHERE name = 'key_seed'")
        guard let seed else { throw .corrupt(file: connection.path, step: "read the keys' seed") }
        keySeed = UInt64(bitPattern: seed)
        bytes = try Self.total("bytes", connection)
        entries = try Self.total("entries", connection)
        owners = try OwnerTotals(reading: connection)
        hasHiddenRows = try connection.integer("SELECT EXISTS (SELECT 1 FROM hidden)") == 1
        highestTick = try Self.number(
            "SELECT max(last_used) FROM recency",
            within: Limits.uses,
            connection
        )
        highestRevision = Revision(
            try Self.number(
                "SELECT value FROM meta WHERE name = 'rev'",
                within: Limits.claimedRevisions,
                connection
            )
        )
        let inUse = try Self.number("SELECT max(body) FROM body", within: Limits.bodies, connection)
        let given = try Self.number(
            "SELECT seq FROM sqlite_sequence WHERE name = 'body'",
            within: Limits.bodies,
            connection
        )
        highestBody = max(inUse, given)
        var unlinked: [Int64] = []
        let statement = try connection.prepare("SELECT body FROM body WHERE linked = 0")
        while try statement.step() { unlinked.append(statement.integer(.only)) }
        guard unlinked.allSatisfy(Limits.bodies.contains) else {
            throw .corrupt(file: connection.path, step: "read the bodies' numbers")
        }
        unlinkedBodies = unlinked
        boot = try connection.integer("SELECT value FROM meta WHERE name = 'boot'")
        closedAt = try connection.integer("SELECT value FROM meta WHERE name = 'closed_at'")
    }

    /// Throws `corrupt` where the rows do not add up to the totals that the file says it has: with wrong
    /// ones the budget would mean nothing.
    ///
    /// It looks at each row once, which takes about 0.1 s for a million.
    static func checkTotals(_ connection: SQLiteConnection) throws(StoreError) {
        // `total` adds what is too large for an integer as well, and is exact for what is allowed.
        let sums = try connection.prepare(
            """
            SELECT count(*) = (SELECT value FROM meta WHERE name = 'entries')
                AND total(size) + (SELECT total(length(data) + \(Limits.rowOverheadBytes))
                    FROM skeleton) + (SELECT count(*) * \(Limits.hiddenMarkBytes) FROM hidden)
                    = (SELECT value FROM meta WHERE name = 'bytes') AS is_right,
                coalesce(min(size), 0) AS least, coalesce(max(size), 0) AS most,
                coalesce(min(last_used), 0) AS used
            FROM recency
            """
        )
        guard try sums.step(), sums.isTrue("is_right"),
            Limits.rowBytes.contains(sums.integer("least")),
            Limits.rowBytes.contains(sums.integer("most")),
            Limits.uses.contains(sums.integer("used"))
        else { throw .corrupt(file: connection.path, step: "sum up the rows") }
    }

    private static func total(
        _ name: String,
        _ connection: SQLiteConnection
    ) throws(StoreError) -> Int64 {
        try number(
            "SELECT value FROM meta WHERE name = '\(name)'",
            within: Limits.accountedBytes,
            connection
        )
    }

    /// The number that a query answers, 0 where there is none.
    private static func number(
        _ sql: String,
        within range: ClosedRange<Int64>,
        _ connection: SQLiteConnection
    ) throws(StoreError) -> Int64 {
        let number = try connection.integer(sql) ?? 0
        guard range.contains(number) else { throw .corrupt(file: connection.path, step: sql) }
        return number
    }
}
