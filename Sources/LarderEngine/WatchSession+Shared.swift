import LarderModel
import LarderStore
import LarderStrategy
import LarderWire

/// What a watcher sees of everybody's rows: those that no row of its own stands before (case 29).
extension WatchSession {
    /// Those of some notices that the watcher sees, as it sees them.
    ///
    /// A change of a shared row is none where a row of its own has stood before that since; one of
    /// those that goes lets the shared row be seen. What cannot be looked up is told.
    func seen(_ notices: [WatchMachine.Notice]) async -> [WatchMachine.Notice] {
        let ids = Set(notices.compactMap { sharedID(in: $0) })
        guard !ids.isEmpty || !command.wants(.evict) else { return notices }
        var rows: [EntryID: Rows] = [:]
        do throws(StoreError) {
            if !ids.isEmpty { rows = try await self.rows(of: ids) }
        } catch {
            context.noteUnread(error)
        }
        var seen: [WatchMachine.Notice] = []
        for notice in notices {
            if let shown = self.notice(notice, rows), isWanted(shown) {
                seen.append(shown)
            } else if !notice.hasMore, let last = seen.indices.last,
                seen[last].revision == notice.revision
            {
                seen[last].hasMore = false
            }
        }
        return seen
    }

    /// Evictions come also where none are asked for, as they may let a shared row be seen.
    private func isWanted(_ notice: WatchMachine.Notice) -> Bool {
        guard case .change(let change, _) = notice.content, case .evict = change.event else {
            return true
        }
        return command.wants(.evict)
    }

    /// The id where it hangs on both rows what is told.
    private func sharedID(in notice: WatchMachine.Notice) -> EntryID? {
        guard case .change(let change, _) = notice.content, let id = change.id else { return nil }
        if change.scope == .shared { return isWanted(notice) ? id : nil }
        guard case .evict = change.event, command.wants(.put), context.sharedScope(of: id) != nil
        else { return nil }
        return id
    }

    private struct Rows: Sendable {
        var own: Revision?
        /// The shared one's kind; nil for none that anybody sees.
        var shared: EntryKind?
        var isOfSharedOrigin: Bool
    }

    private func rows(of ids: Set<EntryID>) async throws(StoreError) -> [EntryID: Rows] {
        let now = context.clock.now()
        let sights = ids.map { (id: $0, sight: context.sight(scope, $0)) }
        return try await context.store.read { reader throws(StoreError) in
            var rows: [EntryID: Rows] = [:]
            for (id, sight) in sights {
                let own = try reader.entry(sight.own, id, now: now)
                var found = Rows(own: own?.revision, isOfSharedOrigin: sight.shared != nil)
                if let shared = sight.shared, !reader.isHidden(id, in: shared, from: sight.own) {
                    found.shared = try reader.entry(shared, id, now: now)?.kind
                }
                rows[id] = found
            }
            return rows
        }
    }

    private func notice(
        _ notice: WatchMachine.Notice,
        _ rows: [EntryID: Rows]
    ) -> WatchMachine.Notice? {
        guard case .change(let change, let coalesced) = notice.content, let id = change.id,
            sharedID(in: notice) != nil, let found = rows[id]
        else { return notice }
        guard change.scope == .shared else { return revealed(notice, change, id, found) }
        // A later put stands for those before it, and one of them may be of its own row.
        guard let own = found.own else { return found.isOfSharedOrigin ? notice : nil }
        let isOlder = own < change.revision && (coalesced == 1 || own <= handedOut)
        return isOlder ? nil : notice
    }

    /// A row of its own has gone: what it sees now is the shared one, where there is one.
    private func revealed(
        _ notice: WatchMachine.Notice,
        _ change: Change,
        _ id: EntryID,
        _ found: Rows
    ) -> WatchMachine.Notice {
        guard found.own == nil, found.shared == .fetched, command.wants(.put) else { return notice }
        var notice = notice
        var told = change
        told.event = .put(id, ChangeCause(.network, client: change.client))
        notice.content = .change(told, coalesced: 1)
        return notice
    }
}
