import FoundationEssentials
import LarderClient
import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@Suite("The updates of a fetch", .timeLimit(.minutes(5)))
struct FetchFramesTests {
    @Test("Types that only a newer daemon knows are passed over, or passed on as its problem")
    func newer() async throws {
        try await withDaemon { daemon, client in
            daemon.answer(
                "/v1/fetch",
                with: OriginAnswer([
                    .fetchHead, .chunk(Array("{\"type\":\"news\",\"rev\":1}\n".utf8)),
                    .chunk(FetchFrame.problem(ProblemFrame(ErrorTests.news)).encodedLine()),
                    .chunk(Frames.end(.error).encodedLine()), .chunk([]),
                ])
            )
            let updates = try await collect(client.fetch(Frames.url))
            #expect(updates == ["failed urn:larder:news", "end error"])
        }
    }

    @Test("A cached answer comes first, then the network's, then the end")
    func twoPhases() async throws {
        try await withDaemon { daemon, client in
            daemon.answer(
                "/v1/fetch",
                with: .frames(
                    try Frames.snapshot(.cache, .json(Array("[1]".utf8)), isStale: true),
                    try Frames.snapshot(.network, .json(Array("[2]".utf8)), revision: 8),
                    Frames.end(.network)
                )
            )
            let updates = try await collect(client.fetch(Frames.url))
            #expect(updates == ["cache 7 [1]", "network 8 [2]", "end network"])
        }
    }

    @Test("A snapshot carries all that the frame says")
    func snapshotMembers() async throws {
        try await withDaemon { daemon, client in
            let line = """
                {"type":"snapshot","source":"cache","rev":9,"stale":true,"age_ms":86400000,\
                "pending":2,"pending_ids":["a","b"],"failed":1,"complete":false,\
                "missing":["User:7"],"entry":{"id":"https://a/42","status":203,\
                "media_type":"text/plain","etag":"W/\\"x\\"","stored_at":"2026-01-02T03:04:05Z",\
                "body_b64":"AP8="}}
                {"type":"end","outcome":"cache","rev":9,"timing":{}}\n
                """
            daemon.answer(
                "/v1/fetch",
                with: OriginAnswer([.fetchHead, .chunk(Array(line.utf8)), .chunk([])])
            )
            var updates = client.fetch(Frames.url).makeAsyncIterator()
            guard case .snapshot(let snapshot) = try await updates.next() else {
                Issue.record("the first update is no snapshot")
                return
            }
            #expect(snapshot.id == "https://a/42")
            #expect(snapshot.stale)
            #expect(snapshot.age == .seconds(86_400))
            #expect(snapshot.pending == 2)
            #expect(snapshot.failed == 1)
            #expect(!snapshot.complete)
            #expect(snapshot.missing == ["User:7"])
            #expect(snapshot.status == 203)
            #expect(snapshot.mediaType == "text/plain")
            #expect(snapshot.etag == "W/\"x\"")
            #expect(snapshot.storedAt.text == "2026-01-02T03:04:05.000Z")
            let body = try await snapshot.body()
            #expect(body == [0x00, 0xFF])
        }
    }

    @Test("Unchanged, deleted and failed take the place of the second snapshot")
    func otherFrames() async throws {
        try await withDaemon { daemon, client in
            let cached = try Frames.snapshot(.cache, .json(Array("{}".utf8)))
            let problem = FetchFrame.problem(
                ProblemFrame(Problem(.unreachable, "no route to host"))
            )
            daemon.answer(
                "/v1/fetch",
                with: .frames(cached, Frames.unchanged, Frames.end(.unchanged)),
                .frames(cached, Frames.deleted, Frames.end(.deleted)),
                .frames(cached, problem, Frames.end(.error))
            )
            for last in ["unchanged", "deleted", "failed urn:larder:unreachable"] {
                let updates = try await collect(client.fetch(Frames.url))
                #expect(updates.prefix(2) == ["cache 7 {}", last])
            }
        }
    }

    @Test("Heartbeats and blank lines are no updates, and the daemon's end is one")
    func heartbeats() async throws {
        try await withDaemon { daemon, client in
            let cached = try Frames.snapshot(.cache, .json(Array("{}".utf8)))
            let beat = FetchFrame.heartbeat(HeartbeatFrame(Revision(7))).encodedLine()
            daemon.answer(
                "/v1/fetch",
                with: OriginAnswer([
                    .fetchHead, .chunk(beat), .chunk([10, 13, 10]), .chunk(cached.encodedLine()),
                    .chunk(beat), .chunk(Frames.end(.shutdown).encodedLine()), .chunk([10]),
                    .chunk([]),
                ])
            )
            let updates = try await collect(client.fetch(Frames.url))
            #expect(updates == ["cache 7 {}", "end shutdown"])
        }
    }

    @Test("A stream that is cut at any byte throws cutOff after the updates that were whole")
    func cutAnywhere() async throws {
        try await withDaemon { daemon, client in
            let lines = [
                try Frames.snapshot(.cache, .json(Array("{\"a\":1}".utf8))).encodedLine(),
                [10], Frames.unchanged.encodedLine(), Frames.end(.unchanged).encodedLine(),
            ]
            let stream = lines.flatMap { $0 }
            daemon.answer(
                "/v1/fetch",
                with: stream.indices.map { count in
                    let part = count == 0 ? [] : [OriginAnswer.Step.chunk(Array(stream[..<count]))]
                    // Every other one ends as HTTP ends a whole answer, with no `end` in it.
                    let close: OriginAnswer.Step = count.isMultiple(of: 2) ? .chunk([]) : .close
                    return OriginAnswer([.fetchHead] + part + [close])
                }
            )
            for count in stream.indices {
                var updates = 0
                let error = await #expect(throws: LarderError.self) {
                    for try await _ in client.fetch(Frames.url) { updates += 1 }
                }
                let whole = stream[..<count].filter { $0 == 10 }.count
                #expect(error == .cutOff, "cut at byte \(count)")
                #expect(updates == (whole > 1 ? whole - 1 : whole), "cut at byte \(count)")
            }
        }
    }

    @Test("A line may come in any two pieces")
    func splitAnywhere() async throws {
        try await withDaemon { daemon, client in
            let lines = [
                try Frames.snapshot(.cache, .json(Array("{\"a\":1}".utf8))).encodedLine(),
                Frames.end(.cache).encodedLine(),
            ]
            let stream = lines.flatMap { $0 }
            for count in 1..<stream.count {
                daemon.answer(
                    "/v1/fetch",
                    with: OriginAnswer([
                        .fetchHead, .chunk(Array(stream[..<count])),
                        .chunk(Array(stream[count...])), .chunk([]),
                    ])
                )
                let updates = try await collect(client.fetch(Frames.url))
                #expect(updates == ["cache 7 {\"a\":1}", "end cache"], "split at byte \(count)")
            }
        }
    }

    @Test("Leaving the loop closes the connection")
    func hangUp() async throws {
        try await withDaemon { daemon, client in
            let never = Gate()
            let cached = try Frames.snapshot(.cache, .json(Array("{}".utf8)))
            daemon.answer(
                "/v1/fetch",
                with: OriginAnswer([.fetchHead, .chunk(cached.encodedLine()), .wait(never)])
            )
            for try await _ in client.fetch(Frames.url) { break }
            let closed = try await daemon.closed.element(0)
            #expect(closed == 0)
        }
    }

    @Test("A cancelled task throws cancelled and closes the connection")
    func cancellation() async throws {
        try await withDaemon { daemon, client in
            let never = Gate()
            let cached = try Frames.snapshot(.cache, .json(Array("{}".utf8)))
            daemon.answer(
                "/v1/fetch",
                with: OriginAnswer([.fetchHead, .chunk(cached.encodedLine()), .wait(never)])
            )
            let seen = Recorder<String>()
            let task = Task { () -> LarderError? in
                do throws(LarderError) {
                    for try await update in client.fetch(Frames.url) {
                        seen.record(describe(update))
                    }
                    return nil
                } catch {
                    return error
                }
            }
            _ = try await seen.element(0)
            task.cancel()
            #expect(await task.value == .cancelled)
            let closed = try await daemon.closed.element(0)
            #expect(closed == 0)
        }
    }

    @Test("Fetches after each other use one connection")
    func keepAlive() async throws {
        try await withDaemon { daemon, client in
            let cached = try Frames.snapshot(.cache, .json(Array("{}".utf8)))
            daemon.answer("/v1/fetch", with: .frames(cached, Frames.end(.cache)))
            for _ in 0..<5 { _ = try await collect(client.fetch(Frames.url)) }
            #expect(daemon.accepted.all.count == 1)
        }
    }

    @Test(
        "A line that is not a frame throws badAnswer",
        arguments: ["nonsense", "{\"type\":1}", "{}"]
    )
    func badLine(line: String) async throws {
        try await withDaemon { daemon, client in
            daemon.answer(
                "/v1/fetch",
                with: OriginAnswer([.fetchHead, .chunk(Array("\(line)\n".utf8)), .chunk([])])
            )
            await #expect {
                _ = try await collect(client.fetch(Frames.url))
            } throws: { error in
                if case .badAnswer = error as? LarderError { true } else { false }
            }
        }
    }

    @Test("A line without an end throws badAnswer before it fills the memory")
    func endlessLine() async throws {
        try await withDaemon { daemon, client in
            let piece = [UInt8](repeating: 0x20, count: 1 << 20)
            let pieces = [OriginAnswer.Step](repeating: .chunk(piece), count: 64)
            daemon.answer("/v1/fetch", with: OriginAnswer([.fetchHead] + pieces))
            await #expect(
                throws: LarderError.badAnswer("a line of more than \(Limits.frameBytesMax) bytes")
            ) {
                _ = try await collect(client.fetch(Frames.url))
            }
        }
    }

    @Test("A problem in place of the stream is thrown with all its members")
    func problem() async throws {
        try await withDaemon { daemon, client in
            var problem = Problem(.originStatus, "the origin answered 403", hint: "Sign in.")
            problem.requestID = "r-1"
            problem.originStatus = 403
            problem.quote(Array("{\"no\":1}".utf8))
            daemon.answer("/v1/fetch", with: .problem(problem))
            let error = await #expect(throws: LarderError.self) {
                _ = try await collect(client.fetch(Frames.url))
            }
            guard case .originFailed(let thrown) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(thrown.type == "urn:larder:origin-status")
            #expect(thrown.status == 502)
            #expect(thrown.detail == "the origin answered 403")
            #expect(thrown.hint == "Sign in.")
            #expect(thrown.requestID == "r-1")
            #expect(thrown.originStatus == 403)
            #expect(thrown.quotedBody == Array("{\"no\":1}".utf8))
            #expect(!thrown.retryable)
        }
    }

    @Test("An error without a problem throws badAnswer")
    func foreignError() async throws {
        try await withDaemon { daemon, client in
            daemon.answer("/v1/fetch", with: .text("oops", status: 500))
            await #expect(throws: LarderError.badAnswer("the status 500 without a problem")) {
                _ = try await collect(client.fetch(Frames.url))
            }
        }
    }

    @Test("A URL that cannot be fetched is a problem without a request")
    func badURL() async throws {
        try await withDaemon { daemon, client in
            await #expect {
                _ = try await collect(client.fetch("ftp://a/b"))
            } throws: { error in
                guard case .invalid(let problem) = error as? LarderError else { return false }
                return problem.type == "urn:larder:bad-url" && problem.status == 400
            }
            #expect(daemon.requests.all.isEmpty)
        }
    }

    @Test("The command carries every option and the account")
    func command() async throws {
        try await withDaemon(account: "work") { daemon, client in
            daemon.answer("/v1/fetch", with: .frames(Frames.end(.cache)))
            var options = FetchOptions(policy: .networkFirst)
            options.networkWait = .milliseconds(300)
            options.timeout = .seconds(10)
            options.headers = ["Accept": "text/plain"]
            _ = try await collect(client.fetch("HTTPS://A.example/x#y", options: options))
            let request = try await daemon.requests.element(0)
            #expect(request.method == "POST")
            #expect(
                request.bodyText == """
                    {"url":"https://a.example/x","policy":"network-first","network_wait":"300ms",\
                    "timeout":"10s","account":"work","headers":{"Accept":"text/plain"}}
                    """
            )
        }
    }
}
