import LarderAPI
import LarderJSON
import LarderModel
import LarderStore
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

/// An origin whose answers are everybody's, and two users of it (case 29, P-09).
@Suite("A shared origin", .timeLimit(.minutes(10)), .sharedEngine)
struct SharedTests {
    private let fixture = EngineFixture.running
    private let url = EngineFixture.firstURL
    private let gate = Gate()
    private let alice = EngineFixture.scope
    private let bob = Scope.own(uid: 2_000, account: .default)

    @Test("A single request serves all users, and each user sees the shared row or its own (P-09)")
    func singleFlight() async throws {
        try await fixture.cache(url, .json("[1]"), as: alice)
        fixture.upstream.answer(url, with: .json("[2]").held(by: gate))
        let work = Scope.own(uid: 2_000, account: try AccountName("work"))
        let fetches = [alice, bob, work].map { fixture.start(url, as: $0) }
        for fetch in fetches { _ = try await fetch.frames.element(0) }
        gate.open()
        for fetch in fetches {
            #expect(try await fetch.result().shape == ["cache", "network", "end network"])
        }
        #expect(fixture.upstream.asked.all.count == 2)
        for scope in [alice, bob, work] {
            #expect(try fixture.view(url, scope) == "[2]")
            #expect(try await fixture.ids(scope).isEmpty)
        }
        #expect(try await fixture.ids(.shared) == [url.text])
        let report = try await fixture.engine.entries.explain(EntryID(url), fixture.key(bob))
        #expect(report?.item.shared == true)
        try await fixture.putBlob("note", "mine", as: alice)
        #expect(try fixture.view(EntryID("note"), bob) == nil)
    }

    @Test("A private answer goes to its own client only, also within one flight (P-09)")
    func privateAnswer() async throws {
        func mine(_ body: String) -> ScriptedAnswer {
            .json(body, headers: ["Cache-Control": "max-age=60, Private"])
        }
        fixture.upstream.answer(
            url,
            with: mine(#""first""#).held(by: gate),
            mine(#""second""#),
            mine(#""third""#)
        )
        let own = fixture.start(url, as: alice)
        _ = try await fixture.upstream.asked.element(0)
        let other = fixture.start(url, as: bob)
        while fixture.engine.context.meter.counts.flightsJoined == 0 { await Task.yield() }
        gate.open()
        #expect(try await own.result().lastShown?.text == #""first""#)
        #expect(try await other.result().lastShown?.text == #""second""#)
        #expect(try fixture.view(url, alice) == #""first""#)
        #expect(try fixture.view(url, bob) == #""second""#)
        #expect(try await fixture.ids(.shared).isEmpty)
        for scope in [alice, bob] { #expect(try await fixture.ids(scope) == [url.text]) }
        let third = Scope.own(uid: 3_000, account: .default)
        #expect(try await fixture.fetch(url, .cacheOnly, as: third).refusal?.kind == .miss)
        try await fixture.fetch(url, as: third)
        #expect(try fixture.view(url, alice) == #""first""#)
    }

    @Test("No user waits for the body of an answer that is private to another (P-09)")
    func privateBody() async throws {
        let body = Gate()
        let headers = ["Cache-Control": "private", "Content-Type": "application/json"]
        fixture.upstream.answer(
            url,
            with: .reply(pieces: [.bytes(Array("[1]".utf8)), .hold(body)], 200, headers)
                .held(by: gate),
            .json("[2]", headers: headers)
        )
        let own = fixture.start(url, as: alice)
        _ = try await fixture.upstream.asked.element(0)
        let other = fixture.start(url, as: bob)
        while fixture.engine.context.meter.counts.flightsJoined == 0 { await Task.yield() }
        gate.open()
        #expect(try await other.result().lastShown?.text == "[2]")
        #expect(try fixture.view(url, alice) == nil, "the body has not arrived")
        body.open()
        #expect(try await own.result().lastShown?.text == "[1]")
    }

    @Test("A shared answer that becomes private is requested again for each user (P-09)")
    func becomesPrivate() async throws {
        try await fixture.cache(url, .json("[1]", headers: ["ETag": "\"v1\""]), as: alice)
        fixture.upstream.answer(
            url,
            with: .reply(status: 304, headers: ["Cache-Control": "private"]),
            .json("[2]", headers: ["Cache-Control": "private"])
        )
        let got = try await fixture.fetch(url, as: bob)
        #expect(got.shape == ["cache", "network", "end network"])
        #expect(fixture.upstream.asked.all.last?.headers["If-None-Match"] == nil)
        #expect(try fixture.view(url, bob) == "[2]")
        #expect(try fixture.view(url, alice) == "[1]")
    }

    @Test("An answer to a user's own credential is that user's alone, and shows first (P-09)")
    func ownCredential() async throws {
        try await fixture.cache(url, .json(#""all""#), as: alice)
        fixture.upstream.answer(url, with: .json(#""bob's""#))
        let own = try await fixture.fetch(url, as: bob) { command in
            command.headers.append("Authorization", "Bearer b")
        }
        #expect(own.shape == ["network", "end network"], "not even the cache is everybody's")
        #expect(try fixture.view(url, bob) == #""bob's""#)
        #expect(try fixture.view(url, alice) == #""all""#)
        let id = try EntryID(url)
        #expect(try await fixture.batched(id, bob) == [#""bob's""#])
        #expect(try await fixture.batched(id, alice) == [#""all""#])
        // Its own row is what it sees, so it is that which is asked for again.
        fixture.upstream.answer(url, with: .json(#""anew""#))
        try await fixture.fetch(url, as: bob)
        #expect(try fixture.view(url, alice) == #""all""#)
        #expect(try await fixture.engine.entries.remove(id, fixture.key(bob)) != nil)
        #expect(try fixture.view(url, bob) == nil, "what everybody sees may be older")
    }

    @Test("A like shows to its own user; once settled, the shared row is read again (case 29)")
    func like() async throws {
        let (sent, read) = (Gate(), Gate())
        try await fixture.cache(url, .json(#"{"liked":false}"#), as: bob)
        fixture.clock.advance(by: .seconds(1))
        fixture.upstream.answer(
            url,
            with: .reply(status: 204).held(by: sent),
            .json(#"{"liked":true,"by":1}"#).held(by: read)
        )
        let id = try await fixture.like(url, alice)
        #expect(try fixture.view(url, alice) == #"{"liked":true}"#)
        #expect(try fixture.view(url, bob) == #"{"liked":false}"#)
        sent.open()
        let key = fixture.key(alice)
        let report = try await fixture.settled(id, key)
        #expect(report.state == .accepted)
        #expect(report.marks == [.answered], "it counts as confirmed")
        #expect(report.waitingFor?.reason == "confirmation")
        #expect(try fixture.view(url, bob) == #"{"liked":false}"#, "no base is written there")
        #expect(try fixture.isStale(url, bob))
        #expect(try fixture.view(url, alice) == #"{"liked":true}"#, "it does not flicker")
        #expect(try await fixture.cached(url).lastShown?.pending == 0)
        try await fixture.engine.store.maintain()
        #expect(try fixture.view(url, alice) == #"{"liked":true}"#)
        let watch = try await Watch(fixture, as: bob)
        read.open()
        #expect(try await watch.frames(upTo: 2).map(\.name) == ["bookmark", "put \(url)"])
        for scope in [alice, bob] {
            #expect(try fixture.view(url, scope) == #"{"liked":true,"by":1}"#)
            #expect(try !fixture.isStale(url, scope))
        }
        try await fixture.engine.store.maintain()
        #expect(try await fixture.ids(alice).isEmpty, "nothing of its own is left")
        #expect(try fixture.view(url, alice) == #"{"liked":true,"by":1}"#)
        #expect(fixture.upstream.asked.all.count == 3)
        let settled = try await fixture.engine.modifiers.modifier(id, key)
        #expect(settled.state == .confirmed && settled.marks.isEmpty)
    }

    @Test("An addition that a read may have shown is not added to it again (cases 8 and 29)")
    func counted() async throws {
        let (sent, read) = (Gate(), Gate())
        try await fixture.cache(url, .json(#"{"count":0}"#), as: bob)
        let writes = try fixture.url("/w")
        fixture.upstream.answer(writes, with: .reply(status: 204).held(by: sent))
        let add = try Effect.json(#"{"type":"add","value":{"/count":1}}"#)
        let id = try await fixture.write(.url(url), add, "POST", to: writes, as: alice)
        _ = try await fixture.upstream.asked.element(1)
        // The server has made the addition, and its answer is still on the way.
        fixture.upstream.answer(
            url,
            with: .json(#"{"count":1}"#),
            .json(#"{"count":1,"by":1}"#).held(by: read)
        )
        try await fixture.fetch(url, .networkOnly, as: bob)
        #expect(try fixture.view(url, alice) == #"{"count":2}"#, "it waits, so it shows")
        let watch = try await Watch(fixture, as: alice)
        sent.open()
        #expect(try await fixture.settled(id, fixture.key(alice)).isDone)
        #expect(try fixture.view(url, alice) == #"{"count":1}"#)
        #expect(try await watch.frames(upTo: 2).map(\.name) == ["bookmark", "put \(url)"])
        read.open()
    }

    @Test("After a refused like its user sees the shared row again (case 29)")
    func refused() async throws {
        let read = Gate()
        try await fixture.cache(url, .json(#"{"liked":false}"#), as: bob)
        fixture.upstream.answer(
            url,
            with: .reply("no", status: 422),
            .json(#"{"liked":false}"#).held(by: read)
        )
        let id = try await fixture.like(url, alice)
        let key = fixture.key(alice)
        let report = try await fixture.settled(id, key)
        #expect(report.state == .failed)
        #expect(try fixture.view(url, alice) == #"{"liked":false}"#)
        try await fixture.engine.store.maintain()
        #expect(!fixture.engine.store.isDurable(key, try EntryID(url)))
        #expect(try fixture.view(url, alice) == #"{"liked":false}"#)
        read.open()
    }

    @Test("An answered write does not expire; an answer that differs from it ends it (case 29)")
    func answered() async throws {
        try await fixture.cache(url, .json(#"{"liked":false}"#), as: bob)
        fixture.clock.advance(by: .seconds(1))
        fixture.upstream.answer(url, with: .reply(status: 204))
        let id = try await fixture.like(url, alice)
        let key = fixture.key(alice)
        _ = try await fixture.settled(id, key)
        // Nothing more is scripted: the origin is away.
        _ = try await fixture.upstream.asked.element(2)
        let seen = try fixture.revision(url, alice)
        for _ in 0..<3 {
            fixture.clock.advance(by: .seconds(86_400))
            try await fixture.engine.store.maintain()
            #expect(try fixture.view(url, alice) == #"{"liked":true}"#)
            #expect(try fixture.view(url, bob) == #"{"liked":false}"#)
        }
        let watch = try await Watch(fixture) { command in
            command.types = [.put]
            command.heartbeat = .seconds(3_600)
        }
        fixture.upstream.answer(url, with: .json(#"{"liked":false}"#))
        try await fixture.fetch(url, as: bob)
        #expect(try await watch.frames(upTo: 2).map(\.name) == ["bookmark", "put \(url)"])
        #expect(try fixture.view(url, alice) == #"{"liked":false}"#)
        #expect(try fixture.revision(url, alice) > seen)
    }

    @Test("A 304 and a final refusal of a read settle an answered write, 401 does not (case 29)")
    func confirmedUnchanged() async throws {
        let first = ScriptedAnswer.json(#"{"liked":false}"#, headers: ["ETag": "\"v1\""])
        for last in [ScriptedAnswer.reply(status: 304), .reply("no", status: 403)] {
            try await fixture.cache(url, first, as: bob)
            fixture.upstream.answer(url, with: .reply(status: 204), .reply("who?", status: 401))
            let id = try await fixture.like(url, alice)
            let key = fixture.key(alice)
            let asked = fixture.upstream.asked.all.count
            _ = try await fixture.settled(id, key)
            _ = try await fixture.upstream.asked.element(asked + 1)
            #expect(try fixture.view(url, alice) == #"{"liked":true}"#)
            let modifiers = fixture.engine.modifiers
            #expect(try await modifiers.modifier(id, key).marks == [.answered])
            fixture.upstream.answer(url, with: last)
            try await fixture.fetch(url, as: bob)
            #expect(try await modifiers.modifier(id, key).state == .confirmed)
            #expect(try fixture.view(url, alice) == #"{"liked":false}"#)
        }
    }

    @Test("An answered write is out of its lanes, and shows beneath the next one (case 29)")
    func outOfLanes() async throws {
        try await fixture.cache(url, .json(#"{"n":1}"#), as: bob)
        fixture.upstream.answer(url, with: .reply(status: 204))
        let id = try await fixture.like(url, alice, #"{"n":2}"#)
        let key = fixture.key(alice)
        _ = try await fixture.settled(id, key)
        let next = try await fixture.like(url, alice, #"{"m":3}"#)
        let report = try await fixture.engine.modifiers.modifier(next, key)
        #expect(report.waitingFor?.reason != "lane")
        #expect(try fixture.view(url, alice) == #"{"n":2,"m":3}"#)
    }

    @Test("Until a read has come, no ETag from before an own write is sent (cases 19 and 29)")
    func ownETag() async throws {
        let first = ScriptedAnswer.json(#"{"liked":false}"#, headers: ["ETag": "\"v1\""])
        try await fixture.cache(url, first, as: bob)
        fixture.upstream.answerOthers { request in
            request.method == "GET" ? .reply(status: 500) : .reply(status: 204)
        }
        for _ in 0..<2 {
            let id = try await fixture.like(url, alice)
            _ = try await fixture.settled(id, fixture.key(alice))
        }
        fixture.upstream.answerOthers { request in
            let next = ScriptedAnswer.json(#"{"liked":true}"#, headers: ["ETag": "\"v3\""])
            return request.method == "GET" ? next : .reply(status: 204)
        }
        // The first one may join a read that started before the last write was confirmed.
        for _ in 0..<2 { try await fixture.fetch(url, .networkOnly, as: bob) }
        let id = try await fixture.like(url, alice)
        _ = try await fixture.settled(id, fixture.key(alice))
        let writes = fixture.upstream.asked.all.filter { $0.method != "GET" }
        #expect(writes.map { $0.headers["If-Match"] } == ["\"v1\"", nil, "\"v3\""])
    }

    @Test("A watcher hears of changes of its own view, or of the shared row (case 29, P-12)")
    func watched() async throws {
        let sent = Gate()
        let carol = Scope.own(uid: 3_000, account: .default)
        let held = ScriptedAnswer.reply(status: 204).held(by: sent)
        try await fixture.cache(url, .json(#"{"liked":false,"n":1}"#), as: bob)
        var watches: [Watch] = []
        for scope in [alice, bob, carol] {
            watches.append(try await Watch(fixture, as: scope) { $0.types = [.put] })
        }
        fixture.upstream.answer(url, with: held, held, .json(#"{"liked":true,"n":1}"#))
        _ = try await fixture.like(url, alice)
        _ = try await fixture.like(url, bob, #"{"n":7}"#)
        // None of the puts stands for another one then.
        for watch in watches.prefix(2) { _ = try await watch.frames(upTo: 2) }
        _ = try await fixture.upstream.asked.element(2)
        // It is what alice's view shows already; bob's and carol's change by it.
        try await fixture.fetch(url, as: carol)
        #expect(try fixture.view(url, alice) == #"{"liked":true,"n":1}"#)
        #expect(try fixture.view(url, bob) == #"{"liked":true,"n":7}"#)
        #expect(try fixture.view(url, carol) == #"{"liked":true,"n":1}"#)
        for scope in [alice, bob, carol] { try await fixture.putBlob("end", "1", as: scope) }
        var told: [[String]] = []
        for watch in watches {
            var count = 1
            var names: [String] = []
            while names.last != "put end" {
                count += 1
                names = try await watch.frames(upTo: count).map(\.name)
            }
            told.append(names)
        }
        #expect(told[0] == ["bookmark", "put \(url)", "put end"], "only its own like")
        #expect(told[1] == ["bookmark", "put \(url)", "put \(url)", "put end"])
        #expect(told[2] == ["bookmark", "put \(url)", "put end"])
        sent.open()
    }

    @Test("A watcher that comes back, or lists first, is told its own view (P-12)")
    func replayed() async throws {
        let first = try fixture.step()
        try await fixture.cache(url, .json("[1]"), as: alice)
        let back = try await Watch(fixture, as: bob) { $0.since = first }
        #expect(try await back.frames(upTo: 2).map(\.name) == ["put \(url)", "bookmark"])
        let initial = try await Watch(fixture, as: bob) { $0.listsFirst = true }
        #expect(try await initial.frames(upTo: 2).map(\.name) == ["put \(url)", "bookmark"])
    }

    @Test("A watch lists an id once: the user's own row, else the shared one (case 29)")
    func listed() async throws {
        let urls = try ["/a", "/b", "/c"].map { try fixture.url($0) }
        for url in urls { try await fixture.cache(url, .json("[1]"), as: alice) }
        fixture.upstream.answer(urls[1], with: .json("[2]"))
        try await fixture.fetch(urls[1], as: bob) { command in
            command.headers.append("Authorization", "Bearer b")
        }
        let all = try await Watch(fixture, as: bob) { $0.listsFirst = true }
        let names = [1, 0, 2].map { "put \(urls[$0])" }
        #expect(try await all.frames(upTo: 4).map(\.name) == names + ["bookmark"])
        let some = try await Watch(fixture, as: bob) { command in
            command.listsFirst = true
            command.ids = (try? [EntryID(urls[2])]) ?? []
            command.prefixes = ["https://"]
        }
        let others = [2, 1, 0].map { "put \(urls[$0])" }
        #expect(try await some.frames(upTo: 4).map(\.name) == others + ["bookmark"])
    }

    @Test("That an own row goes is a put of the newer shared one, also without evictions")
    func revealed() async throws {
        let alone = try fixture.url("/b")
        try await fixture.cache(url, .json("[1]"), as: alice)
        for url in [url, alone] {
            fixture.upstream.answer(url, with: .json("[2]"))
            try await fixture.fetch(url, as: bob) { command in
                command.headers.append("Authorization", "Bearer b")
            }
        }
        try await fixture.cache(url, .json("[3]"), as: alice)
        let first = try fixture.step()
        let live = try await Watch(fixture, as: bob) { $0.types = [.put] }
        for url in [alone, url] {
            #expect(try await fixture.engine.entries.remove(EntryID(url), fixture.key(bob)) != nil)
        }
        try await fixture.putBlob("end", "1", as: bob)
        let names = ["put \(url)", "put end"]
        #expect(try await live.frames(upTo: 3).map(\.name) == ["bookmark"] + names)
        let back = try await Watch(fixture, as: bob) { command in
            (command.types, command.since) = ([.put], first)
        }
        #expect(try await back.frames(upTo: 3).map(\.name) == names + ["bookmark"])
    }

    @Test("A stream that follows shows what another user's fetch has brought")
    func followed() async throws {
        try await fixture.cache(url, .json("[1]"), as: alice)
        let follower = fixture.start(url, .cacheOnly, as: bob) { $0.follows = true }
        _ = try await follower.frames.element(0)
        try await fixture.cache(url, .json("[2]"), as: alice)
        #expect(try await follower.frames.element(1).shown?.text == "[2]")
    }

    @Test("No user can remove a shared row, but an administrator can (P-09)")
    func removal() async throws {
        let id = try EntryID(url)
        try await fixture.cache(url, .json("[1]"), as: alice)
        let all = try await fixture.engine.eviction.evict(
            EvictOrder(.ids([id])),
            .one(fixture.key(bob))
        )
        #expect(all.evicted == 0)
        let refusal = await #expect(throws: Problem.self) {
            _ = try await fixture.engine.entries.remove(id, fixture.key(bob))
        }
        #expect(refusal?.kind == .notPermitted)
        #expect(refusal?.detail.contains("is seen by all users") == true)
        #expect(try fixture.view(url, alice) == "[1]")
        let shared = fixture.engine.store.key(for: .shared)
        let removed = try await fixture.engine.entries.remove(id, shared)
        #expect(removed != nil)
        #expect(try fixture.view(url, alice) == nil)
    }

    @Test("A pin keeps the shared row with each new answer, and no evict removes it")
    func pin() async throws {
        let (id, key) = (try EntryID(url), fixture.key(alice))
        try await fixture.cache(url, .json("[1]"), as: bob)
        _ = try await fixture.engine.pins.pin(id, key)
        let watch = try await Watch(fixture) { $0.types = [.put] }
        try await fixture.cache(url, .json("[2, 3]"), as: bob)
        for scope in [alice, bob] { #expect(try fixture.view(url, scope) == "[2, 3]") }
        #expect(try await watch.frames(upTo: 2).map(\.name) == ["bookmark", "put \(url)"])
        let pin = try await fixture.engine.pins.list(PageQuery(), key).items[0]
        #expect(pin.state == .held && pin.bodyBytes == 6)
        _ = try await fixture.engine.eviction.evict(
            EvictOrder(.all),
            .one(fixture.engine.store.key(for: .shared))
        )
        #expect(try fixture.view(url, alice) == "[2, 3]")
        #expect(try await fixture.engine.pins.unpin(id, key))
        try await fixture.engine.store.maintain()
        #expect(!fixture.engine.store.isDurable(fixture.key(.shared), id))
        #expect(try fixture.view(url, bob) == "[2, 3]")
    }

    @Test("A pin of a shared row that its origin deletes keeps its bytes for its user alone")
    func gonePin() async throws {
        let (id, key) = (try EntryID(url), fixture.key(alice))
        try await fixture.cache(url, .json("[1]"), as: bob)
        _ = try await fixture.engine.pins.pin(id, key)
        fixture.upstream.answer(url, with: .reply(status: 410))
        try await fixture.fetch(url, as: bob)
        #expect(try fixture.view(url, alice) == "[1]")
        #expect(try fixture.view(url, bob) != "[1]")
        #expect(try await fixture.cached(url, as: bob).lastShown == nil)
        let pin = try await fixture.engine.pins.list(PageQuery(), key).items[0]
        #expect(pin.state == .gone && pin.bodyBytes == 3)
    }

    @Test("An answer that another user's write overtook undoes it for no user (P-06)")
    func overtaken() async throws {
        let old = Gate()
        try await fixture.cache(url, .json(#"{"liked":false}"#), as: bob)
        fixture.upstream.answer(
            url,
            with: .json(#"{"liked":false,"old":1}"#).held(by: old),
            .reply(status: 204),
            .json(#"{"liked":true}"#)
        )
        let fetch = fixture.start(url, as: bob)
        _ = try await fixture.upstream.asked.element(1)
        let id = try await fixture.like(url, alice)
        let key = fixture.key(alice)
        let report = try await fixture.settled(id, key)
        #expect(report.isDone)
        old.open()
        let frames = try await fetch.result()
        #expect(frames.lastShown?.entry.content == .json(Array(#"{"liked":true}"#.utf8)))
        for scope in [alice, bob] {
            #expect(try fixture.view(url, scope) == #"{"liked":true}"#)
        }
    }

    @Test("Another user's read that shows a write answered 202 confirms it (cases 7 and 29)")
    func confirmedByRead() async throws {
        try await fixture.cache(url, .json(#"{"liked":false}"#), as: bob)
        fixture.upstream.answer(url, with: .reply(status: 202), .json(#"{"liked":true}"#))
        let watch = try await Watch(fixture) { $0.types = [.modifier] }
        let id = try await fixture.like(url, alice)
        let told = try await watch.frames(upTo: 3).map(\.name)
        #expect(told == ["bookmark", "modifier queued", "modifier accepted"])
        try await fixture.fetch(url, as: bob)
        let key = fixture.key(alice)
        let report = try await fixture.settled(id, key)
        #expect(report.state == .confirmed)
    }

    @Test("A 404 of a pinned shared row confirms a delete answered 202 (cases 7 and 29)")
    func deletionConfirmedByRead() async throws {
        let (id, key) = (try EntryID(url), fixture.key(alice))
        try await fixture.cache(url, .json("[1]"), as: bob)
        _ = try await fixture.engine.pins.pin(id, key)
        fixture.upstream.answer(url, with: .reply(status: 202), .reply(status: 404))
        let watch = try await Watch(fixture) { $0.types = [.modifier] }
        let write = try await fixture.write(.url(url), .delete, as: alice)
        let told = try await watch.frames(upTo: 3).map(\.name)
        #expect(told == ["bookmark", "modifier queued", "modifier accepted"])
        try await fixture.fetch(url, as: bob)
        #expect(try await fixture.settled(write, key).state == .confirmed)
        #expect(try fixture.view(url, alice) == "[1]")
    }

    @Test("Once an origin is not shared any more, its shared rows show to no user (P-09)")
    func noMore() async throws {
        try await fixture.cache(url, .json("[1]"), as: alice)
        let context = fixture.engine.context
        var origin = context.origins.known[0]
        origin.settings.isShared = false
        context.replaceOrigins(context.origins.with(origin))
        for scope in [alice, bob] { #expect(try fixture.view(url, scope) == nil) }
        #expect(try await fixture.cached(url, as: bob).refusal?.kind == .miss)
    }
}

extension EngineFixture {
    func key(_ scope: Scope) -> ScopeKey { engine.store.key(for: scope) }

    /// What a user reads under a URL; nil for a miss.
    func view(_ url: WebURL, _ scope: Scope) throws -> String? {
        try view(EntryID(url), scope)
    }

    func view(_ id: EntryID, _ scope: Scope) throws -> String? {
        let reader = try engine.store.makeReader()
        defer { reader.endTransaction() }
        let (key, now) = (key(scope), clock.now())
        return try engine.text(of: id, key, reader, now: now)
    }

    /// What a batch of one id shows.
    func batched(_ id: EntryID, _ scope: Scope) async throws -> [String] {
        var shown: [String] = []
        try await engine.entries.batch([id], key(scope)) { frame in
            if case .snapshot(let snapshot) = frame, case .json(let bytes) = snapshot.entry.content
            {
                shown.append(String(decoding: bytes, as: UTF8.self))
            }
            return true
        }
        return shown
    }

    fileprivate func revision(_ url: WebURL, _ scope: Scope) throws -> Revision {
        let reader = try engine.store.makeReader()
        defer { reader.endTransaction() }
        let shown = try engine.view(of: EntryID(url), for: key(scope), reader, now: clock.now()) {
            row,
            _ in
            row.entry()
        }
        return try #require(shown?.entry).revision
    }

    fileprivate func isStale(_ url: WebURL, _ scope: Scope) throws -> Bool {
        let reader = try engine.store.makeReader()
        defer { reader.endTransaction() }
        let now = clock.now()
        let isStale = try engine.withEntry(EntryID(url), key(scope), reader, now: now) { row in
            row.entry()?.isStale(at: now)
        }
        return (isStale ?? nil) == true
    }

    func ids(_ scope: Scope) async throws -> [String] {
        try await engine.entries.list(EntryListQuery(), .one(key(scope))).items.map(\.id)
    }

    /// Has a merge of a value sent to the URL that it changes.
    func like(
        _ url: WebURL,
        _ scope: Scope,
        _ value: String = #"{"liked":true}"#
    ) async throws -> ModifierID {
        let json = """
            {"request":{"method":"PATCH","url":"\(url)"},"changes":[{"target":\
            {"id":"\(url)"},"effect":{"type":"merge","value":\(value)}}]}
            """
        let command = try ModifiersCommand(json: Array(json.utf8))
        let receipts = try await engine.modifiers.accept(command, key(scope))
        return try ModifierID(receipts[0].id)
    }
}
