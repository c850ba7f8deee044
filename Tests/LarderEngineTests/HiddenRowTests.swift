import LarderAPI
import LarderModel
import LarderNormalize
import LarderStore
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

/// A shared row that a row of a user's own came before: once the own row has gone, its user sees
/// nothing older (P-14).
@Suite("A shared row that is hidden from a user", .timeLimit(.minutes(5)), .sharedEngine)
struct HiddenRowTests {
    private let fixture = EngineFixture.running
    private let url = EngineFixture.firstURL
    private let gate = Gate()
    private let alice = EngineFixture.scope
    private let bob = Scope.own(uid: 2_000, account: .default)

    /// A shared answer, and one of Bob's own that has come since and has gone.
    private func hidden(
        _ shared: ScriptedAnswer = .json("[1]", headers: ["ETag": "\"v1\""])
    ) async throws -> WebURL {
        try await fixture.cache(url, shared, as: alice)
        try await fixture.cacheOwn(url, .json("[2]"), bob)
        #expect(try fixture.view(url, bob) == "[2]")
        try await fixture.evict(EntryID(url), bob)
        return url
    }

    // MARK: Reads

    @Test("An own row that is evicted leaves a miss by every route, and the others their row")
    func evicted() async throws {
        let url = try await hidden()
        let (id, key) = (try EntryID(url), fixture.key(bob))
        #expect(try fixture.view(url, bob) == nil)
        #expect(try await fixture.batched(id, bob).isEmpty)
        #expect(try await fixture.ids(bob).isEmpty)
        #expect(try await fixture.cached(url, as: bob).refusal?.kind == .miss)
        #expect(try await fixture.engine.entries.explain(id, key) == nil)
        #expect(try await fixture.engine.entries.remove(id, key) == nil)
        for ids in [[], [id]] {
            let watch = try await Watch(fixture, as: bob) { command in
                (command.listsFirst, command.ids) = (true, ids)
            }
            #expect(try await watch.frames(upTo: 1).map(\.name) == ["bookmark"])
        }
        #expect(try fixture.view(url, alice) == "[1]")
        let watch = try await Watch(fixture) { $0.listsFirst = true }
        #expect(try await watch.frames(upTo: 2).map(\.name) == ["put \(url)", "bookmark"])
    }

    @Test("An own row that is deleted, or a tombstone that is evicted, leaves a miss")
    func deleted() async throws {
        let gone = try fixture.url("/b")
        for url in [url, gone] { try await fixture.cache(url, .json("[1]"), as: alice) }
        try await fixture.cacheOwn(url, .json("[2]"), bob)
        #expect(try await fixture.engine.entries.remove(EntryID(url), fixture.key(bob)) != nil)
        #expect(try fixture.view(url, bob) == nil)
        try await fixture.cacheOwn(gone, .reply(status: 404), bob)
        #expect(try fixture.view(gone, bob) == "")
        try await fixture.evict(EntryID(gone), bob)
        #expect(try fixture.view(gone, bob) == nil)
        #expect(try fixture.view(gone, alice) == "[1]")
    }

    @Test("A private answer hides the shared row from the user whom it was for, and no other")
    func privateAnswer() async throws {
        try await fixture.cache(url, .json("[1]"), as: alice)
        try await fixture.cache(url, .json("[2]", headers: ["Cache-Control": "private"]), as: bob)
        #expect(try fixture.view(url, bob) == "[2]")
        try await fixture.evict(EntryID(url), bob)
        #expect(try fixture.view(url, bob) == nil)
        #expect(try fixture.view(url, Scope.own(uid: 3_000, account: .default)) == "[1]")
    }

    @Test("A stream that follows tells that what it showed was evicted, and shows nothing older")
    func followed() async throws {
        try await fixture.cache(url, .json("[1]"), as: alice)
        try await fixture.cacheOwn(url, .json("[2]"), bob)
        let watch = try await Watch(fixture, as: bob)
        try await fixture.evict(EntryID(url), bob)
        #expect(try await watch.frames(upTo: 2).map(\.name) == ["bookmark", "evict \(url)"])
    }

    // MARK: What ends it

    @Test("A fetch of its user asks without the hidden row's validators, and shows the answer")
    func fetched() async throws {
        let url = try await hidden()
        let seen = try fixture.step()
        fixture.upstream.answer(url, with: .json("[1]", headers: ["ETag": "\"v1\""]))
        let got = try await fixture.fetch(url, as: bob)
        #expect(got.shape == ["network", "end network"])
        #expect(fixture.upstream.asked.all.last?.headers["If-None-Match"] == nil)
        #expect(try fixture.view(url, bob) == "[1]")
        #expect(try #require(got.lastShown?.revision) > seen)
        let shown = try await fixture.cached(url, as: bob).lastShown
        #expect(shown?.revision == got.lastShown?.revision)
        #expect(try await fixture.ids(bob).isEmpty, "it is the shared row's answer")
    }

    @Test("New content shows to all, the same bytes under a later revision; a 304 changes nothing")
    func content() async throws {
        let url = try await hidden()
        let seen = try fixture.step()
        fixture.upstream.answer(url, with: .notModified)
        let confirmed = try await fixture.fetch(url, as: alice)
        #expect(confirmed.shape.contains("unchanged 304"))
        #expect(try fixture.view(url, bob) == nil)
        let watch = try await Watch(fixture, as: bob)
        try await fixture.cache(url, .json("[1]"), as: alice)
        #expect(try await watch.frames(upTo: 2).map(\.name) == ["bookmark", "put \(url)"])
        let again = try await fixture.cached(url, as: bob).lastShown
        #expect(again?.text == "[1]")
        #expect(try #require(again?.revision) > seen)
        try await fixture.cacheOwn(url, .json("[2]"), bob)
        try await fixture.cache(url, .json("[3]"), as: alice)
        #expect(try fixture.view(url, bob) == "[2]")
        try await fixture.evict(EntryID(url), bob)
        #expect(try fixture.view(url, bob) == "[3]", "it is newer than the own row")
    }

    @Test(
        "An answer that another user asked for before the own row came stays hidden",
        arguments: ["[0]", "[1]"],
        [true, false]
    )
    func lateAnswer(text: String, hasRow: Bool) async throws {
        if hasRow { try await fixture.cache(url, .json("[1]"), as: alice) }
        fixture.upstream.answer(url, with: ScriptedAnswer.json(text).held(by: gate))
        let late = fixture.start(url, as: alice)
        _ = try await fixture.upstream.asked.element(hasRow ? 1 : 0)
        try await fixture.cacheOwn(url, .json("[2]"), bob)
        try await fixture.evict(EntryID(url), bob)
        gate.open()
        _ = try await late.result()
        #expect(try fixture.view(url, alice) == text)
        #expect(try fixture.view(url, bob) == nil)
        try await fixture.cache(url, .json(text), as: alice)
        #expect(try fixture.view(url, bob) == text)
    }

    @Test("A user with a hidden row does not join a request that only a 304 may answer")
    func conditionalFlight() async throws {
        let url = try await hidden()
        fixture.upstream.answer(
            url,
            with: ScriptedAnswer.notModified.held(by: gate),
            .json("[4]"),
            .json("[4]")
        )
        let count = fixture.upstream.asked.all.count
        let conditional = fixture.start(url, as: alice)
        _ = try await fixture.upstream.asked.element(count)
        #expect(fixture.upstream.asked.all.last?.headers["If-None-Match"] == "\"v1\"")
        let got = try await fixture.fetch(url, as: bob)
        #expect(fixture.upstream.asked.all.last?.headers["If-None-Match"] == nil)
        #expect(got.lastShown?.text == "[4]")
        // What it would have confirmed is there no more: it asks again.
        gate.open()
        _ = try await conditional.result()
        for scope in [alice, bob] { #expect(try fixture.view(url, scope) == "[4]") }
    }

    // MARK: state.db

    @Test("A pinned own row that is given up and evicted leaves a miss")
    func pinned() async throws {
        let (id, key) = (try EntryID(url), fixture.key(bob))
        try await fixture.cache(url, .json("[1]"), as: alice)
        _ = try await fixture.engine.pins.pin(id, key)
        let pins = try await fixture.engine.pins.list(PageQuery(), key).items
        #expect(pins.map(\.state) == [.held])
        try await fixture.cacheOwn(url, .json("[2]"), bob)
        let now = fixture.clock.now()
        #expect(try await fixture.engine.store.pins.unpin(key, id, now: now))
        try await fixture.engine.store.maintain()
        #expect(!fixture.engine.store.isDurable(key, id))
        #expect(try fixture.view(url, bob) == "[2]")
        try await fixture.evict(id, bob)
        #expect(try fixture.view(url, bob) == nil)
    }

    @Test("A write does not show on what is hidden, but on the next answer")
    func written() async throws {
        let url = try await hidden(.json(#"{"liked":false,"n":1}"#))
        fixture.upstream.answer(url, with: ScriptedAnswer.reply(status: 204).held(by: Gate()))
        _ = try await fixture.like(url, bob)
        #expect(try fixture.view(url, bob)?.contains(#""n":1"#) != true)
        _ = try await fixture.upstream.asked.element(2)
        try await fixture.cache(url, .json(#"{"liked":false,"n":2}"#), as: alice)
        #expect(try fixture.view(url, bob) == #"{"liked":true,"n":2}"#)
    }

    // MARK: Entities

    @Test(
        "A hidden entity is a miss by its key and in each shared answer, until it is said again",
        .sharedEngine(NormalizeRules(byType: .standard))
    )
    func entities() async throws {
        let (article, user) = (try fixture.url("/articles/1"), try fixture.url("/users/7"))
        let told = NormalizedTests.article(1, "Ann")
        let name = try EntityName.example("User:7")
        try await fixture.cache(article, .json(told), as: alice)
        try await fixture.cacheOwn(user, .json(#"{"type":"User","id":7,"name":"Bea"}"#), bob)
        #expect(try await fixture.entity(name, bob)?.contains("Bea") == true)
        try await fixture.evict(EntryID(user), bob)
        try await fixture.evict(EntryID(name), bob)
        let seen = try fixture.step()
        #expect(try await fixture.entity(name, bob) == nil)
        #expect(try fixture.view(article, bob) == nil)
        #expect(try await fixture.entity(name, alice)?.contains("Ann") == true)
        #expect(try fixture.view(article, alice) == told)
        fixture.upstream.answer(article, with: .json(told))
        let got = try await fixture.fetch(article, as: bob)
        #expect(got.lastShown?.text == told)
        #expect(try #require(got.lastShown?.revision) > seen)
        #expect(try fixture.view(article, bob) == told)
        #expect(try await fixture.entity(name, bob)?.contains("Ann") == true)
    }

    @Test(
        "An entity that a client has set or deleted for itself hides the shared one, too",
        .sharedEngine(NormalizeRules(byType: .standard))
    )
    func setEntity() async throws {
        let article = try fixture.url("/articles/1")
        let name = try EntityName.example("User:7")
        let (id, key) = (EntryID(name), fixture.key(bob))
        try await fixture.cache(article, .json(NormalizedTests.article(1, "Ann")), as: alice)
        let entities = fixture.engine.entities
        let json = Array(#"{"type":"User","id":7,"name":"Bea"}"#.utf8)
        _ = try await entities.set(name, json: json, key, client: nil)
        try await fixture.evict(id, bob)
        #expect(try await fixture.entity(name, bob) == nil)
        try await fixture.cache(article, .json(NormalizedTests.article(1, "Cleo")), as: alice)
        #expect(try await fixture.entity(name, bob)?.contains("Cleo") == true)
        _ = try await entities.delete(name, key, client: nil)
        try await fixture.evict(id, bob)
        #expect(try await fixture.entity(name, bob) == nil)
    }
}

extension EngineFixture {
    /// Has a user fetch with a credential of its own.
    fileprivate func cacheOwn(
        _ url: WebURL,
        _ answer: ScriptedAnswer,
        _ scope: Scope
    ) async throws {
        upstream.answer(url, with: answer)
        try await fetch(url, as: scope) { $0.headers.append("Authorization", "Bearer b") }
    }

    fileprivate func evict(_ id: EntryID, _ scope: Scope) async throws {
        let report = try await engine.eviction.evict(EvictOrder(.ids([id])), .one(key(scope)))
        #expect(report.evicted == 1)
    }

    /// What a user reads of an entity; nil for a miss.
    fileprivate func entity(_ name: EntityName, _ scope: Scope) async throws -> String? {
        try await read(name, key(scope))?.made?.text
    }
}
