import LarderModel
import LarderTestSupport

@testable import LarderStore

/// Reads everything of `state.db` by every way there is, as the daemon does it.
struct StateReading {
    private let temporary: TemporaryStore
    private var store: Store { temporary.store }

    init(_ temporary: TemporaryStore) {
        self.temporary = temporary
    }

    func all() async throws(StoreError) {
        try await queue()
        for scope in Scope.several {
            let key = store.key(for: scope)
            try await rows(of: .one(key))
            try await pins(of: key)
            try await modifiers(of: key)
            try await views(of: key)
            try await log(of: scope)
        }
        try await rows(of: .all)
        try await rows(of: .user(1_000))
        _ = try store.offlineOrigins()
        _ = (
            store.modifiers.totals.unsettled, store.modifiers.totals.isNearlyFull, store.pins.totals
        )
        _ = (store.files.warnings, store.files.asideSets, store.totals)
    }

    /// As at start: what nobody can read becomes a dead letter.
    private func queue() async throws(StoreError) {
        var last: ModifierNumber?
        while true {
            let page = try await store.modifiers.unsettled(after: last, limit: 2) { _ in true }
            guard let end = page.last else { break }
            last = end.number
            let lost = page.filter { $0.readable == nil }.map(\.number)
            if !lost.isEmpty { try await store.modifiers.failUnreadable(lost, now: .epoch) }
        }
        let lanes = try await store.modifiers.pausedLanes()
        _ = lanes.map(\.lane.description)
        _ = try await store.modifiers.oldestAcceptedAt()?.rfc3339
        var after: Int64 = 0
        while let end = try await store.pins.wanted(after: after).last { after = end.number }
    }

    private func modifiers(of scope: ScopeKey) async throws(StoreError) {
        var filters = [ModifierFilter(.one(scope)), ModifierFilter(.all)]
        for state in ModifierState.allCases {
            var filter = ModifierFilter(.one(scope))
            filter.state = state
            filters.append(filter)
        }
        var ofTarget = ModifierFilter(.one(scope))
        ofTarget.target = named("a")
        for filter in filters + [ofTarget] {
            var last: ModifierNumber?
            while true {
                let page = try await store.modifiers.page(filter, after: last, limit: 3)
                guard let end = page.last else { break }
                last = end.number
                for found in page { try await modifier(found, scope) }
            }
        }
        var before: Int64?
        while let end = try await store.modifiers.history(
            of: .one(scope),
            before: before,
            limit: 2
        ).last {
            _ = try await store.modifiers.settled(end.number, of: scope)
            _ = (end.settledAt.rfc3339, end.acceptedAt.rfc3339)
            before = end.place
        }
    }

    private func modifier(_ found: FoundModifier, _ scope: ScopeKey) async throws(StoreError) {
        _ = try await store.modifiers.whole(found.number)
        _ = try await store.modifiers.withTargets(found.number)
        guard let modifier = found.readable else { return }
        _ = (modifier.acceptedAt.rfc3339, modifier.isRepeat)
        _ = try await store.modifiers.number(modifier.id, of: scope)
        _ = try await store.read { reader throws(StoreError) in
            try reader.targets.requestBody(of: modifier.number)?.bytes
        }
    }

    private func pins(of scope: ScopeKey) async throws(StoreError) {
        var last: String?
        while let end = try await store.pins.page(of: scope, after: last, limit: 2).last {
            _ = try await store.pins.pin(scope, end.id)
            _ = (end.pinnedAt.rfc3339, end.entry?.rowSize(in: scope, isChunked: true))
            last = end.id.text
        }
    }

    private func rows(of scopes: RowScopes) async throws(StoreError) {
        for order in RowOrder.allCases {
            var last: RowCursor?
            while true {
                let after = last
                let page = try await store.read { reader throws(StoreError) in
                    try reader.lists.page(RowFilter(scopes), order: order, after: after, limit: 4)
                }
                guard let end = page.last, end.cursor(order) != last else { break }
                last = end.cursor(order)
                _ = page.reduce(0) { $0 + $1.size }
            }
        }
        _ = try await store.read { reader throws(StoreError) in
            _ = try reader.lists.candidates(RowFilter(scopes), after: nil, limit: 100)
            _ = try reader.usage.of(scopes)
            return try reader.lists.claimRows(RowFilter(scopes), after: nil, limit: 100).count
        }
    }

    private func views(of scope: ScopeKey) async throws(StoreError) {
        let ids = ["a", "b", "c", "large", "waiting", "none"].map(named)
        for id in ids {
            _ = try await store.read { reader throws(StoreError) in
                let base = try reader.targets.target(scope, id)?.base.text
                let dead = try reader.targets.deadLetters(scope, id)
                let row = try reader.lists.claimRow(scope, id)?.size
                return "\(base ?? "") \(dead) \(row ?? 0)"
            }
            do throws(StoreError) {
                _ = try await store.bytes(scope, id)
            } catch .badChunk {
                // A part of its bytes is damaged: the next read finds nothing.
            }
        }
        _ = try await store.read { reader throws(StoreError) in
            for id in ids {
                _ = try reader.answers.shownRow(scope, id, for: .view(of: scope), now: .epoch) {
                    _ in ()
                }
                _ = try reader.targets.deadLetters(scope, id)
            }
            return try reader.lists.page(RowFilter(.one(scope)), order: .id, after: nil, limit: 10)
                .count
        }
    }

    private func log(of scope: Scope) async throws(StoreError) {
        let last = store.changes.published
        var first = min(store.changes.start, last)
        while first < last {
            guard let page = try await store.changes(after: first, through: last, of: scope),
                page.through > first
            else { return }
            first = page.through
        }
    }
}
