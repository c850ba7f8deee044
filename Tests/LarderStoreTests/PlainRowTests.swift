import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("Rows that are shown as stored")
struct PlainRowTests {
    private let temporary = TemporaryStore.new()

    private func isPlain(
        _ temporary: TemporaryStore,
        _ id: String,
        now: Timestamp = .epoch
    ) throws -> Bool {
        let loop = try temporary.store.makeReader()
        defer { loop.endTransaction() }
        return loop.fastPathRow(temporary.scope, named(id), now: now) { _ in }
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
    }

    @Test("Pinned rows are plain, also large ones, and after a start")
    func pinned() async throws {
        try await temporary.put("small", [1])
        try await temporary.pin("small")
        try await temporary.upload("large", .pattern(200_000))
        try await temporary.pin("large")
        for id in ["small", "large"] { #expect(try isPlain(temporary, id), "\(id)") }
        try temporary.crash()
        for id in ["small", "large"] { #expect(try isPlain(temporary, id), "\(id)") }
        #expect(try await temporary.unpin("small"))
        #expect(try isPlain(temporary, "small"))
        try await temporary.store.maintain()
        #expect(try isPlain(temporary, "small"))
    }

    @Test("A damaged row is not, which is left to be counted once")
    func damaged() async throws {
        try await temporary.put("blob", [1, 2, 3])
        try await temporary.damage("UPDATE entry SET data = zeroblob(length(data))")
        #expect(try !isPlain(temporary, "blob"))
        #expect(temporary.store.totals.damaged == 0)
    }
}
