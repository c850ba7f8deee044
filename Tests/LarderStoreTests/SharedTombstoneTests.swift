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

    @Test(
        "A pin that waits for a deleted shared row, and ends, leaves all users the tombstone",
        arguments: [false, true]
    )
    func waitingPin(isCrash: Bool) async throws {
        let told = try await store.put(.tombstone(shared, named("a")), now: .epoch).revision
        #expect(try await pin() == .waiting(isNew: true))
        try await store.maintain()
        #expect(try tombstone() == told, "it is no garbage while the pin waits")
        _ = try await store.pins.unpin(scope, named("a"), now: .epoch)
        if isCrash { try temporary.crash() }
        try await store.requireInvariants()
        try await store.maintain()
        #expect(!store.isDurable(shared, named("a")))
        #expect(try tombstone() == told)
        try await temporary.close()
    }

    @Test("A pin that has given up on a deleted shared row is held once that has bytes")
    func failedPin() async throws {
        let told = try await store.put(.tombstone(shared, named("a")), now: .epoch).revision
        _ = try await pin()
        let trouble = PinTrouble(deleted: 410)
        try await store.pins.setTrouble(scope, named("a"), .failed, trouble)
        try await store.maintain()
        #expect(try tombstone() == told)
        try await store.requireInvariants()
        try await temporary.answer("a", "[1]", in: shared)
        #expect(try await store.pins.pin(scope, named("a"))?.state == .held)
        try await store.requireInvariants()
        try await temporary.close()
    }

    @Test("A user from whom a deleted shared row is hidden does not see it after another one's pin")
    func waitingPinAndMark() async throws {
        try await temporary.answer("a", "[1]", in: shared)
        let other = store.key(for: Scope.several[2])
        var own = NewEntry.fetched(other, named("a"), "[2]")
        own.hidesShared = true
        let start = store.changes.published
        _ = try await store.put(own, now: .epoch)
        var late = NewEntry.tombstone(shared, named("a"))
        late.start = start
        _ = try await store.put(late, now: .epoch)
        #expect(try isHidden(from: other))
        _ = try await pin()
        _ = try await store.pins.unpin(scope, named("a"), now: .epoch)
        try await store.maintain()
        #expect(try tombstone() != nil && isHidden(from: other))
        try await temporary.close()
    }

    @Test("A write accepted after a pin has given up has the tombstone as its base")
    func written() async throws {
        _ = try await store.put(.tombstone(shared, named("a")), now: .epoch)
        _ = try await pin()
        _ = try await store.pins.unpin(scope, named("a"), now: .epoch)
        try await temporary.accept("one", "a", isOfSharedRow: true)
        #expect(try temporary.target("a")?.base == "deleted")
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

    @Test("A tombstone that is answered again has a later revision than an own row in front of it")
    func answeredAgain() async throws {
        _ = try await store.put(.tombstone(shared, named("a")), now: .epoch)
        let other = store.key(for: Scope.several[2])
        try await temporary.accept("one", "a", isOfSharedRow: true, in: other)
        var own = NewEntry.tombstone(scope, named("a"))
        own.hidesShared = true
        let seen = try await store.put(own, now: .epoch).revision
        #expect(try isHidden(from: scope))
        _ = try await store.put(.tombstone(shared, named("a")), now: .epoch)
        #expect(try !isHidden(from: scope))
        #expect(try #require(try tombstone()) > seen)
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

    private func isHidden(from user: ScopeKey) throws -> Bool {
        let reader = try store.makeReader()
        defer { reader.endTransaction() }
        return reader.isHidden(named("a"), in: shared, from: user)
    }
}
