package import LarderModel
package import LarderStore
package import LarderWire

extension Entries {
    /// Everything that is known of an entry; nil when there is none, and none shows.
    ///
    /// Its members are those of what shows; of a row of which nothing shows, its own. Where `interest`
    /// has ended no more is worked out.
    package func explain(
        _ id: EntryID,
        _ scope: ScopeKey,
        interest: Interest = Interest()
    ) async throws(Problem) -> EntryExplanation? {
        let now = clock.now()
        let sight = context.sight(scope, id)
        let found = try await context.read { [context] reader throws(StoreError) -> Found? in
            let look = EntryReader(context: context, scope: scope, reader: reader, now: now)
            return try Found(id, sight, look, interest)
        }
        guard let found else { return nil }
        let scope = found.place
        var item = EntryListItem(found.entry, in: found.row, found.source, now: now)
        if scope.scope == .shared { item.scope = .shared }
        let holders = context.followers.holders(of: id, in: scope)
        let reasons = [
            store.pins.isPinned(scope, id) ? "pinned" : nil,
            store.modifiers.isTarget(scope, id) ? "targeted" : nil,
            store.protections(scope, id) > holders ? "in-flight" : nil,
            holders > 0 ? "followed" : nil,
        ].compactMap { $0 }
        var explanation = EntryExplanation(entry: found.entry, item: item, protectedBy: reasons)
        explanation.pending = found.pending
        explanation.form = try await form(of: found.entry, in: scope)
        return explanation
    }

    /// What is read of an entry, as of one commit.
    private struct Found {
        let entry: Entry
        let place: ScopeKey
        let row: ListedRow?
        var source = AnswerSource.cache
        var pending: PendingExplanation?

        init?(
            _ id: EntryID,
            _ sight: Sight,
            _ look: EntryReader,
            _ interest: Interest
        ) throws(StoreError) {
            guard !interest.isGivenUp else { return nil }
            var look = look
            look.isHead = true
            let (scope, reader, now) = (look.scope, look.reader, look.now)
            let target = try reader.targets.target(scope, id)
            let view = try look.view(of: id, in: sight) { row, _ in row.entry() }
            var found = try Self.row(id, scope, isTarget: target != nil, reader, now)
            let isOfShared = target.map(\.isOfSharedRow) ?? (found == nil)
            if isOfShared, let shared = sight.shared,
                !reader.isHidden(id, in: shared, from: scope)
            {
                found = try Self.row(id, shared, isTarget: false, reader, now)
            }
            place = found.map { reader.key(for: $0.scope) } ?? scope
            row = found
            guard let shown = view?.entry ?? found.flatMap({ $0.isBare ? nil : $0.entry }) else {
                return nil
            }
            entry = shown
            source = view?.source ?? .cache
            guard target != nil || view?.overlay.pending.isEmpty != true else { return }
            look.form = .base
            let base = try look.view(of: id, in: sight) { row, _ in ViewReport(row) }
            var told = PendingExplanation(count: 0, base: ViewReport(base), view: .unknown)
            if let target {
                told = try PendingExplanation(
                    of: target,
                    on: look.base(of: target).value,
                    id,
                    reader,
                    interest
                )
                told.base = ViewReport(base)
            }
            if let view { try told.take(view, in: scope, reader) }
            pending = told
        }

        private static func row(
            _ id: EntryID,
            _ scope: ScopeKey,
            isTarget: Bool,
            _ reader: StoreReader,
            _ now: Timestamp
        ) throws(StoreError) -> ListedRow? {
            guard let row = try reader.lists.row(scope, id), row.entry.kind != .variants,
                row.isPinned || isTarget || !row.entry.isExpired(at: now)
            else { return nil }
            return row
        }
    }
}
