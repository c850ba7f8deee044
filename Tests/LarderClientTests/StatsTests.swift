import LarderAPI
import LarderClient
import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@Suite("Statistics", .timeLimit(.minutes(5)))
struct StatsTests {
    @Test("Statistics have counters and times")
    func stats() async throws {
        try await withDaemon { daemon, client in
            var report = StatsReport()
            report.connections.open = 3
            daemon.answer("/v1/stats", with: .reply(200, body: report.encoded()))
            let stats = try await client.stats()
            #expect(stats == report)
            // What every request has, and the HTTP client does not set for a socket.
            #expect(try await daemon.requests.element(0).headers["Host"] == "larder")
        }
    }
}
