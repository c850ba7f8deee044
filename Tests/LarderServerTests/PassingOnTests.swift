import LarderModel
import LarderStore
import LarderTestSupport
import LarderWire
import Testing

/// Bodies that are not kept, passed through as they come: real sockets on both sides.
@Suite("Bodies that are passed on", .timeLimit(.minutes(5)))
struct PassingOnTests {
    private static let limit: Int64 = 100_000
    private static let type = ["Content-Type": "application/octet-stream"]

    private static var setup: GatewayFixture.Setup {
        var setup = GatewayFixture.Setup()
        setup.maxEntryBytes = limit
        return setup
    }

    private static let moreForEver: OriginAnswer.Step = {
        guard case .send(let bytes) = OriginAnswer.Step.chunk(pattern(65_536)) else {
            preconditionFailure("a chunk is sent")
        }
        return .repeat(bytes)
    }()

    private static func large(_ body: [UInt8], isAnnounced: Bool) -> OriginAnswer {
        guard !isAnnounced else { return .reply(200, type, body: body) }
        let chunks = stride(from: 0, to: body.count, by: 30_000).map {
            OriginAnswer.Step.chunk(Array(body[$0..<min($0 + 30_000, body.count)]))
        }
        let head = type.merging(["Transfer-Encoding": "chunked"]) { $1 }
        return OriginAnswer([.head(200, head)] + chunks + [.chunk([])])
    }

    @Test("A body above the limit comes whole, announced or not", arguments: [true, false])
    func whole(isAnnounced: Bool) async throws {
        try await GatewayFixture.run(Self.setup) { gateway in
            let body = pattern(300_000)
            gateway.answer("/a", with: Self.large(body, isAnnounced: isAnnounced))
            let before = gateway.store.totals
            let response = try await gateway.raw("/a")
            #expect(response.status == 200)
            #expect(response.body == body)
            #expect(response.headers["Content-Length"] == (isAnnounced ? "300000" : nil))
            #expect(response.headers["Content-Type"] == "application/octet-stream")
            #expect(response.headers["Cache-Status"] == "larder; fwd=uri-miss; fwd-status=200")
            #expect(response.headers["Larder-Rev"] == nil)
            try await gateway.store.settle()
            #expect(gateway.store.totals == before)
        }
    }

    @Test("A body at the limit is kept")
    func atTheLimit() async throws {
        try await GatewayFixture.run(Self.setup) { gateway in
            let body = pattern(Int(Self.limit))
            gateway.answer("/a", with: Self.large(body, isAnnounced: false))
            #expect(try await gateway.raw("/a").body == body)
            await gateway.origin.stop()
            let cached = try await gateway.raw("/a")
            #expect(cached.body == body)
            #expect(
                cached.headers["Cache-Status"] == "larder; fwd=stale; detail=unreachable"
            )
        }
    }

    @Test("/v1/fetch refuses it and names the raw route, which gives it")
    func named() async throws {
        try await GatewayFixture.run(Self.setup) { gateway in
            let body = pattern(300_000)
            gateway.answer("/a?b=c", with: Self.large(body, isAnnounced: true))
            let client = try await gateway.connect()
            let url = PercentCoding.encode(try gateway.url("/a?b=c").text)
            let problem = try await client.ask("GET", "/v1/fetch?url=\(url)").problem()
            #expect(problem.kind == .entryTooLarge)
            #expect(problem.rawHref == "/o/origin/a?b=c")
            #expect(problem.hint.contains("GET /o/origin/a?b=c"))
            #expect(try await client.ask("GET", try #require(problem.rawHref)).body == body)
        }
    }

    @Test("HEAD of it has no body, and hangs up on the origin")
    func head() async throws {
        try await GatewayFixture.run(Self.setup) { gateway in
            let head = OriginAnswer.Step.head(200, ["Content-Length": "9000000"])
            gateway.answer("/a", with: OriginAnswer([head, .repeat(pattern(10_000))]))
            let response = try await gateway.raw("/a", method: "HEAD")
            #expect(response.headers["Content-Length"] == "9000000")
            for index in 0..<2 { _ = try await gateway.origin.closed.element(index) }
        }
    }

    @Test("A client that has it already is told so, and the origin's connection ends")
    func condition() async throws {
        try await GatewayFixture.run(Self.setup) { gateway in
            let fields = ["Content-Length": "9000000", "ETag": "\"a\""]
            let head = OriginAnswer.Step.head(200, fields)
            gateway.answer("/a", with: OriginAnswer([head, .repeat(pattern(10_000))]))
            let response = try await gateway.raw("/a", ["If-None-Match: \"a\""])
            #expect(response.status == 304)
            for index in 0..<2 { _ = try await gateway.origin.closed.element(index) }
        }
    }

    @Test("A client that reads slowly slows the origin down, and nothing piles up between")
    func backPressure() async throws {
        var setup = Self.setup
        setup.stallTime = .milliseconds(200)
        try await GatewayFixture.run(setup) { gateway in
            let head = OriginAnswer.Step.head(200, ["Transfer-Encoding": "chunked"])
            let piece = OriginAnswer.Step.chunk(pattern(65_536))
            gateway.answer("/a", with: OriginAnswer([head] + Array(repeating: piece, count: 2_000)))
            let client = try await gateway.connect()
            // The head has come, and nothing is read behind it.
            try await client.send(
                "GET /o/origin/a HTTP/1.1\r\nHost: x\r\nCache-Control: no-store\r\n\r\n"
            )
            try await client.seen("\r\n\r\n")
            let sent = try await gateway.origin.stalls.element(0)
            // What the sockets on both sides and one piece or two hold.
            #expect(sent < 32 << 20)
            await client.hangUp()
            _ = try await gateway.origin.closed.element(0)
        }
    }

    @Test("A client that hangs up ends it, while the origin sends and while it is silent")
    func hangUp() async throws {
        try await GatewayFixture.run(Self.setup) { gateway in
            let head = OriginAnswer.Step.head(200, ["Transfer-Encoding": "chunked"])
            let piece = OriginAnswer.Step.chunk(pattern(10_000))
            gateway.answer("/silent", with: OriginAnswer([head, piece, .wait(Gate())]))
            gateway.answer("/none", with: OriginAnswer([.wait(Gate())]))
            gateway.answer(
                "/busy",
                with: OriginAnswer([head, Self.moreForEver])
            )
            for (index, path) in ["/silent", "/busy", "/none"].enumerated() {
                let client = try await gateway.connect()
                try await client.send(
                    "GET /o/origin\(path) HTTP/1.1\r\nHost: x\r\nCache-Control: no-store\r\n\r\n"
                )
                if path == "/none" {
                    _ = try await gateway.origin.requests.element(2)
                } else {
                    try await client.seen("\r\n\r\n")
                }
                await client.hangUp()
                _ = try await gateway.origin.closed.element(index)
            }
        }
    }

    @Test(
        "A body that the origin breaks off is broken off for the client",
        arguments: [true, false]
    )
    func brokenOff(isAnnounced: Bool) async throws {
        try await GatewayFixture.run(Self.setup) { gateway in
            let head =
                isAnnounced ? ["Content-Length": "200000"] : ["Transfer-Encoding": "chunked"]
            let piece = pattern(150_000)
            let step = isAnnounced ? OriginAnswer.Step.send(piece) : .chunk(piece)
            gateway.answer("/a", with: OriginAnswer([.head(200, head), step, .close]))
            let client = try await gateway.connect()
            try await client.send(
                "GET /o/origin/a HTTP/1.1\r\nHost: x\r\nCache-Control: no-store\r\n\r\n"
            )
            let bytes = try await client.rest()
            #expect(bytes.starts(with: Array("HTTP/1.1 200 OK\r\n".utf8)))
            #expect(bytes.count < 200_000)
            #expect(!bytes.suffix(5).elementsEqual(Array("0\r\n\r\n".utf8)))
            #expect(gateway.origin.requests.all.count == 1)
        }
    }

    @Test("Each client of it has its own request, and they do not hold up the others")
    func several() async throws {
        try await GatewayFixture.run(Self.setup) { gateway in
            let head = OriginAnswer.Step.head(200, ["Transfer-Encoding": "chunked"])
            gateway.answer("/large", with: OriginAnswer([head, Self.moreForEver]))
            gateway.answer("/small", with: .json("[1]"))
            // A user's streams may be more than the connections of all users' reads.
            for _ in 0...Limits.upstreamConnectionsPerHostMax {
                let client = try await gateway.connect()
                try await client.send(
                    "GET /o/origin/large HTTP/1.1\r\nHost: x\r\nCache-Control: no-store\r\n\r\n"
                )
                try await client.seen("\r\n\r\n")
            }
            #expect(try await gateway.raw("/small").text == "[1]")
        }
    }

    @Test("If passing on fails, the client gets the cached answer")
    func fallback() async throws {
        try await GatewayFixture.run(Self.setup) { gateway in
            gateway.answer("/a", with: .json("[1]"), .text("down", status: 503))
            #expect(try await gateway.raw("/a").text == "[1]")
            let response = try await gateway.raw("/a", ["Cache-Control: no-store"])
            #expect(response.text == "[1]")
            #expect(response.headers["Cache-Status"] == "larder; fwd=stale; fwd-status=503")
        }
    }

    @Test(
        "An answer that is not kept shows the effects of the client's modifiers (P-04)",
        arguments: [[], ["Cache-Control: no-store"]]
    )
    func modified(headers: [String]) async throws {
        try await GatewayFixture.run(Self.setup) { gateway in
            let url = try gateway.url("/a").text
            let modifier = """
                {"hold": "1h", "changes": [{"target": {"id": "\(url)"},
                    "effect": {"type": "merge", "value": {"n": 2}}}]}
                """
            let accepted = try await gateway.connect().ask(
                "POST",
                "/v1/modifiers",
                ["Content-Type: application/json"],
                body: Array(modifier.utf8)
            )
            #expect(accepted.status == 202)
            let fields = ["Cache-Control": "no-store", "Content-Type": "application/json"]
            gateway.answer("/a", with: .reply(200, fields, body: Array(#"{"n":1}"#.utf8)))
            let response = try await gateway.raw("/a", headers)
            #expect(response.status == 200)
            #expect(response.body == Array(#"{"n":2}"#.utf8))
            #expect(response.headers["Larder-Pending"] == "1")
            await gateway.origin.stop()
            let cached = try await gateway.raw("/a")
            #expect(cached.status == 200)
            #expect(cached.body == Array(#"{"n":2}"#.utf8))
            #expect(cached.headers["Larder-Pending"] == "1")
        }
    }
}
