import LarderAPI
import LarderModel
import LarderStrategy
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

@Suite("Bodies that come slowly", .timeLimit(.minutes(5)))
struct SlowBodyTests {
    private let url = EngineFixture.firstURL
    private let gates = (0..<4).map { _ in Gate() }

    /// A body whose first piece comes immediately, and one more after each gate.
    private var answer: ScriptedAnswer {
        let rest = gates.flatMap { [ScriptedAnswer.Piece.hold($0), .bytes(Array("1".utf8))] }
        return .reply(
            pieces: [.bytes(Array("[".utf8))] + rest + [.bytes(Array("]".utf8))],
            200,
            ["Content-Type": "application/json"]
        )
    }

    private func run(
        timeout: Duration,
        _ body: @escaping @Sendable (EngineFixture) async throws -> Void
    ) async throws {
        try await EngineFixture.run(.with { $0.origin.fetch.timeout = timeout }) { fixture in
            fixture.upstream.answer(url, with: answer)
            try await body(fixture)
        }
    }

    /// Lets time pass before each of these pieces.
    private func pass(
        _ pieces: Range<Int>,
        after time: Duration,
        _ fixture: EngineFixture
    ) async throws {
        for index in pieces {
            _ = try await fixture.upstream.held.element(index)
            fixture.clock.advance(by: time)
            gates[index].open()
        }
    }

    @Test("A body is fetched as long as its bytes arrive, and a client without a timeout waits")
    func slow() async throws {
        try await run(timeout: .seconds(5)) { fixture in
            let fetch = fixture.start(url)
            try await pass(0..<4, after: .seconds(4), fixture)
            #expect(try await fetch.result().shape == ["network", "end network"])
            #expect(fixture.upstream.asked.all.count == 1)
        }
    }

    @Test("The timeout of a client ends its wait, and a later client joins the same request")
    func ownTimeout() async throws {
        try await run(timeout: .seconds(5)) { fixture in
            let first = fixture.start(url) { $0.timeout = .seconds(5) }
            try await pass(0..<2, after: .seconds(4), fixture)
            let refusal = Problem(FlightFailure.timeout, url: url)
            #expect(try await first.result() == .refused(refusal))
            let second = fixture.start(url)
            try await fixture.clock.sleepers(until: .seconds(13))
            try await pass(2..<4, after: .seconds(4), fixture)
            #expect(try await second.result().shape == ["network", "end network"])
            #expect(fixture.upstream.asked.all.count == 1)
        }
    }

    @Test("A body that falls silent for the origin's timeout ends its request")
    func silent() async throws {
        try await run(timeout: .seconds(5)) { fixture in
            let fetch = fixture.start(url)
            try await pass(0..<1, after: .seconds(4), fixture)
            _ = try await fixture.upstream.held.element(1)
            fixture.clock.advance(by: .seconds(5))
            #expect(try await fetch.result().refusal?.kind == .timeout)
            #expect(try await fixture.upstream.givenUp.element(0).url == url)
        }
    }

    @Test("A body that trickles for longer than its bytes may take ends with a timeout")
    func trickle() async throws {
        try await run(timeout: .seconds(200)) { fixture in
            let fetch = fixture.start(url)
            try await pass(0..<4, after: .seconds(199), fixture)
            let refusal = try await fetch.result().refusal
            #expect(refusal?.kind == .timeout)
            #expect(refusal?.originStatus == 200)
            #expect(refusal?.detail.hasSuffix("stopped in the middle of its answer") == true)
        }
    }
}
