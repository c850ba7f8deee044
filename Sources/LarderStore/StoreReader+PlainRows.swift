package import LarderModel

extension StoreReader {
    /// Hands an id's row to `read` where that row alone is what its client sees.
    ///
    /// Then `state.db` has no word on the id before the cache, and the row is one that is shown as it lies, as
    /// that of nearly every hit: nothing here is generic or allocated. False where there is more to
    /// look at, or anything is wrong; whatever `read` was given then counts for nothing.
    package func plainRow(
        _ scope: ScopeKey,
        _ id: EntryID,
        now: Timestamp,
        _ read: (borrowing EntryRow) -> Void
    ) -> Bool {
        let moves = shared.claims.moves
        guard !readsState(scope, id), shared.claims.queueTotals.dead == 0 else {
            return false
        }
        do throws(StoreError) {
            guard let file = try openTransaction() else { return false }
            let get = file.get
            let first = RowKey(scope, id)
            get.bind(1, first.number)
            get.bind(2, first.last.number)
            defer { get.reset() }
            while try get.step() {
                guard get.isText(1, scope.text), get.isText(2, id.text) else { continue }
                let row = EntryRow(get, hasForm: true)
                guard row.isPlain(at: now) else { return false }
                read(row)
                if touches.touch(RowKey(get.integer(0)), at: shared.clock.tick()) { requestFlush() }
                // What has moved between the files meanwhile may be older here, or newer.
                return shared.claims.moves == moves
            }
            return false
        } catch {
            // Who looks at more meets it again.
            return false
        }
    }
}

extension EntryRow {
    /// Whether it is sound, and shown as it lies.
    fileprivate func isPlain(at now: Timestamp) -> Bool {
        switch kind {
        case .blob:
            if let end = freshUntil, end <= now { return false }
        case .fetched: break
        case .tombstone, .entity, .variants: return false
        }
        return skeleton == nil && isSound
    }
}
