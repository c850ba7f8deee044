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
        for (child, members) in try writtenReferences(of: key) {
            if let now = wanted[child] {
                if now == members { wanted[child] = nil }
                continue
            }
            try statements[.deleteReference].run(child, key.number)
            noteOrphan(RowKey(child))
        }
        for (child, members) in wanted {
            try statements[.putReference].run(child, key.number, members)
        }
    }

    private func writtenReferences(of key: RowKey) throws(StoreError) -> [(Int64, [UInt8])] {
        let statement = statements[.references]
        statement.bind(1, key.number)
        defer { statement.reset() }
        var written: [(Int64, [UInt8])] = []
        while try statement.step() {
            written.append((statement.integer(0), Array(statement.bytes(1))))
        }
        return written
    }

    private func noteOrphan(_ child: RowKey) {
        if state.orphans.count < Limits.orphansMax { state.orphans.append(child) }
    }

    /// Forgets what a row refers to; entities that nothing else refers to go later.
    func dropReferences(of key: RowKey) throws(StoreError) {
        let statement = statements[.deleteReferences]
        statement.bind(1, key.number)
        defer { statement.reset() }
        while try statement.step() {
            noteOrphan(RowKey(statement.integer(0)))
        }
    }

    // MARK: Skeletons

    /// The number of a skeleton, which one more answer has now, unless it is the one that it had.
    ///
    /// Users share them, so they are the same when all of their bytes are.
    func takeSkeleton(
        _ skeleton: Skeleton,
        insteadOf old: Int64?
    ) throws(StoreError) -> Int64 {
        let digest = skeleton.bytes.withUnsafeBytes { Checksum.digest($0) }
        let find = statements[.findSkeleton]
        find.bind(1, Int64(bitPattern: digest.high))
        find.bind(2, Int64(bitPattern: digest.low))
        find.bind(3, skeleton.bytes)
        defer { find.reset() }
        if try find.step() {
            let number = find.integer(0)
            if number == old { return number }
            try statements[.countSkeleton].run(number, 1)
            return number
        }
        let insert = statements[.insertSkeleton]
        insert.bind(1, Int64(bitPattern: digest.high))
        insert.bind(2, Int64(bitPattern: digest.low))
        insert.bind(3, skeleton.bytes)
        try insert.run()
        state.totals.bytes += Self.skeletonSize(Int64(skeleton.bytes.count))
        return connection.lastInsertedRow
    }

    /// One answer less has a skeleton, which goes with the last.
    func giveBackSkeleton(_ number: Int64) throws(StoreError) {
        try statements[.countSkeleton].run(number, -1)
        statements[.deleteSkeleton].bind(1, number)
        defer { statements[.deleteSkeleton].reset() }
        guard try statements[.deleteSkeleton].step() else { return }
        state.totals.bytes -= Self.skeletonSize(statements[.deleteSkeleton].integer(0))
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
            guard try isUnreferred(orphan), try evict(orphan, .lru, nil, &step) else {
                continue
            }
            state.totals.evictions += 1
        }
    }

    /// Whether it is the row of an entity to which no row refers.
    private func isUnreferred(_ key: RowKey) throws(StoreError) -> Bool {
        let statement = statements[.unreferred]
        statement.bind(1, key.number)
        defer { statement.reset() }
        return try statement.step()
    }
}
