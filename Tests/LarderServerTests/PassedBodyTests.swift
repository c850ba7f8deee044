import LarderAPI
import LarderModel
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

/// Bodies of writes that are passed on: real sockets on both sides.
@Suite("Bodies of writes that are passed on", .timeLimit(.minutes(5)))
struct PassedBodyTests {
    private static let head = "PUT /o/origin/a HTTP/1.1\r\nHost: x\r\n"

    private static func chunk(_ bytes: [UInt8]) -> [UInt8] {
        Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + Array("\r\n".utf8)
    }

    @Test(
        "A body of any size reaches the origin whole, with its length or in chunks",
        arguments: [0, 1, 65_536, 65_537, 3_000_000],
        [true, false]
    )
    func whole(count: Int, isAnnounced: Bool) async throws {
        try await GatewayFixture.run { gateway in
            gateway.answer("/a", with: .text("done", headers: ["X-Own": "1"]))
            let body = pattern(count)
            let client = try await gateway.connect()
            for number in 0..<2 {
                if isAnnounced {
                    client.begin(
                        Array("\(Self.head)Content-Length: \(count)\r\n\r\n".utf8) + body
                    )
                } else {
                    let pieces = stride(from: 0, to: count, by: 50_000).map {
                        Self.chunk(Array(body[$0..<min($0 + 50_000, count)]))
                    }
                    client.begin(
                        Array("\(Self.head)Transfer-Encoding: chunked\r\n\r\n".utf8)
                            + pieces.flatMap { $0 } + Array("0\r\n\r\n".utf8)
                    )
                }
                let response = try await client.response(to: "PUT")
                #expect(response.status == 200)
                #expect(response.text == "done")
                #expect(response.headers["X-Own"] == "1")
                let received = try await gateway.origin.requests.element(number)
                #expect(received.body == body)
                #expect(received.path == "/base/a")
                let length = received.headers["Content-Length"]
                #expect(length == (isAnnounced ? "\(count)" : nil))
            }
        }
    }

    @Test("A body is asked for by 100, and then sent while it comes")
    func asItComes() async throws {
        try await GatewayFixture.run { gateway in
            gateway.answer("/a", with: .text("done"))
            let client = try await gateway.connect()
            try await client.send(
                "\(Self.head)Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
            #expect(try await client.response(to: "PUT").status == 100)
            _ = try await gateway.origin.accepted.element(0)
            for piece in [pattern(100_000), pattern(7)] {
                try await client.send(Self.chunk(piece))
            }
            try await client.send("0\r\n\r\n")
            #expect(try await client.response(to: "PUT").text == "done")
            let received = try await gateway.origin.requests.element(0)
            #expect(received.body == pattern(100_000) + pattern(7))
        }
    }

    @Test("A body that breaks off never reaches the origin as a whole one")
    func broken() async throws {
        try await GatewayFixture.run { gateway in
            gateway.answer("/a", with: .text("done"))
            let client = try await gateway.connect()
            try await client.send("\(Self.head)Content-Length: 200000\r\n\r\n")
            try await client.send(pattern(100_000))
            _ = try await gateway.origin.accepted.element(0)
            await client.hangUp()
            _ = try await gateway.origin.closed.element(0)
            #expect(gateway.origin.requests.all.isEmpty)
            let malformed = try await gateway.connect()
            try await malformed.send("\(Self.head)Transfer-Encoding: chunked\r\n\r\n")
            try await malformed.send(Self.chunk(pattern(1_000)) + Array("no\r\n".utf8))
            let refusal = try await malformed.response(to: "PUT")
            #expect(refusal.status == 400)
            #expect(try refusal.problem().detail == "the body broke off")
            _ = try await gateway.origin.closed.element(1)
            #expect(gateway.origin.requests.all.isEmpty)
        }
    }

    @Test("An answer of 1xx before the answer is not taken for it")
    func informational() async throws {
        try await GatewayFixture.run { gateway in
            let hints = "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
            let go = "HTTP/1.1 100 Continue\r\n\r\n"
            var answer = OriginAnswer.text("done", status: 201)
            answer.steps = [.text(hints), .text(go)] + answer.steps
            gateway.answer("/a", with: answer)
            let client = try await gateway.connect()
            for count in [3, 100_000] {
                let response = try await client.ask("PUT", "/o/origin/a", body: pattern(count))
                #expect(response.status == 201)
                #expect(response.text == "done")
                #expect(response.headers["Link"] == nil)
            }
        }
    }

    @Test("Coded bytes come back as they are if the client asked for the coding")
    func coded() async throws {
        try await GatewayFixture.run { gateway in
            let headers = ["Content-Encoding": "gzip"]
            gateway.answer("/a", with: .reply(200, headers, body: pattern(1_000)))
            let asking = ["Accept-Encoding: gzip"]
            let client = try await gateway.connect()
            let response = try await client.ask("POST", "/o/origin/a", asking, body: [1])
            #expect(response.body == pattern(1_000))
            #expect(response.headers["Content-Encoding"] == "gzip")
            #expect(response.headers["Content-Length"] == "1000")
            let sent = try await gateway.origin.requests.element(0)
            #expect(sent.headers["Accept-Encoding"] == "gzip")
        }
    }

    @Test("A write whose reused connection gets no byte is repeated only if that may be")
    func repeats() async throws {
        try await GatewayFixture.run { gateway in
            let close = OriginAnswer([.close])
            for (method, isRepeated) in [("PUT", true), ("POST", false)] {
                let path = "/\(method)"
                gateway.answer(path, with: .text("first"), close, .text("again"))
                let client = try await gateway.connect()
                let target = "/o/origin\(path)"
                #expect(try await client.ask(method, target, body: [1]).text == "first")
                let second = try await client.ask(method, target, body: [1])
                let sent = gateway.origin.requests.all.filter { $0.method == method }
                #expect(second.status == (isRepeated ? 200 : 502))
                #expect(sent.count == (isRepeated ? 3 : 2))
                guard !isRepeated else { continue }
                #expect(try second.problem().detail.contains("it may have received"))
            }
        }
    }

    @Test("An upload uses a connection of its own, and none after it does")
    func ownConnection() async throws {
        try await GatewayFixture.run { gateway in
            gateway.answer("/a", with: .text("done"))
            let client = try await gateway.connect()
            for number in 0..<3 {
                let body = pattern(100_000)
                #expect(try await client.ask("POST", "/o/origin/a", body: body).text == "done")
                let sent = try await gateway.origin.requests.element(number)
                #expect(sent.headers["Connection"] == "close")
                _ = try await gateway.origin.closed.element(number)
            }
            #expect(gateway.origin.accepted.all.count == 3)
        }
    }

    @Test("A user has a limit of uploads that are passed on")
    func places() async throws {
        try await ServerFixture.run { server in
            let head = "PUT /o/example/a HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"
            for number in 0..<Limits.uploadsPerUserMax {
                try await server.connect().send("\(head)x")
                _ = try await server.upstream.asked.element(number)
            }
            let late = try await server.connect()
            try await late.send("\(head)x")
            let refusal = try await late.response(to: "PUT")
            #expect(refusal.status == 503)
            #expect(try refusal.problem().kind == .overloaded)
        }
    }
}
