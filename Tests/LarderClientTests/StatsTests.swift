import LarderClient
import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@Suite("Statistics", .timeLimit(.minutes(5)))
struct StatsTests {
    @Test("They carry counters and times")
    func stats() async throws {
        try await withDaemon { daemon, client in
            var report = StatsReport()
            report.uptime = .seconds(60)
            report.connections.open = 3
            report.lookups.hits = 7
            report.lookups.misses = 8
            report.lookups.ready = 6
            report.readyAnswers.bytes = 16
            report.flights.started = 9
            report.evictions.lru = 1
            report.evictions.asked = 2
            report.modifiers.accepted = 10
            report.modifiers.confirmed = 11
            report.modifiers.dead = 12
            report.modifiers.cancelled = 13
            report.modifiers.reverts = 14
            report.modifiers.attempts = 15
            var times = Histogram()
            times.record(.milliseconds(3))
            report.latencies.put = StatsReport.Latency(times)
            daemon.answer("/v1/stats", with: .reply(200, body: report.encoded()))
            let stats = try await client.stats()
            #expect(stats.uptime == .seconds(60))
            #expect(stats.openConnections == 3)
            #expect(stats.hits == 7)
            #expect(stats.misses == 8)
            #expect(stats.readyHits == 6)
            #expect(stats.readyBytes == 16)
            #expect(stats.networkRequests == 9)
            #expect(stats.evictions == 3)
            #expect(stats.acceptedModifiers == 10)
            #expect(stats.confirmedModifiers == 11)
            #expect(stats.deadModifiers == 12)
            #expect(stats.cancelledModifiers == 13)
            #expect(stats.reverts == 14)
            #expect(stats.modifierAttempts == 15)
            #expect(stats.putLatency.count == 1)
            #expect(stats.putLatency.max == .milliseconds(3))
            #expect(stats.putLatency.median == .milliseconds(3))
            #expect(stats.hitLatency.max == nil)
            // What every request has, and the HTTP client does not set for a socket.
            #expect(try await daemon.requests.element(0).headers["Host"] == "larder")
        }
    }
}
