import LarderModel

struct VariantQuery {
    let places: VariantPlaces
    let shownAt: Timestamp

    private static let condition = "scope = :scope AND id >= :prefix AND id < :end"
    private static let ofState = """
        SELECT id FROM claim WHERE \(condition) AND (kind IS NOT NULL OR targeted > 0)
            AND kind IS NOT \(EntryKind.variants.rawValue)
        ORDER BY id LIMIT \(Limits.pageRowsMax)
        """
    private static let ofCache = """
        SELECT id FROM entry WHERE \(condition) AND kind <> \(EntryKind.variants.rawValue)
            AND (kind <> \(EntryKind.blob.rawValue) OR fresh_until IS NULL OR fresh_until > :shown_at)
        ORDER BY id LIMIT \(Limits.pageRowsMax)
        """

    /// The first of them in each scope and file; without a connection those of no file.
    ///
    /// A row that leaves `state.db` is in `cache.db` before, so that is looked at last.
    func rows(
        state: SQLiteConnection?,
        cache: SQLiteConnection?
    ) throws(StoreError) -> [VariantRow] {
        var found: [EntryID: ScopeKey] = [:]
        let (prefix, end) = (places.prefix, RowQuery.end(ofPrefix: places.prefix))
        for scope in places.scopes.reversed() {
            for (connection, sql) in [(state, Self.ofState), (cache, Self.ofCache)] {
                guard let statement = try connection?.statement(sql) else { continue }
                statement.bind((":scope", scope.text), (":prefix", prefix), (":end", end))
                if connection === cache { statement.bind(":shown_at", shownAt.milliseconds) }
                for id in try statement.all({ $0.entryID(.only) }) { found[id] = scope }
            }
        }
        return found.map { VariantRow(id: $0.key, place: $0.value) }
    }
}
