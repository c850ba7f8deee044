import LarderModel
import LarderTestSupport
import LarderUpstream
import Testing

@Suite("Answers of an origin", .timeLimit(.minutes(5)))
struct HTTPUpstreamAnswerTests {
    @Test("A body in chunks arrives whole, with status and header fields")
    func chunks() async throws {
        try await withOrigin { fixture in
            fixture.server.answer(
                "/",
                with: .chunked(["one ", "two ", "three"], headers: ["ETag": "\"1\""])
            )
            let reply = try await fixture.ask()
            #expect(reply.status == 200)
            #expect(reply.headers["etag"] == "\"1\"")
            let text = try await reply.text()
            #expect(text == "one two three")
        }
    }

    @Test("A piece is there before the next one was sent")
    func streams() async throws {
        try await withOrigin { fixture in
            let gate = Gate()
            fixture.server.answer(
                "/",
                with: OriginAnswer([
                    .head(200, ["Content-Length": "6"]), .text("one"), .wait(gate), .text("two"),
                ])
            )
            let reply = try await fixture.ask()
            let first = try await reply.body.next()
            #expect(first == Array("one".utf8))
            gate.open()
            let text = try await reply.text()
            #expect(text == "two")
        }
    }

    @Test("An empty body ends immediately")
    func emptyBody() async throws {
        try await withOrigin { fixture in
            fixture.server.answer("/", with: .reply())
            let reply = try await fixture.ask()
            let first = try await reply.body.next()
            #expect(first == nil)
        }
    }

    @Test("A body that ends with the connection is whole")
    func bodyUntilClose() async throws {
        try await withOrigin { fixture in
            fixture.server.answer("/", with: .raw("HTTP/1.1 200 OK\r\n\r\nuntil the end"))
            let text = try await fixture.ask().text()
            #expect(text == "until the end")
        }
    }

    @Test(
        "A body that ends with the connection is told as one (RFC 9112 6.3)",
        arguments: [
            ("", true), ("Transfer-Encoding: identity\r\n", true), ("Content-Length: 3\r\n", false),
        ]
    )
    func tellsBodyUntilClose(fields: String, expected: Bool) async throws {
        try await withOrigin { fixture in
            fixture.server.answer("/", with: .raw("HTTP/1.1 200 OK\r\n\(fields)\r\nend"))
            let reply = try await fixture.ask()
            #expect(reply.endsWithConnection == expected)
            let text = try await reply.text()
            #expect(text == "end")
        }
    }

    @Test("The origin is read no faster than the reader takes the body")
    func backPressure() async throws {
        try await withOrigin(reportingStallsAfter: .milliseconds(200)) { fixture in
            let piece = [UInt8](repeating: 7, count: 1 << 20)
            let count = 64
            let head = OriginAnswer.Step.head(200, ["Content-Length": "\(count << 20)"])
            fixture.server.answer(
                "/",
                with: OriginAnswer([head] + Array(repeating: .send(piece), count: count))
            )
            let reply = try await fixture.ask()
            let first = try #require(try await reply.body.next())
            let sent = try await fixture.server.stalls.element(0)
            #expect(sent < count << 20)
            var total = first.count
            while let bytes = try await reply.body.next() { total += bytes.count }
            #expect(total == count << 20)
        }
    }

    @Test(
        "A body that the origin compressed is decoded, and its fields say so (S48)",
        arguments: CodedBytes.whole
    )
    func compressed(coding: String, bytes: [UInt8]) async throws {
        try await withOrigin { fixture in
            let fields = ["Content-Encoding": coding, "Larder-Coding": "forged"]
            fixture.server.answer("/", with: .reply(200, fields, body: bytes))
            let reply = try await fixture.ask()
            #expect(reply.headers["Content-Encoding"] == nil)
            #expect(reply.headers["Content-Length"] == nil)
            let marks = reply.headers.fields.filter { $0.name == Entry.codingField }.map(\.value)
            #expect(marks == [coding.lowercased().replacing("x-", with: "")])
            #expect(reply.headers.fields.first?.name == Entry.codingField)
            let received = try await reply.bytes()
            #expect(received == CodedBytes.decoded(bytes))
        }
    }

    @Test(
        "A compressed body that is cut, damaged or followed by other bytes is no answer (S48)",
        arguments: CodedBytes.damaged
    )
    func damaged(coding: String, bytes: [UInt8]) async throws {
        try await withOrigin { fixture in
            fixture.server.answer("/", with: .reply(200, ["Content-Encoding": coding], body: bytes))
            let failure = await fixture.failure(of: try fixture.request())
            guard case .undecodable = failure else {
                Issue.record("\(String(describing: failure))")
                return
            }
        }
    }

    @Test("A coded body that expands over 1,000 times is no answer (S48)")
    func bomb() async throws {
        for (coding, bytes) in CodedBytes.bombs {
            try await withOrigin { fixture in
                let fields = ["Content-Encoding": coding.rawValue]
                fixture.server.answer("/", with: .reply(200, fields, body: bytes))
                let failure = await fixture.failure(of: try fixture.request())
                #expect(failure == .expandsTooMuch, "\(coding)")
            }
        }
    }

    @Test(
        "A coding that cannot be decoded stays as it is (S48)",
        arguments: ["compress", "gzip, br", "aes128gcm"]
    )
    func otherCodings(coding: String) async throws {
        try await withOrigin { fixture in
            let bytes = CodedBytes.gzip
            fixture.server.answer("/", with: .reply(200, ["Content-Encoding": coding], body: bytes))
            let reply = try await fixture.ask()
            #expect(reply.headers["Content-Encoding"] == coding)
            let received = try await reply.bytes()
            #expect(received == bytes)
        }
    }

    @Test(
        "Neither identity nor a charset is a coding of a body (RFC 9110 8.4.1)",
        arguments: [
            ("identity", nil), ("Identity", nil), ("gzip, identity", "gzip"), ("UTF-8", nil),
            ("none", nil),
        ] as [(String, String?)]
    )
    func identity(coding: String, mark: String?) async throws {
        try await withOrigin { fixture in
            let bytes = mark == nil ? Array(CodedBytes.text.utf8) : CodedBytes.gzip
            fixture.server.answer("/", with: .reply(200, ["Content-Encoding": coding], body: bytes))
            let reply = try await fixture.ask()
            #expect(reply.headers["Content-Encoding"] == nil)
            #expect(reply.headers[Entry.codingField] == mark)
            let received = try await reply.text()
            #expect(received == CodedBytes.text)
        }
    }

    @Test("A redirect, and a 304 that names a place, are answers", arguments: [301, 302, 304, 307])
    func redirects(_ status: Int) async throws {
        try await withOrigin { fixture in
            fixture.server.answer("/", with: .redirect(to: "/elsewhere", status: status))
            let reply = try await fixture.ask()
            #expect(reply.status == status)
            #expect(reply.headers["location"] == "/elsewhere")
            let bytes = try await reply.bytes()
            #expect(bytes == [])
            #expect(fixture.server.requests.all.map(\.path) == ["/"])
        }
    }

    @Test("Error statuses are answers with their bodies", arguments: [404, 500, 503, 511])
    func errorStatuses(_ status: Int) async throws {
        try await withOrigin { fixture in
            fixture.server.answer("/", with: .text("because", status: status))
            let reply = try await fixture.ask()
            #expect(reply.status == status)
            let text = try await reply.text()
            #expect(text == "because")
        }
    }

    @Test("A single connection serves one request after the other")
    func keepsAlive() async throws {
        try await withOrigin { fixture in
            fixture.server.handle { .text("at \($0.path)") }
            for path in ["/a", "/b", "/c"] {
                let text = try await fixture.ask(path).text()
                #expect(text == "at \(path)")
            }
            #expect(fixture.server.accepted.all == [0])
        }
    }

    @Test("An origin that comes back on its port is asked again")
    func comesBack() async throws {
        try await withOrigin { fixture in
            // A kept connection could still be taken for open when the server has closed it.
            fixture.server.answer("/", with: .text("here", headers: ["Connection": "close"]))
            let text = try await fixture.ask().text()
            #expect(text == "here")
            await fixture.server.stop()
            let failure = await fixture.failure(of: try fixture.request())
            #expect(failure == .unreachable(host: "127.0.0.1", reason: "Connection refused"))
            try await fixture.server.restart()
            let again = try await fixture.ask().text()
            #expect(again == "here")
        }
    }
}
