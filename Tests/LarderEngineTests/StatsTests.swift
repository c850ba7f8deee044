import LarderAPI
import LarderEngine
import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@Suite("Counters of the engine", .timeLimit(.minutes(5)), .engine)
struct StatsTests {
    private let fixture = EngineFixture.running

    private func counted() -> [String: Int64] {
        var endings: [String: Int64] = [:]
        for fetches in fixture.engine.monitor.stats().fetches {
            let name = "\(fetches.policy.rawValue) \(fetches.source) \(fetches.outcome)"
            endings[name] = fetches.count
        }
        return endings
    }

    @Test("Each way in which a fetch can end is told apart")
    func endings() async throws {
        let url = try fixture.url("/1")
        fixture.upstream.answer(
            url,
            with: .json("1", headers: ["ETag": "\"a\""]),
            .reply(status: 304),
            .json("2")
        )
        try await fixture.fetch(url)
        try await fixture.fetch(url)
        try await fixture.fetch(url)
        try await fixture.fetch(url, .cacheOnly)
        try await fixture.fetch(try fixture.url("/2"), .cacheOnly)
        let ended = counted()
        #expect(ended["cache-then-network network network"] == 2)
        #expect(ended["cache-then-network cache unchanged"] == 1)
        #expect(ended["cache-only cache cache"] == 1)
        #expect(ended["cache-only none problem"] == 1)
        let stats = fixture.engine.monitor.stats()
        #expect(stats.flights.started == 3)
        #expect(stats.latencies.network.count == 3)
        #expect(stats.latencies.fetch.count == 5)
    }

    @Test("A flight that a second fetch joins is counted once, and its time is the clock's")
    func flights() async throws {
        let url = try fixture.url("/1")
        let gate = Gate()
        try await fixture.cache(url, .json("[1]"))
        fixture.upstream.answer(url, with: .json("[2]").held(by: gate))
        let fetches = [fixture.start(url), fixture.start(url)]
        // A client that was shown the cache has asked the network before.
        for fetch in fetches { _ = try await fetch.frames.element(0) }
        #expect(fixture.engine.monitor.stats().flights.open == 1)
        fixture.clock.advance(by: .milliseconds(1_500))
        gate.open()
        for fetch in fetches { _ = try await fetch.result() }
        let stats = fixture.engine.monitor.stats()
        #expect(stats.flights.started == 2)
        #expect(stats.flights.joined == 1)
        #expect(stats.latencies.fetch.count == 3)
        #expect(stats.latencies.fetch.maxMs == 0)
        #expect(stats.latencies.network.maxMs == 1_500)
    }
}
