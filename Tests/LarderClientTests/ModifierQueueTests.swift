import FoundationEssentials
import LarderClient
import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@Suite("The queue through the client", .timeLimit(.minutes(1)))
struct ModifierQueueTests {
    static func report(_ id: String = "like-42", _ targets: [EntryID] = []) -> ModifierReport {
        ModifierReport(
            id: id,
            state: .retryWait,
            reason: nil,
            lanes: [],
            targets: targets,
            request: ModifierRequest(
                method: "PATCH",
                url: ModifierWriteTests.url,
                bodyBytes: 14,
                idempotencyKey: "\(id).2"
            ),
            attempts: 3,
            of: .own(uid: 1000, account: .default),
            acceptedAt: Timestamp(milliseconds: 1_700_000_000_000),
            revision: Revision(8_415)
        )
    }

    static func body(_ answer: some Encodable) -> [UInt8] { APIEncoder().encode(answer) }

    @Test("A modifier is what the daemon tells of it")
    func show() async throws {
        try await withDaemon { daemon, client in
            let target = try EntryID(ModifierWriteTests.url)
            var report = Self.report("like-42", [target])
            report.answer = .init(
                status: 503,
                body: Array("later".utf8),
                at: Timestamp(milliseconds: 1_700_000_002_000)
            )
            report.targets = [
                .init(target, before: .json(Array("{}".utf8), isComplete: true), after: .deleted)
            ]
            daemon.answer("/v1/modifiers/like-42", with: .reply(200, body: Self.body(report)))
            let found = try await client.modifier("like-42")
            #expect(found == report)
            #expect(!found.state.isSettled)
            #expect(found.targets.first?.after?.state == .deleted)
        }
    }

    @Test("Every state and reason of the daemon is declared")
    func words() {
        let states = LarderModel.ModifierState.allCases
        #expect(
            Set(LarderAPI.ModifierState.known.map(\.rawValue)) == Set(states.map(\.rawValue))
        )
        #expect(states.allSatisfy { LarderAPI.ModifierState($0).isSettled == $0.isSettled })
        #expect(
            Set(LarderAPI.ModifierReason.known.map(\.rawValue))
                == Set(LarderModel.ModifierReason.allCases.map(\.rawValue))
        )
    }

    @Test("All modifiers come page by page, each with the cursor of the one before")
    func allPages() async throws {
        try await withDaemon { daemon, client in
            let pages = [
                Page(items: [Self.report("a"), Self.report("b")], next: "2"),
                Page(items: [], next: "3"),
                Page(items: [Self.report("c")], next: nil),
            ]
            let path = "/v1/modifiers?state=settled&lane=name%3Acart&limit=1000"
            daemon.answer(path, with: .reply(200, body: Self.body(pages[0])))
            for (cursor, page) in zip(["2", "3"], pages.dropFirst()) {
                daemon.answer(
                    "\(path)&cursor=\(cursor)",
                    with: .reply(200, body: Self.body(page))
                )
            }
            var ids: [String] = []
            for try await modifier in client.modifiers(.settled, lane: "name:cart") {
                ids.append(modifier.id)
            }
            #expect(ids == ["a", "b", "c"])
        }
    }

    @Test(
        "Each selection asks for its own",
        arguments: [
            (.open, ""), (.unsettled, "state=unsettled&"), (.settled, "state=settled&"),
            (.state(.retryWait), "state=retry_wait&"),
        ] as [(ModifierSelection, String)]
    )
    func selections(selection: ModifierSelection, query: String) async throws {
        try await withDaemon { daemon, client in
            let page = Page(items: [Self.report()], next: "c 1")
            daemon.answer(
                "/v1/modifiers?\(query)limit=7&cursor=x&scope=all",
                with: .reply(200, body: Self.body(page))
            )
            let found = try await client.modifiers(selection, limit: 7, cursor: "x", scope: .all)
            #expect(found.items.map(\.id) == ["like-42"])
            #expect(found.next == "c 1")
        }
    }

    @Test("An action on the queue goes to its path, with its scope and account")
    func paths() async throws {
        try await withDaemon(account: "work") { daemon, client in
            let requests = [
                "POST /v1/modifiers/actions", "POST /v1/modifiers/actions",
                "POST /v1/modifiers/actions",
                "PUT /v1/lanes/name%3Aa%20b?account=work",
                "PUT /v1/lanes/id%3Ahttps%3A%2F%2Fa.example%2Fx?scope=user%3A7&account=b",
                "GET /v1/modifiers/a?wait=5s&account=work",
            ]
            for request in requests {
                let path = String(request.split(separator: " ")[1])
                let result = #"{"items":[{"id":"a","state":"queued","problem":null}],"next":null}"#
                daemon.answer(
                    path,
                    with: request.hasPrefix("POST")
                        ? .reply(200, body: Array(result.utf8)) : .reply(204)
                )
            }
            daemon.answer(
                "/v1/modifiers/a?wait=5s&account=work",
                with: .reply(200, body: Self.body(Self.report("a")))
            )
            #expect(try await client.act(.retry, onModifier: "a") == .queued)
            try await client.act(.cancel, onModifier: "a")
            try await client.act(.discard, onModifier: "a", scope: .user(7))
            try await client.setLane("name:a b", paused: true)
            try await client.setLane(
                "id:https://a.example/x",
                paused: false,
                scope: .user(7, account: "b")
            )
            #expect(try await client.modifier("a", waitingFor: .seconds(5)).id == "a")
            #expect(daemon.requests.all.map { "\($0.method) \($0.path)" } == requests)
        }
    }

    @Test("An edit goes to the path of its modifier, and is sent again if its answer is cut off")
    func edit() async throws {
        try await withDaemon(account: "work") { daemon, client in
            let path = "/v1/modifiers/a?account=work"
            let receipt = #"{"id":"a","state":"failed","rev":7}"#
            let taken = OriginAnswer.reply(200, body: Array(receipt.utf8))
            daemon.answer(path, with: OriginAnswer([.close]), taken)
            var report = Self.report("a")
            report.changes = [.init(.merge(["title": ""]), on: ModifierWriteTests.url)]
            report.request.contentType = "application/merge-patch+json"
            report.request.headers = ["X-A": "b"]
            report.request.body = RawJSON(#"{"title": ""}"#)
            report.request.bodyBytes = 13
            var edit = try #require(ModifierEdit(report))
            #expect(edit.request?.headers?["Content-Type"] == "application/merge-patch+json")
            #expect(edit.request?.headers?["X-A"] == "b")
            edit.request?.body = RawJSON(#"{"title":"x"}"#)
            let found = try await client.edit("a", to: edit)
            #expect(found.state == .failed && found.rev == 7)
            #expect(daemon.requests.all.map(\.method) == ["PATCH", "PATCH"])
        }
    }

    @Test("A report that does not have the whole write makes no edit")
    func partialReport() {
        var report = Self.report("a")
        #expect(ModifierEdit(report) == nil)
        report.changes = []
        report.request.body = RawJSON(#"{"a":"later, "#)
        #expect(ModifierEdit(report) == nil)
        report.request.body = RawJSON(#""later\n, than""#)
        report.request.bodyBytes = 12
        report.request.contentType = "text/plain"
        #expect(ModifierEdit(report)?.request?.bodyText == "later\n, than")
        report.moreChanges = 1
        #expect(ModifierEdit(report) == nil)
    }

    @Test("An action on a sent, a settled or an unknown modifier throws a distinct error")
    func tooLate() async throws {
        try await withDaemon { daemon, client in
            let path = "/v1/modifiers/actions"
            let answers = [ProblemKind.alreadySent, .alreadySettled, .noSuchModifier].map { kind in
                let result = ModifierActionResult(id: "a", problem: Problem(kind, "no"))
                return OriginAnswer.reply(200, body: Self.body(Page(items: [result])))
            }
            daemon.answer(path, with: answers[0], answers[1], answers[2])
            var labels: [String] = []
            for _ in 0..<3 {
                do throws(LarderError) {
                    try await client.act(.cancel, onModifier: "a")
                } catch .tooLate {
                    labels.append("too late")
                } catch .miss {
                    labels.append("miss")
                } catch {
                    Issue.record("\(error)")
                }
            }
            #expect(labels == ["too late", "too late", "miss"])
        }
    }

    @Test("Waiting ends when nothing is left, or when the time is over")
    func waiting() async throws {
        try await withDaemon { daemon, client in
            let left = Self.body(Page(items: [Self.report()]))
            let nothing = Self.body(Page<ModifierReport>(items: []))
            func path(_ wait: String) -> String {
                "/v1/modifiers?state=unsettled&wait=\(wait)&limit=1"
            }
            daemon.answer(path("5s"), with: .reply(200, body: left), .reply(200, body: nothing))
            let isSent = try await client.waitUntilSent(within: .seconds(5))
            #expect(!isSent)
            #expect(try await client.waitUntilSent(within: .seconds(5)))
            // The daemon waits an hour at most, so longer is asked for again.
            daemon.answer(path("1h"), with: .reply(200, body: left), .reply(200, body: nothing))
            #expect(try await client.waitUntilSent())
            daemon.answer(path("1h"), with: .reply(200, body: left))
            daemon.answer(path("1s"), with: .reply(200, body: left))
            #expect(try await !client.waitUntilSent(within: .seconds(3_601)))
            let paths = daemon.requests.all.map(\.path)
            #expect(paths == ["5s", "5s", "1h", "1h", "1h", "1s"].map(path))
        }
    }
}
