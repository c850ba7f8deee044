import LarderAPI
import LarderModel
import LarderTestSupport
import LarderWire
import NIOCore
import Testing

@testable import LarderServer

@Suite("Answers that their client does not read", .bothWays, .timeLimit(.minutes(10)))
struct UnreadTests {
    private static func get(_ path: String) -> [UInt8] {
        Array("GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n".utf8)
    }

    private func begun(_ client: RawClient) async throws -> Int64 {
        let response = try await client.ask("GET", "/v1/stats")
        let report = try StatsReport(decoding: response.body)
        return report.requests.reduce(0) { $0 + $1.counts.reduce(0, +) }
    }

    @Test(
        "Of thousands of requests with unread answers few are begun; then all come, in order",
        arguments: ["/v1/openapi.json", "/v1/entries?limit=1000", "/v1/entries/big"]
    )
    func pipelined(path: String) async throws {
        try await ServerFixture.run { server in
            for index in 0..<300 { try await server.store("row/\(index)", [1]) }
            let big = pattern(60_000)
            try await server.store("big", big)
            let client = try await server.connect()
            let whole = try await client.ask("GET", path).body
            let other = try await server.connect()
            // Nothing of this is read; each begun answer is counted when its head is written.
            let count = path.hasSuffix("big") ? 4_000 : 2_000
            client.begin((0..<count).flatMap { Self.get($0 % 10 == 9 ? "/v1/health" : path) })
            for asked in 0..<100 as Range<Int64> {
                let others = try await begun(other) - asked
                #expect(others < 40, "\(others) answers were begun")
            }
            // Reading is slow in a debug build; these are more than could have been begun.
            for index in 0..<200 {
                let response = try await client.response()
                let expected = index % 10 == 9 ? Array(#"{"status":"ok"}"#.utf8) : whole
                #expect(response.body == expected, "answer \(index)")
            }
            await client.hangUp()
            try await server.expectServing()
        }
    }

    @Test("A request after a longer answer is answered without further bytes from the client")
    func behindAJob() async throws {
        try await ServerFixture.run { server in
            let gate = Gate()
            let url = try ServerFixture.url("/1")
            server.upstream.answer(url, with: .json("1").held(by: gate))
            try await server.store("a", [7])
            let client = try await server.connect()
            let fetch = Self.get("/v1/fetch?url=\(url.text)")
            try await client.send(fetch + Self.get("/v1/entries/a"))
            _ = try await server.upstream.asked.element(0)
            try await server.expectServing()
            gate.open()
            #expect(try await client.response().status == 200)
            #expect(try await client.response().body == [7])
        }
    }

    @Test("A client that does not read within its time is overdue, until it reads")
    func overdue() {
        let start = NIODeadline.uptimeNanoseconds(1_000_000_000)
        var watch = ConnectionWatch(now: start)
        let time = Limits.stalledResponseTime
        func isOverdue(_ after: Duration) -> Bool {
            watch.isOverdue(isIdle: false, waitsForRequest: false, now: start + TimeAmount(after))
        }
        watch.readingAwaited(now: start)
        #expect(!isOverdue(time))
        #expect(isOverdue(time + .milliseconds(1)))
        watch.readingSeen()
        #expect(!isOverdue(time + .milliseconds(1)))
    }

    @Test("Memory for answers and bodies has a bound for a user and for all, and comes back")
    func memory() throws {
        let memory = UserQuota(max: Limits.heldBytesMax, each: Limits.heldBytesPerUserMax)
        let most = Limits.heldBytesPerUserMax
        var taken: [UserShare] = [try #require(memory.take(most, for: 1))]
        #expect(memory.take(1, for: 1) == nil)
        taken.removeAll()
        let half = try #require(memory.take(most / 2, for: 1))
        #expect(half.grow(to: most))
        #expect(!half.grow(to: most + 1))
        var uid: UInt32 = 2
        while let more = memory.take(most, for: uid) {
            taken.append(more)
            uid += 1
        }
        #expect(taken.count + 1 == Limits.heldBytesMax / most)
        taken.removeAll()
        #expect(memory.take(most, for: 9) != nil)
    }
}
