import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("Two ids with one hash")
struct RowKeyTests {
    /// A store in which every id has the same hash.
    private func store() throws -> TemporaryStore {
        try TemporaryStore(configure: { $0.hashMask = 0 })
    }

    @Test("A group of ids with two hash values stores one id for each, and refuses the others")
    func group() async throws {
        let temporary = try TemporaryStore(configure: { $0.hashMask = 1 << 63 })
        let (store, scope) = (temporary.store, temporary.scope)
        let stored = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<16 {
                let new = NewEntry.fetched(scope, named("id \(number)"), "[1]")
                group.addTask { (try? await store.put(new, now: .epoch)) != nil }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(stored == 2)
        #expect(store.totals.entries == 2)
        #expect(store.totals.keysTaken == 14)
    }

    @Test("A durable row has its key in state.db, and a row of cache.db can have the same key")
    func durable() async throws {
        let temporary = try store()
        let store = temporary.store
        try await temporary.answer("a", "[1]")
        try await temporary.pin("b", from: OriginName("host"))
        try await temporary.answer("b", "[2]")
        #expect(try await temporary.text("b") == "[2]")
        #expect(try await temporary.text("a") == "[1]")
        try await temporary.answer("a", "[3]")
        #expect(try await temporary.text("a") == "[3]")
        try await store.requireInvariants()
    }

    @Test("Of two that are claimed both are read, also after a start")
    func bothClaimed() async throws {
        let temporary = try store()
        for name in ["a", "b"] {
            try await temporary.pin(name, from: OriginName("host"))
            try await temporary.answer(name, "[\"\(name)\"]")
        }
        try await temporary.accept("one", "a")
        func check() async throws {
            #expect(try temporary.target("a")?.base == "[\"a\"]")
            #expect(try await temporary.text("b") == "[\"b\"]")
        }
        try await check()
        try await temporary.store.maintain()
        try await check()
        try await temporary.reopen()
        try await check()
        try await temporary.store.maintain()
        try await check()
    }

    @Test("An answer whose entity has no row is not stored")
    func entity() async throws {
        let fixture = try AnswerFixture(configure: { $0.hashMask = 0 })
        await #expect(throws: StoreError.keyTaken) {
            try await fixture.put("page", #"{"__typename": "A", "id": 1}"#)
        }
        #expect(try await fixture.shown("page") == "miss")
        #expect(fixture.store.totals.entries == 0)
        #expect(fixture.store.totals.bytes == 0)
    }
}
