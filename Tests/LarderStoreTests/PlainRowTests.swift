import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("Rows that are shown as they lie")
struct PlainRowTests {
    private func isPlain(
        _ temporary: TemporaryStore,
        _ id: String,
        now: Timestamp = .epoch
    ) throws -> Bool {
        let loop = try temporary.store.makeReader()
        defer { loop.endTransaction() }
        return loop.plainRow(temporary.scope, named(id), now: now) { _ in }
    }

    @Test("A blob within its ttl is, and an answer kept whole; what is put together is not")
    func kinds() async throws {
        let answers = try AnswerFixture()
        let temporary = answers.temporary
        try await temporary.put("blob", [1])
        try await temporary.put("brief", [1], ttl: Timestamp(milliseconds: 10))
        try await temporary.answer("https://a/1", "{}")
        try await answers.put("list", #"[{"type":"User","id":1,"name":"Ada"}]"#)
        for id in ["blob", "brief", "https://a/1"] {
            #expect(try isPlain(temporary, id), "\(id)")
        }
        #expect(try !isPlain(temporary, "brief", now: Timestamp(milliseconds: 10)))
        for id in ["list", "nothing"] { #expect(try !isPlain(temporary, id), "\(id)") }
        try await temporary.close()
    }

    @Test("What is pinned is, also a large one, and after a start")
    func pinned() async throws {
        let temporary = try TemporaryStore()
        try await temporary.put("small", [1])
        _ = try await temporary.store.pins.pin(
            temporary.scope,
            named("small"),
            origin: nil,
            now: .epoch
        )
        try await temporary.upload("large", .pattern(200_000))
        _ = try await temporary.store.pins.pin(
            temporary.scope,
            named("large"),
            origin: nil,
            now: .epoch
        )
        for id in ["small", "large"] { #expect(try isPlain(temporary, id), "\(id)") }
        try temporary.crash()
        for id in ["small", "large"] { #expect(try isPlain(temporary, id), "\(id)") }
        #expect(try await temporary.store.pins.unpin(temporary.scope, named("small"), now: .epoch))
        #expect(try isPlain(temporary, "small"))
        try await temporary.store.maintain()
        #expect(try isPlain(temporary, "small"))
        try await temporary.close()
    }

    @Test("What modifiers target is not, nor what dead letters do")
    func modifiers() async throws {
        let temporary = try TemporaryStore()
        for id in ["https://a/1", "https://a/2"] { try await temporary.answer(id, "{}") }
        let number = try await temporary.accept("m-1", "https://a/2")
        #expect(try isPlain(temporary, "https://a/1"))
        #expect(try !isPlain(temporary, "https://a/2"))
        try await temporary.store.modifiers.buryUnreadable([number], now: .epoch)
        #expect(try isPlain(temporary, "https://a/1"))
        #expect(try !isPlain(temporary, "https://a/2"))
        try await temporary.close()
    }

    @Test("A damaged row is not, which is left to be counted once")
    func damaged() async throws {
        let temporary = try TemporaryStore()
        try await temporary.put("blob", [1, 2, 3])
        try await temporary.damage("UPDATE entry SET data = zeroblob(length(data))")
        #expect(try !isPlain(temporary, "blob"))
        #expect(temporary.store.totals.damaged == 0)
        try await temporary.close()
    }
}
