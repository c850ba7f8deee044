import FoundationEssentials
import LarderAPI
import LarderClient
import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@Suite("Lists, evictions and status", .timeLimit(.minutes(5)))
struct ReportsTests {
    private func item(_ id: String) throws -> EntryItem {
        var entry = Entry(
            id: try EntryID(id),
            kind: .fetched,
            storedAt: Timestamp(milliseconds: 1_700_000_000_000),
            revision: Revision(5),
            body: BodySummary(byteCount: 12, digest: Digest(high: 1, low: 2), isJSON: true)
        )
        entry.origin = try OriginName("example")
        entry.mediaType = "application/json"
        entry.headers.append("X-A", "1")
        return EntryItem(
            entry,
            accountedBytes: 300,
            now: Timestamp(milliseconds: 1_700_000_001_000)
        )
    }

    @Test("A page carries its rows and the cursor")
    func page() async throws {
        try await withDaemon { daemon, client in
            let page = Page(items: [try item("a")], next: "c 1")
            daemon.answer(
                "/v1/entries?prefix=a%2F&origin=example&sort=size&limit=7&cursor=x",
                with: .reply(200, body: APIEncoder().encode(page))
            )
            let found = try await client.entries(
                prefix: "a/",
                origin: "example",
                sort: .size,
                limit: 7,
                cursor: "x"
            )
            let first = try #require(found.items.first)
            #expect(found.next == "c 1")
            #expect(first.id == "a")
            #expect(first.kind == .fetched)
            #expect(first.origin == "example")
            #expect(first.bodyBytes == 12)
            #expect(first.accountedBytes == 300)
            #expect(first.stale)
            #expect(first.storedAt.milliseconds == 1_700_000_000_000)
        }
    }

    @Test("All entries come page by page, each with the cursor of the one before")
    func allPages() async throws {
        try await withDaemon { daemon, client in
            let pages = [
                Page(items: [try item("a"), try item("b")], next: "b"),
                Page(items: [], next: "c"),
                Page(items: [try item("d")], next: nil),
            ]
            daemon.answer(
                "/v1/entries?limit=1000",
                with: .reply(200, body: APIEncoder().encode(pages[0]))
            )
            for (cursor, page) in zip(["b", "c"], pages.dropFirst()) {
                daemon.answer(
                    "/v1/entries?limit=1000&cursor=\(cursor)",
                    with: .reply(200, body: APIEncoder().encode(page))
                )
            }
            var ids: [String] = []
            for try await entry in client.allEntries() { ids.append(entry.id) }
            #expect(ids == ["a", "b", "d"])
        }
    }

    @Test("An explanation carries headers, digest and reasons")
    func explain() async throws {
        try await withDaemon { daemon, client in
            var entry = Entry(
                id: try EntryID("a"),
                kind: .blob,
                storedAt: Timestamp(milliseconds: 0),
                revision: Revision(5),
                body: BodySummary(byteCount: 0, digest: Digest(high: 1, low: 2), isJSON: false)
            )
            entry.headers.append("X-A", "1")
            let explanation = EntryExplanation(
                try item("a"),
                of: entry,
                protectedBy: ["it is pinned"]
            )
            daemon.answer(
                "/v1/entries/a/explain",
                with: .reply(200, body: APIEncoder().encode(explanation))
            )
            let found = try await client.explain("a")
            #expect(found.item.id == "a")
            #expect(found.protectedBy == ["it is pinned"])
            #expect(found.headers.map(\.name) == ["X-A"])
            #expect(found.digest == "00000000000000010000000000000002")
        }
    }

    private static let selections: [(@Sendable (inout EvictCommand) -> Void, String)] = [
        ({ $0.ids = ["a", "b"] }, #""ids":["a","b"]"#),
        ({ $0.prefix = "a/" }, #""prefix":"a/""#),
        ({ $0.origin = "example" }, #""origin":"example""#),
        ({ $0.olderThan = .seconds(7 * 86_400) }, #""older_than":"7d""#),
        ({ $0.toBytes = RawJSON("500") }, #""to_bytes":500"#),
        ({ $0.all = true }, #""all":true"#),
    ]

    @Test("Every selection goes as its own member", arguments: selections)
    func evict(select: @Sendable (inout EvictCommand) -> Void, member: String) async throws {
        try await withDaemon { daemon, client in
            var report = EvictReport()
            report.ids = ["a"]
            daemon.answer("/v1/evict", with: .reply(200, body: report.encoded()))
            var command = EvictCommand()
            select(&command)
            command.dryRun = true
            #expect(try await client.evict(command) == report)
            let request = try await daemon.requests.element(0)
            #expect(request.bodyText == "{\(member),\"dry_run\":true}")
        }
    }

    @Test("The usage is asked for by its scope, and a newer daemon may say more")
    func usage() async throws {
        try await withDaemon { daemon, client in
            var report = UsageReport()
            report.files = [FileUsage(name: "cache.db", bytes: 12, walBytes: 13, freeBytes: 14)]
            let json = String(decoding: report.encoded(), as: UTF8.self)
            daemon.answer("/v1/usage?scope=all", with: .json("{\"new\":[1],\(json.dropFirst())"))
            let usage = try await client.usage(scope: .all)
            #expect(usage == report)
        }
    }

    @Test("Entries of other users are requested by their scope, and name their owner")
    func scopes() async throws {
        try await withDaemon { daemon, client in
            var theirs = try item("a")
            theirs.tell(.own(uid: 7, account: try AccountName("work")))
            var everybodys = theirs
            everybodys.tell(.shared)
            let page = Page(items: [theirs, everybodys], next: nil)
            daemon.answer(
                "/v1/entries?limit=1000&scope=user%3A7&account=work",
                with: .reply(200, body: APIEncoder().encode(page))
            )
            var owners: [EntryOwner?] = []
            let scope = EntryScope.user(7, account: "work")
            for try await item in client.allEntries(scope: scope) { owners.append(item.owner) }
            #expect(owners == [.user(7, account: "work"), .everybody])
            let explanation = EntryExplanation(
                theirs,
                of: Entry(
                    id: try EntryID("a"),
                    kind: .blob,
                    storedAt: Timestamp(milliseconds: 0),
                    revision: Revision(5),
                    body: BodySummary(byteCount: 0, digest: Digest(high: 1, low: 2), isJSON: false)
                ),
                protectedBy: []
            )
            daemon.answer(
                "/v1/entries/a/explain?scope=user%3A7",
                with: .reply(200, body: APIEncoder().encode(explanation))
            )
            #expect(try await client.explain("a", scope: .user(7)).item.id == "a")
            let report = EvictReport()
            daemon.answer("/v1/evict", with: .reply(200, body: report.encoded()))
            var everything = EvictCommand()
            everything.all = true
            try await client.evict(everything, scope: .all)
            let request = try await daemon.requests.element(2)
            #expect(request.bodyText == #"{"all":true,"scope":"all"}"#)
            await #expect(throws: LarderError.self) {
                try await client.evict(everything, scope: .user(7, account: "no name"))
            }
        }
    }

    @Test("A report that is none throws badAnswer")
    func badReport() async throws {
        try await withDaemon { daemon, client in
            daemon.answer("/v1/status", with: .json("{\"version\":1}"))
            await #expect {
                _ = try await client.status()
            } throws: { error in
                if case .badAnswer = error as? LarderError { true } else { false }
            }
        }
    }
}
