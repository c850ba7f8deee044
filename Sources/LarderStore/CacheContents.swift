import LarderModel

/// What an opened `cache.db` says of itself, every number checked: a disk can hold anything.
struct CacheContents {
    let keySeed: UInt64
    let bytes: Int64
    let entries: Int64
    let highestRevision: Revision
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
        (bytes, entries, highestTick) = try Self.sums(connection)
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
        while try statement.step() { unlinked.append(statement.integer(0)) }
        guard unlinked.allSatisfy(Limits.bodies.contains) else {
            throw .corrupt(file: connection.path, step: "read the bodies' numbers")
        }
        unlinkedBodies = unlinked
        boot = try connection.integer("SELECT value FROM meta WHERE name = 'boot'")
        closedAt = try connection.integer("SELECT value FROM meta WHERE name = 'closed_at'")
    }

    /// Sums the rows up, which takes about 0.1 s for a million, and holds the result against what
    /// the file says: with a wrong total the budget would mean nothing.
    private static func sums(
        _ connection: SQLiteConnection
    ) throws(StoreError) -> (bytes: Int64, entries: Int64, highestTick: Int64) {
        let sql = """
            SELECT count(*), coalesce(sum(\(SQLiteStatement.countedSize)), 0),
                coalesce(min(size), 0), coalesce(max(size), 0),
                coalesce(min(last_used), 0), coalesce(max(last_used), 0),
                (SELECT value FROM meta WHERE name = 'entries'),
                (SELECT value FROM meta WHERE name = 'bytes'),
                (SELECT coalesce(sum(length(data) + \(Limits.rowOverheadBytes)), 0) FROM skeleton)
            FROM recency
            """
        let row = try connection.prepare(sql)
        guard try row.step(), row.integer(0) == row.integer(6),
            Limits.accountedBytes.contains(row.integer(1)),
            Limits.accountedBytes.contains(row.integer(8)),
            row.integer(1) + row.integer(8) == row.integer(7),
            Limits.rowBytes.contains(row.integer(2)), Limits.rowBytes.contains(row.integer(3)),
            Limits.uses.contains(row.integer(4)), Limits.uses.contains(row.integer(5))
        else { throw .corrupt(file: connection.path, step: "sum up the rows") }
        return (row.integer(7), row.integer(0), row.integer(5))
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
