import LarderAPI
import LarderModel
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@Suite("Ranges of stored bodies", .timeLimit(.minutes(5)))
struct RangeTests {
    static let date = "Tue, 14 Nov 2023 22:13:19 GMT"

    // MARK: What a Range says

    @Test(
        "A Range of one part names bytes of a body of 10 bytes (S46)",
        arguments: [
            ("bytes=0-0", 0..<1), ("bytes=2-5", 2..<6), ("bytes=3-", 3..<10), ("bytes=-4", 6..<10),
            ("bytes=9-9", 9..<10), ("bytes=5-99", 5..<10), ("bytes=-99", 0..<10),
            ("BYTES=0-", 0..<10), ("bytes= 1-2\t", 1..<3), ("bytes=,1-2,", 1..<3),
            ("bytes=00000000000000000000000001-2", 1..<3),
            ("bytes=8-99999999999999999999999999", 8..<10),
            ("bytes=-99999999999999999999999999", 0..<10),
        ]
    )
    func parts(value: String, part: Range<Int>) throws {
        #expect(try #require(ByteRange([value])).part(of: 10) == part)
    }

    @Test(
        "A Range after the end of a body has no part (S46)",
        arguments: [
            "bytes=10-", "bytes=10-11", "bytes=-0", "bytes=99999999999999999999999999-",
        ]
    )
    func partAfterEnd(value: String) throws {
        #expect(try #require(ByteRange([value])).part(of: 10) == nil)
    }

    /// Values of Range that larderd ignores.
    static let ignored = [
        "", "bytes", "bytes=", "bytes=-", "bytes=,", "bytes=a-b", "bytes=1", "bytes=5-4",
        "bytes=1-2-3", "bytes=--1", "bytes=+1-2", "bytes=1-+2", "bytes=0x1-2", "bytes=1 0-20",
        "bytes=\u{661}-2", "bytes 0-1", "bytes =0-1", "lines=0-1", "bytes=0-1,3-4", "bytes=0-1, -1",
    ]

    @Test("Several parts, another unit and nonsense are no range (S46)", arguments: ignored)
    func noRange(value: String) {
        #expect(ByteRange([value]) == nil)
        #expect(ByteRange(["bytes=0-1", value]) == nil)
        #expect(ByteRange([]) == nil)
    }

    // MARK: On the routes

    /// Body sizes in the row and in chunks.
    static let sizes = [1_000, 300_000]

    /// Stores a body as an origin's, and gives each way to read it from the cache.
    private func targets(_ server: ServerFixture, _ bytes: [UInt8]) async throws -> [String] {
        let url = try ServerFixture.url("/a")
        let headers = ["ETag": "\"a\"", "Last-Modified": Self.date, "Accept-Ranges": "none"]
        server.upstream.answer(url, with: .reply(pieces: [.bytes(bytes)], 200, headers))
        let client = try await server.connect()
        let first = try await client.ask("GET", "/o/example/a")
        #expect(first.status == 200 && first.headers["Accept-Ranges"] == "bytes")
        return [
            PercentCoding.entryPath(try EntryID(url)), "/o/example/a", url.text,
            "/v1/get?policy=cache-only&url=\(PercentCoding.encode(url.text))",
        ]
    }

    private func ask(
        _ server: ServerFixture,
        _ target: String,
        _ headers: [String],
        _ method: String = "GET"
    ) async throws -> RawResponse {
        let all = headers + ["Cache-Control: only-if-cached"]
        return try await server.connect().ask(method, target, all)
    }

    @Test("A range of a stored body is 206 on every route (S46)", arguments: sizes)
    func partOfBody(count: Int) async throws {
        try await ServerFixture.run { server in
            let bytes = pattern(count)
            for target in try await targets(server, bytes) {
                for part in [
                    0..<1, 0..<count, count - 1..<count, 10..<700, count / 4..<count / 2,
                    count / 64 * 63..<count,
                ] {
                    let value = "bytes=\(part.lowerBound)-\(part.upperBound - 1)"
                    let answer = try await ask(server, target, ["Range: \(value)"])
                    #expect(answer.status == 206, "\(target) \(value)")
                    #expect(answer.body == Array(bytes[part]), "\(target) \(value)")
                    let place = "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(count)"
                    #expect(answer.headers["Content-Range"] == place)
                    #expect(answer.headers["Content-Length"] == "\(part.count)")
                    #expect(answer.headers["Accept-Ranges"] == "bytes")
                    #expect(answer.headers["ETag"] == "\"a\"")
                    #expect(answer.headers["Larder-Pending"] == "0")
                }
            }
        }
    }

    @Test(
        "A Range of several parts, and a senseless one, bring the whole body (S46)",
        arguments: sizes
    )
    func wholeBody(count: Int) async throws {
        try await ServerFixture.run { server in
            let bytes = pattern(count)
            for target in try await targets(server, bytes) {
                let several = ["Range: bytes=0-1", "Range: bytes=3-4"]
                for headers in [several, ["If-Range: \"a\""]]
                    + ["bytes=0-1,3-4", "bytes=5-4", "lines=0-1", "x"].map({ ["Range: \($0)"] })
                {
                    let answer = try await ask(server, target, headers)
                    #expect(answer.status == 200, "\(target) \(headers)")
                    #expect(answer.body == bytes, "\(target) \(headers)")
                    #expect(answer.headers["Content-Range"] == nil)
                    #expect(answer.headers["Accept-Ranges"] == "bytes")
                }
                let head = try await ask(server, target, ["Range: bytes=0-1"], "HEAD")
                #expect(head.status == 200)
                #expect(head.headers["Content-Length"] == "\(count)")
                #expect(head.headers["Content-Range"] == nil)
                #expect(head.headers["Accept-Ranges"] == "bytes")
            }
        }
    }

    @Test("A range after the end is 416 with the length (S46)", arguments: sizes)
    func afterEnd(count: Int) async throws {
        try await ServerFixture.run { server in
            for target in try await targets(server, pattern(count)) {
                for value in ["bytes=\(count)-", "bytes=\(count)-\(count + 9)", "bytes=-0"] {
                    let answer = try await ask(server, target, ["Range: \(value)"])
                    #expect(answer.status == 416, "\(target) \(value)")
                    #expect(try answer.problem().kind == .rangeNotSatisfiable)
                    #expect(answer.headers["Content-Range"] == "bytes */\(count)")
                }
            }
        }
    }

    @Test("An empty body has no part: 416, or 200 for its last bytes (S46)")
    func empty() async throws {
        try await ServerFixture.run { server in
            for target in try await targets(server, []) {
                let answer = try await ask(server, target, ["Range: bytes=0-"])
                #expect(answer.status == 416)
                #expect(answer.headers["Content-Range"] == "bytes */0")
                let last = try await ask(server, target, ["Range: bytes=-5"])
                #expect(last.status == 200 && last.body.isEmpty)
            }
        }
    }

    // MARK: Conditions

    @Test("If-Range counts by a strong tag or a strong date of the origin (S46)", arguments: sizes)
    func ifRange(count: Int) async throws {
        try await ServerFixture.run { server in
            // The date is strong a second after it.
            for target in try await targets(server, pattern(count)) {
                let cases = [
                    ("\"a\"", 206), ("\"b\"", 200), ("W/\"a\"", 200), ("\"a\", \"b\"", 200),
                    ("a", 200), ("*", 200), ("", 200), (Self.date, 206),
                    ("Tue, 14 Nov 2023 22:13:18 GMT", 200), ("Tue, 14 Nov 2023 22:13:20 GMT", 200),
                    ("Tuesday, 14-Nov-23 22:13:19 GMT", 200),
                ]
                for (value, status) in cases {
                    let headers = ["Range: bytes=1-2", "If-Range: \(value)"]
                    let answer = try await ask(server, target, headers)
                    #expect(answer.status == status, "\(target) \(value)")
                    #expect(answer.body.count == (status == 206 ? 2 : count))
                }
                let twice = ["Range: bytes=1-2", "If-Range: \"a\"", "If-Range: \"a\""]
                #expect(try await ask(server, target, twice).status == 200)
            }
        }
    }

    @Test("A weak tag, a date that is not strong and a date of the daemon do not count (S46)")
    func weakValidators() async throws {
        try await ServerFixture.run { server in
            func status(_ path: String, _ ifRange: String) async throws -> Int {
                let headers = ["Range: bytes=1-2", "If-Range: \(ifRange)"]
                return try await ask(server, "/v1/entries/\(path)", headers).status
            }
            try await server.store("weak", pattern(9)) { $0.etag = "W/\"a\"" }
            #expect(try await status("weak", "W/\"a\"") == 200)
            #expect(try await status("weak", "\"a\"") == 200)
            let now = server.clock.now().httpDate
            try await server.store("young", pattern(9)) { $0.lastModified = now }
            #expect(try await status("young", now) == 200)
            server.clock.advance(by: .seconds(60))
            let client = try await server.connect()
            _ = try await client.ask("PUT", "/v1/entries/own", body: pattern(9))
            let own = try await client.ask("GET", "/v1/entries/own").headers
            server.clock.advance(by: .seconds(60))
            #expect(try await status("own", try #require(own["Last-Modified"])) == 200)
            #expect(try await status("own", try #require(own["ETag"])) == 206)
        }
    }

    @Test("Conditions come before ranges (S46)", arguments: sizes)
    func conditions(count: Int) async throws {
        try await ServerFixture.run { server in
            for target in try await targets(server, pattern(count)) {
                var cases = [
                    (["If-None-Match: \"a\""], 304), (["If-None-Match: \"b\""], 206),
                    (["If-Match: \"b\""], 412), (["If-Match: W/\"a\""], 412),
                    (["If-Match: \"b\", \"a\""], 206), (["If-Match: *"], 206),
                    (["If-Match: \"b\"", "If-None-Match: \"a\""], 412),
                    (["If-Match: \"a\"", "If-None-Match: \"a\""], 304),
                ]
                if !target.hasPrefix("/v1/entries/") {
                    cases.append((["If-Modified-Since: \(Self.date)"], 304))
                    cases.append((["If-Modified-Since: Tue, 14 Nov 2023 22:13:18 GMT"], 206))
                }
                for (condition, status) in cases {
                    for range in ["bytes=0-1", "bytes=\(count)-"] {
                        let headers = condition + ["Range: \(range)"]
                        let answer = try await ask(server, target, headers)
                        let other = range == "bytes=0-1" ? 206 : 416
                        let wanted = status == 206 ? other : status
                        #expect(answer.status == wanted, "\(target) \(headers)")
                        if status == 412 {
                            #expect(try answer.problem().kind == .preconditionFailed)
                        }
                    }
                }
            }
        }
    }

    // MARK: Views

    @Test("Each view with writes that wait has its own tag, so parts of two never join (S46)")
    func pendingWrites() async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/n")
            let json = #"{"id":1,"text":"\#(String(repeating: "x", count: 2_000))"}"#
            let headers = ["ETag": "\"a\"", "Last-Modified": Self.date]
            server.upstream.answer(url, with: .json(json, headers: headers))
            let client = try await server.connect()
            _ = try await client.ask("GET", "/o/example/n")
            let only = "Cache-Control: only-if-cached"
            let targets = [PercentCoding.entryPath(try EntryID(url)), "/o/example/n"]
            var tags = ["\"a\""]
            for count in 1...2 {
                let effect = #"{"type":"merge","value":{"n\#(count)":true}}"#
                let modifier = #"""
                    {"id":"m\#(count)","hold":"1h","request":{"method":"POST","url":"\#(url)"},
                    "changes":[{"target":{"id":"\#(url)"},"effect":\#(effect)}]}
                    """#
                let path = "/v1/modifiers"
                let accepted = try await client.ask("POST", path, body: Array(modifier.utf8))
                #expect(accepted.status == 202)
                let view = try await client.ask("GET", targets[0])
                #expect(view.headers["Larder-Pending"] == "\(count)")
                let tag = try #require(view.headers["ETag"])
                #expect(tag.hasPrefix("\"") && !tags.contains(tag))
                for target in targets {
                    func part(_ ifRange: String) async throws -> RawResponse {
                        let range = ["Range: bytes=9-", "If-Range: \(ifRange)"]
                        return try await client.ask("GET", target, range + [only])
                    }
                    for old in tags + [Self.date, server.clock.now().httpDate] {
                        let answer = try await part(old)
                        #expect(answer.status == 200, "\(target) \(old)")
                        #expect(answer.body == view.body)
                    }
                    let answer = try await part(tag)
                    #expect(answer.status == 206)
                    #expect(answer.body == Array(view.body[9...]))
                    #expect(answer.headers["ETag"] == tag)
                }
                tags.append(tag)
            }
            for count in [2, 1] {
                #expect(try await client.ask("DELETE", "/v1/modifiers/m\(count)").status == 204)
            }
            let range = ["Range: bytes=9-", "If-Range: \"a\""]
            for target in targets {
                let answer = try await client.ask("GET", target, range + [only])
                #expect(answer.status == 206)
                #expect(answer.body == Array(json.utf8.dropFirst(9)))
            }
        }
    }

    @Test("An entity has ranges too (S46)")
    func entity() async throws {
        try await ServerFixture.run(rules: .standard) { server in
            let client = try await server.connect()
            let path = "/v1/entries/entity:example%2FUser%3A7"
            let json = #"{"type":"User","id":"7","name":"Ada"}"#
            #expect(try await client.ask("PUT", path, body: Array(json.utf8)).status == 201)
            let answer = try await client.ask("GET", path, ["Range: bytes=0-7"])
            #expect(answer.status == 206)
            #expect(answer.text == #"{"type":"#)
            #expect(answer.headers["Content-Range"] == "bytes 0-7/\(json.utf8.count)")
        }
    }

    // MARK: Other answers

    @Test("Another status of the origin, and an answer that is passed on, have no ranges (S46)")
    func others() async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/a")
            let headers = ["ETag": "\"a\"", "Accept-Ranges": "bytes"]
            server.upstream.answer(
                url,
                with: .reply("refused", status: 403, headers: headers),
                .reply("passed on", headers: headers)
            )
            let client = try await server.connect()
            let refused = try await client.ask("GET", "/o/example/a", ["Range: bytes=0-1"])
            #expect((refused.status, refused.text) == (403, "refused"))
            #expect(refused.headers["Accept-Ranges"] == nil)
            let noStore = ["Range: bytes=0-1", "Cache-Control: no-store"]
            let passed = try await client.ask("GET", "/o/example/a", noStore)
            #expect((passed.status, passed.text) == (200, "passed on"))
            #expect(passed.headers["Accept-Ranges"] == nil)
        }
    }

    @Test("A ready answer is the whole body, also between ranges of it (S46)")
    func readyAnswers() async throws {
        try await ServerFixture.run(isOneLoop: true) { server in
            try await server.store("a", pattern(100))
            let client = try await server.connect()
            for _ in 1...4 {
                let whole = try await client.ask("GET", "/v1/entries/a")
                #expect(whole.status == 200 && whole.body == pattern(100))
                #expect(whole.headers["Accept-Ranges"] == "bytes")
                let part = try await client.ask("GET", "/v1/entries/a", ["Range: bytes=-10"])
                #expect(part.status == 206 && part.body == Array(pattern(100)[90...]))
            }
            let stats = try StatsReport(decoding: await client.ask("GET", "/v1/stats").body)
            #expect(stats.lookups.ready == 2)
        }
    }
}
