import LarderAPI
import LarderJSON
import LarderModel
import LarderStore
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

/// Reads with a body: POST where the origin's settings say so, and QUERY.
@Suite("Reads with a body", .timeLimit(.minutes(5)), .engine)
struct PostReadTests {
    private static let errors = [RefusalRule(pointer: "/errors")]

    private func run(
        adjusting adjust: (inout OriginSettings) -> Void = { _ in },
        _ body: (EngineFixture, WebURL) async throws -> Void
    ) async throws {
        let setup = try EngineSetup.with { setup in
            setup.origin.fetch.postReads = ["/graphql", "/search/*"]
            adjust(&setup.origin)
        }
        try await EngineFixture.run(setup) { fixture in
            try await body(fixture, try fixture.url("/graphql"))
        }
    }

    @Test("An answer is kept under the URL and a digest of the body (S32)")
    func kept() async throws {
        try await run { fixture, url in
            for name in ["a", "b"] {
                fixture.upstream.answer(url, with: .json(#"{"data":"\#(name)"}"#))
                #expect(try await fixture.post(url, name).shape == ["network", "end network"])
            }
            let asked = fixture.upstream.asked.all
            #expect(asked.map(\.method) == ["POST", "POST"])
            #expect(asked.map { $0.body ?? [] } == ["a", "b"].map { Array(Self.query($0).utf8) })
            let types = asked.map { $0.headers["Content-Type"] }
            #expect(types == ["application/json", "application/json"])
            for name in ["a", "b"] {
                let shown = try await fixture.post(url, name, .cacheOnly).lastShown
                #expect(shown?.text == #"{"data":"\#(name)"}"#)
                #expect(try shown?.entry.id == fixture.content(name).id(at: url))
            }
            #expect(try await fixture.post(url, "c", .cacheOnly).refusal?.kind == .miss)
            #expect(try await fixture.cached(url).refusal?.kind == .miss)
        }
    }

    @Test("A 201 to a POST that reads is kept as a 200 is")
    func created() async throws {
        try await run { fixture, url in
            fixture.upstream.answer(url, with: .json("[1]", status: 201))
            #expect(try await fixture.post(url, "a").shape == ["network", "end network"])
            let shown = try await fixture.post(url, "a", .cacheOnly).lastShown
            #expect(shown?.text == "[1]")
            #expect(shown?.entry.status == 201)
        }
    }

    @Test("A confirmed write makes what is kept of its URL stale, also with another target (S34)")
    func written() async throws {
        let hour: (inout OriginSettings) -> Void = { $0.fetch.ttl = .seconds(3_600) }
        try await run(adjusting: hour) { fixture, url in
            fixture.upstream.answerOthers { _ in .json("1") }
            // A GET and a POST from the cache, and how often the origin was asked.
            let asked = {
                _ = try await fixture.post(url, "a", .cacheFirst)
                try await fixture.fetch(url, .cacheFirst)
                return fixture.upstream.asked.all.count { $0.url == url && $0.method != "PUT" }
            }
            #expect(try await asked() == 2)
            #expect(try await asked() == 2)
            let value = try Effect.json(#"{"type":"put","value":1}"#)
            let id = try await fixture.write(.url(fixture.url("/note")), value, "PUT", to: url)
            #expect(try await fixture.settled(id).state == .confirmed)
            #expect(try await asked() == 4)
        }
    }

    @Test(
        "White space outside strings does not count in JSON; order, numbers and escapes do (S32)",
        arguments: [
            (#" {"a" : [1, "b c"] }"#, "application/json", true),
            (#"{"a":[1,"b c"]}"#, "Application/JSON", true),
            (#"{"a":[1,"b  c"]}"#, "application/json", false),
            (#"{"a":[1.0,"b c"]}"#, "application/json", false),
            (#"{"a":[1,"b\u0020c"]}"#, "application/json", false),
            (#"{"a":[1,"b c"]}"#, "text/plain", false),
            (#"{"a":[1,"b c"]}"#, "application/json; v=2", false),
        ]
    )
    func digest(body: String, type: String, isSame: Bool) {
        let plain = RequestContent(
            .post,
            mediaType: "application/json",
            bytes: Array(#"{"a":[1,"b c"]}"#.utf8)
        )
        let other = RequestContent(.post, mediaType: type, bytes: Array(body.utf8))
        #expect((plain == other) == isSame)
        #expect(plain != RequestContent(.query, mediaType: "application/json", bytes: plain.bytes))
    }

    @Test("The digest is SHA-256 of the parts with their lengths, as the documentation says (S32)")
    func documentedDigest() {
        let content = RequestContent(.post, mediaType: "text/plain", bytes: Array("hi".utf8))
        // printf '4:POST10:text/plain2:hi' | sha256sum
        #expect(
            content.digest == "0a75682af1ef19f8012e27d2f7d022cc6d2c483a9c634f73997e2a8921fb916e"
        )
    }

    @Test("A POST elsewhere, and a mutation, are no reads, and nothing is asked (S31)")
    func refused() async throws {
        try await run { fixture, url in
            let other = try fixture.url("/orders")
            let refusal = try await fixture.post(other, "a").refusal
            #expect(refusal?.kind == .notARead)
            let added = "--replace example https://api.example.com/ --post-read '/orders'"
            #expect(refusal?.hint.contains("cachectl origin add \(added)") == true)
            let mutation = try await fixture.fetch(url) {
                $0.content = fixture.content(json: #"{"query":"mutation { like }"}"#)
            }
            #expect(mutation.refusal?.kind == .notARead)
            #expect(mutation.refusal?.hint == "Send it as a modifier: POST /v1/modifiers.")
            #expect(fixture.upstream.asked.all.isEmpty)
            let found = try fixture.url("/search/books")
            fixture.upstream.answer(found, with: .json("[1]"))
            #expect(try await fixture.post(found, "a").shape == ["network", "end network"])
        }
    }

    @Test("A 200 with errors is told, and replaces no answer (S37)")
    func errors() async throws {
        let adjust: (inout OriginSettings) -> Void = { $0.fetch.refusedIf = Self.errors }
        try await run(adjusting: adjust) { fixture, url in
            let answers = [
                #"{"data":1,"errors":[]}"#, #"{"data":null,"errors":[{"message":"no"}]}"#,
            ]
            for answer in answers { fixture.upstream.answer(url, with: .json(answer)) }
            #expect(try await fixture.post(url, "a").shape == ["network", "end network"])
            let second = try await fixture.post(url, "a")
            #expect(second.shape == ["cache", "problem origin-status", "end error"])
            let problem = second.problems.first
            #expect(problem?.originStatus == 200)
            #expect(problem?.pointer == "/errors")
            #expect(problem?.body?.bytes == Array(answers[1].utf8))
            #expect(try await fixture.post(url, "a", .cacheOnly).lastShown?.text == answers[0])
            // The rule holds for a GET as well.
            let get = try fixture.url("/a")
            fixture.upstream.answer(get, with: .json(answers[1]))
            #expect(try await fixture.fetch(get).refusal?.originStatus == 200)
            #expect(try await fixture.cached(get).refusal?.kind == .miss)
        }
    }

    @Test("JSON too large for refused_if replaces no answer on a path of POST reads (S37)")
    func unseenErrors() async throws {
        let adjust: (inout OriginSettings) -> Void = { $0.fetch.refusedIf = Self.errors }
        try await run(adjusting: adjust) { fixture, url in
            let text = String(repeating: "a", count: Limits.inlineJSONBytesMax)
            let large = ScriptedAnswer.json(#"{"errors":["\#(text)"]}"#)
            fixture.upstream.answer(url, with: .json("[1]"), large)
            try await fixture.post(url, "a")
            let refused = ["cache", "problem entry-too-large", "end error"]
            #expect(try await fixture.post(url, "a").shape == refused)
            #expect(try await fixture.post(url, "a", .cacheOnly).lastShown?.text == "[1]")
            let query = try fixture.url("/graphql?query=%7Ba%7D")
            fixture.upstream.answer(query, with: .json("[2]"), large)
            try await fixture.fetch(query)
            #expect(try await fixture.fetch(query).shape == refused)
            #expect(try await fixture.cached(query).lastShown?.text == "[2]")
            let other = try fixture.url("/a")
            try await fixture.cache(other, large)
            #expect(try await fixture.cached(other).shape == ["cache", "end cache"])
        }
    }

    @Test("A POST is never conditional, and equal bytes keep the revision (S36)")
    func unconditional() async throws {
        try await run { fixture, url in
            let answer = ScriptedAnswer.json("[1]", headers: ["ETag": "\"v1\""])
            fixture.upstream.answer(url, with: answer, answer)
            let first = try await fixture.post(url, "a").lastShown?.rev
            let second = try await fixture.post(url, "a")
            #expect(second.shape == ["cache", "unchanged 200", "end unchanged"])
            #expect(second.lastShown?.rev == first)
            #expect(fixture.upstream.asked.all.map { $0.headers["If-None-Match"] } == [nil, nil])
        }
    }

    @Test("A QUERY is a read everywhere, and is revalidated (S31, S36)")
    func query() async throws {
        try await run { fixture, _ in
            let url = try fixture.url("/books")
            let answer = ScriptedAnswer.json("[1]", headers: ["ETag": "\"v1\""])
            fixture.upstream.answer(url, with: answer, .notModified)
            let content = RequestContent(.query, mediaType: "text/plain", bytes: Array("x".utf8))
            try await fixture.fetch(url) { $0.content = content }
            let second = try await fixture.fetch(url) { $0.content = content }
            #expect(second.shape == ["cache", "unchanged 304", "end unchanged"])
            let asked = fixture.upstream.asked.all
            #expect(asked.map(\.method) == ["QUERY", "QUERY"])
            #expect(asked.map { $0.headers["If-None-Match"] } == [nil, "\"v1\""])
            #expect(asked.map(\.body) == [Array("x".utf8), Array("x".utf8)])
        }
    }

    @Test(
        "303 goes on with GET, 307 and 308 with method and body; 301 and 302 only of QUERY (S36)",
        arguments: [
            (ReadMethod.post, 301, nil), (.post, 302, nil), (.post, 303, "GET"),
            (.post, 307, "POST"), (.post, 308, "POST"), (.query, 301, "QUERY"),
            (.query, 302, "QUERY"), (.query, 303, "GET"), (.query, 307, "QUERY"),
            (.query, 308, "QUERY"),
        ] as [(ReadMethod, Int, String?)]
    )
    func redirects(asked: ReadMethod, status: Int, method: String?) async throws {
        try await run { fixture, url in
            let target = try fixture.url("/moved")
            let moved = ScriptedAnswer.reply(status: status, headers: ["Location": "/moved"])
            fixture.upstream.answer(url, with: moved)
            fixture.upstream.answer(target, with: .json("[1]"))
            let bytes = Array(Self.query("a").utf8)
            let content = RequestContent(asked, mediaType: "application/json", bytes: bytes)
            let got = try await fixture.fetch(url) { $0.content = content }
            #expect((got.refusal?.kind == .badAnswer) == (method == nil))
            let last = fixture.upstream.asked.all.last
            #expect(last?.method == method ?? asked.rawValue)
            #expect((last?.body == nil) == (method == "GET"))
            #expect((last?.headers["Content-Type"] == nil) == (method == "GET"))
            guard method != nil else { return }
            let cached = try await fixture.fetch(url, .cacheOnly) { $0.content = content }
            #expect(cached.lastShown?.text == "[1]")
        }
    }

    @Test("Headers that Vary or the settings name tell answers apart (S33)")
    func varying() async throws {
        let adjust: (inout OriginSettings) -> Void = { $0.fetch.vary = ["x-tenant"] }
        try await run(adjusting: adjust) { fixture, url in
            let tenants = ["1", "2"]
            for tenant in tenants {
                fixture.upstream.answer(
                    url,
                    with: .json(tenant, headers: ["Vary": "Accept-Language"])
                )
                _ = try await fixture.fetch(url) { order in
                    order.content = fixture.content("a")
                    order.headers.append("X-Tenant", tenant)
                    order.headers.append("Accept-Language", "de")
                }
            }
            for tenant in tenants {
                let shown = try await fixture.fetch(url, .cacheOnly) { order in
                    order.content = fixture.content("a")
                    order.headers.append("X-Tenant", tenant)
                    order.headers.append("Accept-Language", "de")
                }
                #expect(shown.lastShown?.text == tenant)
                let id = try fixture.content("a").id(at: url)
                #expect(shown.lastShown?.entry.id == "\(id) accept-language=de x-tenant=\(tenant)")
            }
            #expect(try await fixture.post(url, "a", .cacheOnly).refusal?.kind == .miss)
        }
    }

    @Test("A follower of a POST gets a new answer, and has it asked for again with its body (S35)")
    func followed() async throws {
        try await run { fixture, url in
            fixture.upstream.answer(url, with: .json("[1]"), .json("[2]"), .json("[3]"))
            let follower = fixture.start(url) { order in
                order.content = fixture.content("a")
                (order.follows, order.refresh) = (true, .seconds(30))
                order.heartbeat = .seconds(3_600)
            }
            #expect(try await follower.frames.element(0).shown?.text == "[1]")
            let (context, id) = (fixture.engine.context, try EntryID(url, fixture.content("a")))
            let user = EngineFixture.scope
            try await until {
                context.refreshes.report(of: id, user, context).refresh == .seconds(30)
            }
            try await fixture.post(url, "a")
            #expect(try await follower.frames.element(1).shown?.text == "[2]")
            // There is a poll in 30 to 33 seconds.
            for _ in 0..<70 {
                fixture.clock.advance(by: .milliseconds(500))
                let now = fixture.clock.monotonic()
                try await until {
                    context.flights.count == 0 && context.refreshes.isQuiet(at: now)
                }
            }
            #expect(try await follower.frames.element(2).shown?.text == "[3]")
            let asked = fixture.upstream.asked.all
            #expect(asked.map(\.method) == ["POST", "POST", "POST"])
            #expect(asked.allSatisfy { $0.body == Array(Self.query("a").utf8) })
            follower.hangUp()
        }
    }

    @Test("A pinned one is asked for with its body again, after its bytes were lost (S35)")
    func pinned() async throws {
        try await run { fixture, url in
            fixture.upstream.answer(url, with: .json("[1]"))
            try await fixture.post(url, "a")
            let id = try EntryID(url, fixture.content("a"))
            let pin = try await fixture.engine.pins.pin(id, fixture.scope)
            guard case .held(let item, _) = pin else {
                Issue.record("it is not held")
                return
            }
            #expect(item.id == id.text)
            let request = await FetchRequest.again(id, in: fixture.scope, fixture.engine.context)
            #expect(request?.content?.bytes == Array(Self.query("a").utf8))
            #expect(request?.content?.mediaType == "application/json")
            // Without a row the daemon does not know the body.
            let other = try EntryID(url, fixture.content("b"))
            let problem = await #expect(throws: Problem.self) {
                _ = try await fixture.engine.pins.pin(other, fixture.scope)
            }
            #expect(problem?.kind == .miss)
        }
    }

    @Test("A pinned one whose bytes are damaged is asked for again with its body (S35)")
    func damagedPin() async throws {
        try await run { fixture, url in
            let long = String(repeating: "a", count: 2 * Limits.inlineBodyBytesMax)
            fixture.upstream.answer(url, with: .json("\"\(long)\""), .json("[2]"))
            try await fixture.post(url, "a")
            let id = try EntryID(url, fixture.content("a"))
            _ = try await fixture.engine.pins.pin(id, fixture.scope)
            let (store, scope, now) = (fixture.engine.store, fixture.scope, fixture.clock.now())
            let body: ChunkedBody? = try await store.read { reader throws(StoreError) in
                try reader.withEntry(scope, id, now: now) { $0.chunkedBody } ?? nil
            }
            store.bodies.drop(try #require(body), of: scope, id)
            let request = try await fixture.upstream.asked.element(1)
            #expect(request.method == "POST")
            #expect(request.body == Array(Self.query("a").utf8))
            while try await store.pins.pin(scope, id)?.state != .held { await Task.yield() }
            #expect(try await fixture.post(url, "a", .cacheOnly).lastShown?.text == "[2]")
        }
    }

    @Test("A watch by the id of a read with a body is told of that read alone (S32)")
    func watched() async throws {
        try await run { fixture, url in
            let id = try EntryID(url, fixture.content("a"))
            let watch = try await Watch(fixture) { order in
                (order.ids, order.types) = ([id], [.put])
            }
            fixture.upstream.answer(url, with: .json("[0]"), .json("[1]"), .json("[2]"))
            try await fixture.fetch(url)
            for name in ["b", "a"] { try await fixture.post(url, name) }
            #expect(try await watch.frames(upTo: 2).last?.name == "put \(id.text)")
        }
    }

    @Test("A modifier of a read with a body shows in that read before it is confirmed (S32)")
    func modified() async throws {
        try await run { fixture, url in
            fixture.upstream.answer(url, with: .json("[0]"), .json("[1]"))
            for name in ["b", "a"] { try await fixture.post(url, name) }
            let (gate, note) = (Gate(), try fixture.url("/note"))
            fixture.upstream.answer(note, with: .reply(status: 204).held(by: gate))
            let value = try Effect.json(#"{"type":"put","value":[2]}"#)
            let id = try EntryID(url, fixture.content("a"))
            let write = try await fixture.write(id, value, "PUT", to: note)
            #expect(try await fixture.post(url, "a", .cacheOnly).lastShown?.text == "[2]")
            #expect(try await fixture.post(url, "b", .cacheOnly).lastShown?.text == "[0]")
            gate.open()
            #expect(try await fixture.settled(write).state == .confirmed)
        }
    }

    @Test("A pin of the URL holds no read with a body of it, and one of the read its variants")
    func heldVariants() async throws {
        try await run { fixture, url in
            let varying = ScriptedAnswer.json("[2]", headers: ["Vary": "Accept-Language"])
            fixture.upstream.answer(url, with: .json("[0]"), .json("[1]"), varying)
            try await fixture.fetch(url)
            try await fixture.post(url, "a")
            _ = try await fixture.fetch(url) { order in
                order.content = fixture.content("a")
                order.headers.append("Accept-Language", "de")
            }
            let id = try EntryID(url, fixture.content("a"))
            let variant = try EntryID(id.text + " accept-language=de")
            let store = fixture.engine.store
            _ = try await fixture.engine.pins.pin(EntryID(url), fixture.scope)
            #expect(!store.isDurable(fixture.scope, id))
            #expect(!store.isDurable(fixture.scope, variant))
            _ = try await fixture.engine.pins.pin(id, fixture.scope)
            #expect(store.isDurable(fixture.scope, id))
            #expect(store.isDurable(fixture.scope, variant))
            _ = try await store.pins.unpin(fixture.scope, EntryID(url), now: fixture.clock.now())
            try await store.maintain()
            #expect(store.isDurable(fixture.scope, variant))
        }
    }

    @Test("Entities are shared with the answers to GET (S35)")
    func entities() async throws {
        let rules = NormalizeRules(byType: .standard)
        let adjust: (inout OriginSettings) -> Void = { $0.normalize = rules }
        try await run(adjusting: adjust) { fixture, url in
            let book = #"{"__typename":"Book","id":1,"title":"A"}"#
            fixture.upstream.answer(url, with: .json(#"{"data":{"book":\#(book)}}"#))
            try await fixture.post(url, "a")
            let get = try fixture.url("/books/1")
            try await fixture.cache(get, .json(#"{"__typename":"Book","id":1,"title":"B"}"#))
            let shown = try await fixture.post(url, "a", .cacheOnly).lastShown
            #expect(shown?.text == #"{"data":{"book":{"__typename":"Book","id":1,"title":"B"}}}"#)
        }
    }

    @Test("A stored body is not sent once the settings no longer say that it is a read (S31)")
    func noLongerRead() async throws {
        try await run { fixture, url in
            fixture.upstream.answer(url, with: .json("[1]"))
            try await fixture.post(url, "a")
            let id = try EntryID(url, fixture.content("a"))
            let found = await FetchRequest.again(id, in: fixture.scope, fixture.engine.context)
            var origin = try #require(found).origin
            origin.fetch.postReads = []
            let request = FetchRequest(try #require(found).command, origin: origin)
            let starter = fixture.engine.context.flightStarter
            guard case .failed(let problem) = await starter.answer(to: request, fixture.scope)
            else {
                Issue.record("it was sent")
                return
            }
            #expect(problem.kind == .notARead)
            #expect(fixture.upstream.asked.all.count == 1)
        }
    }

    @Test("A 404 to a read with a body deletes no entity, and is kept under the read's own id")
    func notFound() async throws {
        let rules = NormalizeRules(
            byType: .standard,
            types: [TypeRule(type: "A", url: "/search/{id}")]
        )
        let adjust: (inout OriginSettings) -> Void = { settings in
            settings.normalize = rules
            settings.fetch.vary = ["x-tenant"]
        }
        try await run(adjusting: adjust) { fixture, _ in
            let url = try fixture.url("/search/1")
            try await fixture.cache(url, .json(#"{"type":"A","id":1}"#))
            fixture.upstream.answer(url, with: .json("[1]"), .reply(status: 404))
            try await fixture.post(url, "a")
            let tenant: (inout FetchOrder) -> Void = { order in
                order.content = fixture.content("a")
                order.headers.append("X-Tenant", "2")
            }
            #expect(try await fixture.fetch(url, nil, tenant).refusal?.kind == .deleted)
            #expect(try await fixture.cached(url).lastShown?.text == #"{"type":"A","id":1}"#)
            #expect(try await fixture.post(url, "a", .cacheOnly).lastShown?.text == "[1]")
            let shown = try await fixture.fetch(url, .cacheOnly, tenant)
            #expect(shown.shape == ["deleted 404", "end deleted"])
        }
    }

    private static func query(_ name: String) -> String { #"{"query":"{ \#(name) }"}"# }
}

extension RequestContent {
    fileprivate func id(at url: WebURL) throws -> String { try EntryID(url, self).text }
}

extension FetchResult {
    fileprivate var problems: [Problem] {
        frames.compactMap { if case .problem(let frame) = $0 { frame.problem } else { nil } }
    }
}

extension EngineFixture {
    fileprivate func content(json: String) -> RequestContent {
        RequestContent(.post, mediaType: "application/json", bytes: Array(json.utf8))
    }

    fileprivate func content(_ name: String) -> RequestContent {
        content(json: #"{"query":"{ \#(name) }"}"#)
    }

    @discardableResult
    fileprivate func post(
        _ url: WebURL,
        _ name: String,
        _ policy: FetchPolicy? = nil
    ) async throws -> FetchResult {
        try await fetch(url, policy) { $0.content = content(name) }
    }
}
