import LarderModel
import LarderTestSupport
import LarderWire
import Testing

/// Origins whose answers are unusual, through the real server and the real upstream.
@Suite("Unusual answers of origins", .timeLimit(.minutes(5)))
struct UnusualAnswerTests {
    private static func events(
        _ gate: Gate,
        type: String = "text/event-stream; charset=utf-8"
    ) -> OriginAnswer {
        OriginAnswer([
            .head(200, ["Content-Type": type]),
            .text("data: 1\n\n"), .wait(gate), .text("data: 2\n\n"), .close,
        ])
    }

    @Test(
        "A stream of events is passed on as it comes and never stored",
        arguments: [[], ["Accept: text/event-stream"]],
        ["text/event-stream; charset=utf-8", "multipart/x-mixed-replace; boundary=x"]
    )
    func events(headers: [String], type: String) async throws {
        try await GatewayFixture.run { gateway in
            let gate = Gate()
            gateway.answer("/events", with: Self.events(gate, type: type))
            let client = try await gateway.connect()
            let lines = ["GET /o/origin/events HTTP/1.1", "Host: l"] + headers + ["", ""]
            try await client.send(lines.joined(separator: "\r\n"))
            _ = try await client.seen("data: 1\n\n")
            gate.open()
            _ = try await client.seen("data: 2\n\n")
            let cached = try await gateway.connect().ask(
                "GET",
                "/o/origin/events",
                ["Cache-Control: only-if-cached"]
            )
            #expect(cached.status == 504)
        }
    }

    @Test("Lines reach a client that says no-store as they come, also after a silence")
    func lines() async throws {
        var setup = GatewayFixture.Setup()
        setup.readTime = .milliseconds(100)
        try await GatewayFixture.run(setup) { gateway in
            let gate = Gate()
            let lines = OriginAnswer([
                .head(200, ["Content-Type": "application/x-ndjson"]),
                .text("one\n"), .wait(gate), .text("two\n"), .close,
            ])
            gateway.answer("/log", with: lines)
            let silent = OriginAnswer([
                .head(200, ["Content-Length": "9"]), .text("one\n"), .wait(gate), .close,
            ])
            gateway.answer("/silent", with: silent)
            func ask(_ path: String) async throws -> RawClient {
                let client = try await gateway.connect()
                let head = "GET /o/origin\(path) HTTP/1.1\r\nHost: l\r\n"
                try await client.send("\(head)Cache-Control: no-store\r\n\r\n")
                try await client.seen("one\n")
                return client
            }
            let log = try await ask("/log")
            // The other answer ends when it has been silent for too long, and it began later.
            _ = try await ask("/silent").rest()
            gate.open()
            try await log.seen("two\n")
        }
    }

    @Test("A stream of events is refused where one whole answer is asked for, with its raw path")
    func fetchedEvents() async throws {
        try await GatewayFixture.run { gateway in
            gateway.answer("/events", with: Self.events(Gate()))
            let path = "/v1/fetch?url=\(try gateway.url("/events"))"
            let answer = try await gateway.connect().ask("GET", path)
            #expect(answer.text.contains("urn:larder:entry-too-large"))
            #expect(answer.text.contains("/o/origin/events"))
        }
    }

    @Test("An answer that ends with its connection inside a JSON value replaces nothing")
    func cutOff() async throws {
        try await GatewayFixture.run { gateway in
            let type = "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n"
            gateway.answer("/j", with: .raw(type + #"{"v":[1,2]}"#), .raw(type + #"{"v":[1,"#))
            let first = try await gateway.connect().ask("GET", "/o/origin/j")
            #expect(first.text == #"{"v":[1,2]}"#)
            let second = try await gateway.connect().ask("GET", "/o/origin/j")
            #expect(second.text == #"{"v":[1,2]}"#)
            let id = PercentCoding.entryPath(try EntryID(try gateway.url("/j")))
            let entry = try await gateway.connect().ask("GET", id)
            #expect(entry.text == #"{"v":[1,2]}"#)
        }
    }

    @Test("JSON after a byte order mark is JSON, and keeps its bytes")
    func byteOrderMark() async throws {
        try await GatewayFixture.run { gateway in
            let body = "\u{FEFF}" + #"{"v":1}"#
            gateway.answer("/j", with: .json(body))
            let raw = try await gateway.connect().ask("GET", "/o/origin/j")
            #expect(raw.body == Array(body.utf8))
            let path = "/v1/fetch?policy=cache-only&url=\(try gateway.url("/j"))"
            let fetched = try await gateway.connect().ask("GET", path)
            #expect(fetched.text.contains(#""body":{"v":1}"#))
        }
    }

    @Test("A field value that is not UTF-8 goes to the client byte for byte, also from the cache")
    func fieldBytes() async throws {
        try await GatewayFixture.run { gateway in
            let head = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nETag: \"v"
            let bytes = Array(head.utf8) + [0xE9] + Array("\"\r\n\r\nok".utf8)
            gateway.answer("/f", with: OriginAnswer([.send(bytes)]))
            let id = PercentCoding.entryPath(try EntryID(try gateway.url("/f")))
            for path in ["/o/origin/f", id, id] {
                let client = try await gateway.connect()
                try await client.send(
                    "GET \(path) HTTP/1.1\r\nHost: l\r\nConnection: close\r\n\r\n"
                )
                let answer = try await client.rest()
                let tag = Array("ETag: \"v".utf8) + [0xE9, 0x22]
                #expect(answer.firstRange(of: tag) != nil, "\(path)")
            }
            // And back: the validator is the same.
            let client = try await gateway.connect()
            let request = "GET \(id) HTTP/1.1\r\nHost: l\r\nConnection: close\r\nIf-None-Match: \"v"
            try await client.send(Array(request.utf8) + [0xE9] + Array("\"\r\n\r\n".utf8))
            let answer = try await client.rest()
            #expect(answer.starts(with: Array("HTTP/1.1 304".utf8)))
        }
    }

    @Test("A character of a field that two reads divide stays whole")
    func dividedCharacter() async throws {
        try await GatewayFixture.run { gateway in
            gateway.answer("/f", with: .text("ok", headers: ["ETag": "\"\u{FC}\""]))
            _ = try await gateway.raw("/f")
            let client = try await gateway.connect()
            let id = PercentCoding.entryPath(try EntryID(try gateway.url("/f")))
            let head = "GET \(id) HTTP/1.1\r\nHost: l\r\nConnection: close\r\nIf-None-Match: \""
            try await client.send(Array(head.utf8) + [0xC3])
            // The first part is read meanwhile.
            _ = try await gateway.connect().ask("GET", "/v1/status")
            try await client.send([0xBC] + Array("\"\r\n\r\n".utf8))
            let answer = try await client.rest()
            #expect(answer.starts(with: Array("HTTP/1.1 304".utf8)))
        }
    }

    @Test("A page answered to a write is the origin's where what is not there has none")
    func pageToWrite() async throws {
        try await GatewayFixture.run { gateway in
            let page = OriginAnswer.text("<html>", headers: ["Content-Type": "text/html"])
            gateway.answer("/n/1", with: page)
            let id = try gateway.url("/n/1")
            let effect = #"{"type":"put","value":{"n":1}}"#
            let command = #"{"id":"w","changes":[{"target":{"id":"\#(id)"},"effect":\#(effect)}]}"#
            let client = try await gateway.connect()
            let path = "/v1/modifiers?wait=60s"
            let sent = try await client.ask("POST", path, body: Array(command.utf8))
            #expect(sent.text.contains(#""state":"confirmed""#), "\(sent.text)")
            let origins = try await client.ask("GET", "/v1/origins")
            #expect(origins.text.contains(#""state":"online""#), "\(origins.text)")
        }
    }

    @Test("A client's Authorization is refused where the origin is configured with one")
    func authorization() async throws {
        var setup = GatewayFixture.Setup()
        setup.adjust = { $0.headers.append("authorization", "Bearer ours") }
        try await GatewayFixture.run(setup) { gateway in
            let answer = try await gateway.connect().ask(
                "GET",
                "/o/origin/a",
                ["Authorization: Bearer theirs"]
            )
            #expect(answer.status == 400)
            #expect(answer.text.contains("'Authorization'"))
            #expect(gateway.origin.requests.all.isEmpty)
        }
    }
}
