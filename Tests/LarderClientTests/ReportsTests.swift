import FoundationEssentials
import LarderClient
import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@Suite("Lists, evictions and status", .timeLimit(.minutes(5)))
struct ReportsTests {
    private func item(_ id: String) throws -> EntryListItem {
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
        return EntryListItem(
            entry: entry,
            accountedBytes: 300,
            lastUsed: 4,
            now: Timestamp(milliseconds: 1_700_000_001_000)
        )
    }

    @Test("A page carries its rows and the cursor")
    func page() async throws {
        try await withDaemon { daemon, client in
            let page = EntryPage(items: [try item("a")], next: "c 1")
            daemon.answer(
                "/v1/entries?prefix=a%2F&origin=example&sort=size&limit=7&cursor=x",
                with: .reply(200, body: page.encoded())
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
            #expect(first.byteCount == 12)
            #expect(first.accountedBytes == 300)
            #expect(first.isStale)
            #expect(first.storedAt.timeIntervalSince1970 == 1_700_000_000)
        }
    }

    @Test("All entries come page by page, each with the cursor of the one before")
    func allPages() async throws {
        try await withDaemon { daemon, client in
            let pages = [
                EntryPage(items: [try item("a"), try item("b")], next: "b"),
                EntryPage(items: [], next: "c"),
                EntryPage(items: [try item("d")], next: nil),
            ]
            daemon.answer(
                "/v1/entries?limit=1000",
                with: .reply(200, body: pages[0].encoded())
            )
            for (cursor, page) in zip(["b", "c"], pages.dropFirst()) {
                daemon.answer(
                    "/v1/entries?limit=1000&cursor=\(cursor)",
                    with: .reply(200, body: page.encoded())
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
            let entry = Entry(
                id: try EntryID("a"),
                kind: .blob,
                storedAt: Timestamp(milliseconds: 0),
                revision: Revision(5),
                body: BodySummary(byteCount: 0, digest: Digest(high: 1, low: 2), isJSON: false)
            )
            var explanation = EntryExplanation(
                entry: entry,
                item: try item("a"),
                protectedBy: ["it is pinned"]
            )
            explanation.headers.append("X-A", "1")
            daemon.answer(
                "/v1/entries/a/explain",
                with: .reply(200, body: explanation.encoded())
            )
            let found = try await client.explain("a")
            #expect(found.item.id == "a")
            #expect(found.protectedBy == ["it is pinned"])
            #expect(found.headers.map(\.name) == ["X-A"])
            #expect(found.digest == "00000000000000010000000000000002")
        }
    }

    @Test(
        "Every selection goes as its own member",
        arguments: [
            (EvictionSelection.ids(["a", "b"]), #""ids":["a","b"]"#),
            (.prefix("a/"), #""prefix":"a/""#),
            (.origin("example"), #""origin":"example""#),
            (.olderThan(.seconds(7 * 86_400)), #""older_than":"7d""#),
            (.toBytes(500), #""to_bytes":500"#),
            (.all, #""all":true"#),
        ]
    )
    func evict(selection: EvictionSelection, member: String) async throws {
        try await withDaemon { daemon, client in
            let report = EvictReport(evicted: 2, bytes: 600, skipped: 1, ids: [try EntryID("a")])
            daemon.answer("/v1/evict", with: .reply(200, body: report.encoded()))
            let found = try await client.evict(selection, dryRun: true)
            #expect(found.evicted == 2)
            #expect(found.bytes == 600)
            #expect(found.skipped == 1)
            #expect(found.ids == ["a"])
            let request = try await daemon.requests.element(0)
            #expect(request.bodyText == "{\(member),\"dry_run\":true}")
        }
    }

    @Test("The status carries health, sizes and origins")
    func status() async throws {
        try await withDaemon { daemon, client in
            var report = StatusReport(
                version: "1.2.3",
                uptime: .seconds(60),
                state: .degraded,
                cache: StatusReport.Cache(
                    bytes: 1,
                    maxBytes: 2,
                    entries: 3,
                    databaseBytes: 4,
                    walBytes: 5,
                    evictions: 6,
                    hits: 7,
                    misses: 8,
                    hitRate: StatusReport.HitRate(
                        oneMinute: nil,
                        tenMinutes: 0.5,
                        sixtyMinutes: 1
                    )
                ),
                pins: StatusReport.Pins(count: 11, bytes: 12, maxBytes: 13, waiting: 14),
                connections: 9,
                flights: 10,
                origins: [
                    StatusReport.Origin(
                        name: try OriginName("example"),
                        baseURL: try WebURL("https://a/"),
                        condition: OriginCondition(
                            state: .offline,
                            since: Timestamp(milliseconds: 1_000)
                        )
                    )
                ],
                warnings: ["the disk is full"]
            )
            report.queue.byState = [.queued: 1, .unknown: 2, .dead: 4]
            report.queue.stalled = 1
            report.queue.oldestAge = .seconds(5)
            report.queue.bytes = 15
            report.queue.maxBytes = 16
            daemon.answer("/v1/status", with: .reply(200, body: report.encoded()))
            let status = try await client.status()
            #expect(status.version == "1.2.3")
            #expect(!status.isHealthy)
            #expect(status.cacheBytes == 1)
            #expect(status.cacheBytesMax == 2)
            #expect(status.pinnedBytes == 12)
            #expect(status.pinnedBytesMax == 13)
            #expect(status.pins == 11)
            #expect(status.unsettledModifiers == 3)
            #expect(status.deadModifiers == 4)
            #expect(status.stalledModifiers == 1)
            #expect(status.oldestModifierAge == .seconds(5))
            #expect(status.queueBytes == 15)
            #expect(status.queueBytesMax == 16)
            #expect(status.hitRate == 0.5)
            #expect(status.warnings == ["the disk is full"])
            #expect(status.origins.map(\.state) == [.offline])
            #expect(status.origins.map(\.name) == ["example"])
        }
    }

    @Test("The usage carries the rows, the pins and the files")
    func usage() async throws {
        try await withDaemon { daemon, client in
            let rows = UsageRows(entries: 1, bytes: 2, bodyBytes: 3)
            let report = UsageReport(
                rows: rows,
                byKind: [],
                byOrigin: [UsageGroup(name: "example", rows: rows)],
                byUser: [UsageReport.Owned(scope: .shared, rows: rows)],
                cacheBytes: 4,
                cacheBytesMax: 5,
                budgetBytes: 6,
                pins: UsageReport.Pins(
                    count: 7,
                    waiting: 8,
                    bytes: 9,
                    totalBytes: 10,
                    maxBytes: 11
                ),
                files: [
                    UsageReport.File(name: "cache.db", bytes: 12, walBytes: 13, freeBytes: 14),
                    UsageReport.File(name: "state.db", bytes: 15, walBytes: 16, freeBytes: nil),
                ],
                diskFreeBytes: nil,
                minFreeBytes: 17
            )
            daemon.answer("/v1/usage?scope=all", with: .reply(200, body: report.encoded()))
            let usage = try await client.usage(scope: .all)
            #expect(usage.report == report)
            #expect(usage.total == usage.byOrigin.first?.sum)
            #expect((usage.total.entries, usage.total.accountedBytes) == (1, 2))
            #expect(usage.total.bodyBytes == 3)
            #expect(usage.byOwner.map(\.owner) == [.everybody])
            #expect((usage.cacheBytes, usage.cacheBytesMax) == (4, 5))
            #expect((usage.pins, usage.waitingPins, usage.pinnedBytes) == (7, 8, 9))
            #expect((usage.allPinnedBytes, usage.pinnedBytesMax) == (10, 11))
            #expect(usage.files.map(\.name) == ["cache.db", "state.db"])
            #expect(usage.files.map(\.bytes) == [12, 15])
            #expect(usage.files.map(\.logBytes) == [13, 16])
            #expect(usage.diskFreeBytes == nil)
        }
    }

    @Test("Others' entries are asked for by their scope, and say whose they are")
    func scopes() async throws {
        try await withDaemon { daemon, client in
            var theirs = try item("a")
            theirs.scope = .own(uid: 7, account: try AccountName("work"))
            var everybodys = theirs
            everybodys.scope = .shared
            let page = EntryPage(items: [theirs, everybodys], next: nil)
            daemon.answer(
                "/v1/entries?limit=1000&scope=uid%3A7&account=work",
                with: .reply(200, body: page.encoded())
            )
            var owners: [EntryOwner?] = []
            let scope = EntryScope.user(7, account: "work")
            for try await item in client.allEntries(scope: scope) { owners.append(item.owner) }
            #expect(owners == [.user(7, account: "work"), .everybody])
            let explanation = EntryExplanation(
                entry: Entry(
                    id: try EntryID("a"),
                    kind: .blob,
                    storedAt: Timestamp(milliseconds: 0),
                    revision: Revision(5),
                    body: BodySummary(byteCount: 0, digest: Digest(high: 1, low: 2), isJSON: false)
                ),
                item: theirs,
                protectedBy: []
            )
            daemon.answer(
                "/v1/entries/a/explain?scope=uid%3A7",
                with: .reply(200, body: explanation.encoded())
            )
            #expect(try await client.explain("a", scope: .user(7)).item.id == "a")
            let report = EvictReport(evicted: 0, bytes: 0, skipped: 0, ids: [])
            daemon.answer("/v1/evict", with: .reply(200, body: report.encoded()))
            try await client.evict(.all, scope: .all)
            let request = try await daemon.requests.element(2)
            #expect(request.bodyText == #"{"all":true,"scope":"all"}"#)
            await #expect(throws: LarderError.self) {
                try await client.evict(.all, scope: .user(7, account: "no name"))
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
