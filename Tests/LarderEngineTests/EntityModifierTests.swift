import LarderAPI
import LarderJSON
import LarderModel
import LarderNormalize
import LarderStore
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

/// Modifiers whose target is an entity: what they change shows wherever the entity does (case 28).
@Suite("Modifiers of entities", .timeLimit(.minutes(5)), .userEngine)
struct EntityModifierTests {
    private let fixture = EngineFixture.running
    private let gate = Gate()

    private static func user(_ name: String, _ rest: String = "") -> String {
        #"{"type":"User","id":7,"name":"\#(name)"\#(rest)}"#
    }

    private static func merge(_ text: String) throws -> Effect {
        .merge(try JSONValue(parsing: Array(text.utf8)))
    }

    private static let renamed = Effect.merge(
        .object([JSONMember(name: "name", value: .string("Bea"))])
    )

    private static func article(_ id: Int, _ name: String) -> String {
        NormalizedTests.article(id, name)
    }

    // MARK: Shown and taken back

    @Test("An entity that is too large with what it refers to shows keys, and is not deleted")
    func tooLarge() async throws {
        let text = String(repeating: "x", count: 20_000)
        let friends = (1...30).map {
            #"{"type":"User","id":\#($0),"text":"\#(text)","of":{"type":"List","id":1}}"#
        }
        let list = #"{"type":"List","id":1,"users":[\#(friends.joined(separator: ","))]}"#
        try await fixture.cache(fixture.url("/list"), .json(list))
        try await fixture.write(.entity("User:7"), Self.renamed, hold: .seconds(3_600))
        let shown = try await fixture.cached(fixture.url("/users/7")).lastShown
        let end = #""of":"List:1","name":"Bea"}"#
        #expect(shown?.text.hasSuffix(end) == true, "\(shown?.text.suffix(99) ?? "")")
    }

    @Test("A modifier and its revert show in each view in one step, with one event each")
    func shownAndReverted() async throws {
        let urls = try await fixture.cacheArticles()
        fixture.upstream.answer(
            try fixture.url("/users/7"),
            with: ScriptedAnswer.reply(status: 403).held(by: gate)
        )
        let watches = try await fixture.watches(urls.map(\.text))
        let id = try await fixture.accept(Self.renamed)
        for (number, url) in urls.enumerated() {
            let shown = try await fixture.cached(url).lastShown
            #expect(shown?.text == Self.article(number + 1, "Bea"))
            #expect(shown?.pending == 1)
            #expect(shown?.pendingIDs == [id.text])
            #expect(try fixture.read(url, isBase: true) == Self.article(number + 1, "Ann"))
        }
        let entity = try await fixture.entity()
        #expect(entity.text == #"{"type":"User","id":7,"name":"Bea"}"#)
        #expect(entity.overlay.pending == [id])
        #expect(try await fixture.entity(.base).text == Self.user("Ann"))
        gate.open()
        let report = try await fixture.settled(id)
        #expect(report.state == .failed)
        for (number, url) in urls.enumerated() {
            let shown = try await fixture.cached(url).lastShown
            #expect(shown?.text == Self.article(number + 1, "Ann"))
            #expect(shown?.pending == 0)
            #expect(shown?.failed == 1)
        }
        for (watch, url) in zip(watches, urls) {
            let frames = try await watch.frames(upTo: 3)
            #expect(frames.dropFirst().map(\.name) == ["put \(url)", "put \(url)"])
            watch.hangUp()
            #expect(try await watch.all().filter { $0.name == "put \(url)" }.count == 2)
        }
    }

    @Test("A revert leaves in every view what the server said meanwhile (case 12)")
    func revertedToTheServers() async throws {
        let urls = try await fixture.cacheArticles()
        let own = try fixture.url("/users/7")
        fixture.upstream.answer(
            own,
            with: ScriptedAnswer.reply(status: 403).held(by: gate),
            .json(Self.user("Cleo"))
        )
        let id = try await fixture.accept(Self.renamed)
        _ = try await fixture.upstream.asked.element(2)
        // Another answer says what the server has, while the modifier is under way.
        try await fixture.cache(try fixture.url("/articles/3"), .json(Self.article(3, "Cleo")))
        #expect(try await fixture.view(urls[0]) == Self.article(1, "Bea"))
        #expect(try fixture.read(urls[0], isBase: true) == Self.article(1, "Cleo"))
        gate.open()
        _ = try await fixture.settled(id)
        for (number, url) in urls.enumerated() {
            let text = try await fixture.cached(url).lastShown?.text
            #expect(text == Self.article(number + 1, "Cleo"))
        }
    }

    @Test("A server's answer that equals a modifier's view is no event (case 4)")
    func sameFromTheServer() async throws {
        let urls = try await fixture.cacheArticles()
        let watch = try await fixture.watches([urls[0].text])[0]
        _ = try await fixture.accept(Self.renamed, hold: true)
        try await fixture.cache(try fixture.url("/articles/3"), .json(Self.article(3, "Bea")))
        try await fixture.cancel("m")
        // It is what the server says by now, so nothing changes when the modifier goes.
        #expect(try await fixture.view(urls[0]) == Self.article(1, "Bea"))
        try await fixture.cache(try fixture.url("/articles/3"), .json(Self.article(3, "Dora")))
        let frames = try await watch.frames(upTo: 3)
        #expect(frames.dropFirst().map(\.name) == ["put \(urls[0])", "put \(urls[0])"])
        let shown = try await fixture.view(urls[0])
        #expect(shown == Self.article(1, "Dora"))
    }

    @Test("Deleted by a modifier it is dropped from lists, and back where that is refused")
    func deleted() async throws {
        let list = try fixture.url("/users")
        let text =
            #"[{"type":"User","id":6,"name":"Zoe"}, {"type":"User","id":7,"name":"Ann"}]"#
        try await fixture.cache(list, .json(text))
        _ = try await fixture.accept(.delete, hold: true)
        let shown = try await fixture.cached(list).lastShown
        #expect(shown?.text == #"[{"type":"User","id":6,"name":"Zoe"}]"#)
        try await fixture.cancel("m")
        #expect(try await fixture.view(list) == text)
    }

    @Test("Deleted by a modifier it is pending under its own URL, and a dead letter's there, too")
    func deletedAtOwnURL() async throws {
        let own = try fixture.url("/users/7")
        try await fixture.cache(own, .json(Self.user("Ann")))
        fixture.upstream.answer(own, with: .reply(status: 403))
        let dead = try await fixture.accept(Self.renamed)
        _ = try await fixture.settled(dead)
        let id = try await fixture.accept(.delete, hold: true, id: "n")
        let view = try #require(try fixture.entry(own))
        #expect(view.source == .modifier)
        let overlay = Overlay(pending: [id], failed: 1, failedIDs: ["m"], isComplete: true)
        #expect(view.overlay == overlay)
    }

    @Test("A 404 under the entity's own URL confirms a deletion that was answered 202 (case 7)")
    func deletedAfterAccepted() async throws {
        let (own, modifiers) = (try fixture.url("/users/7"), fixture.engine.modifiers)
        try await fixture.cache(own, .json(Self.user("Ann")))
        fixture.upstream.answer(own, with: .reply(status: 202), .reply(status: 404))
        let id = try await fixture.accept(.delete)
        try await until { try await modifiers.modifier(id, fixture.scope).state == .accepted }
        try await fixture.fetch(own) { $0.policy = .networkOnly }
        let report = try await modifiers.modifier(id, fixture.scope, wait: .seconds(60))
        #expect(report.state == .confirmed)
        #expect(fixture.clock.monotonic() == .zero)
    }

    // MARK: Confirmed

    @Test("A confirmed write is base under the entity's own URL, too, where that was gone once")
    func confirmedAfterDeletion() async throws {
        let own = try fixture.url("/users/7")
        try await fixture.cache(own, .reply(status: 404))
        fixture.upstream.answer(own, with: .reply(status: 204), .unreachable)
        let bea = try JSONValue(parsing: Array(Self.user("Bea").utf8))
        let id = try await fixture.accept(.put(bea))
        _ = try await fixture.settled(id)
        #expect(try await fixture.entity(.base).text == Self.user("Bea"))
        #expect(try fixture.read(own, isBase: true) == Self.user("Bea"))
    }

    @Test("Without a body, a confirmed effect is base, also after the row's demotion (case 6)")
    func confirmed() async throws {
        let urls = try await fixture.cacheArticles()
        let own = try fixture.url("/users/7")
        fixture.upstream.answer(own, with: .reply(status: 204), .unreachable)
        let id = try await fixture.accept(Self.renamed)
        let modifiers = fixture.engine.modifiers
        let report = try await modifiers.modifier(id, fixture.scope, wait: .seconds(60))
        #expect(report.state == .confirmed)
        let expected = Self.article(1, "Bea")
        #expect(try await fixture.view(urls[0]) == expected)
        #expect(try fixture.read(urls[0], isBase: true) == expected)
        try await fixture.engine.store.maintain()
        let name = try EntityName.example("User:7")
        #expect(!fixture.engine.store.isDurable(fixture.scope, EntryID(name)))
        let shown = try await fixture.cached(urls[0]).lastShown
        #expect(shown?.text == expected)
        #expect(shown?.pending == 0)
    }

    @Test(
        "A body with the target is its base, and the effect adds what the body lacks (case 5)",
        arguments: [(#","name":"BEA""#, "BEA"), ("", "Bea")]
    )
    func represented(name: String, expected: String) async throws {
        let urls = try await fixture.cacheArticles()
        let own = try fixture.url("/users/7")
        let body = #"{"type":"User","id":7\#(name),"age":3}"#
        fixture.upstream.answer(own, with: .json(body), .unreachable)
        let id = try await fixture.accept(Self.renamed)
        _ = try await fixture.settled(id)
        #expect(try await fixture.view(urls[1]) == Self.article(2, expected))
        #expect(try await fixture.entity().text.contains(#""age":3"#))
    }

    @Test("An entity that is larger than a row's inline bytes keeps all of it, and is given back")
    func large() async throws {
        let text = String(repeating: "x", count: Limits.inlineBodyBytesMax + 1)
        let own = try fixture.url("/users/7")
        try await fixture.cache(own, .json(Self.user("Ann", #","text":"\#(text)""#)))
        fixture.upstream.answer(own, with: .reply(status: 204), .unreachable)
        let id = try await fixture.accept(Self.renamed)
        _ = try await fixture.settled(id)
        for _ in 0..<2 {
            #expect(try await fixture.entity().text == Self.user("Bea", #","text":"\#(text)""#))
            try await fixture.engine.store.maintain()
        }
        let name = try EntityName.example("User:7")
        #expect(!fixture.engine.store.isDurable(fixture.scope, EntryID(name)))
    }

    @Test("A 404 that a confirmed write overtook writes no tombstone (P-06)")
    func overtakenDeletion() async throws {
        let urls = try await fixture.cacheArticles()
        let own = try fixture.url("/users/7")
        fixture.upstream.answer(own, with: ScriptedAnswer.reply(status: 404).held(by: gate))
        // The fetch asks again, and so does the read after the write.
        fixture.upstream.answerOthers { request in
            request.method == "GET" ? .json(Self.user("Bea")) : .reply(status: 204)
        }
        let fetch = fixture.start(own, .networkFirst)
        _ = try await fixture.upstream.asked.element(2)
        let id = try await fixture.accept(Self.renamed)
        _ = try await fixture.settled(id)
        gate.open()
        _ = try await fetch.result()
        #expect(try await fixture.view(urls[0]) == Self.article(1, "Bea"))
    }

    @Test("An answer that a confirmed write overtook is requested again (P-06)")
    func overtaken() async throws {
        let urls = try await fixture.cacheArticles()
        fixture.upstream.answer(
            urls[0],
            with: ScriptedAnswer.json(Self.article(1, "Ann")).held(by: gate),
            .json(Self.article(1, "Bea"))
        )
        let own = try fixture.url("/users/7")
        fixture.upstream.answer(own, with: .reply(status: 204), .unreachable)
        let fetch = fixture.start(urls[0], .networkFirst)
        _ = try await fixture.upstream.asked.element(2)
        let id = try await fixture.accept(Self.renamed)
        _ = try await fixture.settled(id)
        gate.open()
        let last = try await fetch.result().lastShown
        #expect(last?.text == Self.article(1, "Bea"))
        #expect(try await fixture.view(urls[1]) == Self.article(2, "Bea"))
    }

    // MARK: A list whose entities have pending writes

    private static func list(_ name: String, _ title: String) -> String {
        #"{"items":[{"type":"User","id":7,"name":"\#(name)"}],"title":"\#(title)"}"#
    }

    @Test("A pending edit of an entity shows in a list whose own write was confirmed and not read")
    func confirmedBeside() async throws {
        let url = try fixture.url("/list")
        try await fixture.cache(url, .json(Self.list("Ann", "old")))
        try await fixture.write(
            .entity("User:7"),
            Self.renamed,
            to: fixture.url("/users/7"),
            id: "edit",
            hold: .seconds(9)
        )
        #expect(try await fixture.cached(url).lastShown?.text == Self.list("Bea", "old"))
        // The write of the list is confirmed, and what asks for it again finds no way there.
        fixture.upstream.answer(url, with: .reply(status: 204))
        let id = try await fixture.write(.url(url), Self.merge(#"{"title":"new"}"#))
        #expect(try await fixture.settled(id).state == .confirmed)
        let shown = try await fixture.cached(url).lastShown
        #expect(shown?.text == Self.list("Bea", "new"))
        #expect(shown?.pendingIDs == ["edit"])
        try await fixture.cancel("edit")
        #expect(try await fixture.cached(url).lastShown?.text == Self.list("Ann", "new"))
    }

    // MARK: Names

    @Test("An entity's own URL names the entity: one target, and shared lanes")
    func oneName() async throws {
        let urls = try await fixture.cacheArticles()
        let own = try fixture.url("/users/7")
        let watched = try EntryID(own)
        let watch = try await Watch(fixture) { $0.ids = [watched] }
        let hold = Duration.seconds(60)
        try await fixture.write(.url(own), Self.renamed, "PATCH", id: "m", hold: hold)
        #expect(try await fixture.view(urls[0]) == Self.article(1, "Bea"))
        let report = try await fixture.engine.modifiers.modifier(ModifierID("m"), fixture.scope)
        #expect(report.lanes == ["id:entity:example/User:7"])
        #expect(try await watch.frames(upTo: 2).last?.name == "modifier held")
        var list = ModifierListCommand()
        list.lane = .id(try EntryID(own))
        let page = try await fixture.engine.modifiers.list(list, .one(fixture.scope))
        #expect(page.items.map(\.id) == ["m"])
        // Named twice in one command it is one target.
        let key = ModifierCommand.Change(target: try .entity("User:7"), effect: .delete)
        await #expect(throws: Problem.self) {
            try await fixture.write(.url(own), Self.renamed, "PATCH") { $0.changes.append(key) }
        }
    }

    @Test("A write to an entity never fetched shows under its key and its URL (case 1)")
    func unknown() async throws {
        let own = try fixture.url("/users/7")
        _ = try await fixture.accept(
            .put(try JSONValue(parsing: Array(Self.user("Bea").utf8))),
            hold: true
        )
        #expect(try await fixture.entity().text == Self.user("Bea"))
        #expect(try await fixture.entity().overlay.isComplete)
        #expect(try await fixture.view(own) == Self.user("Bea"))
        #expect(try await fixture.cached(own).lastShown?.pending == 1)
        try await fixture.cancel("m")
        #expect(try await fixture.cached(own).refusal?.kind == .miss)
    }

    @Test("An effect that would reach into another entity shows nowhere and harms nothing")
    func reachingIn() async throws {
        let urls = try await fixture.cacheArticles()
        let effect = try Self.merge(#"{"author":{"name":"X"},"n":1}"#)
        _ = try await fixture.accept(effect, key: "Article:1", sentTo: urls[0], hold: true)
        #expect(try await fixture.view(urls[0]) == Self.article(1, "Ann"))
        let article = try await fixture.entity(key: "Article:1").text
        #expect(article.contains(#""author":"User:7""#))
        #expect(article.contains(#""n":1"#))
    }

    @Test("Without a URL for its type an entity's modifier needs a request of its own")
    func noRequest() async throws {
        _ = try await fixture.cacheArticles()
        await #expect(throws: Problem.self) {
            _ = try await fixture.accept(.delete, key: "Article:1")
        }
    }

    // MARK: Whoever else is there

    @Test("A target outlives an eviction and a lost cache (case 24)")
    func kept() async throws {
        let urls = try await fixture.cacheArticles()
        _ = try await fixture.accept(Self.renamed, hold: true)
        let report = try await fixture.engine.eviction.evict(
            EvictOrder(.ids([try .entity("User:7")])),
            .one(fixture.scope)
        )
        #expect(report.evicted == 0)
        _ = try await fixture.engine.eviction.evict(
            EvictOrder(.ids(urls.map { try EntryID($0) })),
            .one(fixture.scope)
        )
        #expect(try await fixture.entity().text == Self.user("Bea"))
        #expect(try await fixture.entity(.base).text == Self.user("Ann"))
        try await fixture.cancel("m")
        #expect(try await fixture.entity().text == Self.user("Ann"))
    }

    @Test("The shared row shows once a confirmed write's copy is gone (case 29)", .sharedUsers)
    func sharedAndConfirmed() async throws {
        let urls = try await fixture.cacheArticles()
        fixture.clock.advance(by: .seconds(1))
        fixture.upstream.answer(
            try fixture.url("/users/7"),
            with: .reply(status: 204),
            .json(Self.user("Bea", #","age":3"#))
        )
        let watch = try await fixture.watches(["https://api.example.com/users/7"])[0]
        let id = try await fixture.accept(Self.renamed)
        _ = try await fixture.settled(id)
        // What is asked for again behind it is in the shared row.
        _ = try await watch.frames(upTo: 2)
        try await fixture.engine.store.maintain()
        let name = try EntityName.example("User:7")
        #expect(!fixture.engine.store.isDurable(fixture.scope, EntryID(name)))
        // What everybody hears is what the user of the write sees, and nothing of its own.
        try await fixture.cache(try fixture.url("/articles/3"), .json(Self.article(3, "Cleo")))
        #expect(try await fixture.entity().text.contains("Cleo"))
        #expect(try await fixture.view(urls[0]) == Self.article(1, "Cleo"))
    }

    @Test("In a shared row's view a modifier shows to its own user only (case 29)", .sharedUsers)
    func shared() async throws {
        let urls = try await fixture.cacheArticles()
        let other = Scope.own(uid: 2_000, account: .default)
        let watch = try await fixture.watches([urls[0].text])[0]
        let article = try EntryID(urls[0])
        let others = try await Watch(fixture, as: other) { $0.ids = [article] }
        _ = try await fixture.accept(Self.renamed, hold: true)
        #expect(try await fixture.view(urls[0]) == Self.article(1, "Bea"))
        let theirs = try await fixture.fetch(urls[0], .cacheOnly, as: other).lastShown
        #expect(theirs?.text == Self.article(1, "Ann"))
        #expect(theirs?.pending == 0)
        // What the server says goes into both, and the modifier stays on top of its own.
        try await fixture.cache(
            try fixture.url("/articles/3"),
            .json(#"{"type":"Article","id":3,"author":{"type":"User","id":7,"name":"Cleo"}}"#)
        )
        #expect(try await fixture.view(urls[0]) == Self.article(1, "Bea"))
        let changed = try await fixture.fetch(urls[0], .cacheOnly, as: other).lastShown
        #expect(changed?.text == Self.article(1, "Cleo"))
        try await fixture.cancel("m")
        #expect(try await fixture.view(urls[0]) == Self.article(1, "Cleo"))
        #expect(try await others.frames(upTo: 2).last?.name == "put \(urls[0])")
        #expect(
            try await watch.frames(upTo: 3).dropFirst().allSatisfy {
                $0.name == "put \(urls[0])"
            }
        )
    }
}

extension Trait where Self == RunningEngine {
    fileprivate static var sharedUsers: Self {
        .engine {
            $0.origin.normalize = userRules
            $0.origin.isShared = true
        }
    }
}

extension EngineFixture {
    /// Two articles of one author, in the cache.
    fileprivate func cacheArticles() async throws -> [WebURL] {
        let urls = [try url("/articles/1"), try url("/articles/2")]
        for (number, url) in urls.enumerated() {
            try await cache(url, .json(NormalizedTests.article(number + 1, "Ann")))
        }
        return urls
    }

    /// Has a modifier of an entity accepted; without a URL its request goes to the entity's own.
    fileprivate func accept(
        _ effect: Effect,
        key: String = "User:7",
        sentTo url: WebURL? = nil,
        hold: Bool = false,
        id: String = "m"
    ) async throws -> ModifierID {
        let hold: Duration? = hold ? .seconds(3_600) : nil
        return try await write(.entity(key), effect, to: url, id: id, hold: hold)
    }

    /// Watches of one id each.
    fileprivate func watches(_ ids: [String]) async throws -> [Watch] {
        var watches: [Watch] = []
        for id in ids {
            let entry = try EntryID(id)
            watches.append(
                try await Watch(self) { command in
                    command.ids = [entry]
                    command.types = [.put]
                }
            )
        }
        return watches
    }

    fileprivate func entity(
        _ form: ShownView = .view,
        key: String = "User:7"
    ) async throws -> EntryView<Entry?> {
        let name = try EntityName.example(key)
        let shown = try await read(name, as: form, scope)
        return try #require(shown?.made == nil ? nil : shown)
    }

    /// What a fetch from the cache shows.
    fileprivate func view(_ url: WebURL) async throws -> String? {
        try await cached(url).lastShown?.text
    }

    /// What a client sees under a URL.
    fileprivate func entry(_ url: WebURL) throws -> EntryView<Void>? {
        let reader = try engine.store.makeReader()
        defer { reader.endTransaction() }
        let now = clock.now()
        return try engine.view(of: EntryID(url), for: scope, reader, now: now) { _, _ in }
    }

    /// What `GET /v1/entries/{id}` answers of what is kept normalized.
    fileprivate func read(_ url: WebURL, isBase: Bool) throws -> String {
        let reader = try engine.store.makeReader()
        defer { reader.endTransaction() }
        let now = clock.now()
        let form = isBase ? ShownView.base : .view
        return try engine.text(of: EntryID(url), scope, reader, now: now, as: form) ?? "miss"
    }
}

extension EntryView<Entry?> {
    fileprivate var text: String { made?.text ?? "" }
}
