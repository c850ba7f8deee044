import LarderModel
import LarderStore
import LarderTestSupport
import LarderWire
import Testing

@testable import LarderEngine

@Suite("Answers of requests that started earlier", .timeLimit(.minutes(5)), .engine)
struct ReadsInFlightTests {
    private let fixture = EngineFixture.running

    @Test(
        "An answer that arrives last does not replace one whose request started after its own",
        arguments: [ScriptedAnswer.json("[1]"), .reply(status: 404)]
    )
    func late(answer: ScriptedAnswer) async throws {
        let url = try fixture.url("/a")
        let gate = Gate()
        try await fixture.cache(url, .json("[0]", headers: ["ETag": "\"0\""]))
        fixture.upstream.answer(url, with: answer.held(by: gate), .json("[2]"))
        let older = fixture.start(url, .networkOnly)
        _ = try await fixture.upstream.asked.element(1)
        let newer = fixture.start(url, .networkOnly) {
            $0.headers.append("Accept-Language", "de")
        }
        #expect(try await newer.result().shape == ["network", "end network"])
        gate.open()
        let told = try #require(try await older.result().frames.first?.shown)
        let cached = try #require(try await fixture.cached(url).frames.first?.shown)
        #expect(told.text == "[2]" && cached.text == "[2]")
        #expect(cached.revision == told.revision)
    }

    @Test("Only a later request for the same row makes an answer late, and only while in flight")
    func order() async throws {
        let (order, scope) = (ReadsInFlight(), fixture.scope)
        let (a, b) = (try EntryID("https://a.example/a"), try EntryID("https://a.example/b"))
        let first = order.departed(a, in: scope)
        let second = order.departed(a, in: scope)
        let other = order.departed(b, in: scope)
        #expect(order.takesAnswer(of: other, for: b, in: scope))
        #expect(order.takesAnswer(of: second, for: a, in: scope))
        #expect(!order.takesAnswer(of: first, for: a, in: scope))
        #expect(order.takesAnswer(of: first, for: b, in: scope))
        order.finished(first)
        let third = order.departed(a, in: scope)
        #expect(order.takesAnswer(of: second, for: a, in: scope))
        #expect(order.takesAnswer(of: third, for: a, in: scope))
    }
}
