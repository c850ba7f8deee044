import LarderAPI
import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@testable import LarderServer

@Suite("Counters of the server", .timeLimit(.minutes(10)))
struct StatsTests {
    private func stats(_ client: RawClient) async throws -> StatsReport {
        let response = try await client.ask("GET", "/v1/stats")
        #expect(response.status == 200)
        return try StatsReport(decoding: response.body)
    }

    private func requests(_ report: StatsReport, _ family: RouteFamily) -> [Int64]? {
        report.requests.first { $0.family == family.name }?.counts
    }

    @Test("Requests count by family and by how they were answered")
    func requests() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            #expect(
                try await stats(client).requests.map(\.family) == RouteFamily.allCases.map(\.name)
            )
            let put = try await client.ask("PUT", "/v1/entries/a", body: [1, 2, 3])
            let tag = try #require(put.headers["ETag"])
            _ = try await client.ask("PUT", "/v1/entries/a?bogus=1", body: [1])
            let other = try await server.connect()
            _ = try await other.ask("GET", "/v1/entries/a")
            _ = try await other.ask("HEAD", "/v1/entries/a")
            _ = try await other.ask("GET", "/v1/entries/a", ["If-None-Match: \(tag)"])
            _ = try await other.ask("GET", "/v1/entries/b")
            _ = try await other.ask("GET", "/v1/entries")
            _ = try await other.ask("DELETE", "/v1/entries/a")
            _ = try await other.ask("GET", "/nothing")
            try await other.send("no HTTP\r\n\r\n")
            _ = try await other.response()

            let report = try await stats(client)
            #expect(requests(report, .read) == [2, 1, 1, 0])
            #expect(requests(report, .put) == [1, 0, 1, 0])
            #expect(requests(report, .entries) == [2, 0, 0, 0])
            #expect(requests(report, .none) == [0, 0, 2, 0])
            #expect(requests(report, .fetch) == [0, 0, 0, 0])
            // The first one; this one was answered after it looked.
            #expect(requests(report, .administration) == [1, 0, 0, 0])
            #expect(report.lookups.hits == 3)
            #expect(report.lookups.misses == 1)
            #expect(report.connections.accepted == 2)
            #expect(report.connections.refused == 0)
            #expect(report.bytes.received == 4)
            #expect(report.bytes.sent > 3)
            #expect(report.latencies.put.count == 1)
            #expect(report.groups.count >= 2)
        }
    }

    @Test("Each read is counted, and a read costs some time")
    func hits() async throws {
        try await ServerFixture.run { server in
            try await server.store("a", [1])
            let client = try await server.connect()
            let count = Limits.hitsPerSample * 3 - 5
            for _ in 0..<count {
                _ = try await client.ask("GET", "/v1/entries/a")
            }
            let hit = try await stats(client).latencies.hit
            #expect(hit.count == count)
            let (median, longest) = (try #require(hit.p50Ms), try #require(hit.maxMs))
            #expect(median > 0 && median <= longest)
        }
    }

    @Test("A fetch counts by policy, source and end, and the flight that it took")
    func fetches() async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/1")
            server.upstream.answer(url, with: .json("1"))
            let client = try await server.connect()
            for policy in ["network-first", "cache-only"] {
                let query = "url=\(url.text)&policy=\(policy)"
                #expect(try await client.ask("GET", "/v1/fetch?\(query)").status == 200)
            }
            let miss = "url=\(url.text)/2&policy=cache-only"
            #expect(try await client.ask("GET", "/v1/fetch?\(miss)").status == 404)
            let report = try await stats(client)
            #expect(
                Set(report.fetches.map { "\($0.policy.rawValue) \($0.source) \($0.outcome)" })
                    == [
                        "network-first network network", "cache-only cache cache",
                        "cache-only none problem",
                    ]
            )
            #expect(report.fetches.allSatisfy { $0.count == 1 })
            #expect(report.flights.started == 1)
            #expect(report.flights.joined == 0)
            #expect(report.latencies.fetch.count == 3)
            #expect(requests(report, .fetch) == [2, 0, 1, 0])
        }
    }

    @Test("Evictions count by reason")
    func evictions() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            for id in ["a", "b", "c"] {
                _ = try await client.ask("PUT", "/v1/entries/\(id)", body: pattern(100))
            }
            _ = try await client.ask("POST", "/v1/evict", body: Array(#"{"ids":["a"]}"#.utf8))
            let evictions = try await stats(client).evictions
            #expect(evictions.asked == 1)
            #expect(evictions.lru == 0)
            #expect(evictions.expired == 0)
        }
    }
}
