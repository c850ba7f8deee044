import LarderModel
import LarderTestSupport
import LarderUpstream
import NIOCore
import Synchronization
import Testing

@Suite("Bytes of requests and heads", .timeLimit(.minutes(5)))
struct WireBytesTests {
    @Test("Path and query reach the origin as the id has them, byte for byte (P-15)")
    func targets() async throws {
        let alphabet = Array("abC01/%?&=[];:@!$'()*+,.-_~#".utf8)
        let fixed = [
            "/s?filter[name]=Jos%C3%A9", "/s?q=a%20b", "/a%2Fb/c[1]", "/%5B%5d?x=%255B", "//a//b?",
            "/?a=%2F&k[0]=v",
        ]
        try await withOrigin { fixture in
            fixture.server.handle { _ in .text("") }
            var random = SeededRandom(seed: 3)
            let made = (0..<300).map { _ in
                "/"
                    + String(
                        decoding: (0..<12).map { _ in random.pick(alphabet) },
                        as: UTF8.self
                    )
            }
            for text in fixed + made {
                let url = try fixture.server.url(text)
                var request = try fixture.request()
                request.url = url
                _ = try await fixture.upstream.ask(request).bytes()
                #expect(fixture.server.requests.all.last?.path == url.requestTarget)
                // What is in a target of RFC 3986 stays as the id has it.
                let isPlain = !url.pathAndQuery.utf8.contains(UInt8(ascii: "%"))
                if isPlain { #expect(url.requestTarget == url.pathAndQuery) }
            }
            #expect(fixture.server.requests.all.prefix(fixed.count).map(\.path) == fixed)
        }
    }

    @Test(
        "Only bytes that HTTP does not allow in a target are encoded, once",
        arguments: [
            ("/a|b%20", "/a%7Cb%20"), ("/\"<>\\^`{}", "/%22%3C%3E%5C%5E%60%7B%7D"),
            ("/100%", "/100%25"), ("/%zz%2", "/%25zz%252"), ("/é", "/%C3%A9"),
        ]
    )
    func encoded(path: String, expected: String) throws {
        #expect(try WebURL("http://a" + path).requestTarget == expected)
    }

    @Test("Bytes of a field value that are not UTF-8 come as they are and go back as they came")
    func fields() async throws {
        try await withOrigin { fixture in
            let head = "HTTP/1.1 103 Early\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nETag: \"v"
            let rest = "\"\r\nNote: \u{E9}\r\nContent-Length: 3\r\n\r\n"
            let bytes = Array(head.utf8) + [0xE9] + Array(rest.utf8) + [0xE9, 0x0A, 0xFF]
            // In pieces, so that a head ends in the middle of one.
            let steps = stride(from: 0, to: bytes.count, by: 7).map { start in
                OriginAnswer.Step.send(Array(bytes[start..<min(start + 7, bytes.count)]))
            }
            fixture.server.answer("/", with: OriginAnswer(steps))
            let reply = try await fixture.ask()
            let tag = try #require(reply.headers["ETag"])
            #expect(FieldBytes.unescaped(tag.utf8) == [0x22, 0x76, 0xE9, 0x22])
            #expect(reply.headers["Note"] == "\u{E9}")
            let body = try await reply.bytes()
            #expect(body == [0xE9, 0x0A, 0xFF])
        }
    }

    @Test("Blanks around a field value are no part of it (RFC 9110 5.5)")
    func blanks() async throws {
        try await withOrigin { fixture in
            let fields = "ETag: \t\"v\" \r\nRetry-After: 9\t \r\nContent-Length: 0\r\n\r\n"
            let head = "HTTP/1.1 503 Busy\r\n" + fields
            fixture.server.answer("/", with: OriginAnswer([.send(Array(head.utf8))]))
            let reply = try await fixture.ask()
            #expect(reply.headers["ETag"] == "\"v\"")
            #expect(reply.headers["Retry-After"] == "9")
        }
    }

    @Test("A line of a head may end with LF, and go on in the next line (RFC 9112 2.2, 5.2)")
    func lines() async throws {
        try await withOrigin { fixture in
            let early = "HTTP/1.1 103 Early\nLink: a\n\n"
            let head = "HTTP/1.1 200 OK\nPolicy: a;\n   b;\r\n\tc\r\nContent-Length: 5\n\n"
            let bytes = Array((early + head + "a\n\n b").utf8)
            // In pieces, so that a line break is in two of them.
            let steps = stride(from: 0, to: bytes.count, by: 3).map { start in
                OriginAnswer.Step.send(Array(bytes[start..<min(start + 3, bytes.count)]))
            }
            fixture.server.answer("/", with: OriginAnswer(steps))
            let reply = try await fixture.ask()
            #expect(reply.status == 200)
            #expect(reply.headers["Policy"] == "a; b; c")
            let body = try await reply.bytes()
            #expect(body == Array("a\n\n b".utf8))
        }
    }

    @Test("A field with a bad name is left out, and a control character in a value is a space")
    func badFields() async throws {
        try await withOrigin { fixture in
            let warning = "PHP Warning: none\r\n in line 3\r\n"
            let fields = "ETag : \"v\"\r\n" + warning + "Note: a\u{1}b\r\n"
            let head = "HTTP/1.1 200 OK\r\n" + fields + "Content-Length: 0\r\n\r\n"
            fixture.server.answer("/", with: OriginAnswer([.send(Array(head.utf8))]))
            let reply = try await fixture.ask()
            #expect(reply.headers.fields.map(\.name) == ["ETag", "Note", "Content-Length"])
            #expect(reply.headers["ETag"] == "\"v\"")
            #expect(reply.headers["Note"] == "a b")
        }
    }

    @Test("The same Content-Length twice is one (RFC 9110 8.6)")
    func sameLength() async throws {
        try await withOrigin { fixture in
            let head = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-length:2\r\n\r\n"
            fixture.server.answer("/", with: .raw(head + "hi"))
            let reply = try await fixture.ask()
            #expect(reply.headers.fields.map(\.name) == ["Content-Length"])
            let body = try await reply.text()
            #expect(body == "hi")
        }
    }

    @Test("A value with such bytes is sent as it came")
    func sentFields() async throws {
        let received = Recorder<[UInt8]>()
        let answer = ByteBuffer(string: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        let server = try await ConnectionServer.start(
            at: .port(0),
            log: ConnectionLog(),
            serve: {
                (
                    input: NIOAsyncChannelInboundStream<ByteBuffer>,
                    output: NIOAsyncChannelOutboundWriter<ByteBuffer>
                ) in
                for try await bytes in input {
                    received.record(Array(bytes.readableBytesView))
                    try await output.write(answer)
                }
            }
        )
        try await withOrigin { fixture in
            var request = try fixture.request(headers: [
                ("If-None-Match", String(fieldBytes: [0x22, 0x76, 0xE9, 0x22]))
            ])
            request.url = try WebURL("http://127.0.0.1:\(server.port)/")
            _ = try await fixture.upstream.ask(request).bytes()
        }
        await server.stop()
        let all = received.all.flatMap { $0 }
        #expect(all.firstRange(of: Array("If-None-Match: \"v".utf8) + [0xE9, 0x22]) != nil)
        #expect(all.firstRange(of: Array("Larder-Wire".utf8)) == nil)
    }

    @Test("A Location with such bytes is percent-encoded, each byte alone")
    func location() throws {
        let location = String(fieldBytes: Array("/dax".utf8) + [0xAE] + Array("_%41".utf8))
        #expect(try WebURL("http://a/r").resolving(location).text == "http://a/dax%AE_%41")
    }
}

@Suite("Reused connections", .timeLimit(.minutes(5)))
struct ReusedConnectionTests {
    private struct DeadConnections {
        let server: ConnectionServer
        let log: ConnectionLog
        /// The number of each request on its connection.
        let requests: Recorder<Int>
    }

    /// Answers the first request of each connection and keeps silent after it, from `isDead` on.
    private func withDeadConnections(
        _ body: (UpstreamFixture, WebURL, DeadConnections) async throws -> Void
    ) async throws {
        let log = ConnectionLog()
        let requests = Recorder<Int>()
        let answer = ByteBuffer(string: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        let server = try await ConnectionServer.start(
            at: .port(0),
            log: log,
            serve: {
                (
                    input: NIOAsyncChannelInboundStream<ByteBuffer>,
                    output: NIOAsyncChannelOutboundWriter<ByteBuffer>
                ) in
                var count = 0
                for try await _ in input {
                    count += 1
                    requests.record(count)
                    if count == 1 { try await output.write(answer) }
                }
            }
        )
        try await withOrigin { fixture in
            let connections = DeadConnections(server: server, log: log, requests: requests)
            try await body(fixture, try WebURL("http://127.0.0.1:\(server.port)/"), connections)
        }
        await server.stop()
    }

    @Test(
        "A request that may be repeated leaves a silent one for a new one",
        arguments: [("GET", false), ("PUT", true)]
    )
    func repeated(method: String, isRepeatable: Bool) async throws {
        try await withDeadConnections { fixture, url, connections in
            // A busy machine may hold the silence up; a deadline after it would end the request.
            var request = try fixture.request()
            request.url = url
            request.method = method
            request.isRepeatable = isRepeatable
            for isToRepeat in [false, true] {
                let reply = try await fixture.upstream.ask(request)
                #expect(reply.status == 200)
                #expect(reply.isToRepeat == isToRepeat)
                _ = try await reply.bytes()
            }
            #expect(connections.log.accepted.all.count == 2)
        }
    }

    @Test(
        "A write that may have arrived has left, though there is no connection for its second sending",
        arguments: [("GET", false), ("PUT", true)]
    )
    func noSecondConnection(method: String, hasLeft: Bool) async throws {
        try await withDeadConnections { fixture, url, connections in
            var request = try fixture.request()
            request.url = url
            _ = try await fixture.upstream.ask(request).bytes()
            request.method = method
            request.isRepeatable = true
            let asked = request
            async let failure = fixture.failure(of: asked)
            _ = try await connections.requests.element(1)
            await connections.server.stop()
            let error = await failure
            if hasLeft {
                #expect(error == .closed(host: "127.0.0.1", hasLeft: true))
            } else {
                #expect(error == .unreachable(host: "127.0.0.1", reason: "Connection refused"))
            }
        }
    }

    @Test("A write that finds all connections in use has not left, and its origin is not blamed")
    func noFreeConnection() async throws {
        let requests = Recorder<Int>()
        let server = try await ConnectionServer.start(
            at: .port(0),
            serve: {
                (
                    input: NIOAsyncChannelInboundStream<ByteBuffer>,
                    _: NIOAsyncChannelOutboundWriter<ByteBuffer>
                ) in
                for try await _ in input { requests.record(0) }
            }
        )
        try await withOrigin { fixture in
            var request = try fixture.request(timeout: .seconds(60))
            request.url = try WebURL("http://127.0.0.1:\(server.port)/")
            request.method = "POST"
            request.purpose = .write
            var late = request
            late.timeout = .milliseconds(200)
            let (asked, last) = (request, late)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<Limits.upstreamConnectionsPerHostMax {
                    group.addTask { _ = await fixture.failure(of: asked) }
                }
                _ = try await requests.element(Limits.upstreamConnectionsPerHostMax - 1)
                let error = await fixture.failure(of: last)
                if case .shortage = error {} else { Issue.record("\(String(describing: error))") }
                group.cancelAll()
            }
        }
        await server.stop()
    }

    @Test("A request that must not be repeated waits on it, and is sent once")
    func notRepeated() async throws {
        try await withDeadConnections { fixture, url, connections in
            var request = try fixture.request()
            request.url = url
            request.method = "POST"
            _ = try await fixture.upstream.ask(request).bytes()
            request.timeout = .seconds(4)
            var failure: UpstreamError?
            // On a busy machine the connection may have been idle for too long; a new one answers.
            while failure == nil, !connections.requests.all.contains(2) {
                failure = await fixture.failure(of: request)
            }
            #expect(failure == .timedOut(.head))
            let requests = connections.requests.all
            #expect(requests.count(where: { $0 == 2 }) == 1)
            #expect(connections.log.accepted.all.count == requests.count - 1)
        }
    }
}
