import LarderClient
import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@Suite("Conflicts through the client", .timeLimit(.minutes(1)))
struct WriteConflictTests {
    private func report(_ id: String) throws -> ModifierReport {
        var report = ModifierQueueTests.report(id)
        report.state = .conflict
        let text = { (title: String) in Array("{\"/title\":\"\(title)\"}".utf8) }
        report.conflict = [
            ModifierConflict(
                try EntryID("note"),
                base: text("old"),
                mine: text("mine"),
                theirs: text("theirs")
            )
        ]
        return report
    }

    private func frame(_ id: String, _ revision: Int64) throws -> WatchFrame {
        let change = LarderModel.ModifierChange(
            id: try ModifierID(id),
            state: .conflict,
            targets: []
        )
        return .modifier(ModifierFrame(Revision(revision), change))
    }

    private func answer(_ body: some Encodable) -> OriginAnswer {
        .reply(200, body: ModifierQueueTests.body(body))
    }

    @Test("Conflicts that wait and later ones are given once, and decided (case 19)")
    func given() async throws {
        try await withDaemon { daemon, client in
            let first = try report("a")
            let second = try report("b")
            let begin = WatchFrame.bookmark(BookmarkFrame(Revision(5), isInitialDone: false))
            let lines = [begin, try frame("a", 6), try frame("b", 7)].map { $0.encodedLine() }
            daemon.answer(
                "/v1/watch",
                with: OriginAnswer([.fetchHead] + lines.map { .chunk($0) } + [.chunk([])])
            )
            daemon.answer(
                "/v1/modifiers?state=conflict&limit=1000",
                with: answer(Page(items: [first]))
            )
            daemon.answer("/v1/modifiers/a", with: answer(first))
            daemon.answer("/v1/modifiers/b", with: answer(second))
            let done = Page(items: [ModifierActionResult(id: "a", state: .queued)])
            daemon.answer("/v1/modifiers/actions", with: answer(done))
            var conflicts = client.conflicts.makeAsyncIterator()
            let found = try #require(try await conflicts.next())
            #expect(found.targets == first.conflict)
            try await found.resolve(.mine)
            #expect(try await conflicts.next()?.modifier.id == "b")
            let asked = daemon.requests.all.filter { $0.path == "/v1/modifiers/actions" }
            #expect(asked.map(\.bodyText) == [#"{"action":"retry","ids":["a"]}"#])
        }
    }

    @Test("A decision for theirs discards the write, and a second decision fails (case 19)")
    func theirs() async throws {
        try await withDaemon { daemon, client in
            let begin = WatchFrame.bookmark(BookmarkFrame(Revision(5), isInitialDone: false))
            daemon.answer(
                "/v1/watch",
                with: OriginAnswer([.fetchHead, .chunk(begin.encodedLine()), .chunk([])])
            )
            daemon.answer(
                "/v1/modifiers?state=conflict&limit=1000",
                with: answer(Page(items: [try report("a")]))
            )
            daemon.answer("/v1/modifiers/a", with: answer(try report("a")))
            let settled = Problem(.alreadySettled, "it is failed")
            daemon.answer(
                "/v1/modifiers/actions",
                with: answer(Page(items: [ModifierActionResult(id: "a", state: .failed)])),
                answer(Page(items: [ModifierActionResult(id: "a", problem: settled)]))
            )
            var conflicts = client.conflicts.makeAsyncIterator()
            let found = try #require(try await conflicts.next())
            try await found.resolve(.theirs)
            await expectProblem("urn:larder:already-settled") { () async throws(LarderError) in
                try await found.resolve(.theirs)
            }
            let asked = daemon.requests.all.filter { $0.path == "/v1/modifiers/actions" }
            let discard = #"{"action":"discard","ids":["a"]}"#
            #expect(asked.map(\.bodyText) == [discard, discard])
        }
    }

    @Test("A list is read only after its watch has begun, also after the watch has lost changes")
    func listed() async throws {
        let daemon = try await ScriptedDaemon()
        let time = ClientTime(pause: { _ async throws(CancellationError) in }, randomUnit: { 0.5 })
        let client = LarderClient(trying: [daemon.path], time: time)
        func begin(_ revision: Int64, isInitialDone: Bool) -> OriginAnswer {
            let mark = BookmarkFrame(Revision(revision), isInitialDone: isInitialDone)
            let line = WatchFrame.bookmark(mark).encodedLine()
            return OriginAnswer([.fetchHead, .chunk(line), .chunk([])])
        }
        let list = "/v1/modifiers?state=conflict&limit=1000"
        daemon.answer(
            "/v1/watch",
            with: begin(5, isInitialDone: false),
            .problem(Problem(.sinceTooOld, "gone")),
            // The daemon ends before the next watch begins, which is tried again.
            .problem(Problem(.shuttingDown, "the daemon is ending")),
            begin(20, isInitialDone: true)
        )
        daemon.answer(
            list,
            with: answer(Page<ModifierReport>(items: [])),
            answer(Page(items: [try report("b")]))
        )
        daemon.answer("/v1/modifiers/b", with: answer(try report("b")))
        var conflicts = client.conflicts.makeAsyncIterator()
        #expect(try await conflicts.next()?.modifier.id == "b")
        let paths = daemon.requests.all.map(\.path)
        let again = Array(repeating: "/v1/watch", count: 3)
        #expect(paths == ["/v1/watch", list] + again + [list, "/v1/modifiers/b"])
        await client.shutdown()
        await daemon.stop()
    }

    @Test("A watch that does not begin ends the conflicts, and no list is read without it")
    func notBegun() async throws {
        try await withDaemon { daemon, client in
            let ending = Problem(.shuttingDown, "the daemon is ending")
            daemon.answer("/v1/watch", with: .problem(ending))
            var conflicts = client.conflicts.makeAsyncIterator()
            await expectProblem("urn:larder:shutting-down") { () async throws(LarderError) in
                _ = try await conflicts.next()
            }
            #expect(daemon.requests.all.map(\.path) == ["/v1/watch"])
        }
    }
}
