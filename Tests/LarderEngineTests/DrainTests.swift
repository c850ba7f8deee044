import LarderModel
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

/// The daemon ending while clients wait.
@Suite(.timeLimit(.minutes(5)), .engine)
struct DrainTests {
    private let fixture = EngineFixture.running
    private let url = EngineFixture.firstURL

    @Test("A client that was shown the cache gets its end")
    func cacheShown() async throws {
        try await fixture.cache(url, .json("[1]"))
        fixture.upstream.answer(url, with: .json("[2]").held(by: Gate()))
        let fetch = fixture.start(url)
        _ = try await fetch.frames.element(0)
        fixture.engine.drain()
        let revision = try fixture.step().next(-1)
        #expect(
            try await fetch.result().frames == [
                .snapshot(.cache, revision, url, json: "[1]"), .end(.shutdown, revision),
            ]
        )
    }

    @Test("A client for whom the cache is held back is shown it first")
    func cacheHeldBack() async throws {
        try await fixture.cache(url, .json("[1]"))
        fixture.upstream.answer(url, with: .json("[2]").held(by: Gate()))
        let fetch = fixture.start(url, .networkFirst)
        _ = try await fixture.upstream.asked.element(1)
        fixture.engine.drain()
        #expect(try await fetch.result().shape == ["cache", "end shutdown"])
    }

    @Test("A client for whom there is nothing is told that the daemon is ending")
    func nothingCached() async throws {
        fixture.upstream.answer(url, with: .json("[1]").held(by: Gate()))
        let fetch = fixture.start(url)
        _ = try await fixture.upstream.asked.element(0)
        fixture.engine.drain()
        let refusal = Problem(.shuttingDown, "the daemon is ending")
        #expect(try await fetch.result() == .refused(refusal))
        #expect(try await fixture.fetch(url) == .refused(refusal))
    }

    @Test("A batch whose client reads slowly says that the rest is not there")
    func batch() async throws {
        try await fixture.putBlob("a", "1")
        var told: [BatchFrame] = []
        let ids = [try EntryID("a"), try EntryID("b")]
        try await fixture.engine.entries.batch(ids, fixture.scope) { frame in
            told.append(frame)
            fixture.engine.drain()
            return true
        }
        #expect(told.map(\.type) == ["snapshot", "end"])
        guard case .end(let end) = told.last else { return }
        #expect(end.outcome == .shutdown)
    }

    @Test("Flights are given up at the end, not at the beginning of the drain")
    func flightsGivenUp() async throws {
        fixture.upstream.answer(url, with: .json("[1]").held(by: Gate()))
        let fetch = fixture.start(url)
        _ = try await fixture.upstream.asked.element(0)
        fixture.engine.drain()
        _ = try await fetch.result()
        #expect(fixture.upstream.givenUp.all.isEmpty)
        fixture.engine.stop()
        #expect(try await fixture.upstream.givenUp.element(0).url == url)
    }
}
