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

/// Answers of an origin with rules: what its entities are is one thing wherever they are shown.
@Suite("Normalized answers", .timeLimit(.minutes(5)), .normalizingEngine)
struct NormalizedTests {
    private let fixture = EngineFixture.running

    static func article(_ id: Int, _ name: String) -> String {
        #"{"type":"Article","id":\#(id),  "author":{"type":"User","id":7,"name":"\#(name)"}}"#
    }

    private static let author = #"{"type":"User","id":7,"name":"Anna"}"#

    // MARK: Reading

    @Test("A new name of an author shows in both articles, and each follower is told once")
    func articles() async throws {
        let urls = [try fixture.url("/articles/1"), try fixture.url("/articles/2")]
        for (number, url) in urls.enumerated() {
            try await fixture.cache(url, .json(Self.article(number + 1, "Ann")))
        }
        let followers = urls.map { url in
            fixture.start(url, .cacheOnly, { $0.follows = true })
        }
        for follower in followers { _ = try await follower.frames.element(0) }
        try await fixture.cache(try fixture.url("/users/7"), .json(Self.author))
        for (number, (url, follower)) in zip(urls, followers).enumerated() {
            let expected = Self.article(number + 1, "Anna")
            let told = try await follower.frames.element(1)
            #expect(told.shown?.text == expected)
            #expect(try await fixture.cached(url).lastShown?.text == expected)
            follower.hangUp()
            #expect(try await follower.result().frames.count == 2)
        }
    }

    @Test("A page that comes again as what it shows already is no change")
    func again() async throws {
        let url = try fixture.url("/articles/1")
        try await fixture.cache(url, .json(Self.article(1, "Ann")))
        try await fixture.cache(try fixture.url("/users/7"), .json(Self.author))
        let shown = try await fixture.cached(url).lastShown
        let id = try EntryID(url)
        let watch = try await Watch(fixture) { $0.ids = [id] }
        try await fixture.cache(url, .json(Self.article(1, "Anna")))
        let again = try await fixture.cached(url).lastShown
        #expect(again?.text == Self.article(1, "Anna"))
        #expect(again?.revision == shown?.revision)
        try await fixture.cache(url, .json(Self.article(1, "Bea")))
        #expect(try await watch.frames(upTo: 2).count == 2)
        watch.hangUp()
        #expect(try await watch.all().filter { $0.name == "put \(url)" }.count == 1)
    }

    @Test("A late network answer is shown with entities that a newer answer changed")
    func late() async throws {
        let (article, user) = (try fixture.url("/articles/1"), try fixture.url("/users/7"))
        let gate = Gate()
        fixture.upstream.answer(
            article,
            with: ScriptedAnswer.json(Self.article(1, "Ann")).held(by: gate)
        )
        let fetch = fixture.start(article)
        _ = try await fixture.upstream.asked.element(0)
        try await fixture.cache(user, .json(Self.author))
        gate.open()
        // It set out before the other one, so what that has said of the author is later.
        #expect(try await fetch.result().lastShown?.text == Self.article(1, "Anna"))
    }

    @Test("A 304 confirms what is shown while that is what came; else it is asked for whole")
    func notModified() async throws {
        let url = try fixture.url("/articles/1")
        try await fixture.cache(url, .json(Self.article(1, "Ann"), etag: "\"v1\""))
        #expect(try await fixture.cached(url).lastShown?.entry.etag == "\"v1\"")
        fixture.upstream.answer(url, with: .notModified)
        #expect(try await fixture.fetch(url).shape == ["cache", "unchanged 304", "end unchanged"])
        #expect(fixture.upstream.asked.all.last?.headers["If-None-Match"] == "\"v1\"")
        try await fixture.cache(try fixture.url("/users/7"), .json(Self.author))
        let changed = try await fixture.cached(url).lastShown
        #expect(changed?.entry.etag.hasPrefix("\"larder-") == true)
        fixture.upstream.answer(url, with: .json(Self.article(1, "Anna"), etag: "\"v2\""))
        #expect(try await fixture.fetch(url).shape == ["cache", "unchanged 200", "end unchanged"])
        #expect(fixture.upstream.asked.all.last?.headers["If-None-Match"] == nil)
    }

    @Test("Without an evicted entity an answer is a miss, or marked as partial (P-10)")
    func evicted() async throws {
        let url = try fixture.url("/list")
        let list = #"[{"type":"A","id":1},{"type":"A","id":2}]"#
        try await fixture.cache(url, .json(list, etag: "\"v1\""))
        try await fixture.evict("A:2")
        #expect(try await fixture.cached(url).refusal?.kind == .miss)
        let partial = try await fixture.fetch(url, .cacheOnly) { $0.isPartial = true }
        #expect(partial.lastShown?.text == #"[{"type":"A","id":1},null]"#)
        #expect(partial.lastShown?.complete == false)
        #expect(partial.lastShown?.missing == ["/1"])
        #expect(partial.lastShown?.stale == true)
        // What is not there whole is not asked for with its validator.
        fixture.upstream.answer(url, with: .json(list))
        #expect(try await fixture.fetch(url).shape == ["network", "end network"])
        #expect(fixture.upstream.asked.all.last?.headers["If-None-Match"] == nil)
        #expect(try await fixture.cached(url).lastShown?.text == list)
    }

    @Test("A 404 on an entity's own URL deletes it wherever it is shown")
    func deleted() async throws {
        let rules = NormalizeRules(byType: .standard, types: [TypeRule(type: "A", url: "/as/{id}")])
        try await EngineFixture.run(.with { $0.origin.normalize = rules }) { fixture in
            let (list, one) = (try fixture.url("/list"), try fixture.url("/as/2"))
            try await fixture.cache(list, .json(#"[{"type":"A","id":1},{"type":"A","id":2}]"#))
            try await fixture.cache(one, .json(#"{"type":"A","id":2,"n":1}"#))
            try await fixture.cache(one, .reply(status: 404))
            #expect(try await fixture.cached(list).lastShown?.text == #"[{"type":"A","id":1}]"#)
            #expect(try await fixture.cached(one).shape == ["deleted 404", "end deleted"])
            let key = try EntityKey("A:2")
            let shown = try await fixture.entity(key)
            #expect(shown?.isDeleted == true)
        }
    }

    @Test("Asked for whole, without rules, and as no JSON an answer is kept as it came")
    func whole() async throws {
        let (url, user) = (try fixture.url("/articles/1"), try fixture.url("/users/7"))
        fixture.upstream.answer(url, with: .json(Self.article(1, "Ann")))
        try await fixture.fetch(url) { $0.normalizes = false }
        try await fixture.cache(user, .json(Self.author))
        #expect(try await fixture.cached(url).lastShown?.text == Self.article(1, "Ann"))
        try await fixture.cache(url, .json(Self.article(1, "Bea")))
        #expect(try await fixture.cached(user).lastShown?.text.contains("Bea") == true)
        try await fixture.cache(url, .json("[1]"))
        #expect(try await fixture.cached(url).lastShown?.text == "[1]")
    }

    @Test("An answer that has gone to the disk in chunks is normalized, too")
    func large() async throws {
        let url = try fixture.url("/feed")
        let items = (0..<3_000).map { number in
            #"{"type":"A","id":\#(number),"text":"\#(String(repeating: "x", count: 400))"}"#
        }
        let feed = "[" + items.joined(separator: ",\n") + "]"
        #expect(feed.utf8.count > Limits.inlineJSONBytesMax)
        try await fixture.cache(url, .json(feed))
        let shown = try await fixture.entity(try EntityKey("A:2999"))
        #expect(shown?.made != nil)
        try await fixture.cache(try fixture.url("/a"), .json(#"{"type":"A","id":0,"text":"y"}"#))
        let read = try fixture.read(url)
        let expected = feed.replacing(
            String(repeating: "x", count: 400),
            with: "y",
            maxReplacements: 1
        )
        #expect(read == expected)
    }

    @Test("A pinned answer shows its author's new name, is told, and keeps him from eviction")
    func pinned() async throws {
        let url = try fixture.url("/articles/1")
        try await fixture.cache(url, .json(Self.article(1, "Ann")))
        try await fixture.cache(try fixture.url("/users/7"), .json(Self.author))
        #expect(try await fixture.pin(url).item.state == .held)
        #expect(try fixture.read(url) == Self.article(1, "Anna"))
        let id = try EntryID(url)
        let watch = try await Watch(fixture) { $0.ids = [id] }
        try await fixture.cache(
            try fixture.url("/users/7"),
            .json(#"{"type":"User","id":7,"name":"Bea"}"#)
        )
        #expect(try fixture.read(url) == Self.article(1, "Bea"))
        #expect(try await fixture.cached(url).lastShown?.text == Self.article(1, "Bea"))
        #expect(try await watch.frames(upTo: 2).last?.name == "put \(url)")
        let command = EvictOrder(.ids([try .entity("User:7")]))
        #expect(try await fixture.engine.eviction.evict(command, .one(fixture.scope)).evicted == 0)
        // What comes for it goes to the pin, and is told once.
        try await fixture.cache(url, .json(Self.article(1, "Cleo")))
        #expect(try fixture.read(url) == Self.article(1, "Cleo"))
        let frames = try await watch.frames(upTo: 3)
        #expect(frames.last?.name == "put \(url)")
        let list = try await fixture.engine.entries.list(
            EntryListQuery(),
            .one(fixture.scope)
        )
        #expect(list.items.filter { $0.id == url.text }.count == 1)
        #expect(try await fixture.engine.pins.unpin(EntryID(url), fixture.scope))
        try await fixture.cache(try fixture.url("/users/7"), .json(Self.author))
        #expect(try fixture.read(url) == Self.article(1, "Anna"))
        _ = try await watch.frames(upTo: 4)
        watch.hangUp()
        #expect(try await watch.all().filter { $0.name == "put \(url)" }.count == 3)
    }

    @Test("A write of a normalized answer shows on what it is now, and is taken back to that")
    func modified() async throws {
        let url = try fixture.url("/articles/1")
        try await fixture.cache(url, .json(Self.article(1, "Ann")))
        try await fixture.cache(try fixture.url("/users/7"), .json(Self.author))
        let effect = try Effect.json(#"{"type":"merge","value":{"n":1}}"#)
        try await fixture.write(.url(url), effect, "PATCH", id: "m", hold: .seconds(60))
        let view = try await fixture.cached(url).lastShown
        #expect(view?.pending == 1)
        #expect(view?.text.contains(#""name":"Anna""#) == true)
        #expect(view?.text.contains(#""n":1"#) == true)
        // Its author is told of anew, while it is kept with the write.
        try await fixture.cache(
            try fixture.url("/users/7"),
            .json(#"{"type":"User","id":7,"name":"Bea"}"#)
        )
        let changed = try await fixture.cached(url).lastShown
        #expect(changed?.text.contains(#""name":"Bea""#) == true)
        #expect(changed?.text.contains(#""n":1"#) == true)
        try await fixture.cancel("m")
        #expect(try await fixture.cached(url).lastShown?.text == Self.article(1, "Bea"))
    }

    // MARK: Watching

    @Test("A watch of an entry that shows an entity is told of it once a step, live and later")
    func watched() async throws {
        let url = try fixture.url("/articles/1")
        try await fixture.cache(url, .json(Self.article(1, "Ann")))
        let (id, user) = (try EntryID(url), try EntryID.entity("User:7"))
        let since = try fixture.step()
        let byID = try await Watch(fixture) { $0.ids = [id] }
        let byKey = try await Watch(fixture) {
            $0.ids = [user]
        }
        try await fixture.cache(try fixture.url("/users/7"), .json(Self.author))
        let told = try await byID.frames(upTo: 2)
        #expect(told.last?.name == "put \(url)")
        #expect(told.last?.encodedText.contains(#""changed":["entity:example/User:7"]"#) == true)
        let key = try await byKey.frames(upTo: 2)
        #expect(key.last?.encodedText.contains(#""id":"entity:example/User:7""#) == true)
        let back = try await Watch(fixture) {
            $0.ids = [id]
            $0.since = since
        }
        #expect(try await back.frames(upTo: 2).map(\.name) == ["put \(url)", "bookmark"])
    }

    @Test("A watch lists present rows first, entities too")
    func initial() async throws {
        let url = try fixture.url("/articles/1")
        try await fixture.cache(url, .json(Self.article(1, "Ann")))
        let keys: [EntryID] = [try .entity("User:7"), try .entity("User:8")]
        let byKey = try await Watch(fixture) {
            $0.ids = keys
            $0.listsFirst = true
        }
        let told = try await byKey.frames(upTo: 2)
        #expect(told.map(\.name) == ["put entity:example/User:7", "bookmark"])
        #expect(told.first?.encodedText.contains(#""initial":true"#) == true)
        let all = try await Watch(fixture) { $0.listsFirst = true }
        let names = Set(try await all.frames(upTo: 4).map(\.name))
        #expect(
            names == [
                "put entity:example/Article:1", "put entity:example/User:7", "put \(url)",
                "bookmark",
            ]
        )
    }

    @Test("A list tells an answer as its entities are now")
    func listed() async throws {
        let engine = fixture.engine
        try await fixture.cache(try fixture.url("/articles/1"), .json(Self.article(1, "Ann")))
        let name = try EntityName.example("User:7")
        let json = Array(#"{"type":"User","id":7,"name":"Annabella"}"#.utf8)
        let set = try await engine.entities.set(name, json: json, fixture.scope, client: nil)
        let list = try await engine.entries.list(EntryListQuery(), .one(fixture.scope))
        #expect(list.items.map(\.rev) == [set.revision.number])
        #expect(list.items.map(\.bodyBytes) == [Self.article(1, "Annabella").utf8.count])
    }

    // MARK: Entities by their keys

    @Test("An entity is set, read, listed, explained and deleted by its key")
    func byKey() async throws {
        let url = try fixture.url("/articles/1")
        try await fixture.cache(url, .json(Self.article(1, "Ann")))
        let engine = fixture.engine
        let name = try EntityName.example("User:7")
        let json = Array(#"{"type":"User","id":7,"name":"Anna","age":3}"#.utf8)
        let set = try await engine.entities.set(name, json: json, fixture.scope, client: nil)
        #expect(!set.isNew)
        #expect(try await fixture.cached(url).lastShown?.text == Self.article(1, "Anna"))
        let made = try #require(try await fixture.entity(name.key)?.made)
        #expect(made.text.contains(#""age":3"#) && made.entry.revision == set.revision)
        let article = try await fixture.entity(EntityKey("Article:1"), 1)
        #expect(article?.made?.text.contains(#""name":"Anna""#) == true)
        var query = EntryListQuery()
        query.prefix = "entity:example/"
        let list = try await engine.entries.list(query, .one(fixture.scope))
        let ids = ["Article:1", "User:7"].map { "entity:example/\($0)" }
        #expect(list.items.map(\.id) == ids)
        #expect(list.items.map(\.kind) == [.entity, .entity])
        #expect(list.items.last?.etag == made.entry.entityTag)
        #expect(try await fixture.ids() == [url.text])
        let explained = try await fixture.engine.entries.explain(EntryID(name), fixture.scope)
        #expect(explained?.referencedBy?.items.map(\.id) == ["entity:example/Article:1"])
        let entry = try await engine.entries.explain(EntryID(url), fixture.scope)
        #expect(entry?.form == .normalized)
        #expect(entry?.entities?.items.map(\.id) == ["entity:example/Article:1"])
        let revision = try await engine.entities.delete(name, fixture.scope, client: nil)
        #expect(revision > set.revision)
        #expect(
            try await fixture.cached(url).lastShown?.text
                == #"{"type":"Article","id":1,  "author":null}"#
        )
    }

    @Test("Values that are not objects are refused as entities")
    func badEntity() async throws {
        let name = try EntityName.example("User:7")
        for text in ["[]", "1", "{", ""] {
            await #expect(throws: Problem.self, "\(text)") {
                try await fixture.engine.entities.set(
                    name,
                    json: Array(text.utf8),
                    fixture.scope,
                    client: nil
                )
            }
        }
    }

    @Test("Batches and usage know normalized answers")
    func batchAndUsage() async throws {
        let url = try fixture.url("/articles/1")
        try await fixture.cache(url, .json(Self.article(1, "Ann")))
        try await fixture.cache(try fixture.url("/users/7"), .json(Self.author))
        let batched = try await fixture.batched(EntryID(url), EngineFixture.scope)
        #expect(batched == [Self.article(1, "Anna")])
        let usage = try await fixture.engine.monitor.usage(.one(fixture.scope))
        #expect(usage.normalized.entities.count == 2)
        #expect(usage.normalized.skeletons.count == 2)
        #expect(usage.normalized.references.count == 3)
    }
}

extension EngineFixture {
    fileprivate func entity(_ key: EntityKey, _ depth: Int = 0) async throws -> EntryView<Entry?>? {
        try await read(.example(key.text), expanding: depth)
    }

    fileprivate func evict(_ key: String) async throws {
        let command = EvictOrder(.ids([try .entity(key)]))
        let report = try await engine.eviction.evict(command, .one(scope))
        #expect(report.evicted == 1)
    }

    /// What `GET /v1/entries/{id}` answers, whichever way it is kept.
    fileprivate func read(_ url: WebURL) throws -> String {
        let reader = try engine.store.makeReader()
        defer { reader.endTransaction() }
        return try engine.text(of: EntryID(url), scope, reader, now: clock.now()) ?? "miss"
    }
}
