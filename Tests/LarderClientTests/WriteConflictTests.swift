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
}
