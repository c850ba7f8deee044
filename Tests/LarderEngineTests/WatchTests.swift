import LarderModel
import LarderStrategy
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine
@testable import LarderStore

/// Who watches hears of every change, whoever brings it.
@Suite("Watching", .timeLimit(.minutes(10)), .engine)
struct WatchTests {
    private let fixture = EngineFixture.running
    private let gate = Gate()

    @Test("A watch reports network puts and deletions with their cause")
    func network() async throws {
        let url = try fixture.url("/a")
        let watch = try await Watch(fixture) { $0.types = [.put, .delete] }
        try await fixture.cache(url, .json("[1]"))
        try await fixture.cache(url, .json("[1]"))
        try await fixture.cache(url, .reply(status: 410))
        let frames = try await watch.frames(upTo: 3)
        #expect(frames.map(\.type) == ["bookmark", "put", "delete"])
        guard case .put(let put) = frames[1] else { return }
        #expect(put.id == url.text)
        #expect(put.source == "network")
        #expect(put.cause == "fetch:\(url)")
    }

    @Test("A change has self only in a watch with the same user and client name")
    func own() async throws {
        let phone = ClientTag(uid: 1_000, name: "phone")
        let watch = try await Watch(fixture, client: phone)
        // Each is heard before the next one, which would stand for it.
        try await fixture.putBlob("a", "1", client: phone)
        _ = try await watch.frames(upTo: 2)
        try await fixture.putBlob("a", "2", client: ClientTag(uid: 1_000, name: "laptop"))
        _ = try await watch.frames(upTo: 3)
        try await fixture.putBlob("a", "3")
        _ = try await watch.frames(upTo: 4)
        _ = try await fixture.engine.entries.remove(EntryID("a"), fixture.scope, client: phone)
        let frames = try await watch.frames(upTo: 5)
        let own = frames.dropFirst().map { $0.encodedText.contains(#""self":true"#) }
        #expect(own == [true, false, false, true])
    }

    @Test("Rows of another user or another account are not reported")
    func scopes() async throws {
        let other = Scope.own(uid: 1_001, account: .default)
        let work = Scope.own(uid: 1_000, account: try AccountName("work"))
        let watch = try await Watch(fixture)
        try await fixture.putBlob("a", "1", as: other)
        try await fixture.putBlob("a", "1", as: work)
        try await fixture.putBlob("b", "1")
        let frames = try await watch.frames(upTo: 2)
        #expect(frames[1].encodedText.contains(#""id":"b""#))
    }

    @Test("A watch with since gets each change in between once, and then goes on live (P-12)")
    func since() async throws {
        let first = try await fixture.putBlob("a", "1")
        try await fixture.putBlob("b", "1")
        try await fixture.putBlob("a", "2")
        let watch = try await Watch(fixture) { $0.since = first }
        let caughtUp = try await watch.frames(upTo: 3)
        #expect(caughtUp.map(\.name) == ["put b", "put a", "bookmark"])
        try await fixture.putBlob("c", "1")
        #expect(try await watch.frames(upTo: 4).last?.name == "put c")
    }

    @Test("A since that the log does not have is refused with where it begins")
    func tooOld() async throws {
        let start = fixture.engine.store.changes.start
        var command = WatchOrder()
        command.since = Revision(1 << 40)
        let problem = await fixture.watch(command)
        #expect(problem?.kind == .sinceTooOld)
        #expect(problem?.status == 410)
        #expect(problem?.oldest == start.number)
    }

    @Test("The entries that there are come first, then a bookmark, then what changes")
    func initial() async throws {
        for number in 0..<250 { try await fixture.putBlob("p/\(number)", "1") }
        try await fixture.putBlob("q", "1")
        let watch = try await Watch(fixture) { command in
            command.listsFirst = true
            command.prefixes = ["p/"]
        }
        let frames = try await watch.frames(upTo: 251)
        #expect(frames.dropLast().allSatisfy { $0.encodedText.contains(#""initial":true"#) })
        #expect(frames.last?.encodedText.contains(#""initial_done":true"#) == true)
        try await fixture.putBlob("p/7", "2")
        #expect(try await watch.frames(upTo: 252).last?.name == "put p/7")
    }

    @Test("Rows that several ids and prefixes select are listed once")
    func initialOnce() async throws {
        for id in ["p/1", "p/2", "q", "r"] { try await fixture.putBlob(id, "1") }
        let watch = try await Watch(fixture) { command in
            command.listsFirst = true
            command.ids = ["q", "p/2", "q"].compactMap { try? EntryID($0) }
            command.prefixes = ["p/1", "p/", "q", "p/", "p/2"]
        }
        let told = try await watch.frames(upTo: 4).map(\.name)
        #expect(told == ["put q", "put p/2", "put p/1", "bookmark"])
    }

    @Test("A watcher that does not read gets one put for an id, then lags and recovers (P-12)")
    func slow() async throws {
        let watch = try await Watch(fixture, holding: gate)
        try await fixture.putBlob("held", "0")
        try await watch.isHeld()
        for number in 1...5 { try await fixture.putBlob("a", "\(number)") }
        for number in 0..<Limits.watchNoticesMax {
            try await fixture.putBlob("id\(number)", "1")
        }
        // Handed out before it reads on, so that they wait.
        fixture.engine.context.watchers.distribute()
        gate.open()
        let frames = try await watch.all()
        guard case .lagged(let lagged)? = frames.last else {
            Issue.record("\(frames.suffix(2))")
            return
        }
        #expect(frames.contains { $0.encodedText.contains(#""coalesced":5"#) })
        let rest = try await Watch(fixture) { $0.since = Revision(lagged.droppedAfter) }
        let told = frames.filter { $0.type == "put" }.count
        // Held, a, and all of the others.
        let missing = 2 + Limits.watchNoticesMax - told
        let frame = try await rest.frames(upTo: missing + 1).last
        #expect(frame?.type == "bookmark")
    }

    @Test("An origin's new state is told, with the revision at that moment")
    func origins() async throws {
        let watch = try await Watch(fixture) { $0.types = [.origin] }
        fixture.engine.context.originStates.noteConnectFailure(try OriginName("example"))
        let frames = try await watch.frames(upTo: 2)
        guard case .origin(let frame) = frames[1] else { return }
        #expect(frame.origin == "example" && frame.state == .offline)
    }

    @Test("On the daemon's end every watch gets its end frame")
    func drain() async throws {
        let watch = try await Watch(fixture)
        fixture.engine.drain()
        let frames = try await watch.all()
        #expect(frames.count == 2)
        let told = frames.first?.revision.map { Revision($0) }
        #expect(frames.last == .end(WatchEndFrame(.shutdown, told)))
    }

    @Test("A first list that the daemon's end cuts off names no revision (P-12)")
    func drainInList() async throws {
        for number in 0..<(3 * Limits.pageRowsDefault) {
            try await fixture.putBlob("\(number)", "1")
        }
        let watch = try await Watch(fixture, holding: gate) { $0.listsFirst = true }
        try await watch.isHeld()
        fixture.engine.drain()
        gate.open()
        let frames = try await watch.all()
        #expect(frames.count == 2 * Limits.pageRowsDefault + 1)
        #expect(frames.dropLast().allSatisfy { $0.type == "put" && $0.revision == nil })
        #expect(frames.last == .end(WatchEndFrame(.shutdown, nil)))
    }

    @Test("A list that has not begun when the daemon ends is refused with that")
    func drainBeforeList() async throws {
        try await fixture.putBlob("a", "1")
        fixture.engine.context.isDraining = true
        var command = WatchOrder()
        command.listsFirst = true
        let problem = await fixture.watch(command) { frames in
            Issue.record("it is told \(frames)")
            return true
        }
        #expect(problem?.kind == .shuttingDown)
    }

    @Test("A stream for a time ends then, also where there is always something to tell")
    func timeout() async throws {
        var command = WatchOrder()
        command.timeout = .seconds(30)
        var told: [String] = []
        let problem = await fixture.watch(command) { frames in
            told += frames.map(\.name)
            guard told.count < 20, frames.last?.type != "end" else { return true }
            if told.count == 3 { fixture.clock.advance(by: .seconds(30)) }
            // The next one is there before this one is told.
            _ = try? await fixture.putBlob("\(told.count)", "1")
            fixture.engine.context.watchers.distribute()
            return true
        }
        #expect(problem == nil)
        #expect(told == ["bookmark", "put 1", "put 2", "put 3", "put 4", "end timeout"])
    }

    @Test("A long poll since a revision returns to below what is still open (P-12)")
    func openBelow() async throws {
        // A step that the writer has not done with: nothing that it does meanwhile closes it.
        let gate = WriterGate()
        defer { gate.letGo() }
        let opened = Recorder<Revision>()
        fixture.engine.store.commits.post { writer throws(StoreError) in
            opened.record(try writer.cache.nextRevision())
            gate.hold()
        }
        try await gate.waitUntilHeld()
        let open = try await opened.element(0)
        let poll = { (since: Revision) in
            var command = WatchOrder()
            (command.since, command.timeout) = (since, .zero)
            return try await fixture.engine.watches.poll(
                command,
                scope: fixture.scope,
                client: nil,
                cancellation: ClientCancellation()
            )
        }
        let first = try await poll(open)
        #expect(first.items.isEmpty)
        #expect(first.rev < open.number)
        gate.letGo()
        try await fixture.putBlob("own", "1")
        #expect(try await poll(Revision(first.rev)).items.map(\.name) == ["put own"])
    }

    @Test("A quiet stream is told how far it is, whatever it is about, and which types it asks for")
    func heartbeat() async throws {
        let first = try await fixture.putBlob("x", "0")
        let watch = try await Watch(fixture) { command in
            command.heartbeat = .seconds(7)
            command.types = [.delete]
            command.ids = (try? [EntryID("x")]) ?? []
        }
        try await fixture.clock.sleepers(until: .seconds(7))
        fixture.clock.advance(by: .seconds(7))
        #expect(try await watch.beat(0) == first)
        let last = try await fixture.putBlob("y", "1")
        try await fixture.clock.sleepers(until: .seconds(14))
        fixture.clock.advance(by: .seconds(7))
        let frames = try await watch.frames(upTo: 2)
        #expect(frames.last == .bookmark(BookmarkFrame(last, isInitialDone: false)))
        try await fixture.clock.sleepers(until: .seconds(21))
        fixture.clock.advance(by: .seconds(7))
        #expect(try await watch.beat(1) == last)
    }

    @Test("An entry watched by its id is not evicted")
    func held() async throws {
        let id = try EntryID("a")
        try await fixture.putBlob("a", "1")
        let watch = try await Watch(fixture) { $0.ids = [id] }
        _ = try await watch.frames(upTo: 1)
        #expect(fixture.engine.store.protections(fixture.scope, id) > 0)
        watch.hangUp()
        _ = try await watch.all()
        #expect(fixture.engine.store.protections(fixture.scope, id) == 0)
    }

    private static func join(_ hub: WatchHub) -> Int? {
        hub.join(
            EngineFixture.scope,
            .init(),
            since: nil,
            listsFirst: false,
            hasBookmarks: true,
            wake: {}
        )
    }

    @Test("At least 500 watches of a user are taken, and one too many is refused")
    func bound() throws {
        let hub = WatchHub(try TemporaryStore().store.changes)
        let join = { Self.join(hub) }
        for _ in 0..<Limits.watchersPerUserMax { #expect(join() != nil) }
        #expect(Limits.watchersPerUserMax >= 500)
        #expect(join() == nil)
        hub.leave(0)
        #expect(join() != nil)
    }

    @Test("When the last watcher has gone nothing more is kept for any")
    func nobody() async throws {
        let temporary = try TemporaryStore()
        let feed = temporary.store.changes
        let hub = WatchHub(feed)
        let number = Self.join(hub)
        hub.leave(try #require(number))
        // News of before may come after that.
        hub.distribute()
        let revision = feed.next(isStep: true)
        let put = Change.Event.put(try EntryID("a"), ChangeCause(.client))
        feed.changed([Change(revision, EngineFixture.scope, put)])
        feed.close()
        #expect(feed.take().changes == [])
    }
}
