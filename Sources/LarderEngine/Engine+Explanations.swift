import LarderJSON
package import LarderModel
package import LarderStore
package import LarderWire

/// Entries with everything that is known of them.
extension Engine {
    /// Everything that is known of an entry; nil when there is none, and none shows.
    ///
    /// With modifiers that touch it, its members are those of its base where it has one.
    package func explain(
        _ id: EntryID,
        _ scope: ScopeKey
    ) async throws(Problem) -> EntryExplanation? {
        let now = clock.now()
        let sight = context.sight(scope, id)
        let found: Found?
        do throws(StoreError) {
            found = try await store.read { reader throws(StoreError) in
                try Found(id, sight, reader, now)
            }
        } catch {
            throw Problem(error)
        }
        guard let found else { return nil }
        let scope = found.place
        var item = EntryListItem(
            entry: found.entry,
            accountedBytes: found.accountedBytes,
            lastUsed: found.lastUsed,
            isPinned: found.isPinned,
            now: now
        )
        if scope.scope == .shared { item.scope = .shared }
        let holders = followers.holders(of: id, in: scope)
        let reasons = [
            store.isPinned(scope, id) ? "pinned" : nil,
            store.isTargeted(scope, id) ? "targeted" : nil,
            store.protections(scope, id) > holders ? "in-flight" : nil,
            holders > 0 ? "followed" : nil,
        ].compactMap { $0 }
        var explanation = EntryExplanation(entry: found.entry, item: item, protectedBy: reasons)
        explanation.pending = found.pending
        do throws(StoreError) {
            explanation.form = try await form(of: found.entry, in: scope)
        } catch {
            throw Problem(error)
        }
        return explanation
    }

    /// What is read of an entry, as of one commit.
    private struct Found {
        let entry: Entry
        /// Where its row stands.
        let place: ScopeKey
        var accountedBytes: Int64 = 0
        var lastUsed: Int64 = 0
        var isPinned = false
        var pending: PendingExplanation?

        init?(
            _ id: EntryID,
            _ sight: Sight,
            _ reader: StoreReader,
            _ now: Timestamp
        ) throws(StoreError) {
            let scope = sight.own
            let target = try reader.target(scope, id)
            var found = try Self.row(id, scope, isTarget: target != nil, reader, now)
            if found == nil, target == nil, let shared = sight.shared {
                found = try Self.row(id, shared, isTarget: false, reader, now)
            }
            place = found.map { reader.key(for: $0.scope) } ?? scope
            if let row = found {
                entry = row.entry
                accountedBytes = row.size
                lastUsed = row.lastUsed
                isPinned = row.isPinned
            } else {
                guard let target,
                    let shown = try ShownEntry(id, target, in: scope, reader).entry
                else { return nil }
                entry = shown
            }
            pending = try target.map { target throws(StoreError) in
                try PendingExplanation(of: target, id, reader)
            }
        }

        private static func row(
            _ id: EntryID,
            _ scope: ScopeKey,
            isTarget: Bool,
            _ reader: StoreReader,
            _ now: Timestamp
        ) throws(StoreError) -> ListedRow? {
            guard let row = try reader.row(scope, id), row.entry.kind != .variants,
                row.isPinned || isTarget || !row.entry.isExpired(at: now)
            else { return nil }
            return row
        }
    }
}

extension PendingExplanation {
    /// Views are told one after the other until they are too much in all.
    init(
        of target: Target,
        _ id: EntryID,
        _ reader: StoreReader
    ) throws(StoreError) {
        let changes = target.changes
        let effects = changes.map(\.known)
        let values = TargetValues(target.base, of: id, effects)
        let base = values.content
        let whole = View.of(base, effects)
        self.init(
            count: changes.count,
            base: try ViewReport(View.of(base, []), of: target, values, [], reader),
            view: try ViewReport(whole, of: target, values, changes, reader)
        )
        let leftOut = Dictionary(
            whole.leftOut.map { ($0.place, $0.reason.message) },
            uniquingKeysWith: { first, _ in first }
        )
        var room = Limits.explainedViewBytesMax - self.base.byteCount - view.byteCount
        for (place, change) in changes.prefix(Limits.toldPendingMax).enumerated() {
            guard let id = try? ModifierID(change.modifier) else { continue }
            var step = Step(id: id, state: change.state, effect: effects[place].typeName)
            step.inapplicable = leftOut[place]
            let through = Array(changes[...place])
            if room > 0 {
                let view = View.of(base, effects[...place])
                step.after = try ViewReport(view, of: target, values, through, reader)
                room -= step.after?.byteCount ?? 0
            }
            if room > 0, changes.count <= Limits.toldPendingMax {
                var others = changes
                others.remove(at: place)
                let view = View.of(base, others.map(\.known))
                step.without = try ViewReport(view, of: target, values, others, reader)
                room -= step.without?.byteCount ?? 0
            }
            steps.append(step)
        }
    }
}

extension ViewReport {
    /// What changes make of a target, in words of the wire.
    init(
        _ view: View,
        of target: Target,
        _ values: TargetValues,
        _ changes: [OpenChange],
        _ reader: StoreReader
    ) throws(StoreError) {
        switch view.content {
        case .unknown: self = .unknown
        case .deleted: self = .deleted
        case .json(let value):
            self = .json(values.bytes(value), isComplete: view.isComplete)
        case .base:
            switch target.base {
            case .unknown: self = .unknown
            case .deleted: self = .deleted
            case .value(_, let bytes?): self = .json(bytes, isComplete: true)
            case .value(let entry, nil): self = .bytes(entry.body.byteCount)
            case .entity:
                guard case .json(let value) = values.content else {
                    self = values.content == .deleted ? .deleted : .unknown
                    return
                }
                self = .json(values.bytes(value), isComplete: true)
            }
        case .body(let place):
            self = .bytes(try reader.requestBody(of: changes[place].number)?.bytes.count ?? 0)
        }
    }

    /// What it takes in an answer, about.
    fileprivate var byteCount: Int {
        switch self {
        case .unknown, .deleted, .bytes: 32
        case .json(let bytes, _): bytes.count + 32
        }
    }
}
