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

    private func pin(_ id: String, in temporary: TemporaryStore) async throws {
        let origin = try OriginName("host")
        let (pins, scope) = (temporary.store.pins, temporary.scope)
        _ = try await pins.pin(scope, named(id), origin: origin, now: .epoch)
    }

    @Test("The second is not stored, which is counted; the first stays as it is")
    func second() async throws {
        let temporary = try store()
        let (store, scope) = (temporary.store, temporary.scope)
        try await temporary.answer("a", "[1]")
        await #expect(throws: StoreError.keyTaken) { try await temporary.answer("b", "[2]") }
        #expect(try await temporary.text("a") == "[1]")
        #expect(try await temporary.text("b") == nil)
        #expect(store.totals.keysTaken == 1)
        #expect(try await store.delete(scope, named("b")) == nil)
        #expect(try await temporary.text("a") == "[1]")
        _ = try await store.delete(scope, named("a"))
        try await temporary.answer("b", "[2]")
        #expect(try await temporary.text("b") == "[2]")
        #expect(try await temporary.text("a") == nil)
        #expect(store.totals.entries == 1)
        try await temporary.close()
    }

    @Test("It is refused among others that are stored, which each are once")
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
        try await temporary.close()
    }

    @Test("What is claimed has its place in state.db, beside a row of the same key in cache.db")
    func durable() async throws {
        let temporary = try store()
        let store = temporary.store
        try await temporary.answer("a", "[1]")
        try await pin("b", in: temporary)
        try await temporary.answer("b", "[2]")
        #expect(try await temporary.text("b") == "[2]")
        #expect(try await temporary.text("a") == "[1]")
        try await temporary.answer("a", "[3]")
        #expect(try await temporary.text("a") == "[3]")
        try await store.requireInvariants()
        try await temporary.close()
    }

    @Test("Of two that are claimed both are read, also after a start")
    func bothClaimed() async throws {
        let temporary = try store()
        for name in ["a", "b"] {
            try await pin(name, in: temporary)
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
        try await temporary.close()
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
        try await fixture.temporary.close()
    }
}
