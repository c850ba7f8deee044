package import LarderModel

/// The tables `prefetch` and `prefetch_item` of `state.db`, read.
struct PrefetchReader {
    let state: StateReader
    /// Number of all sets.
    let count: Int64
    var connection: SQLiteConnection { state.connection }

    private static let columns = """
        prefetch, scope, name, made_at, expires_at, refresh, queried_at, estimated_bytes,
        unknown_sizes
        """

    func sets(_ scopes: RowScopes) throws(StoreError) -> [PrefetchSet] {
        let sql = "SELECT \(Self.columns) FROM prefetch WHERE \(scopes.condition) ORDER BY name"
        return try connection.statement(sql, of: scopes).all(PrefetchSet.init)
    }

    /// Number of entries in all sets of a user but one, those of old lists included.
    func itemCount(of uid: UInt32, besides set: Int64?) throws(StoreError) -> Int64 {
        try sum("count(*)", of: "prefetch_item WHERE", uid, besides: set)
    }

    /// Bytes of the JSON of all sets of a user but one.
    func listBytes(of uid: UInt32, besides set: Int64?) throws(StoreError) -> Int64 {
        let bytes = "coalesce(sum(length(definition)), 0)"
        return try sum(bytes, of: "prefetch WHERE", uid, besides: set)
    }

    private func sum(
        _ value: String,
        of rows: String,
        _ uid: UInt32,
        besides set: Int64?
    ) throws(StoreError) -> Int64 {
        let user = RowScopes.user(uid)
        let sql = "SELECT \(value) FROM \(rows) \(user.condition) AND prefetch IS NOT :set"
        let statement = try connection.statement(sql, of: user)
        statement.bind(":set", set)
        return try statement.first { $0.integer(.only) } ?? 0
    }

    /// The sets that keep an id, and the intervals that they ask for; free while there are none.
    func keepers(
        of id: EntryID,
        in scope: Scope
    ) throws(StoreError) -> [(name: PrefetchName, refresh: Duration?)] {
        guard count > 0 else { return [] }
        return try connection.statement(
            """
            SELECT name, refresh FROM prefetch_item AS item JOIN prefetch USING (prefetch)
            WHERE item.scope = :scope AND item.id = :id ORDER BY name
            """,
            (":scope", scope.text),
            (":id", id.text)
        ).all { row in
            guard let name = row.text("name").flatMap({ try? PrefetchName($0) }) else { return nil }
            return (name, row.refreshTime("refresh"))
        }
    }

    /// The items of a set's list, each with the pin under its id as `pin`; a shared row as `row`.
    fileprivate static let joined = """
        FROM prefetch_item AS item
        LEFT JOIN claim AS pin
            ON pin.scope = item.scope AND pin.id = item.id AND pin.pinned_at IS NOT NULL
        LEFT JOIN claim AS row ON pin.shared = 1 AND row.scope = 'shared' AND row.id = item.id
        WHERE item.prefetch = :set AND leaving = 0
        """
    /// Bytes of a pin whose last answer is too large are those of an earlier one.
    static let isHeld = """
        (pin.state IN (\(PinState.held.rawValue), \(PinState.gone.rawValue))
            OR pin.state = \(PinState.tooLarge.rawValue)
                AND coalesce(pin.kind, \(EntryKind.tombstone.rawValue)) <> \(EntryKind.tombstone.rawValue))
        """
    private static let isWaiting = """
        (pin.claim IS NULL AND item.problem IS NULL OR pin.state = \(PinState.waiting.rawValue))
        """

    func counts(_ set: Int64) throws(StoreError) -> PrefetchCounts {
        var counts = PrefetchCounts()
        let statement = try connection.statement(
            """
            SELECT count(*) AS items, coalesce(sum(\(Self.isHeld)), 0) AS held,
                coalesce(sum(\(Self.isWaiting)), 0) AS waiting, pin.origin AS origin,
                coalesce(sum(CASE WHEN \(Self.isHeld) THEN coalesce(pin.bytes, row.bytes) END), 0)
                    AS bytes
            \(Self.joined) GROUP BY pin.origin
            """,
            (":set", set)
        )
        while try statement.step() {
            counts.items += Int(statement.integer("items"))
            counts.held += Int(statement.integer("held"))
            counts.bytes += statement.integer("bytes")
            let waiting = Int(statement.integer("waiting"))
            guard waiting > 0 else { continue }
            counts.waiting[statement.text("origin").flatMap { try? OriginName($0) }] = waiting
        }
        return counts
    }

    /// The items that are not held; with `isTroubled` only those that wait no longer.
    func missing(_ set: Int64, isTroubled: Bool = false) throws(StoreError) -> [MissingItem] {
        try connection.statement(
            """
            SELECT item.id AS id, pin.origin AS origin, pin.claim IS NOT NULL AS pinned,
                CASE WHEN pin.claim IS NULL THEN item.problem ELSE pin.problem END AS problem,
                CASE WHEN pin.claim IS NULL THEN item.reason ELSE pin.reason END AS reason
            \(Self.joined) AND coalesce(\(Self.isHeld), 0) = 0
                AND (NOT :troubled OR NOT coalesce(\(Self.isWaiting), 0))
            ORDER BY item.id LIMIT \(Limits.prefetchItemsMax)
            """,
            (":set", set),
            (":troubled", isTroubled)
        ).all { row in
            row.entryID("id").map { id in
                MissingItem(
                    id: id,
                    origin: row.text("origin").flatMap { try? OriginName($0) },
                    trouble: row.text("problem").map {
                        PinTrouble(problem: $0, reason: row.text("reason") ?? "")
                    },
                    isPinned: row.isTrue("pinned")
                )
            }
        }
    }

    /// Whether an entry of a list could not be pinned.
    func hasUnpinnable(_ set: Int64) throws(StoreError) -> Bool {
        try connection.statement(
            """
            SELECT 1 FROM prefetch_item
            WHERE prefetch = :set AND leaving = 0 AND problem IS NOT NULL LIMIT 1
            """,
            (":set", set)
        ).first { _ in true } != nil
    }

    func leaving(_ set: Int64) throws(StoreError) -> [EntryID] {
        try connection.statement(
            "SELECT id FROM prefetch_item WHERE prefetch = :set AND leaving = 1",
            (":set", set)
        ).all { $0.entryID(.only) }
    }
}

extension PrefetchStore {
    package func sets(_ scopes: RowScopes) async throws(StoreError) -> [PrefetchSet] {
        try await read { reader throws(StoreError) in try reader.sets(scopes) }
    }

    /// The JSON of the command that made a set.
    package func definition(of set: PrefetchSet) async throws(StoreError) -> [UInt8]? {
        let sql = "SELECT definition FROM prefetch WHERE prefetch = :set"
        return try await read { reader throws(StoreError) in
            try reader.connection.statement(sql, (":set", set.number))
                .first { $0.bytesOrNil(.only) ?? [] }
        }
    }

    /// The places in the order of uses that entities had when queries have selected them.
    package func uses(in scope: ScopeKey) async throws(StoreError) -> [EntryID: Int64] {
        let sql = "SELECT id, used FROM prefetch_item WHERE scope = :scope AND used IS NOT NULL"
        return try await read { reader throws(StoreError) in
            let rows = try reader.connection.statement(sql, (":scope", scope.text))
                .all { row in row.entryID("id").map { ($0, row.integer("used")) } }
            return Dictionary(rows, uniquingKeysWith: max)
        }
    }

    package func counts(_ set: PrefetchSet) async throws(StoreError) -> PrefetchCounts {
        try await read { reader throws(StoreError) in try reader.counts(set.number) }
    }

    /// The items whose bytes are not kept; with `isTroubled` only those that wait no longer.
    package func missing(
        _ set: PrefetchSet,
        isTroubled: Bool = false
    ) async throws(StoreError) -> [MissingItem] {
        try await read { reader throws(StoreError) in
            try reader.missing(set.number, isTroubled: isTroubled)
        }
    }

    /// The next items after one that have no pin, and no problem for which they cannot have one.
    package func unpinned(
        _ set: PrefetchSet,
        after item: Int64
    ) async throws(StoreError) -> [(item: Int64, id: EntryID)] {
        let sql = """
            SELECT item.item AS item, item.id AS id \(PrefetchReader.joined)
                AND item.item > :after AND pin.claim IS NULL AND item.problem IS NULL
            ORDER BY item.item LIMIT \(Limits.prefetchStepRowsMax)
            """
        return try await read { reader throws(StoreError) in
            try reader.connection.statement(sql, (":set", set.number), (":after", item))
                .all { row in row.entryID("id").map { (row.integer("item"), $0) } }
        }
    }

    /// The ids that a set keeps, those of an old list included.
    package func ids(_ set: PrefetchSet) async throws(StoreError) -> [EntryID] {
        let sql = "SELECT id FROM prefetch_item WHERE prefetch = :set ORDER BY item"
        return try await read { reader throws(StoreError) in
            try reader.connection.statement(sql, (":set", set.number)).all { $0.entryID(.only) }
        }
    }

    func read<Value: Sendable>(
        _ read: @escaping @Sendable (PrefetchReader) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        try await store.read { reader throws(StoreError) in
            try read(reader.stateReader().prefetches)
        }
    }
}
