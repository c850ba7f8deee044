import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("Shared rows that their origin has deleted")
struct SharedTombstoneTests {
    private let temporary: TemporaryStore
    private var store: Store { temporary.store }
    private var scope: ScopeKey { temporary.scope }
    private var shared: ScopeKey { store.key(for: .shared) }

    init() throws { temporary = try TemporaryStore() }

    @Test("A pin that waits for a deleted shared row leaves its tombstone to all users")
    func waitingPin() async throws {
        let told = try await store.put(.tombstone(shared, named("a")), now: .epoch).revision
        #expect(try await pin() == .waiting(isNew: true))
        try await store.maintain()
        #expect(try tombstone() == told, "it is no garbage while the pin waits")
        try await store.requireInvariants()
        try await temporary.close()
    }

    @Test("A private 404 is a row of its user, who sees no shared row from then on")
    func privateTombstone() async throws {
        try await temporary.answer("a", "[1]", in: shared)
        try await temporary.accept("one", "a", isOfSharedRow: true)
        _ = try await store.put(.tombstone(scope, named("a")), now: .epoch)
        #expect(try temporary.target("a")?.base == "deleted")
        #expect(!store.keepsShared(scope, named("a")))
        try await store.requireInvariants()
        try await temporary.close()
    }

    @Test("An answer that a pinned shared row is deleted ends a confirmed write of its user")
    func answered() async throws {
        try await temporary.answer("a", "[1]", in: shared)
        #expect(try await pin() == .held(isNew: true))
        let number = try await temporary.accept("one", "a", isOfSharedRow: true)
        try await temporary.confirm(number)
        #expect(try temporary.target("a")?.1 == ["one"])
        _ = try await store.put(.tombstone(shared, named("a")), now: .epoch)
        #expect(try await store.modifiers.settled(number, of: scope) != nil)
        #expect(try await store.pins.pin(scope, named("a"))?.state == .gone)
        try await store.requireInvariants()
        try await temporary.close()
    }

    @Test("A pin or a write without cache.db takes no shared row, as an own one may be newer")
    func withoutCache() async throws {
        let other = store.key(for: Scope.several[2])
        for id in ["a", "b"] {
            try await temporary.answer(id, "[1]", in: shared)
            try await temporary.accept("kept-\(id)", id, isOfSharedRow: true, in: other)
            try await temporary.answer(id, "[2]")
        }
        let (name, origin) = (TargetName(scope, named("a")), try OriginName("host"))
        let new = NewModifier.changing(["b"], "one", scope, isOfSharedRow: true)
        try await store.commits.submit { writer throws(StoreError) in
            try writer.leavingOutCache { () throws(StoreError) in
                _ = try writer.pinning.pin(name, origin: origin, adoptsShared: true, now: .epoch)
                _ = try writer.accepting.accept([new], now: .epoch)
            }
        }
        #expect(try await store.pins.pin(scope, named("a"))?.state == .waiting)
        #expect(try temporary.target("b")?.base == nil)
        try await store.requireInvariants()
        try await temporary.close()
    }

    private func pin() async throws -> PinOutcome {
        try await store.pins.pin(
            scope,
            named("a"),
            origin: OriginName("host"),
            adoptsShared: true,
            now: .epoch
        )
    }

    /// The revision of the shared tombstone; nil where there is none.
    private func tombstone() throws -> Revision? {
        let reader = try store.makeReader()
        defer { reader.endTransaction() }
        let entry = try reader.entry(shared, named("a"), now: .epoch)
        return entry?.kind == .tombstone ? entry?.revision : nil
    }
}
