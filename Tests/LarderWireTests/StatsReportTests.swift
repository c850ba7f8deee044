import LarderModel
import LarderWire
import Testing

@Suite("The report of counters and latencies")
struct StatsReportTests {
    private var full: StatsReport {
        var report = StatsReport()
        report.uptime = .seconds(3_600)
        report.connections = StatsReport.Connections(open: 2, accepted: 10, refused: 1)
        report.bytes.received = 1_000
        report.bytes.sent = 2_000
        var requests = StatsReport.Requests(family: "entries")
        requests.byClass = [9, 1, 2, 0]
        report.requests = [requests]
        report.lookups.hits = 7
        report.lookups.misses = 3
        report.lookups.ready = 4
        report.readyAnswers.missing = 1
        report.readyAnswers.expired = 2
        report.readyAnswers.stale = 3
        report.readyAnswers.bytes = 4
        report.fetches = [
            StatsReport.Fetches(policy: .cacheOnly, source: .cache, outcome: .cache, count: 4)
        ]
        report.flights.open = 1
        report.flights.started = 5
        report.flights.joined = 6
        var times = Histogram()
        for time in 1...100 { times.record(.microseconds(time)) }
        report.latencies.hit = StatsReport.Latency(times)
        report.evictions.lru = 1
        report.evictions.expired = 2
        report.evictions.asked = 3
        var groups = Histogram()
        groups.record(1)
        groups.record(3)
        report.groups = StatsReport.Groups(groups)
        report.modifiers.accepted = 9
        report.modifiers.confirmed = 5
        report.modifiers.dead = 2
        report.modifiers.cancelled = 1
        report.modifiers.reverts = 1
        report.modifiers.attempts = 11
        return report
    }

    @Test("What is written is read back")
    func roundTrip() throws {
        #expect(try StatsReport(decoding: full.encoded()).encoded() == full.encoded())
        #expect(try StatsReport(decoding: StatsReport().encoded()) == StatsReport())
    }

    @Test("It says numbers under names of its own, and null where nothing was timed")
    func words() {
        let json = text(full.encoded())
        #expect(
            json.contains(#""requests":[{"family":"entries","2xx":9,"3xx":1,"4xx":2,"5xx":0}]"#)
        )
        #expect(
            json.contains(
                #""fetches":[{"policy":"cache-only","source":"cache","outcome":"cache","count":4}]"#
            )
        )
        #expect(
            json.contains(
                #""put":{"count":0,"p50_ms":null,"p90_ms":null,"p99_ms":null,"max_ms":null}"#
            )
        )
        #expect(json.contains(#""max_ms":0.1}"#))
        #expect(
            json.contains(#""ready_answers":{"missing":1,"expired":2,"stale":3,"bytes":4}"#)
        )
        #expect(json.contains(#""groups":{"count":2,"p50":1,"p90":3,"p99":3,"max":3}"#))
        #expect(
            json.contains(
                #""modifiers":{"accepted":9,"confirmed":5,"dead":2,"cancelled":1,"reverts":1,"#
                    + #""attempts":11}"#
            )
        )
    }

    @Test("Percentiles are those of the values")
    func percentiles() throws {
        let hit = full.latencies.hit
        #expect(hit.count == 100)
        #expect(hit.max == .microseconds(100))
        let median = try #require(hit.median)
        #expect(median >= .microseconds(50) && median <= .microseconds(54))
        let last = try #require(hit.ninetyNinth)
        #expect(last >= .microseconds(99) && last <= .microseconds(100))
    }

    @Test("What is no report is refused")
    func bad() {
        for json in ["", "[]", "{}", #"{"uptime":"x"}"#] {
            #expect(throws: WireError.self) { try StatsReport(decoding: bytes(json)) }
        }
    }
}
