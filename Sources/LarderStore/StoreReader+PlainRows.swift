package import LarderModel

extension StoreReader {
    /// Hands an id's row to `read` where that row alone is what its client sees.
    ///
    /// Then no modifier and no dead letter changes the id, and the row is one that is shown as it lies,
    /// as that of nearly every hit: nothing here is generic or allocated. False where there is more to
    /// look at, or anything is wrong; whatever `read` was given then counts for nothing.
    package func plainRow(
        _ scope: ScopeKey,
        _ id: EntryID,
        now: Timestamp,
        _ read: (borrowing EntryRow) -> Void
    ) -> Bool {
        let moves = shared.claims.moves
        guard mayBePlain(scope, id) else { return false }
        do throws(StoreError) {
            if shared.claims.covers(scope, id) {
                guard try plainSavedRow(scope, id, now: now, read), shared.claims.moves == moves
                else { return false }
                notes?.plain = (scope, id)
                return true
            }
            guard let file = try cache.openTransaction() else { return false }
            let key = RowKey(scope, id)
            defer { file.get.reset() }
            guard try file.find(key, scope, id) else { return false }
            let row = EntryRow(file.get)
            guard row.isPlain(at: now) else { return false }
            read(row)
            noteUse(of: key)
            // What has moved between the files meanwhile may be older here, or newer.
            guard shared.claims.moves == moves else { return false }
            notes?.plain = (scope, id)
            return true
        } catch {
            // Who looks at more meets it again.
            return false
        }
    }

    func mayBePlain(_ scope: ScopeKey, _ id: EntryID) -> Bool {
        (shared.claims.place(scope, id)?.targets ?? 0) == 0
            && !shared.claims.mayHaveDeadLetters(scope, id)
    }
}

extension EntryRow {
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
