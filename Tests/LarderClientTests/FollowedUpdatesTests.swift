import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@testable import LarderClient

@Suite("An entry that is followed", .timeLimit(.minutes(5)))
struct FollowedUpdatesTests {
    /// Runs `body` with a client whose pauses are recorded and take no time, up to `pausesMax`.
    private func withFollower(
        pausesMax: Int = 100,
        _ body: (ScriptedDaemon, LarderClient, Recorder<Duration>) async throws -> Void
    ) async throws {
        let daemon = try await ScriptedDaemon()
        let pauses = Recorder<Duration>()
        let time = ClientTime(
            pause: { (duration) async throws(CancellationError) in
                pauses.record(duration)
                if pauses.all.count > pausesMax { throw CancellationError() }
            },
            randomUnit: { 0.5 }
        )
        let client = LarderClient(trying: [daemon.path], time: time)
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(daemon, client, pauses))
        } catch {
            result = .failure(error)
        }
        await client.shutdown()
        await daemon.stop()
        try result.get()
    }

    private func snapshot(
        _ source: AnswerSource,
        _ body: String,
        _ revision: Int64
    ) throws
        -> FetchFrame
    {
        try Frames.snapshot(source, .json(Array(body.utf8)), revision: revision)
    }

    /// The frames, and then the answer's end without one of its own.
    private func cut(_ frames: FetchFrame...) -> OriginAnswer {
        OriginAnswer([.fetchHead] + frames.map { .chunk($0.encodedLine()) } + [.chunk([])])
    }

    /// The same, but that the connection breaks once the gate is open: what is on its way at that
    /// moment may be lost.
    private func broken(by gate: Gate, _ frame: FetchFrame) -> OriginAnswer {
        OriginAnswer([.fetchHead, .chunk(frame.encodedLine()), .wait(gate), .close])
    }

    private func describe(_ update: FollowUpdate<Snapshot>?) -> String {
        switch update {
        case .value(let snapshot): "\(snapshot.source) \(snapshot.rev)"
        case .unchanged: "unchanged"
        case .deleted: "deleted"
        case .failed(let problem): "failed \(problem.type)"
        case .origin(let frame): "origin \(frame.origin) \(frame.state)"
        case .disconnected(let error): "disconnected: \(error)"
        case nil: "nil"
        }
    }

    private func collect(
        _ updates: FollowedUpdates<Snapshot>,
        _ count: Int
    ) async throws -> [String] {
        var iterator = updates.makeAsyncIterator()
        var told: [String] = []
        for _ in 0..<count { told.append(describe(try await iterator.next())) }
        return told
    }

    @Test("A broken stream is connected again, and what was shown is not shown again")
    func reconnects() async throws {
        try await withFollower { daemon, client, pauses in
            daemon.answer(
                "/v1/fetch",
                with: cut(try snapshot(.cache, "[1]", 7), try snapshot(.network, "[2]", 8)),
                cut(
                    try snapshot(.cache, "[2]", 8),
                    Frames.unchanged,
                    .heartbeat(HeartbeatFrame(Revision(8))),
                    .origin(
                        OriginFrame(Revision(8), try OriginName("example"), state: "offline")
                    ),
                    Frames.end(.shutdown)
                ),
                cut(try snapshot(.cache, "[2]", 8), try snapshot(.cache, "[3]", 9))
            )
            let told = try await collect(client.follow(Frames.url), 5)
            #expect(
                told == ["cache 7", "network 8", "unchanged", "origin example offline", "cache 9"]
            )
            #expect(pauses.all == [.milliseconds(100), .milliseconds(100)])
            let command = try await daemon.requests.element(0).bodyText
            #expect(command.contains(#""follow":true"#))
        }
    }

    @Test("A connection that breaks is made again")
    func breaks() async throws {
        try await withFollower { daemon, client, pauses in
            let gate = Gate()
            daemon.answer(
                "/v1/fetch",
                with: broken(by: gate, try snapshot(.cache, "[1]", 7)),
                cut(try snapshot(.cache, "[1]", 7), try snapshot(.network, "[2]", 8))
            )
            var iterator = client.follow(Frames.url).makeAsyncIterator()
            let first = try await iterator.next()
            #expect(describe(first) == "cache 7")
            gate.open()
            let second = try await iterator.next()
            #expect(describe(second) == "network 8")
            #expect(pauses.all == [.milliseconds(100)])
        }
    }

    @Test("The end of a daemon that restarts is healed in silence")
    func restart() async throws {
        try await withFollower { daemon, client, pauses in
            daemon.answer(
                "/v1/fetch",
                with: .frames(try snapshot(.network, "[1]", 7), Frames.end(.network)),
                .problem(Problem(.shuttingDown, "the daemon is ending")),
                cut(try snapshot(.cache, "[1]", 7), try snapshot(.network, "[2]", 8))
            )
            let told = try await collect(client.follow(Frames.url), 3)
            #expect(told == ["network 7", "failed urn:larder:shutting-down", "network 8"])
            #expect(pauses.all == [.milliseconds(100), .milliseconds(150)])
        }
    }

    @Test("Without a daemon a follower says so once and tries again after ever longer pauses")
    func noDaemon() async throws {
        try await withFollower(pausesMax: 9) { daemon, client, pauses in
            await daemon.stop()
            var iterator = client.follow(Frames.url).makeAsyncIterator()
            guard case .disconnected(.unreachable) = try await iterator.next() else {
                Issue.record("nobody is told that the daemon is away")
                return
            }
            await #expect(throws: LarderError.cancelled) { try await iterator.next() }
            let expected = [100, 150, 250, 450, 850, 1_650, 2_550, 2_550, 2_550, 2_550]
            #expect(pauses.all == expected.map { .milliseconds($0) })
            let after = try await iterator.next()
            #expect(after == nil)
        }
    }

    @Test("A network that fails with nothing cached is told once and asked again")
    func problems() async throws {
        try await withFollower { daemon, client, _ in
            let problem = OriginAnswer.problem(Problem(.unreachable, "no route"))
            let gone = OriginAnswer.problem(Problem(.deleted, "gone"))
            daemon.answer(
                "/v1/fetch",
                with: problem,
                problem,
                gone,
                gone,
                cut(try snapshot(.network, "[1]", 7))
            )
            let told = try await collect(client.follow(Frames.url), 3)
            #expect(told == ["failed urn:larder:unreachable", "deleted", "network 7"])
        }
    }

    @Test("A problem that stays is thrown")
    func refused() async throws {
        try await withFollower { daemon, client, pauses in
            daemon.answer("/v1/fetch", with: .problem(Problem(.unknownOrigin, "nobody's")))
            var iterator = client.follow(Frames.url).makeAsyncIterator()
            await expectProblem("urn:larder:unknown-origin") { () async throws(LarderError) in
                _ = try await iterator.next()
            }
            let after = try await iterator.next()
            #expect(after == nil)
            #expect(pauses.all.isEmpty)
        }
    }

    @Test("A body that cannot be read by its address is asked for again, with its revision (S25)")
    func unreadBody() async throws {
        try await withFollower { daemon, client, pauses in
            let path = "/v1/entries/x"
            let frame = try Frames.snapshot(.network, .href(path), revision: 7)
            daemon.answer("/v1/fetch", with: cut(frame), cut(frame), cut(frame))
            daemon.answer(
                path,
                with: .problem(Problem(.miss, "nothing is cached")),
                .problem(Problem(.shuttingDown, "the daemon is ending")),
                .reply(200, body: Array("[1]".utf8))
            )
            var iterator = client.follow(Frames.url, as: [Int].self).makeAsyncIterator()
            var values: [[Int]] = []
            while values.isEmpty {
                guard let update = try await iterator.next() else { break }
                if case .value(let value) = update { values.append(value.value) }
            }
            #expect(values == [[1]])
            #expect(pauses.all == [.milliseconds(100), .milliseconds(150)])
        }
    }

    @Test("Bodies are decoded; one that is something else ends it with an error")
    func typed() async throws {
        try await withFollower { daemon, client, _ in
            daemon.answer(
                "/v1/fetch",
                with: cut(
                    try snapshot(.cache, "[1,2]", 7),
                    Frames.deleted,
                    try snapshot(.cache, "\"x\"", 9)
                )
            )
            var iterator = client.follow(Frames.url, as: [Int].self).makeAsyncIterator()
            guard case .value(let first) = try await iterator.next() else {
                Issue.record("no value")
                return
            }
            #expect(first.value == [1, 2])
            guard case .deleted = try await iterator.next() else {
                Issue.record("no deletion")
                return
            }
            let error = await #expect(throws: LarderError.self) { try await iterator.next() }
            guard case .decoding(id: Frames.url, reason: _) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
    }
}
