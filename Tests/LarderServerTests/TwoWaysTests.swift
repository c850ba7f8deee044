import LarderAPI
import LarderModel
import LarderTestSupport
import LarderWire
import Testing

/// One server takes plain reads ahead of the parser, another leaves all to it: whatever is sent to
/// both, the bytes that come back are the same.
@Suite("Two servers, one with plain reads and one without", .timeLimit(.minutes(10)))
struct TwoWaysTests {
    /// An entry that is ready to be sent once more.
    private static let ready = "GET /v1/entries/ready HTTP/1.1\r\nHost: larder\r\n\r\n"

    /// Plain reads, and what differs from one by a little.
    private static let near =
        FastPathGetTests.harmlessFields.map { "\(FastPathGetTests.plain)\($0)\r\n" }
        + FastPathGetTests.parsed.filter { $0.utf8.count < 1_000 }
        + [
            "GET /v1/entries/ready?account=default HTTP/1.1\r\nHost: larder\r\n\r\n",
            "GET /v1/entries/ready?show=base HTTP/1.1\r\nhost: larder\r\n\r\n",
            "GET /v1/entries/ready?bogus HTTP/1.1\r\nHost: larder\r\n\r\n",
            "GET /v1/entries/ready%00 HTTP/1.1\r\nHost: larder\r\n\r\n",
            "GET /v1/entries/ready%2 HTTP/1.1\r\nHost: larder\r\n\r\n",
            "GET /v1/entries/ HTTP/1.1\r\nHost: larder\r\n\r\n",
            "GET /v1/entries/ready/ HTTP/1.1\r\nHost: larder\r\n\r\n",
            "GET /v1/entries/missing HTTP/1.1\r\nHost: larder\r\n\r\n",
            "GET /v1/entries/gone HTTP/1.1\r\nHost: larder\r\n\r\n",
            "GET /v1/entries/ready HTTP/1.1\r\nHost: larder\r\nConnection: Keep-Alive\r\n\r\n",
            "GET /v1/entries/ready HTTP/1.1\r\nHost: larder\r\nConnection: keep-alive2\r\n\r\n",
            "GET /v1/entries/ready HTTP/1.1\r\nHost: larder\r\nConnection: keep-alive, close\r\n\r\n",
            "GET /v1/entries/ready HTTP/1.1\r\nHost: larder\r\n",
            "GET /v1/entries/ready HTTP/1.1\r\nHost:larder\r\nAccept:x\r\n\r\n",
            "GET /v1/entries/ready HTTP/1.1\r\nHost:  larder \r\n\r\n",
            "GET /v1/entries/ready HTTP/1.1\r\nHost: \r\n\r\n",
            "GET /v1/entries/ready HTTP/1.1\r\nHost: a/b\r\n\r\n",
            "GET /v1/entries/ready HTTP/1.1\r\nHost: larder\r\n\r\nGET /nothing",
            "GET /v1/entries/ready HTTP/1.1\r\nHost: larder\r\n\r\n\r\n\r\n",
            "PUT /v1/entries/put HTTP/1.1\r\nHost: x\r\nContent-Length: \(ready.utf8.count)\r\n\r\n"
                + ready,
            "PUT /v1/entries/put HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "\(String(ready.utf8.count, radix: 16))\r\n\(ready)\r\n0\r\n\(ready)",
            "PUT /v1/entries/put HTTP/1.1\r\nHost: x\r\nX: \(ready)",
        ]

    /// What other suites send.
    private static let far: [[UInt8]] =
        (HostileInputTests.heads + SmugglingTests.linesRefused
        + SmugglingTests.lengthsRefused.map { fields in
            "PUT /v1/entries/put HTTP/1.1\r\nHost: x\r\n\(fields)\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
        }
        + SmugglingTests.chunksRefused.map { body in
            "PUT /v1/entries/put HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n\(body)"
        }
        + FastPathGetTests.parsed.filter { $0.utf8.count >= 1_000 }).map { Array($0.utf8) }
        + FramingTests.requests.map(\.bytes) + [FramingTests.requests.flatMap(\.bytes)]

    /// Bytes that are sent between two plain reads of the entry that is ready, and where they are cut.
    private struct Sent {
        let bytes: [UInt8]
        let cuts: [Int]

        init(_ bytes: [UInt8], cutAt places: some Sequence<Int>) {
            self.bytes = Array(ready.utf8) + bytes + Array(ready.utf8)
            // First in one piece.
            cuts = [0] + places.map { ready.utf8.count + $0 }
        }
    }

    @Test("Near a plain read, cut anywhere")
    func cutAnywhere() async throws {
        try await compare(
            Self.near.enumerated().map { number, text in
                // What many begin with is cut in one of them.
                let isCutInFields = number > 0 && text.hasPrefix(FastPathGetTests.plain)
                let first = isCutInFields ? FastPathGetTests.plain.utf8.count - 2 : 0
                return Sent(Array(text.utf8), cutAt: first...text.utf8.count)
            }
        )
    }

    @Test("All further requests, cut at some places")
    func cutAtSomePlaces() async throws {
        try await compare(
            Self.far.enumerated().map { number, bytes in
                let step = 1 + bytes.count / 5
                return Sent(bytes, cutAt: stride(from: number % 5, through: bytes.count, by: step))
            }
        )
    }

    private func compare(_ sent: [Sent]) async throws {
        let (plain, plainStats) = try await answers(sent, takingPlainReads: true)
        let (parsed, parsedStats) = try await answers(sent, takingPlainReads: false)
        for (sent, (plain, parsed)) in zip(sent, zip(plain, parsed)) {
            let text = String(decoding: sent.bytes, as: UTF8.self).debugDescription
            for (cut, (one, other)) in zip(sent.cuts, zip(plain, parsed)) {
                #expect(one == other, "\(text) cut at \(cut)")
            }
        }
        #expect(plainStats.lookups.ready >= sent.reduce(0) { $0 + $1.cuts.count })
        #expect(parsedStats.lookups.ready == 0)
        // But for that both have counted the same.
        #expect(plainStats.lookups.hits == parsedStats.lookups.hits)
        #expect(plainStats.lookups.misses == parsedStats.lookups.misses)
        #expect(plainStats.requests == parsedStats.requests)
        #expect(plainStats.bytes == parsedStats.bytes)
        let connections = (plainStats.connections.accepted, parsedStats.connections.accepted)
        #expect(connections.0 == connections.1)
    }

    /// All that a server answers to each until it closes the connection, for each place at which it is
    /// cut; and what it has counted.
    private func answers(
        _ sent: [Sent],
        takingPlainReads: Bool
    ) async throws -> (texts: [[String]], stats: StatsReport) {
        var texts: [[String]] = []
        var stats = StatsReport()
        try await ServerFixture.$takesPlainReads.withValue(takingPlainReads) {
            try await ServerFixture.run(isOneLoop: true) { server in
                try await server.store("ready", pattern(40))
                try await server.store("kept", [1])
                try await server.store("gone", [], kind: .tombstone) { $0.status = 410 }
                let asking = try await server.connect()
                for _ in 0..<3 { _ = try await asking.ask("GET", "/v1/entries/ready") }
                for sent in sent {
                    var answers: [String] = []
                    for cut in sent.cuts {
                        answers.append(try await Self.answers(server, sent.bytes, cutAt: cut))
                    }
                    texts.append(answers)
                }
                let answer = try await asking.ask("GET", "/v1/stats")
                stats = try StatsReport(decoding: answer.body)
            }
        }
        return (texts, stats)
    }

    private static func answers(
        _ server: ServerFixture,
        _ bytes: [UInt8],
        cutAt cut: Int
    ) async throws -> String {
        let client = try await server.connect()
        client.begin(Array(bytes[..<cut]))
        // So that the server reads what is before the cut by itself.
        client.listen()
        for _ in 0..<8 { try await ServerFixture.oneLoopTurned() }
        client.begin(Array(bytes[cut...]))
        // It may be closed already.
        try? await client.endSending()
        let answers = String(decoding: try await client.rest(), as: UTF8.self)
        await client.hangUp()
        return answers
    }
}
