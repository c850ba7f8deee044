import LarderJSON
import LarderModel
import LarderWire
import Testing

@Suite("The frames of a fetch")
struct FetchFrameTests {
    private func snapshot(_ body: FrameBody) throws -> SnapshotFrame {
        let storedAt = Timestamp(milliseconds: 1_795_200_207_120)
        let entry = FrameEntry(
            id: try EntryID("https://a.example/42"),
            status: 200,
            mediaType: "application/json",
            etag: "\"a1\"",
            storedAt: storedAt,
            body: body
        )
        return SnapshotFrame(
            source: .cache,
            revision: Revision(8412),
            isStale: true,
            age: .seconds(86_400),
            entry: entry
        )
    }

    /// Expects that `frame` is written as `line` and read back as it was.
    private func expect(_ frame: FetchFrame, _ line: String) throws {
        let encoded = frame.encodedLine()
        #expect(text(encoded) == line + "\n")
        #expect(try FetchFrame(line: encoded) == frame)
        #expect(try FetchFrame(line: bytes(line)) == frame)
    }

    @Test("A snapshot shows its entry with JSON inline")
    func snapshotJSON() throws {
        let head =
            #"{"type":"snapshot","source":"cache","rev":8412,"stale":true,"age_ms":86400000,"#
            + #""pending":0,"pending_ids":[],"failed":0,"complete":true,"#
        let entry =
            #""entry":{"id":"https://a.example/42","status":200,"media_type":"application/json","#
            + #""etag":"\"a1\"","stored_at":"2026-11-20T18:43:27.120Z","body":{"a" : 1}}}"#
        try expect(.snapshot(try snapshot(.json(bytes(#"{"a" : 1}"#)))), head + entry)
    }

    @Test("A snapshot from the network names pending modifiers and what is missing")
    func snapshotPending() throws {
        var frame = try snapshot(.href("/v1/entries/https%3A%2F%2Fa.example%2F42"))
        frame.source = .network
        frame.isStale = false
        frame.age = .zero
        frame.pending = 1
        frame.pendingIDs = ["01J"]
        frame.failed = 2
        frame.isComplete = false
        frame.missing = ["User:7"]
        frame.entry.mediaType = nil
        let head =
            #"{"type":"snapshot","source":"network","rev":8412,"stale":false,"age_ms":0,"#
            + #""pending":1,"pending_ids":["01J"],"failed":2,"complete":false,"#
            + #""missing":["User:7"],"#
        let entry =
            #""entry":{"id":"https://a.example/42","status":200,"media_type":null,"#
            + #""etag":"\"a1\"","stored_at":"2026-11-20T18:43:27.120Z","#
            + #""body_href":"/v1/entries/https%3A%2F%2Fa.example%2F42"}}"#
        try expect(.snapshot(frame), head + entry)
    }

    @Test("A followed entry's origin, and the daemon's end")
    func origin() throws {
        let origin = try OriginName("example")
        try expect(
            .origin(Revision(7), origin, state: "offline"),
            #"{"type":"origin","rev":7,"origin":"example","state":"offline"}"#
        )
        try expect(
            .end(EndFrame(outcome: .shutdown, revision: Revision(7))),
            #"{"type":"end","outcome":"shutdown","rev":7,"timing":{}}"#
        )
    }

    @Test("Bytes travel as base64")
    func snapshotBytes() throws {
        let frame = FetchFrame.snapshot(try snapshot(.bytes([0, 0xFF, 0x0A])))
        #expect(text(frame.encodedLine()).hasSuffix("\"body_b64\":\"AP8K\"}}\n"))
        #expect(try FetchFrame(line: frame.encodedLine()) == frame)
        let empty = FetchFrame.snapshot(try snapshot(.bytes([])))
        #expect(try FetchFrame(line: empty.encodedLine()) == empty)
    }

    @Test("Each CR and LF of an inline body becomes a space and no other byte changes")
    func lineEnds() throws {
        let pretty = "{\r\n\t\"a\\n\":\n  [1.0, \"é\\u00e9\"]\n}"
        let frame = FetchFrame.snapshot(try snapshot(.json(bytes(pretty))))
        let line = frame.encodedLine()
        #expect(line.filter { $0 == 0x0A || $0 == 0x0D }.count == 1)
        let expected = bytes("{  \t\"a\\n\":   [1.0, \"é\\u00e9\"] }")
        guard case .snapshot(let read) = try FetchFrame(line: line) else {
            Issue.record("no snapshot")
            return
        }
        #expect(read.entry.body == .json(expected))
    }

    @Test("A body as deep as JSON may be fits into its frame", arguments: ["null", "7", "\"x\""])
    func deepBody(inner: String) throws {
        let depth = Limits.jsonDepthMax
        let deep =
            String(repeating: "[", count: depth) + inner + String(repeating: "]", count: depth)
        let frame = FetchFrame.snapshot(try snapshot(.json(bytes(deep))))
        #expect(try FetchFrame(line: frame.encodedLine()) == frame)
        let scalar = FetchFrame.snapshot(try snapshot(.json(bytes(inner))))
        #expect(try FetchFrame(line: scalar.encodedLine()) == scalar)
        var problem = Problem(.originStatus, "d")
        problem.quote(bytes(deep))
        #expect(try FetchFrame(line: FetchFrame.error(problem).encodedLine()) == .error(problem))
    }

    @Test("In place of a second snapshot stand unchanged, deleted and error")
    func secondFrames() throws {
        try expect(
            .unchanged(UnchangedFrame(revision: Revision(8412), status: 304)),
            #"{"type":"unchanged","source":"network","rev":8412,"status":304}"#
        )
        try expect(
            .deleted(DeletedFrame(revision: Revision(8413), status: 404)),
            #"{"type":"deleted","source":"network","rev":8413,"status":404}"#
        )
        var problem = Problem(.timeout, "no answer within 10s", hint: "h")
        problem.requestID = "7"
        try expect(
            .error(problem),
            #"{"type":"error","source":"network","problem":{"type":"urn:larder:timeout","#
                + #""title":"The origin did not answer in time","status":504,"#
                + #""detail":"no answer within 10s","request_id":"7","retryable":true,"hint":"h"}}"#
        )
    }

    @Test("An end says how it went and how long it took, in tenths of a millisecond")
    func end() throws {
        try expect(
            .end(
                EndFrame(
                    outcome: .network,
                    revision: Revision(8413),
                    cacheTime: .microseconds(400),
                    networkTime: .microseconds(183_200)
                )
            ),
            #"{"type":"end","outcome":"network","rev":8413,"#
                + #""timing":{"cache_ms":0.4,"network_ms":183.2}}"#
        )
        try expect(
            .end(EndFrame(outcome: .error)),
            #"{"type":"end","outcome":"error","timing":{}}"#
        )
        let rounded = FetchFrame.end(EndFrame(outcome: .cache, cacheTime: .nanoseconds(1_250_001)))
        #expect(text(rounded.encodedLine()).hasSuffix("{\"cache_ms\":1.3}}\n"))
    }

    @Test("Members that a newer daemon adds are ignored")
    func unknownMembers() throws {
        let frame = try FetchFrame(
            line: bytes(
                #"{"new":{},"type":"deleted","source":"network","rev":1,"status":410,"x":[]}"#
            )
        )
        #expect(frame == .deleted(DeletedFrame(revision: Revision(1), status: 410)))
    }

    @Test("A line that is no frame is refused by what is wrong")
    func refusals() {
        let cases: [(String, WireError)] = [
            ("", .notJSON(.unexpectedEnd(at: 0))), ("{}", .missingMember("type")),
            (#"{"type":"news"}"#, .unknownFrame(type: "news")),
            (#"{"type":"unchanged","rev":1}"#, .missingMember("status")),
            (
                #"{"type":"unchanged","rev":"1","status":304}"#,
                .wrongType(member: "rev", wanted: "an integer")
            ),
            (
                #"{"type":"end","outcome":"x","timing":{}}"#,
                .unknownValue(member: "outcome", text: "x")
            ),
            (#"{"type":"end","outcome":"cache"}"#, .missingMember("timing")),
            (
                #"{"type":"end","outcome":"cache","timing":[]}"#,
                .wrongType(member: "timing", wanted: "an object")
            ),
            (
                #"{"type":"end","outcome":"cache","timing":{"cache_ms":1e300}}"#,
                .wrongType(member: "cache_ms", wanted: "a time in milliseconds")
            ),
        ]
        for (line, expected) in cases {
            #expect(throws: expected) { try FetchFrame(line: bytes(line)) }
        }
    }

    @Test("A line that is cut anywhere is refused")
    func cuts() throws {
        let line = FetchFrame.snapshot(try snapshot(.json(bytes("[1]")))).encodedLine().dropLast()
        for end in line.indices {
            #expect(throws: WireError.self) { try FetchFrame(line: Array(line[..<end])) }
        }
    }
}
