import LarderAPI
import LarderJSON
import LarderModel
import LarderStore
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

/// Writes that wait, and the change that takes the reason away.
@Suite(.timeLimit(.minutes(5)), .engine)
struct WakingTests {
    private let fixture = EngineFixture.running

    private static let base = "https://new.example"

    private func settings(_ token: String, _ rest: String = "") throws -> OriginCommand {
        let json = #"{"base_url":"\#(Self.base)","headers":{"Authorization":"\#(token)"}\#(rest)}"#
        return try OriginCommand("new", json: json)
    }

    private func write(_ path: String, _ method: String = "PUT") async throws -> ModifierID {
        try await fixture.write(.url(WebURL(Self.base + path)), .none, method)
    }

    private func state(_ id: ModifierID) async throws -> LarderAPI.ModifierState {
        try await fixture.settled(id).state
    }

    @Test("Another header of an origin sends all writes that wait for a credential")
    func header() async throws {
        _ = try await fixture.engine.origins.add(try settings("old"))
        let urls = try ["/1", "/2"].map { try WebURL(Self.base + $0) }
        fixture.upstream.answer(urls[0], with: .reply(status: 401), .reply(status: 204))
        fixture.upstream.answer(urls[1], with: .reply(status: 204))
        // If the read after a write failed, the origin would count as away.
        fixture.upstream.answerOthers { $0.method == "GET" ? .reply(status: 403) : nil }
        let watch = try await Watch(fixture) { $0.types = [.auth] }
        let first = try await write("/1")
        #expect(try await watch.frames(upTo: 2).map(\.name) == ["bookmark", "auth needed"])
        let second = try await write("/2")
        _ = try await fixture.engine.origins.replace(try settings("new"))
        #expect(try await state(first) == .confirmed)
        #expect(try await state(second) == .confirmed)
        let sent = fixture.upstream.asked.all.filter { $0.method == "PUT" }
        #expect(sent.first?.origin.headers["Authorization"] == "old")
        #expect(sent.last?.origin.headers["Authorization"] == "new")
    }

    @Test("A header that is replaced while the server refuses the one before is used")
    func headerInFlight() async throws {
        _ = try await fixture.engine.origins.add(try settings("old"))
        let gate = Gate()
        fixture.upstream.answer(
            try WebURL(Self.base + "/1"),
            with: .reply(status: 401).held(by: gate),
            .reply(status: 204)
        )
        let id = try await write("/1")
        _ = try await fixture.upstream.asked.element(0)
        _ = try await fixture.engine.origins.replace(try settings("new"))
        gate.open()
        #expect(try await state(id) == .confirmed)
    }

    @Test("A corrected rule sends again a POST that waits for a person")
    func rule() async throws {
        _ = try await fixture.engine.origins.add(try settings("a"))
        fixture.upstream.answer(
            try WebURL(Self.base + "/1"),
            with: .reply(status: 504),
            .reply(status: 204)
        )
        let watch = try await Watch(fixture) { $0.types = [.modifier] }
        let id = try await write("/1", "POST")
        #expect(try await watch.frames(upTo: 3).last?.name == "modifier unknown")
        let rules = #","modifiers":{"idempotency":{"honoured":true}}"#
        _ = try await fixture.engine.origins.replace(try settings("a", rules))
        #expect(try await state(id) == .confirmed)
    }

    @Test(
        "A corrected rule ends a conflict: `server` gives up, `client` sends again (case 19)",
        arguments: [ModifierRules.ConflictRule.server, .client]
    )
    func conflictRule(rule: ModifierRules.ConflictRule) async throws {
        let url = try fixture.url("/1")
        try await fixture.cache(url, .json(#"{"title":"old"}"#))
        fixture.upstream.answer(url, with: .reply(status: 412), .json(#"{"title":"theirs"}"#))
        fixture.upstream.answerOthers { .reply(status: $0.method == "GET" ? 403 : 204) }
        let merge = try Effect.json(#"{"type":"merge","value":{"title":"mine"}}"#)
        let id = try await fixture.write(.url(url), merge)
        try await until {
            let report = try await fixture.engine.modifiers.modifier(id, fixture.scope)
            return report.waitingFor?.reason == "decision"
        }
        var origin = try #require(fixture.engine.context.origins.origin(of: url))
        origin.modifiers.onConflict = rule
        let known = KnownOrigin(origin, from: .file("larder.yaml"))
        _ = try await fixture.engine.origins.reload { (replace) throws(Problem) in
            try replace([known])
        }
        let report = try await fixture.settled(id)
        let sent = fixture.upstream.asked.all.filter { $0.method == "PATCH" }
        let isSentAgain = rule == .client
        #expect((report.state == .confirmed) == isSentAgain)
        #expect((report.reason == .conflict) == !isSentAgain)
        #expect(sent.count == (isSentAgain ? 2 : 1))
    }

    @Test(
        "A conflict in which nothing differs is sent again once the rule is `rebase` (case 19)",
        arguments: [false, true]
    )
    func rebased(afterRestart: Bool) async throws {
        var left: TemporaryStore?
        let merge = try Effect.json(#"{"type":"merge","value":{"title":"mine"}}"#)
        let (id, lane) = (try ModifierID("w"), try LaneName("phone"))
        let manual = try EngineSetup.with { $0.origin.modifiers.onConflict = .manual }
        try await EngineFixture.run(manual) { fixture in
            let url = try fixture.url("/1")
            try await fixture.cache(url, .json(#"{"title":"old"}"#))
            let other = ScriptedAnswer.json(#"{"title":"old","done":true}"#)
            fixture.upstream.answer(url, with: .reply(status: 412), other)
            fixture.upstream.answerOthers { .reply(status: $0.method == "GET" ? 403 : 204) }
            try await fixture.write(.url(url), merge, id: "w") { $0.lane = lane }
            try await until {
                try await fixture.engine.modifiers.modifier(id, fixture.scope).state == .conflict
            }
            left = fixture.temporary
            guard !afterRestart else {
                let modifiers = fixture.engine.modifiers
                return try await modifiers.setLane(.name(lane), fixture.scope, isPaused: true)
            }
            let known = KnownOrigin(try EngineSetup().origin, from: .file("larder.yaml"))
            _ = try await fixture.engine.origins.reload { (replace) throws(Problem) in
                try replace([known])
            }
            #expect(try await fixture.settled(id).state == .confirmed)
        }
        guard afterRestart else { return }
        try left?.open()
        try await EngineFixture.run(on: left) { fixture in
            fixture.upstream.answerOthers { .reply(status: $0.method == "GET" ? 403 : 204) }
            let modifiers = fixture.engine.modifiers
            try await modifiers.setLane(.name(lane), fixture.scope, isPaused: false)
            #expect(try await fixture.settled(id).state == .confirmed)
        }
    }

    @Test("A reload replaces the configured origins, keeps those that were added, and wakes writes")
    func reload() async throws {
        _ = try await fixture.engine.origins.add(try settings("a"))
        let url = try fixture.url("/1")
        fixture.upstream.answer(url, with: .reply(status: 401), .reply(status: 204))
        let watch = try await Watch(fixture) { $0.types = [.auth] }
        let id = try await fixture.write(.url(url), .none, "PUT")
        #expect(try await watch.frames(upTo: 2).map(\.name) == ["bookmark", "auth needed"])
        var origin = try #require(fixture.engine.context.origins.origin(of: url))
        origin.headers.append("Authorization", "new")
        let known = KnownOrigin(origin, from: .file("larder.yaml"))
        let changed = try await fixture.engine.origins.reload { (replace) throws(Problem) in
            try replace([known])
        }
        #expect(changed.map(\.text) == ["example"])
        #expect(try await state(id) == .confirmed)
        let names = fixture.engine.context.origins.known.map(\.name.text)
        #expect(names == ["example", "new"])
    }

    @Test("A reload is refused whole where one of its origins has the address of an added one")
    func refusedReload() async throws {
        _ = try await fixture.engine.origins.add(try settings("a"))
        let before = fixture.engine.context.origins.known
        let other = OriginSettings(name: try OriginName("other"), baseURL: try WebURL(Self.base))
        let problem = await #expect(throws: Problem.self) {
            try await fixture.engine.origins.reload { (replace) throws(Problem) in
                try replace([KnownOrigin(other, from: .file("larder.yaml"))])
            }
        }
        #expect(problem?.detail.contains("cachectl origin rm new") == true)
        #expect(fixture.engine.context.origins.known == before)
    }

    @Test("A pin that its origin refused is asked for again with other settings of the origin")
    func failedPin() async throws {
        _ = try await fixture.engine.origins.add(try settings("old"))
        let url = try WebURL(Self.base + "/pinned")
        fixture.upstream.answer(url, with: .reply(status: 401), .json("[1]"))
        let id = try EntryID(url)
        await #expect(throws: Problem.self) {
            _ = try await fixture.engine.pins.pin(id, fixture.scope)
        }
        _ = try await fixture.engine.origins.replace(try settings("new"))
        let second = try await fixture.upstream.asked.element(1)
        #expect(second.origin.headers["Authorization"] == "new")
    }

    @Test("A pin that had no room is asked for again once there may be room")
    func raisedRoom() async throws {
        let setup = try EngineSetup.with { $0.store.pinsMaxBytes = ByteSize(bytes: 2_000) }
        try await EngineFixture.run(setup) { fixture in
            let url = try fixture.url("/a")
            let long = "[\"" + String(repeating: "x", count: 4_000) + "\"]"
            fixture.upstream.answer(url, with: .json(long), .json(long))
            let id = try EntryID(url)
            await #expect(throws: Problem.self) {
                _ = try await fixture.engine.pins.pin(id, fixture.scope)
            }
            var limits = fixture.engine.store.limits
            limits.pinsMaxBytes = ByteSize(bytes: 1 << 20)
            fixture.engine.setLimits(limits)
            #expect(try await fixture.upstream.asked.element(1).url == url)
        }
    }
}
