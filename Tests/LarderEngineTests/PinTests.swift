import LarderAPI
import LarderJSON
import LarderModel
import LarderStore
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

/// Pins that are fetched, now or when their origin is back.
@Suite("Pins", .timeLimit(.minutes(5)), .engine)
struct PinTests {
    private let fixture = EngineFixture.running
    private let url = EngineFixture.firstURL

    @Test("A pin on a cached entry is held immediately, and is not new the second time")
    func cached() async throws {
        try await fixture.cache(url, .json("[1]"))
        let pinned = try await fixture.pin(url)
        #expect(pinned.isNew == true)
        #expect(pinned.item.state == .held)
        #expect(pinned.item.bodyBytes == 3)
        #expect(pinned.item.origin == "example")
        #expect(try await fixture.pin(url).isNew == false)
        #expect(try await fixture.pins() == [pinned.item])
        #expect(fixture.upstream.asked.all.count == 1)
        let explanation = try await fixture.engine.entries.explain(EntryID(url), fixture.scope)
        #expect(explanation?.protectedBy == ["pinned"])
    }

    @Test("A pin on an entry that is not cached fetches it now")
    func fetchedNow() async throws {
        fixture.upstream.answer(url, with: .json("[1]"))
        let pinned = try await fixture.pin(url)
        #expect(pinned.isNew == true)
        #expect(pinned.item.state == .held)
        #expect(try fixture.bytes(url) == "[1]")
    }

    @Test("While the origin is away a pin waits, and is fetched after 1 s, 2 s, 4 s")
    func retries() async throws {
        fixture.upstream.answer(url, with: .failure(.cancelled))
        let waiting = try await fixture.pin(url)
        #expect(waiting.isNew == nil)
        #expect(waiting.item.state == .waiting)
        #expect(await fixture.engine.monitor.status(connections: 0).pins.waiting == 1)
        var due = Duration.seconds(1)
        for pause in [2, 4] {
            try await fixture.clock.sleepers(until: due)
            fixture.upstream.answer(url, with: .failure(.cancelled))
            fixture.clock.advance(by: due - fixture.clock.monotonic())
            due += .seconds(pause)
        }
        try await fixture.clock.sleepers(until: due)
        fixture.upstream.answer(url, with: .json("[2]"))
        fixture.clock.advance(by: due - fixture.clock.monotonic())
        try await fixture.settled(url)
        #expect(try await fixture.pins().map(\.state) == [.held])
        #expect(try fixture.bytes(url) == "[2]")
        #expect(await fixture.engine.monitor.status(connections: 0).pins.waiting == 0)
    }

    @Test("When an origin answers any client, its waiting pins are fetched immediately")
    func comesBack() async throws {
        let other = try fixture.url("/b")
        // A captive portal answers in its place.
        fixture.upstream.answer(url, with: .reply(status: 511))
        #expect(try await fixture.pin(url).item.state == .waiting)
        try await fixture.clock.sleepers(until: .seconds(1))
        fixture.upstream.answer(url, with: .json("[1]"))
        fixture.upstream.answer(other, with: .json("[2]"))
        try await fixture.fetch(other)
        try await fixture.settled(url)
        #expect(try fixture.bytes(url) == "[1]")
    }

    @Test("A client that waits for a pin hears that it is held after another client's fetch")
    func heldByAnother() async throws {
        fixture.upstream.answer(url, with: .failure(.cancelled))
        let (engine, scope, id) = (fixture.engine, fixture.scope, try EntryID(url))
        async let pinned = engine.pins.pin(id, scope, wait: .seconds(3_600))
        try await fixture.clock.sleepers(until: .seconds(1))
        fixture.upstream.answer(url, with: .json("[1]"))
        try await fixture.fetch(url, .networkFirst)
        guard case .held(let item, isNew: true) = try await pinned, item.state == .held else {
            Issue.record("it is not held")
            return
        }
    }

    @Test("Waiting for a pin ends with the client's patience, and the pin goes on")
    func patience() async throws {
        fixture.upstream.answer(url, with: .failure(.cancelled))
        let (engine, scope, id) = (fixture.engine, fixture.scope, try EntryID(url))
        async let pinned = engine.pins.pin(id, scope, wait: .seconds(30))
        try await fixture.clock.sleepers(until: .seconds(30))
        try await fixture.clock.sleepers(until: .seconds(1))
        fixture.clock.advance(by: .seconds(30))
        guard case .waiting(let item) = try await pinned, item.state == .waiting else {
            Issue.record("it does not wait")
            return
        }
    }

    @Test("A body that falls silent delays no other pin of its origin")
    func silentBody() async throws {
        try await EngineFixture.run(.with { $0.origin.fetch.timeout = .seconds(5) }) { fixture in
            let other = try fixture.url("/b")
            for url in [url, other] {
                fixture.upstream.answer(url, with: .failure(.cancelled))
                #expect(try await fixture.pin(url).item.state == .waiting)
            }
            let pieces: [ScriptedAnswer.Piece] = [.bytes([0x5B]), .hold(Gate())]
            fixture.upstream.answer(url, with: .reply(pieces: pieces))
            fixture.upstream.answer(other, with: .json("[2]"))
            try await fixture.clock.sleepers(until: .seconds(2))
            fixture.clock.advance(by: .seconds(2))
            #expect(try await fixture.upstream.held.element(0).url == url)
            fixture.clock.advance(by: .seconds(5))
            // No time passes before the request of the other pin.
            #expect(try await fixture.upstream.asked.element(3).url == other)
        }
    }

    @Test("A body that arrives slowly delays no pin of another user")
    func slowBody() async throws {
        let other = try fixture.url("/b")
        fixture.upstream.answer(url, with: .failure(.cancelled))
        #expect(try await fixture.pin(url).item.state == .waiting)
        try await fixture.clock.sleepers(until: .seconds(1))
        let gate = Gate()
        fixture.upstream.answer(url, with: .reply(pieces: [.bytes([0x5B]), .hold(gate)]))
        fixture.clock.advance(by: .seconds(1))
        #expect(try await fixture.upstream.held.element(0).url == url)
        let scope = Scope.own(uid: 1_001, account: .default)
        fixture.upstream.answer(other, with: .failure(.cancelled), .json("[2]"))
        #expect(try await fixture.pin(other, as: scope).item.state == .waiting)
        try await fixture.clock.sleepers(until: .seconds(2))
        fixture.clock.advance(by: .seconds(1))
        #expect(try await fixture.upstream.asked.element(3).url == other)
        gate.open()
    }

    @Test(
        "An origin's refusal is a problem for the client, and the pin names it",
        arguments: [
            (403, ProblemKind.originStatus, LarderAPI.PinState.failed), (404, .deleted, .failed),
        ]
    )
    func refused(status: Int, kind: ProblemKind, state: LarderAPI.PinState) async throws {
        fixture.upstream.answer(url, with: .reply("no", status: status))
        let problem = await #expect(throws: Problem.self) { try await fixture.pin(url) }
        #expect(problem?.kind == kind)
        #expect(problem?.hint.contains("The pin stays") == true)
        let pins = try await fixture.pins()
        #expect(pins.map(\.state) == [state])
        #expect(pins.first?.problem == "urn:larder:\(kind.rawValue)")
        let status = await fixture.engine.monitor.status(connections: 0)
        #expect(status.warnings == ["1 pin of uid 1000 failed"])
        #expect(status.findings.first?.fix?.contains("cachectl pin --list") == true)
        // It is not tried again by itself, and is when it is pinned once more.
        fixture.upstream.answer(url, with: .json("[1]"))
        #expect(try await fixture.pin(url).item.state == .held)
        #expect(await fixture.engine.monitor.status(connections: 0).warnings == [])
    }

    @Test(
        "A pin waits after a 202, and another status that is not kept is the reason why it fails",
        arguments: [10, 70_000, 1_100_000]
    )
    func unkeptStatus(count: Int) async throws {
        let body = String(repeating: "x", count: count)
        let other = try fixture.url("/b")
        fixture.upstream.answer(other, with: .reply(body, status: 226))
        let problem = await #expect(throws: Problem.self) { try await fixture.pin(other) }
        #expect(problem?.detail == "the origin answered 226, which is not kept")
        fixture.upstream.answer(url, with: .reply(body, status: 202))
        let item = try await fixture.pin(url).item
        #expect(item.state == .waiting)
        #expect(item.problem == "urn:larder:bad-answer")
        let states = try await fixture.pins().map(\.state)
        #expect(states.contains(.failed) && states.contains(.waiting))
    }

    @Test("An origin's own failure is no refusal: the pin waits")
    func serverError() async throws {
        fixture.upstream.answer(url, with: .reply("down", status: 500))
        let item = try await fixture.pin(url).item
        #expect(item.state == .waiting)
        #expect(item.problem == "urn:larder:origin-status")
        // It is what this client was told, and nothing that the pin keeps.
        #expect(try await fixture.pins().map(\.problem) == [nil])
    }

    @Test("An origin that has just failed a client has its rest first", arguments: 1...20)
    func restsFirst(round: Int) async throws {
        fixture.upstream.answer(url, with: .reply("down", status: 500), .json("[1]"))
        #expect(try await fixture.pin(url).item.state == .waiting)
        try await fixture.clock.sleepers(until: .seconds(1))
        #expect(fixture.upstream.asked.all.count == 1)
        // A client asks again whenever it likes, and nobody else does so as well.
        let other = try fixture.url("/b")
        fixture.upstream.answer(other, with: .reply("down", status: 500))
        #expect(try await fixture.pin(other).item.state == .waiting)
        #expect(fixture.upstream.asked.all.map(\.url) == [url, other])
    }

    @Test("A later answer takes the place of what is pinned, and a deletion leaves it, gone")
    func laterAnswers() async throws {
        try await fixture.cache(url, .json("[1]", headers: ["ETag": "\"1\""]))
        _ = try await fixture.pin(url)
        fixture.upstream.answer(url, with: .json("[2]", headers: ["ETag": "\"2\""]))
        try await fixture.fetch(url)
        #expect(try fixture.bytes(url) == "[2]")
        fixture.clock.advance(by: .seconds(60))
        fixture.upstream.answer(url, with: .reply(status: 304, headers: ["ETag": "\"2\""]))
        let confirmed = try await fixture.fetch(url)
        #expect(confirmed.frames.contains { $0.isUnchanged })
        let item = try #require(try await fixture.pins().first)
        #expect(item.storedAt == .init(ManualClock.start.advanced(by: .seconds(60))))
        fixture.upstream.answer(url, with: .reply(status: 410))
        let deleted = try await fixture.fetch(url)
        #expect(deleted.frames.contains { $0.isDeleted })
        let gone = try #require(try await fixture.pins().first)
        #expect(gone.state == .gone)
        #expect(gone.problem == "urn:larder:deleted")
        #expect(try fixture.bytes(url) == "[2]")
        fixture.upstream.answer(url, with: .json("[3]"))
        try await fixture.fetch(url)
        #expect(try await fixture.pins().map(\.state) == [.held])
        #expect(try fixture.bytes(url) == "[3]")
    }

    @Test("A 304 that a deleting write overtook does not bring back a pinned entry (P-06)")
    func overtakenConfirmation() async throws {
        let gate = Gate()
        try await fixture.cache(url, .json("[1]", headers: ["ETag": "\"1\""]))
        _ = try await fixture.pin(url)
        fixture.upstream.answer(
            url,
            with: ScriptedAnswer.reply(status: 304, headers: ["ETag": "\"1\""]).held(by: gate),
            .reply(status: 204),
            .reply(status: 404),
            .reply(status: 404)
        )
        let fetch = fixture.start(url, .networkFirst)
        _ = try await fixture.upstream.asked.element(1)
        let id = try await fixture.write(.url(url), .delete)
        #expect(try await fixture.settled(id).state == .confirmed)
        gate.open()
        _ = try await fetch.result()
        #expect(try await fixture.pins().map(\.state) == [.gone])
    }

    @Test("A pin without room is too large, and its entry is cached all the same")
    func tooLarge() async throws {
        let setup = try EngineSetup.with { $0.store.pinsMaxBytes = ByteSize(bytes: 2_000) }
        try await EngineFixture.run(setup) { fixture in
            let long = "[\"" + String(repeating: "x", count: 4_000) + "\"]"
            fixture.upstream.answer(url, with: .json(long))
            let problem = await #expect(throws: Problem.self) { try await fixture.pin(url) }
            #expect(problem?.kind == .pinsFull)
            #expect(problem?.status == 507)
            #expect(try await fixture.pins().map(\.state) == [.tooLarge])
            #expect(try fixture.bytes(url) == long)
            fixture.upstream.answer(url, with: .json("[1]"))
            try await fixture.fetch(url)
            #expect(try await fixture.pins().map(\.state) == [.held])
        }
    }

    @Test("An answer over max_entry_bytes is too large")
    func overEntryLimit() async throws {
        let setup = try EngineSetup.with { $0.store.maxEntryBytes = ByteSize(bytes: 100) }
        try await EngineFixture.run(setup) { fixture in
            let long = "[\"" + String(repeating: "x", count: 200) + "\"]"
            fixture.upstream.answer(url, with: .json(long))
            let problem = await #expect(throws: Problem.self) { try await fixture.pin(url) }
            #expect(problem?.kind == .entryTooLarge)
            let pins = try await fixture.pins()
            #expect(pins.map(\.state) == [.tooLarge])
            #expect(pins.first?.problem == "urn:larder:entry-too-large")
        }
    }

    @Test("A pin is not evicted, not deleted, and outlives the ttl of its blob")
    func stays() async throws {
        let id = try EntryID("note")
        var intake = try fixture.engine.entries.take(
            id,
            fixture.scope,
            mediaType: nil,
            ttl: .seconds(60),
            isPinned: true
        )
        try await intake.take(Array("kept".utf8))
        let receipt = try await intake.finish()
        #expect(receipt.put.isNew)
        fixture.clock.advance(by: .seconds(3_600))
        #expect(try fixture.bytes("note") == "kept")
        await #expect(throws: Problem.self) {
            _ = try await fixture.engine.entries.remove(id, fixture.scope)
        }
        #expect(try await fixture.engine.pins.unpin(id, fixture.scope))
        #expect(try await !fixture.engine.pins.unpin(id, fixture.scope))
        #expect(try fixture.bytes("note") == nil)
    }

    @Test("An eviction skips and counts what is pinned, unless it is told to take it")
    func eviction() async throws {
        for name in ["a", "b", "c", "d"] { try await fixture.put(name, isPinned: name < "c") }
        let one = RowScopes.one(fixture.scope)
        var command = EvictOrder(.all)
        command.isDryRun = true
        let dry = try await fixture.engine.eviction.evict(command, one)
        #expect(dry.evicted == 2)
        #expect(dry.skipped == 2)
        command.includesPinned = true
        let dryWithPins = try await fixture.engine.eviction.evict(command, one)
        #expect(Set(dryWithPins.ids) == ["a", "b", "c", "d"])
        #expect(try await fixture.pins().count == 2)
        command = EvictOrder(.ids([try EntryID("a"), try EntryID("c")]))
        let named = try await fixture.engine.eviction.evict(command, one)
        #expect(named.ids == ["c"])
        #expect(named.skipped == 1)
        command = EvictOrder(.prefix("a"))
        command.includesPinned = true
        let report = try await fixture.engine.eviction.evict(command, one)
        #expect(report.ids == ["a"])
        #expect(report.accountedBytes > 0)
        #expect(try await fixture.pins().map(\.id) == ["b"])
        #expect(try fixture.bytes("a") == nil)
        #expect(try fixture.bytes("b") == "b")
        let work = try AccountName("work")
        let other = RowScopes.one(fixture.engine.store.key(for: .own(uid: 1_000, account: work)))
        #expect(try await fixture.engine.eviction.evict(command, other).evicted == 0)
    }

    @Test(
        "A list has each entry once, the pinned among the others, in every order and page by page",
        arguments: [1, 2, 5, 100]
    )
    func lists(limit: Int) async throws {
        for (index, name) in ["c", "a", "e", "b", "d", "caf\u{e9}"].enumerated() {
            fixture.clock.advance(by: .seconds(1))
            try await fixture.put(name, count: 100 - index * 7, isPinned: index % 2 == 0)
        }
        _ = try fixture.read("a")
        for sort in EntryOrder.known {
            var command = EntryListQuery()
            (command.sort, command.page.limit) = (sort, limit)
            var items: [EntryItem] = []
            repeat {
                let page = try await fixture.engine.entries.list(command, .one(fixture.scope))
                #expect(page.items.count <= limit)
                items += page.items
                command.page.cursor = page.next
            } while command.page.cursor != nil
            let ids = items.map(\.id)
            switch sort {
            case .id: #expect(ids == ["a", "b", "c", "caf\u{e9}", "d", "e"])
            case .size: #expect(ids == ["c", "a", "e", "b", "d", "caf\u{e9}"])
            case .age: #expect(ids == ["c", "a", "e", "b", "d", "caf\u{e9}"])
            // What is never evicted comes after everything else.
            default: #expect(ids == ["b", "caf\u{e9}", "a", "c", "e", "d"])
            }
            #expect(Set(items.filter(\.pinned).map(\.id)) == ["c", "e", "d"])
        }
    }

    @Test(
        "An id without an origin and a cached row is refused by its cause, without a pin",
        arguments: [("note", ProblemKind.miss), ("https://other.example/a", .unknownOrigin)]
    )
    func nothing(text: String, kind: ProblemKind) async throws {
        let id = try EntryID(text)
        let problem = await #expect(throws: Problem.self) {
            _ = try await fixture.engine.pins.pin(id, fixture.scope)
        }
        #expect(problem?.kind == kind)
        #expect(try await fixture.pins() == [])
    }
}

extension EngineFixture {
    /// Pins a URL; `isNew` is nil when it waits.
    func pin(
        _ url: WebURL,
        as scope: Scope = Self.scope
    ) async throws -> (item: PinItem, isNew: Bool?) {
        switch try await engine.pins.pin(EntryID(url), engine.store.key(for: scope)) {
        case .held(let item, let isNew): (item, isNew)
        case .waiting(let item): (item, nil)
        }
    }

    fileprivate func put(_ name: String, count: Int = 1, isPinned: Bool) async throws {
        var intake = try engine.entries.take(
            EntryID(name),
            scope,
            mediaType: nil,
            ttl: nil,
            isPinned: isPinned
        )
        try await intake.take(Array(String(repeating: String(name.prefix(1)), count: count).utf8))
        _ = try await intake.finish()
    }

    fileprivate func pins() async throws -> [PinItem] {
        try await engine.pins.list(PageQuery(), scope).items
    }

    /// Returns when a pin waits no longer.
    fileprivate func settled(_ url: WebURL) async throws {
        _ = try await engine.pins.pin(EntryID(url), scope, wait: .seconds(3_000))
    }

    fileprivate func bytes(_ url: WebURL) throws -> String? { try bytes(url.text) }

    fileprivate func bytes(_ id: String) throws -> String? {
        let reader = try engine.store.makeReader()
        return try reader.withEntry(scope, EntryID(id), now: clock.now()) { row in
            row.withBody { String(decoding: $0, as: UTF8.self) }
        }
    }
}

extension FetchFrame {
    fileprivate var isUnchanged: Bool { if case .unchanged = self { true } else { false } }
    fileprivate var isDeleted: Bool { if case .deleted = self { true } else { false } }
}
