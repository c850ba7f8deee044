import LarderModel
import LarderNormalize

/// Which rows refer to which entities, and the skeletons that say how.
extension CachedAnswers {
    /// Writes down what a row refers to now, as far as it has not done so before; of two entities with
    /// one hash what it says of both.
    func replaceReferences(
        of key: RowKey,
        _ references: [Reference],
        _ origin: OriginName,
        _ scope: ScopeKey
    ) throws(StoreError) {
        var wanted: [Int64: [UInt8]] = [:]
        for reference in references {
            let child = RowKey(scope, EntryID(EntityName(reference.key, of: origin)))
            wanted[child.number, default: []] += reference.place.stored
        }
        for child in try cache.tables.setReferences(of: key.number, wanted) {
            noteOrphan(RowKey(child))
        }
    }

    /// What all entities count to which a row refers, over others too.
    func sizeOfReferred(by key: RowKey) throws(StoreError) -> Int64 {
        try cache.connection.integer(
            """
            WITH RECURSIVE below (row) AS (
                SELECT child FROM reference WHERE parent = \(key.number)
                UNION SELECT child FROM reference JOIN below ON parent = row)
            SELECT coalesce(sum(size), 0) FROM below JOIN recency ON key = row
            """
        ) ?? 0
    }

    private func noteOrphan(_ child: RowKey) {
        if cache.state.orphans.count < Limits.orphansMax { cache.state.orphans.append(child) }
    }

    /// Forgets what a row refers to; entities that nothing else refers to go later.
    func dropReferences(of key: RowKey) throws(StoreError) {
        for child in try cache.tables.removeReferences(of: key.number) { noteOrphan(RowKey(child)) }
    }

    /// The number of a skeleton, which one more answer has now, unless it is the one that it had.
    func takeSkeleton(_ skeleton: Skeleton, insteadOf old: Int64?) throws(StoreError) -> Int64 {
        let taken = try cache.tables.take(skeleton, insteadOf: old)
        cache.state.totals.bytes += taken.added
        return taken.number
    }

    func giveBackSkeleton(_ number: Int64) throws(StoreError) {
        cache.state.totals.bytes -= try cache.tables.giveBack(number)
    }
}
