import LarderAPI
import LarderModel
import LarderStore
import LarderStrategy
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

/// Rows that followers and pins have refreshed: what reaches the origin, and when.
@Suite("Refreshing", .timeLimit(.minutes(5)), .engine)
struct RefreshTests {
    private let fixture = EngineFixture.running
    private let url = EngineFixture.firstURL

    private var id: EntryID { get throws { try EntryID(url) } }

    /// The origin answers with a tag, and confirms it.
    private func serve() {
        fixture.upstream.answerOthers { request in
            request.headers["If-None-Match"] == nil
                ? .json("[1]", etag: "\"v1\"") : ScriptedAnswer.notModified
        }
    }

    private func follow(
        _ interval: Duration,
        _ policy: FetchPolicy? = nil,
        as scope: Scope = EngineFixture.scope
    ) -> ClientFetch {
        fixture.start(url, policy, as: scope) { command in
            (command.follows, command.refresh) = (true, interval)
            command.heartbeat = .seconds(3_600)
        }
    }

    private var asked: Int { fixture.upstream.asked.all.count { $0.url == url } }

    private func report(as scope: Scope = EngineFixture.scope) throws -> RefreshReport {
        fixture.engine.context.refreshes.report(of: try id, scope, fixture.engine.context)
    }

    private func until(_ condition: () async throws -> Bool) async throws {
        while try await !condition() { await Task.yield() }
    }

    /// Moves the clock on in small steps, in each of which all polls that are due end.
    private func pass(_ time: Duration) async throws {
        let end = fixture.clock.monotonic() + time
        while fixture.clock.monotonic() < end {
            fixture.clock.advance(by: min(.milliseconds(500), end - fixture.clock.monotonic()))
            try await settle()
        }
    }

    /// Returns when no row is due, and no poll is in flight.
    private func settle() async throws {
        let now = fixture.clock.monotonic()
        try await until {
            fixture.engine.context.flights.count == 0
                && fixture.engine.context.refreshes.isQuiet(at: now)
        }
    }

    @Test("refresh is refused outside of min_refresh to 30 d, and without follow (S38)")
    func limits() async throws {
        for (interval, text) in [
            (Duration.seconds(4), "refresh: '4s' is not within 5s to 30d"),
            (.seconds(31 * 86_400), "refresh: '31d' is not within 5s to 30d"),
        ] {
            let refusal = try await follow(interval).result().refusal
            #expect(refusal?.kind == .badRequest && refusal?.detail == text)
            await #expect(throws: Problem.self) {
                _ = try await fixture.engine.pins.pin(id, fixture.scope, refresh: interval)
            }
        }
        #expect(try await follow(.seconds(5), .cacheOnly).result().refusal?.kind == .badRequest)
        var options = FetchOptions()
        options.refresh = .seconds(30)
        let command = FetchCommand(url: url.text, options: options)
        #expect(throws: Problem.self) { try FetchOrder(command) }
        await #expect(throws: Problem.self) {
            let blob = try EntryID("notes/1")
            _ = try await fixture.engine.pins.pin(blob, fixture.scope, refresh: .seconds(30))
        }
        #expect(fixture.upstream.asked.all.isEmpty)
    }

    @Test(
        "50 followers have one poller, a changed answer is shown, a 304 only moves the time (S40)"
    )
    func followers() async throws {
        serve()
        var followers: [ClientFetch] = []
        for number in 0..<50 {
            let policy: FetchPolicy = number == 0 ? .networkFirst : .cacheFirst
            followers.append(follow(.seconds(30 + number % 3), policy))
            _ = try await followers[number].frames.element(0)
        }
        try await until { try report().refresh == .seconds(30) }
        let first = asked
        try await pass(.seconds(330))
        // There is a poll in 30 to 33 seconds.
        #expect((10...11).contains(asked - first))
        let last = try #require(fixture.upstream.asked.all.last)
        #expect(last.headers["If-None-Match"] == "\"v1\"")
        #expect(followers.allSatisfy { $0.frames.all.count <= 2 })
        let explained = try await fixture.engine.entries.explain(id, fixture.scope)
        let told = try #require(explained)
        let storedAt = Timestamp(milliseconds: told.item.storedAt.milliseconds)
        #expect(fixture.clock.now().since(storedAt) <= .seconds(33))
        #expect(told.refreshing.refresh == .seconds(30))
        fixture.upstream.answer(url, with: .json("[2]", etag: "\"v2\""))
        try await pass(.seconds(34))
        for follower in followers {
            try await until {
                follower.frames.all.contains { $0.shown?.entry.content == .json(Array("[2]".utf8)) }
            }
        }
        for follower in followers { follower.hangUp() }
        for follower in followers { _ = try await follower.result() }
        try await until { try report().refresh == nil }
        let end = asked
        try await pass(.seconds(300))
        #expect(asked == end)
    }

    @Test("The interval counts from the last answer, whichever client caused it (S39)")
    func lastAnswer() async throws {
        serve()
        let follower = follow(.seconds(30))
        _ = try await follower.frames.element(0)
        try await until { try report().refresh != nil }
        for _ in 0..<5 {
            try await pass(.seconds(20))
            try await fixture.fetch(url, .networkOnly)
        }
        #expect(asked == 6)
        try await pass(.seconds(34))
        #expect(asked == 7)
        follower.hangUp()
    }

    @Test("A raised min_refresh holds for rows that are refreshed already (S38)")
    func raisedLimit() async throws {
        serve()
        let follower = follow(.seconds(30))
        _ = try await follower.frames.element(0)
        try await until { try report().refresh == .seconds(30) }
        var origin = try #require(fixture.engine.context.origins.origin(of: url))
        origin.fetch.minRefresh = .seconds(600)
        let known = KnownOrigin(origin, from: .file("larder.yaml"))
        _ = try await fixture.engine.origins.reload { (replace) throws(Problem) in
            try replace([known])
        }
        #expect(try report().refresh == .seconds(600))
        let before = asked
        try await pass(.seconds(500))
        #expect(asked == before)
        try await pass(.seconds(161))
        #expect(asked == before + 1)
        follower.hangUp()
    }

    @Test("A pin's interval needs no client, and outlives the daemon; unpin ends it (S39)")
    func pins() async throws {
        serve()
        _ = try await fixture.engine.pins.pin(id, fixture.scope, refresh: .seconds(600))
        // Without an interval a pin keeps its own.
        _ = try await fixture.engine.pins.pin(id, fixture.scope)
        let item = try #require(
            try await fixture.engine.pins.list(PageQuery(), fixture.scope).items.first
        )
        #expect(item.refreshing.refresh == .seconds(600))
        let next = try #require(item.refreshing.nextRefreshAt)
        let wait = Timestamp(milliseconds: next.milliseconds).since(fixture.clock.now())
        #expect((.seconds(600)...(.seconds(660))).contains(wait))
        try await pass(.seconds(661))
        #expect(asked == 2)
        let stored = try await fixture.engine.store.pins.refreshed(after: 0)
        #expect(stored.map(\.refresh) == [.seconds(600)])
        #expect(try await fixture.engine.pins.unpin(id, fixture.scope))
        #expect(try await fixture.engine.store.pins.refreshed(after: 0).isEmpty)
        try await pass(.seconds(1_400))
        #expect(asked == 2)
    }

    @Test("A pin is refreshed after a restart, and late ones within a minute (S39, S41)")
    func restart() async throws {
        let temporary = try TemporaryStore()
        let url = url
        try await EngineFixture.run(on: temporary) { fixture in
            fixture.upstream.answer(url, with: .json("[1]", etag: "\"v1\""))
            let id = try EntryID(url)
            _ = try await fixture.engine.pins.pin(id, fixture.scope, refresh: .seconds(60))
        }
        try temporary.open()
        try await EngineFixture.run(on: temporary) { fixture in
            fixture.upstream.answer(url, with: .notModified)
            let id = try EntryID(url)
            let context = fixture.engine.context
            while context.refreshes.report(of: id, EngineFixture.scope, context).refresh == nil {
                await Task.yield()
            }
            fixture.clock.advance(by: .seconds(66))
            #expect(try await fixture.upstream.asked.element(0).url == url)
        }
    }

    @Test("No poll leaves while the origin is offline or set offline; then one does (S41)")
    func outage() async throws {
        serve()
        let name = try OriginName("example")
        let follower = follow(.seconds(30))
        _ = try await follower.frames.element(0)
        try await until { try report().refresh != nil }
        _ = try await fixture.engine.origins.setOffline(name, true, for: 1_000)
        try await pass(.seconds(600))
        #expect(asked == 1)
        #expect(try report().refreshPausedBy == .setOffline)
        #expect(try report().nextRefreshAt == nil)
        _ = try await fixture.engine.origins.setOffline(name, false, for: 1_000)
        // The return itself makes the follower ask.
        try await until { asked == 2 }
        try await settle()
        try await pass(.seconds(29))
        #expect(asked == 2)
        follower.hangUp()
    }

    @Test("A poll that cannot connect waits for the origin, which is probed for a pin (S41)")
    func unreachable() async throws {
        fixture.upstream.answer(url, with: .json("[1]", etag: "\"v1\""))
        _ = try await fixture.engine.pins.pin(id, fixture.scope, refresh: .seconds(60))
        let base = try fixture.url("/")
        try await advance { try report().refreshPausedBy == .offline }
        try await advance { fixture.upstream.asked.all.contains { $0.url == base } }
        let begun = fixture.clock.monotonic()
        try await advance { fixture.clock.monotonic() - begun > .seconds(1_800) }
        // The poll and its repetitions.
        let before = asked
        #expect(before <= 4)
        #expect(try report().nextRefreshAt == nil)
        serve()
        try await advance { try report().refreshPausedBy == nil }
        let back = fixture.clock.monotonic()
        // In steps in each of which what is due ends: the clock would run away from a busy machine.
        while asked == before { try await pass(.milliseconds(500)) }
        #expect(fixture.clock.monotonic() - back <= .seconds(62))
    }

    /// Moves the clock on in small steps until a condition holds.
    private func advance(until condition: () throws -> Bool) async throws {
        while try !condition() {
            fixture.clock.advance(by: .milliseconds(500))
            for _ in 0..<50 { await Task.yield() }
        }
    }

    @Test("No poll leaves while a captive portal answers, or the origin is offline (S41)")
    func captive() async throws {
        let url = url
        fixture.upstream.answerOthers { $0.url == url ? .json("[1]") : nil }
        let follower = follow(.seconds(30))
        _ = try await follower.frames.element(0)
        try await until { try report().refresh != nil }
        let (states, name) = (fixture.engine.context.originStates, try OriginName("example"))
        states.notePortal(name)
        #expect(try report().refreshPausedBy == .captive)
        try await advance { try report().nextRefreshAt == nil }
        // The probes do not reach the origin's base URL, so it counts as offline from then on.
        try await advance { try report().refreshPausedBy == .offline }
        let begun = fixture.clock.monotonic()
        try await advance { fixture.clock.monotonic() - begun > .seconds(600) }
        #expect(asked == 1)
        states.noteAnswer(name)
        try await advance { asked > 1 }
        follower.hangUp()
    }

    @Test("No poll leaves while Retry-After runs (S41)")
    func retryAfter() async throws {
        serve()
        let follower = follow(.seconds(10))
        _ = try await follower.frames.element(0)
        try await until { try report().refresh != nil }
        let busy = ScriptedAnswer.reply("busy", status: 429, headers: ["Retry-After": "300"])
        fixture.upstream.answer(url, with: busy)
        try await pass(.seconds(12))
        #expect(asked == 2)
        #expect(try report().refreshPausedBy == .retryAfter)
        try await pass(.seconds(285))
        #expect(asked == 2)
        try await pass(.seconds(35))
        #expect(asked >= 3)
        #expect(try report().refreshPausedBy == nil)
        follower.hangUp()
    }

    @Test("No poll leaves while the account waits for a credential (S41)")
    func credential() async throws {
        serve()
        let follower = follow(.seconds(10))
        _ = try await follower.frames.element(0)
        try await until { try report().refresh != nil }
        fixture.upstream.answer(url, with: .reply(status: 401))
        try await pass(.seconds(600))
        #expect(asked == 2)
        #expect(try report().refreshPausedBy == .credential)
        // An answer to a client says that the account is taken.
        try await fixture.fetch(url, .networkOnly)
        try await pass(.seconds(12))
        #expect(asked == 4)
        follower.hangUp()
    }

    @Test("Errors double the wait, and success resets it (S41)")
    func errors() async throws {
        serve()
        let follower = follow(.seconds(100))
        _ = try await follower.frames.element(0)
        try await until { try report().refresh != nil }
        let broken = ScriptedAnswer.reply("no", status: 500)
        fixture.upstream.answer(url, with: broken, broken)
        try await pass(.seconds(111))
        #expect(asked == 2)
        try await pass(.seconds(185))
        #expect(asked == 2)
        try await pass(.seconds(36))
        #expect(asked == 3)
        try await pass(.seconds(441))
        #expect(asked == 4)
        try await pass(.seconds(111))
        #expect(asked == 5)
        follower.hangUp()
    }

    @Test("After a suspend of an hour each row is asked once, within a minute (S41)")
    func suspend() async throws {
        serve()
        let urls = try (0..<20).map { try fixture.url("/s/\($0)") }
        for url in urls {
            _ = try await fixture.engine.pins.pin(
                EntryID(url),
                fixture.scope,
                refresh: .seconds(1_800)
            )
        }
        func asked(_ url: WebURL) -> Int { fixture.upstream.asked.all.count { $0.url == url } }
        try await pass(.seconds(30))
        #expect(urls.allSatisfy { asked($0) == 1 })
        fixture.clock.suspend(for: .seconds(3_600))
        // A look comes at most 10 seconds later.
        try await pass(.seconds(71))
        #expect(urls.allSatisfy { asked($0) == 2 })
        try await pass(.seconds(600))
        #expect(urls.allSatisfy { asked($0) == 2 })
    }

    @Test("A poll is no use of the row, whether the answer is another or not (S40)")
    func noUse() async throws {
        let others = try [fixture.url("/b"), fixture.url("/c")]
        try await fixture.cache(url, .json("[1]", etag: "\"v1\""))
        for other in others { try await fixture.cache(other, .json("[0]")) }
        let before = try await used()
        let context = fixture.engine.context
        let origin = try context.origin(of: url, in: fixture.scope)
        for answer in [ScriptedAnswer.notModified, .json("[2]", etag: "\"v2\"")] {
            fixture.upstream.answer(url, with: answer)
            let request = FetchRequest(FetchOrder(url: url), origin: origin)
            guard
                case .current = try await context.flightStarter.poll(
                    request,
                    fixture.scope
                )
            else {
                Issue.record("it has an answer")
                return
            }
            #expect(try await used() == before)
        }
        // A client's request is one.
        try await fixture.cache(url, .json("[3]", etag: "\"v3\""))
        #expect(try await used() != before)
    }

    @Test("Polls leave connections of the origin to clients (S40)")
    func afterClients() async throws {
        serve()
        let follower = follow(.seconds(5))
        _ = try await follower.frames.element(0)
        try await until { try report().refresh != nil }
        let gate = Gate()
        for number in 0..<6 {
            let slow = try fixture.url("/slow/\(number)")
            fixture.upstream.answer(slow, with: .json("[1]").held(by: gate))
            _ = fixture.start(slow)
        }
        _ = try await fixture.upstream.asked.element(6)
        fixture.clock.advance(by: .seconds(6))
        try await until { fixture.engine.context.refreshes.isHeldUp }
        #expect(asked == 1)
        gate.open()
        try await until { asked == 2 }
        follower.hangUp()
    }

    /// The ids of the cache, the least recently used first.
    private func used() async throws -> [String] {
        var query = EntryListQuery()
        query.sort = .used
        return try await fixture.engine.entries.list(query, .one(fixture.scope)).items.map(\.id)
    }

    @Test("A user may have 1,000 polled rows; one more is refused before any request (S40)")
    func tooMany() async throws {
        let context = fixture.engine.context
        var held: [Interest] = []
        for number in 0..<1_000 {
            let order = FetchOrder(url: url)
            let refresh = context.refreshes.follow(
                try EntryID("https://api.example.com/\(number)"),
                fixture.scope,
                order,
                at: try OriginName("example"),
                every: .seconds(3_600),
                since: nil,
                isOwn: false,
                context
            )
            held.append(try #require(refresh))
        }
        let refusal = try await follow(.seconds(30)).result().refusal
        #expect(refusal?.kind == .overloaded)
        await #expect(throws: Problem.self) {
            _ = try await fixture.engine.pins.pin(id, fixture.scope, refresh: .seconds(30))
        }
        #expect(asked == 0)
        // Another user has a thousand of their own.
        let other = Scope.own(uid: 1_001, account: .default)
        serve()
        let follower = follow(.seconds(30), as: other)
        _ = try await follower.frames.element(0)
        try await until { try report(as: other).refresh != nil }
        held = []
        try await until {
            (try? context.refreshes.checkRoom(for: [id], fixture.scope)) != nil
        }
        follower.hangUp()
    }

    @Test("Two users who follow a shared row cause one poll at a time (S39)")
    func shared() async throws {
        try await EngineFixture.run(.with { $0.origin.isShared = true }) { fixture in
            let url = try fixture.url("/a")
            fixture.upstream.answerOthers { request in
                request.headers["If-None-Match"] == nil
                    ? .json("[1]", etag: "\"v1\"") : ScriptedAnswer.notModified
            }
            let users = [EngineFixture.scope, .own(uid: 1_001, account: .default)]
            let context = fixture.engine.context
            for user in users {
                let follower = fixture.start(url, .cacheFirst, as: user) { command in
                    (command.follows, command.refresh) = (true, .seconds(30))
                    command.heartbeat = .seconds(3_600)
                }
                _ = try await follower.frames.element(0)
                while context.refreshes.report(of: try EntryID(url), user, context).refresh == nil {
                    await Task.yield()
                }
            }
            let first = fixture.upstream.asked.all.count
            for _ in 0..<660 {
                fixture.clock.advance(by: .milliseconds(500))
                let now = fixture.clock.monotonic()
                while context.flights.count > 0 || !context.refreshes.isQuiet(at: now) {
                    await Task.yield()
                }
            }
            #expect((10...11).contains(fixture.upstream.asked.all.count - first))
        }
    }
}
