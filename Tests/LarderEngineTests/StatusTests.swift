import LarderAPI
import LarderModel
import LarderStore
import LarderTestSupport
import LarderWire
import Testing

@testable import LarderEngine

@Suite(.timeLimit(.minutes(5)), .engine)
struct StatusTests {
    private let fixture = EngineFixture.running

    @Test("Status tells sizes, reads, origins and the time since the start")
    func report() async throws {
        fixture.clock.advance(by: .seconds(30))
        try await fixture.cache(fixture.url("/a"), .json("[1]"))
        fixture.clock.advance(by: .seconds(60))
        let status = await fixture.engine.monitor.status(connections: 7)
        let totals = fixture.engine.store.totals
        #expect(status.version == "1.2.3")
        #expect(status.uptime == 90)
        #expect(status.state == .ok)
        #expect(status.warnings == [])
        #expect(status.connections == 7)
        #expect(status.flights == 0)
        #expect(status.cache.accountedBytes == totals.bytes)
        #expect(status.cache.entries == 1)
        #expect(status.cache.maxBytes == 512 << 20)
        #expect(status.cache.databaseBytes > 0)
        #expect(
            status.origins == [
                OriginStatus(
                    name: "example",
                    baseURL: "https://api.example.com/",
                    condition: OriginCondition(
                        state: .online,
                        since: .init(ManualClock.start.advanced(by: .seconds(30)))
                    )
                )
            ]
        )
    }

    @Test("The hit rate is of the last minute, ten and sixty, by fetches and reads alike")
    func hitRate() async throws {
        let url = try fixture.url("/a")
        #expect(await fixture.engine.monitor.status(connections: 0).cache.hitRate == HitRate())
        try await fixture.cache(url, .json("[1]"))
        #expect(await fixture.engine.monitor.status(connections: 0).cache.misses == 1)
        fixture.clock.advance(by: .seconds(5 * 60))
        for _ in 0..<3 { _ = try await fixture.cached(url) }
        _ = try fixture.read("none")
        var cache = await fixture.engine.monitor.status(connections: 0).cache
        #expect((cache.hits, cache.misses) == (3, 2))
        #expect(cache.hitRate.oneMinute == 0.75)
        #expect(cache.hitRate.tenMinutes == 0.6)
        #expect(cache.hitRate.sixtyMinutes == 0.6)
        fixture.clock.advance(by: .seconds(30 * 60))
        cache = await fixture.engine.monitor.status(connections: 0).cache
        #expect(cache.hitRate.oneMinute == nil)
        #expect(cache.hitRate.tenMinutes == nil)
        #expect(cache.hitRate.sixtyMinutes == 0.6)
    }

    @Test("An origin of which nothing was asked is unknown, since no moment")
    func unknownOrigin() async throws {
        let origin = await fixture.engine.monitor.status(connections: 0).origins[0]
        #expect(origin.condition.state == .unknown)
        #expect(origin.condition.since == nil)
    }

    @Test("A disk that is short of space is warned of")
    func shortOfSpace() async throws {
        let setup = try EngineSetup.with { setup in
            setup.store.minFreeBytes = ByteSize(bytes: 1 << 20)
            setup.store.freeBytes = { _ in 0 }
        }
        try await EngineFixture.run(setup) { fixture in
            // The writer looks at the disk.
            try await fixture.engine.store.maintain()
            let status = await fixture.engine.monitor.status(connections: 0)
            let budget = fixture.engine.store.totals.budget
            #expect(status.state == .degraded)
            #expect(
                status.warnings == [
                    "the disk is short of space: the cache keeps to \(budget) bytes"
                ]
            )
        }
    }

    @Test("The store is checked by a read")
    func check() async throws {
        try await fixture.engine.monitor.checkStore()
        fixture.faults.arm(1, of: StoreStep.check)
        await #expect(throws: Problem.self) { try await fixture.engine.monitor.checkStore() }
    }
}
