import LarderModel
import LarderNormalize

/// Which rows refer to which entities, and the skeletons that say how.
extension CacheWriter {
    /// What references count against the budget, with their rows and those of the index.
    static func referencesSize(_ references: [Reference]) -> Int64 {
        Int64(
            references.reduce(0) { $0 + Limits.referenceOverheadBytes + $1.place.stored.count }
        )
    }

    /// Writes down what a row refers to now; of two entities with one hash what it says of both.
    func replaceReferences(
        of key: RowKey,
        _ references: [Reference],
        _ origin: OriginName,
        _ scope: ScopeKey
    ) throws(StoreError) {
        try dropReferences(of: key)
        for reference in references {
            let child = RowKey(scope, EntryID(EntityName(reference.key, of: origin)))
            statements.putReference.bind(1, child.number)
            statements.putReference.bind(2, key.number)
            statements.putReference.bind(3, reference.place.stored)
            try statements.putReference.run()
        }
    }

    /// Forgets what a row refers to; entities that nothing else refers to go later.
    func dropReferences(of key: RowKey) throws(StoreError) {
        let statement = statements.deleteReferences
        statement.bind(1, key.number)
        defer { statement.reset() }
        while try statement.step() {
            guard state.orphans.count < Limits.orphansMax else { continue }
            state.orphans.append(RowKey(statement.integer(0)))
        }
    }

    // MARK: Skeletons

    /// The number of a skeleton, which one more answer has now.
    ///
    /// Users share them, so they are the same when all of their bytes are.
    func takeSkeleton(_ skeleton: Skeleton) throws(StoreError) -> Int64 {
        let digest = skeleton.bytes.withUnsafeBytes { Checksum.digest($0) }
        let find = statements.findSkeleton
        find.bind(1, Int64(bitPattern: digest.high))
        find.bind(2, Int64(bitPattern: digest.low))
        find.bind(3, skeleton.bytes)
        defer { find.reset() }
        if try find.step() {
            let number = find.integer(0)
            statements.countSkeleton.bind(1, number)
            statements.countSkeleton.bind(2, Int64(1))
            try statements.countSkeleton.run()
            return number
        }
        let insert = statements.insertSkeleton
        insert.bind(1, Int64(bitPattern: digest.high))
        insert.bind(2, Int64(bitPattern: digest.low))
        insert.bind(3, skeleton.bytes)
        try insert.run()
        state.totals.bytes += Self.skeletonSize(Int64(skeleton.bytes.count))
        return connection.lastInsertedRow
    }

    /// One answer less has a skeleton, which goes with the last.
    func giveBackSkeleton(_ number: Int64) throws(StoreError) {
        statements.countSkeleton.bind(1, number)
        statements.countSkeleton.bind(2, Int64(-1))
        try statements.countSkeleton.run()
        statements.deleteSkeleton.bind(1, number)
        defer { statements.deleteSkeleton.reset() }
        guard try statements.deleteSkeleton.step() else { return }
        state.totals.bytes -= Self.skeletonSize(statements.deleteSkeleton.integer(0))
    }

    static func skeletonSize(_ bytes: Int64) -> Int64 { bytes + Int64(Limits.rowOverheadBytes) }

    // MARK: Sweeping

    /// Takes away some of the entities that nothing refers to any more and nobody has asked for by
    /// their keys.
    func sweepStep() throws(StoreError) {
        let batch = state.orphans.suffix(Limits.evictionBatchRowsMax)
        state.orphans.removeLast(batch.count)
        try flushTouches()
        var step: Revision?
        for orphan in Set(batch) where !shared.isProtected(orphan) {
            for key in try unreferred(orphan) {
                guard try evict(key, .lru, nil, &step) != nil else { continue }
                state.totals.evictions += 1
            }
        }
    }

    /// The rows of entities under a hash, where no row refers to it.
    private func unreferred(_ orphan: RowKey) throws(StoreError) -> [RowKey] {
        let statement = statements.unreferred
        statement.bind(1, orphan.first.number)
        statement.bind(2, orphan.last.number)
        defer { statement.reset() }
        var keys: [RowKey] = []
        while try statement.step() { keys.append(RowKey(statement.integer(0))) }
        return keys
    }
}
