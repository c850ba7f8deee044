import LarderModel

/// What an opened `cache.db` says of itself, every number checked, but the totals:
/// ``checkTotals(_:)``.
struct CacheContents {
    let keySeed: UInt64
    let bytes: Int64
    let entries: Int64
    let owners: OwnerTotals
    let highestRevision: Revision
    let hasHiddenRows: Bool
    let highestTick: Int64
    let highestBody: Int64
    let unlinkedBodies: [Int64]
    /// Of which start of the machine the last change is.
    let boot: Int64?
    /// The next revision by `state.db` when the file was closed in good order.
    let closedAt: Int64?

    init(reading connection: SQLiteConnection) throws(StoreError) {
        func number(_ sql: String, _ range: ClosedRange<Int64>) throws(StoreError) -> Int64 {
            let number = try connection.integer(sql) ?? 0
            guard range.contains(number) else { throw .corrupt(file: connection.path, step: sql) }
            return number
        }
        let meta = "SELECT value FROM meta WHERE name = "
        guard let seed = try connection.integer(meta + "'key_seed'") else {
            throw .corrupt(file: connection.path, step: "read the keys' seed")
        }
        keySeed = UInt64(bitPattern: seed)
        bytes = try number(meta + "'bytes'", Limits.accountedBytes)
        entries = try number(meta + "'entries'", Limits.accountedBytes)
        owners = try OwnerTotals(reading: connection)
        hasHiddenRows = try connection.integer("SELECT EXISTS (SELECT 1 FROM hidden)") == 1
        highestTick = try number("SELECT max(last_used) FROM recency", Limits.uses)
        highestRevision = Revision(try number(meta + "'rev'", Limits.claimedRevisions))
        let sequence = "SELECT seq FROM sqlite_sequence WHERE name = 'body'"
        highestBody = max(
            try number("SELECT max(body) FROM body", Limits.bodies),
            try number(sequence, Limits.bodies)
        )
        let unlinked = try connection.prepare("SELECT body FROM body WHERE linked = 0")
        unlinkedBodies = try unlinked.all { $0.integer(.only) }
        guard unlinkedBodies.allSatisfy(Limits.bodies.contains) else {
            throw .corrupt(file: connection.path, step: "read the bodies' numbers")
        }
        boot = try connection.integer(meta + "'boot'")
        closedAt = try connection.integer(meta + "'closed_at'")
    }

    /// Throws `corrupt` where the rows do not add up to the totals of the file, without which the
    /// budget would mean nothing.
    ///
    /// It takes about 0.1 s for a million rows.
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
        guard try sums.step(), sums.isTrue("is_right"), Limits.uses.contains(sums.integer("used")),
            Limits.rowBytes.contains(sums.integer("least")),
            Limits.rowBytes.contains(sums.integer("most"))
        else { throw .corrupt(file: connection.path, step: "sum up the rows") }
    }
}
