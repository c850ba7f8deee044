import Glibc
package import LarderModel

extension StoreReader {
    /// Runs reads that see one moment: no commit comes between them (rule: no torn tree).
    ///
    /// The reads see one commit of `state.db`, from their first look on. They run again in two
    /// cases:
    ///
    /// - A file had a group by then that was not published in memory.
    /// - An id moved between the files.
    ///
    /// For another run the reader first opens both files, until neither is ahead. `state.db` then
    /// decides for every durable row, so that no settlement makes the reads run once more.
    package func inConsistentSnapshot<Value>(
        _ work: () throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        guard cache.hold == .none else { return try work() }
        var round = 0
        while true {
            let moves = shared.residency.moves
            let released = shared.changes.published
            (cache.hold, looksIntoState) = (.begun, round > 0)
            defer {
                (cache.hold, looksIntoState) = (.none, false)
                letStateGo()
                round += 1
            }
            let isLast = round >= Limits.momentRoundsMax
            if round > 0, !isLast, isAhead(of: released, opening: true) {
                try waitForWriter(round)
                continue
            }
            let value = try work()
            let now = shared.residency.moves
            let isOne =
                round > 0
                ? now.removals == moves.removals
                : now == moves && !isAhead(of: released, opening: false)
            if isOne || isLast { return value }
        }
    }

    /// The writer is between its two commits, and about to be done.
    ///
    /// An event loop looks a few times only, and then lets another thread read.
    private func waitForWriter(_ round: Int) throws(StoreError) {
        if round < Limits.yieldedRoundsMax {
            sched_yield()
        } else if loopBudget.isBounded {
            throw .overLoopBudget
        } else {
            usleep(100)
        }
    }

    /// Whether a file that is read has steps of a group that is not published.
    ///
    /// With `opening`, the reader opens both files now. Otherwise it asks only files that are open.
    private func isAhead(of released: Revision, opening: Bool) -> Bool {
        if shared.residency.isEmpty { return false }
        do throws(StoreError) {
            let state = opening ? try stateReader() : heldState
            guard let state else { return false }
            // If nothing was read of the cache yet, the cache has no moment to compare.
            guard opening || cache.hold == .held else { return try state.lastStep() > released }
            let last = try cache.reading { file throws(StoreError) in try file.lastStep() }
            return try max(state.lastStep(), last ?? Revision(0)) > released
        } catch {
            // The next read meets the error.
            return false
        }
    }

    /// Hands an id's row to `read` if that row alone is what its client sees.
    ///
    /// Then no modifier and no dead letter changes the id, and the client sees the row as stored.
    /// Nearly every hit is like that, so nothing here is generic or allocated. If the result is
    /// false, there is more to read or a read failed, and the caller drops what `read` was given.
    package func fastPathRow(
        _ scope: ScopeKey,
        _ id: EntryID,
        now: Timestamp,
        _ read: (borrowing EntryRow) -> Void
    ) -> Bool {
        let moves = shared.residency.moves
        guard mayUseFastPath(scope, id) else { return false }
        do throws(StoreError) {
            if shared.residency.covers(scope, id) {
                guard try plainSavedRow(scope, id, now: now, read), shared.residency.moves == moves
                else { return false }
                notes?.plain = (scope, id)
                return true
            }
            guard let file = try cache.openTransaction() else { return false }
            let key = RowKey(scope, id)
            defer { file.get.reset() }
            guard try file.find(key, scope, id) else { return false }
            let row = EntryRow(file.get)
            guard row.kind == .blob || row.kind == .fetched, !row.isExpired(at: now),
                row.skeleton == nil, row.isComplete, row.isSound
            else { return false }
            read(row)
            noteUse(of: key)
            // A row that moved between the files meanwhile may be older or newer here.
            guard shared.residency.moves == moves else { return false }
            notes?.plain = (scope, id)
            return true
        } catch {
            // The full read meets the error again.
            return false
        }
    }

    func mayUseFastPath(_ scope: ScopeKey, _ id: EntryID) -> Bool {
        (shared.residency.place(scope, id)?.targets ?? 0) == 0
            && !shared.residency.mayHaveDeadLetters(scope, id)
    }
}
