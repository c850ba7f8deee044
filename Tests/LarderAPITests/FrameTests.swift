import LarderAPI
import LarderModel
import Testing

@Suite("Frames of a stream")
struct FrameTests {
    private let id = "https://a.example/42"
    private let url: EntryID
    private let user: EntryID

    init() throws {
        url = try EntryID(id)
        user = EntryID(LarderModel.EntityName(try EntityKey("User:a%2Fb"), of: try OriginName("o")))
    }

    private func snapshot(_ body: FrameBody) -> SnapshotFrame {
        SnapshotFrame(
            source: .cache,
            revision: Revision(8412),
            isStale: true,
            age: .seconds(86_400),
            entry: FrameEntry(
                id: url,
                status: 200,
                mediaType: "application/json",
                etag: "\"a1\"",
                storedAt: LarderModel.Timestamp(milliseconds: 1_795_200_207_120),
                body: body
            )
        )
    }

    private func read<Frame: Decodable>(_ line: [UInt8]) throws -> Frame {
        try APIDecoder(.lenient).decode(Frame.self, from: line)
    }

    /// Expects that the printer writes what the coder writes, and that a client reads it back.
    private func expectPrinted<Frame: StreamFrame & Decodable & Equatable>(_ frame: Frame) throws {
        let line = frame.encodedJSON()
        let coded = String(decoding: APIEncoder().encode(frame), as: UTF8.self)
        #expect(String(decoding: line, as: UTF8.self) == coded)
        #expect(try read(line) == frame)
    }

    @Test("Printed fetch and batch frames have the bytes of the coder")
    func printedFetchFrames() throws {
        var partial = snapshot(.bytes([0, 0xFF]))
        (partial.pending, partial.pendingIDs, partial.failed) = (1, ["a"], 2)
        (partial.complete, partial.missing) = (false, ["User:7"])
        partial.entry.mediaType = nil
        partial.rows = [SnapshotRow(pointer: "/a~1b", id: user, pending: ["a"], failed: [])]
        let value = RawJSON(unchecked: Array(#"{"n":1.0}"#.utf8))
        partial.failedRows = [FailedRow(id: user, modifier: "a", value: value)]
        for frame in [snapshot(.json(Array("[1]".utf8))), partial, snapshot(.href("/v1/e"))] {
            try expectPrinted(FetchFrame.snapshot(frame))
            try expectPrinted(BatchFrame.snapshot(frame))
        }
        let times = EndFrame(
            outcome: .network,
            revision: Revision(1),
            cacheTime: .microseconds(1_250),
            networkTime: .seconds(2)
        )
        for frame in [times, EndFrame(outcome: .error)] {
            try expectPrinted(FetchFrame.end(frame))
            try expectPrinted(BatchFrame.end(frame))
        }
    }

    @Test("Printed watch frames have the bytes of the coder")
    func printedWatchFrames() throws {
        let change = ChangeFrame(
            Revision(1),
            user,
            source: "network",
            cause: "fetch:x",
            changed: [user],
            isOwn: true,
            coalesced: 2,
            isInitial: true,
            hasMore: true
        )
        for frame in [change, ChangeFrame(Revision(1), url, source: "client")] {
            try expectPrinted(WatchFrame.put(frame))
            try expectPrinted(WatchFrame.delete(frame))
        }
        let evict = EvictFrame(Revision(1), user, reason: "lru", isOwn: true, hasMore: true)
        for frame in [evict, EvictFrame(Revision(1), url, reason: "lru")] {
            try expectPrinted(WatchFrame.evict(frame))
        }
        var modifier = LarderModel.ModifierChange(
            id: try ModifierID("01J"),
            state: .failed,
            targets: [url, user]
        )
        try expectPrinted(WatchFrame.modifier(ModifierFrame(Revision(1), modifier)))
        (modifier.reason, modifier.problem) = (.refused, Array(#"{"a": 1}"#.utf8))
        modifier.answer = Array(#"{"status":201}"#.utf8)
        for mark in LarderModel.ModifierChange.Mark.allCases {
            modifier.mark = mark
            let frame = ModifierFrame(Revision(1), modifier, isOwn: true, hasMore: true)
            try expectPrinted(WatchFrame.modifier(frame))
            let text = String(decoding: WatchFrame.modifier(frame).encodedLine(), as: UTF8.self)
            #expect(text.contains(#""answer":{"status":201}"#))
        }
        (modifier.state, modifier.problem) = (.conflict, Array("[]".utf8))
        let line = WatchFrame.modifier(ModifierFrame(Revision(1), modifier)).encodedLine()
        #expect(String(decoding: line, as: UTF8.self).contains(#""conflict":[]"#))
    }

    @Test("A printed receipt has the bytes of the coder")
    func printedReceipt() throws {
        let id = try ModifierID("01J")
        var receipt = ModifierReceipt(id: id, state: .queued, revision: Revision(1))
        for settledAt in [nil, LarderAPI.Timestamp(milliseconds: 1)] {
            receipt.settledAt = settledAt
            #expect(receipt.encodedJSON() == APIEncoder().encode(receipt))
        }
    }

    @Test("A dead or cancelled modifier names what it reverted, a dropped one its targets")
    func reverted() throws {
        var change = LarderModel.ModifierChange(
            id: try ModifierID("01J"),
            state: .failed,
            targets: [url]
        )
        for state in [LarderModel.ModifierState.failed, .cancelled] {
            change.state = state
            #expect(ModifierFrame(Revision(1), change).reverted == [.init(id: id)])
        }
        change.mark = .dropped
        #expect(ModifierFrame(Revision(1), change).targets == [.init(id: id)])
    }

    @Test("Each CR and LF of an inline body becomes a space and no other byte changes")
    func lineEnds() throws {
        let pretty = "{\r\n\t\"a\\n\":\n  [1.0, \"é\\u00e9\"]\n}"
        let line = FetchFrame.snapshot(snapshot(.json(Array(pretty.utf8)))).encodedLine()
        #expect(line.filter { $0 == 0x0A || $0 == 0x0D }.count == 1)
        guard case .snapshot(let frame) = try read(line) as FetchFrame else {
            Issue.record("no snapshot")
            return
        }
        #expect(frame.entry.body?.text == "{  \t\"a\\n\":   [1.0, \"é\\u00e9\"] }")
    }

    @Test("A body as deep as JSON may be fits into its frame", arguments: ["null", "7", "\"x\""])
    func deepBody(inner: String) throws {
        let depth = Limits.jsonDepthMax
        let deep =
            String(repeating: "[", count: depth) + inner + String(repeating: "]", count: depth)
        for body in [deep, inner] {
            let frame = FetchFrame.snapshot(snapshot(.json(Array(body.utf8))))
            #expect(try read(frame.encodedLine()) == frame)
        }
        var problem = Problem(.originStatus, "d")
        problem.quote(Array(deep.utf8))
        let frame = FetchFrame.problem(ProblemFrame(problem))
        #expect(try read(frame.encodedLine()) == frame)
    }

    @Test("A client cannot come back with the revision of an initial frame or within a step")
    func resumption() {
        let frames = [
            ChangeFrame(Revision(5), url, source: "client"),
            ChangeFrame(Revision(5), url, source: "client", isInitial: true),
            ChangeFrame(Revision(5), url, source: "client", hasMore: true),
        ]
        #expect(frames.map { WatchFrame.put($0).revision } == [5, nil, nil])
        #expect(WatchFrame.heartbeat(HeartbeatFrame(Revision(6))).revision == 6)
        #expect(WatchFrame.end(WatchEndFrame(.shutdown, nil)).revision == nil)
        let lagged = WatchFrame.lagged(LaggedFrame(Revision(9), droppedAfter: Revision(8)))
        #expect(lagged.revision == 8)
    }

    @Test("A line that is cut anywhere is refused")
    func cuts() {
        let line = FetchFrame.snapshot(snapshot(.json(Array("[1]".utf8)))).encodedJSON()
        for end in line.indices {
            #expect(throws: APIDecodingError.self) {
                try APIDecoder(.lenient).decode(FetchFrame.self, from: Array(line[..<end]))
            }
        }
    }
}
