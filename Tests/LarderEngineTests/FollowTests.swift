import LarderAPI
import LarderModel
import LarderStore
import LarderStrategy
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

/// Streams that stay open: each new view of the entry, whoever brought it.
@Suite("Following", .timeLimit(.minutes(5)), .engine)
struct FollowTests {
    private let fixture = EngineFixture.running
    private let url = EngineFixture.firstURL
    private let gate = Gate()

    @Test("A follower sees another client's answer, no frame for a 304, and the drain's end")
    func furtherViews() async throws {
        fixture.upstream.answer(url, with: .json("[1]", etag: "\"v1\""))
        let follower = fixture.follow(url)
        _ = try await follower.frames.element(0)
        let first = try fixture.step().next(-1)

        fixture.clock.advance(by: .seconds(5))
        fixture.upstream.answer(url, with: .notModified, .json("[2]", etag: "\"v2\""))
        #expect(try await fixture.fetch(url).shape.last == "end unchanged")
        #expect(try await fixture.fetch(url).shape.last == "end network")
        let second = try fixture.step().next(-1)
        _ = try await follower.frames.element(1)

        fixture.engine.drain()
        let expected: [FetchFrame] = [
            try .snapshot(.network, first, url, json: "[1]", etag: "\"v1\""),
            try .snapshot(.cache, second, url, json: "[2]", etag: "\"v2\"", storedAt: .seconds(5)),
            .end(.shutdown, second, network: .zero),
        ]
        #expect(try await follower.result() == FetchResult(expected))
    }

    @Test("An open follow waits for its origin: it is probed, and asked again when it is back")
    func originReturns() async throws {
        try await fixture.cache(url, .json("[1]"))
        fixture.engine.context.originStates.noteConnectFailure(try OriginName("example"))
        fixture.upstream.answer(url, with: .unreachable, .json("[2]"))
        fixture.upstream.answer(try fixture.url("/"), with: .reply(status: 404))
        let follower = fixture.follow(url)
        _ = try await follower.frames.element(1)
        // The two requests before it have drawn as well.
        let first = ProbeMachine.pause(
            upTo: Limits.probePauseBase,
            randomUnit: fixture.randomUnit(2)
        )
        try await fixture.clock.sleepers(until: first)
        fixture.clock.advance(by: first)
        try await fixture.waitForBody("[2]", of: follower)
        follower.hangUp()
        let shape = ["cache", "problem unreachable", "origin example online", "cache"]
        #expect(try await follower.result().shape == shape)
        let asked = fixture.upstream.asked.all.map(\.url)
        #expect(asked == [url, url, try fixture.url("/"), url])
    }

    @Test(
        "Behind each policy's last word the stream stays open",
        arguments: [
            (.cacheThenNetwork, ["cache", "network"]), (.cacheFirst, ["network"]),
            (.networkFirst, ["network"]), (.staleWhileRevalidate, ["cache", "cache"]),
            (.cacheOnly, ["cache"]), (.networkOnly, ["network"]),
        ] as [(FetchPolicy, [String])]
    )
    func policies(policy: FetchPolicy, shape: [String]) async throws {
        try await fixture.cache(url, .json("[1]"))
        fixture.upstream.answer(url, with: .json("[2]").held(by: gate))
        let follower = fixture.follow(url, policy) { $0.networkWait = .seconds(60) }
        if policy != .cacheOnly {
            _ = try await fixture.upstream.asked.element(1)
            if shape[0] == "cache" { _ = try await follower.frames.element(0) }
        }
        gate.open()
        _ = try await follower.frames.element(shape.count - 1)
        // The first may board a flight that has stored its answer and not finished yet.
        fixture.upstream.answer(url, with: .json("[3]"), .json("[3]"))
        try await fixture.fetch(url, .networkOnly)
        try await fixture.fetch(url, .networkOnly)
        try await fixture.waitForBody("[3]", of: follower)
        follower.hangUp()
        let shown = try await follower.result().shape
        #expect(shown.prefix(shape.count) == shape[...])
        #expect(shown.last == "cache")
    }

    @Test("A deletion is told, and what comes back after it, even with the same bytes")
    func deleted() async throws {
        fixture.upstream.answer(url, with: .json("[1]"))
        let follower = fixture.follow(url)
        _ = try await follower.frames.element(0)
        fixture.upstream.answer(url, with: .reply(status: 410), .json("[1]"))
        try await fixture.fetch(url)
        #expect(try await follower.frames.element(1).deletedStatus == 410)
        try await fixture.fetch(url)
        #expect(try await follower.frames.element(2).shown?.source == .cache)
        follower.hangUp()
        #expect(try await follower.result().shape == ["network", "deleted 410", "cache"])
    }

    @Test("A follower gets no frame for a forgotten entry, nor for the same answer again")
    func forgotten() async throws {
        fixture.upstream.answer(url, with: .json("[1]"), .json("[1]"), .json("[2]"))
        let follower = fixture.follow(url)
        _ = try await follower.frames.element(0)
        #expect(try await fixture.engine.entries.remove(EntryID(url), fixture.scope) != nil)
        try await fixture.fetch(url)
        try await fixture.fetch(url)
        try await fixture.waitForBody("[2]", of: follower)
        follower.hangUp()
        #expect(try await follower.result().shape == ["network", "cache"])
    }

    @Test(
        "A deletion and a failure of the network are told, the stream goes on, and a drain ends it",
        arguments: [
            (ScriptedAnswer.reply(status: 404), "deleted 404"),
            (.failure(.timedOut(.head)), "problem timeout"),
        ],
        [true, false]
    )
    func goesOn(answer: (ScriptedAnswer, String), isAnsweredAgain: Bool) async throws {
        try await fixture.cache(url, .json("[1]"))
        fixture.upstream.answer(url, with: answer.0, .json("[2]"))
        let follower = fixture.follow(url)
        _ = try await follower.frames.element(1)
        if isAnsweredAgain {
            try await fixture.fetch(url)
            _ = try await follower.frames.element(2)
        }
        fixture.engine.drain()
        let last = isAnsweredAgain ? ["cache"] : []
        #expect(try await follower.result().shape == ["cache", answer.1] + last + ["end shutdown"])
    }

    @Test("An answer that lands after the client's time is shown as the row's new view")
    func lateLanding() async throws {
        try await fixture.cache(url, .json("[1]"))
        fixture.upstream.answer(url, with: .json("[2]").held(by: gate))
        let follower = fixture.follow(url) { $0.timeout = .seconds(2) }
        _ = try await fixture.upstream.asked.element(1)
        try await fixture.clock.sleepers(until: .seconds(2))
        fixture.clock.advance(by: .seconds(2))
        _ = try await follower.frames.element(1)
        gate.open()
        try await fixture.waitForBody("[2]", of: follower)
        follower.hangUp()
        #expect(try await follower.result().shape == ["cache", "problem timeout", "cache"])
    }

    @Test("Without anything to show there is a plain problem, as always")
    func refused() async throws {
        let miss = try await fixture.follow(url, .cacheOnly).result()
        #expect(miss == .refused(Problem(.miss, "nothing is cached for \(url)")))
        fixture.upstream.answer(url, with: .failure(.timedOut(.head)), .reply(status: 404))
        let failed = try await fixture.follow(url).result()
        #expect(failed.refusal?.kind == .timeout)
        let deleted = try await fixture.follow(url).result()
        #expect(deleted.refusal?.kind == .deleted)
        #expect(fixture.engine.context.followers.count == 0)
    }

    @Test("A follower that does not read costs one notice, then gets the latest view only")
    func slowReader() async throws {
        fixture.upstream.answer(url, with: .json("[0]"))
        let follower = fixture.follow(url) { _ in
        } reading: { frame in
            if frame.shown?.source == .cache { try? await gate.wait() }
            return true
        }
        _ = try await follower.frames.element(0)
        fixture.upstream.answer(url, with: .json("[1]"))
        try await fixture.fetch(url)
        _ = try await follower.frames.element(1)
        for number in 2...40 {
            fixture.upstream.answer(url, with: .json("[\(number)]"))
            try await fixture.fetch(url)
        }
        gate.open()
        try await fixture.waitForBody("[40]", of: follower)
        follower.hangUp()
        let result = try await follower.result()
        #expect(result.shape == ["network", "cache", "cache"])
    }

    @Test("A follower that does not read costs one heartbeat, however long it takes")
    func heartbeatsOfSlowReader() async throws {
        let pause = Duration.seconds(7)
        fixture.upstream.answer(url, with: .json("[0]"), .json("[1]"))
        let follower = fixture.follow(url) { command in
            (command.timeout, command.heartbeat) = (.seconds(3_600), pause)
        } reading: { frame in
            if frame.shown?.source == .cache { try? await gate.wait() }
            return true
        }
        _ = try await follower.frames.element(0)
        try await fixture.fetch(url)
        _ = try await follower.frames.element(1)
        for beat in 1...3 {
            try await fixture.clock.sleepers(until: pause * beat)
            fixture.clock.advance(by: pause)
        }
        try await fixture.clock.sleepers(until: pause * 4)
        gate.open()
        _ = try await follower.beats.element(0)
        fixture.engine.drain()
        _ = try await follower.result()
        #expect(follower.beats.all.count == 1)
    }

    @Test("A follower gets views in the order of their revisions, also of a fast sequence")
    func order() async throws {
        fixture.upstream.answer(url, with: .json("[0]"))
        let follower = fixture.follow(url)
        _ = try await follower.frames.element(0)
        for number in 1...50 {
            fixture.upstream.answer(url, with: .json("[\(number)]"))
            try await fixture.fetch(url, .networkOnly)
        }
        try await fixture.waitForBody("[50]", of: follower)
        follower.hangUp()
        let revisions = try await follower.result().frames.compactMap { $0.shown?.revision }
        #expect(zip(revisions, revisions.dropFirst()).allSatisfy { $0 < $1 })
    }

    @Test("An entry is not evicted while a client follows it, and is evictable after that")
    func protected() async throws {
        let id = try EntryID(url)
        fixture.upstream.answer(url, with: .json("[1]"))
        let follower = fixture.follow(url)
        // A further view is told by one that holds its row.
        fixture.upstream.answer(url, with: .json("[2]"))
        _ = try await follower.frames.element(0)
        try await fixture.fetch(url)
        try await fixture.waitForBody("[2]", of: follower)
        let kept = try await fixture.evict(id)
        #expect(kept.evicted == 0 && kept.skipped == 1)
        let explained = try await fixture.engine.entries.explain(id, fixture.scope)
        #expect(explained?.protectedBy == ["followed"])
        follower.hangUp()
        _ = try await follower.result()
        #expect(fixture.engine.store.protections(fixture.scope, id) == 0)
        #expect(fixture.engine.context.followers.count == 0)
        #expect(try await fixture.evict(id).evicted == 1)
    }

    @Test("JSON in chunks is inline in a further view too")
    func largeJSON() async throws {
        fixture.upstream.answer(url, with: .json("[1]"))
        let follower = fixture.follow(url)
        _ = try await follower.frames.element(0)
        let large = "[\(String(repeating: "1,", count: 100_000))1]"
        fixture.upstream.answer(url, with: .json(large))
        try await fixture.fetch(url)
        try await fixture.waitForBody(large, of: follower)
    }

    @Test("A follower gets the address of a large body while its user's frames hold too much")
    func frameShare() async throws {
        fixture.upstream.answer(url, with: .json("[1]"))
        let follower = fixture.follow(url)
        _ = try await follower.frames.element(0)
        let share = fixture.engine.context.followers.holdFrame(
            of: EngineFixture.scope,
            bytes: Limits.heldBytesPerUserMax
        )
        #expect(share != nil)
        let bodies = ["1", "2"].map { "[\(String(repeating: "\($0),", count: 100_000))0]" }
        fixture.upstream.answer(url, with: .json(bodies[0]))
        try await fixture.fetch(url)
        let frame = try await follower.frames.element(1)
        let path = PercentCoding.entryPath(try EntryID(url))
        #expect(frame.shown?.entry.content == .href(path))
        share?.end()
        fixture.upstream.answer(url, with: .json(bodies[1]))
        try await fixture.fetch(url)
        try await fixture.waitForBody(bodies[1], of: follower)
        follower.hangUp()
        #expect(try await follower.result().shape == ["network", "cache", "cache"])
    }

    @Test("Of answers that vary by a header the one that was shown is followed")
    func variants() async throws {
        func answer(_ body: String) -> ScriptedAnswer {
            .json(body, headers: ["Vary": "Accept-Language"])
        }
        func fetch(_ language: String, _ body: String) async throws {
            fixture.upstream.answer(url, with: answer(body))
            try await fixture.fetch(url, .networkOnly) {
                $0.headers.append("Accept-Language", language)
            }
        }
        fixture.upstream.answer(url, with: answer("[\"de\"]"))
        let follower = fixture.follow(url) { $0.headers.append("Accept-Language", "de") }
        _ = try await follower.frames.element(0)
        try await fetch("fr", "[\"fr\"]")
        try await fetch("de", "[\"de 2\"]")
        try await fixture.waitForBody("[\"de 2\"]", of: follower)
        follower.hangUp()
        #expect(try await follower.result().shape == ["network", "cache"])
    }

    @Test("A follower goes on when the answers begin to vary by a header of its request")
    func beginsToVary() async throws {
        fixture.upstream.answer(url, with: .json("[1]"))
        let follower = fixture.follow(url) { $0.headers.append("Accept-Language", "de") }
        _ = try await follower.frames.element(0)
        for body in ["[2]", "[3]"] {
            let answer = ScriptedAnswer.json(body, headers: ["Vary": "Accept-Language"])
            fixture.upstream.answer(url, with: answer)
            try await fixture.fetch(url, .networkOnly) {
                $0.headers.append("Accept-Language", "de")
            }
            try await fixture.waitForBody(body, of: follower)
        }
        follower.hangUp()
        #expect(try await follower.result().shape == ["network", "cache", "cache"])
    }

    @Test("A follower goes on when the answers vary by another header of its request")
    func variesOtherwise() async throws {
        func answer(_ body: String, varyingBy name: String) {
            fixture.upstream.answer(url, with: .json(body, headers: ["Vary": name]))
        }
        answer("[1]", varyingBy: "Accept-Language")
        let headers = [("Accept-Language", "de"), ("X-View", "short")]
        let follower = fixture.follow(url) { order in
            for (name, value) in headers { order.headers.append(name, value) }
        }
        _ = try await follower.frames.element(0)
        answer("[2]", varyingBy: "X-View")
        try await fixture.fetch(url, .networkOnly) { order in
            for (name, value) in headers { order.headers.append(name, value) }
        }
        try await fixture.waitForBody("[2]", of: follower)
        follower.hangUp()
        #expect(try await follower.result().shape == ["network", "cache"])
    }

    @Test("A follower is shown no answer to other headers that takes the place of its own")
    func otherVariant() async throws {
        let vary = ["Vary": "Accept-Language"]
        let (english, german) = (#"["en"]"#, #"["de"]"#)
        fixture.upstream.answer(
            url,
            with: .json("[1]"),
            .json(english, headers: vary),
            .json(german, headers: vary)
        )
        let follower = fixture.follow(url) { $0.headers.append("Accept-Language", "de") }
        _ = try await follower.frames.element(0)
        try await fixture.fetch(url)
        try await fixture.fetch(url, .networkOnly) { $0.headers.append("Accept-Language", "de") }
        try await fixture.waitForBody(german, of: follower)
        follower.hangUp()
        #expect(try await follower.result().shape == ["network", "cache"])
    }

    @Test("Another scope's entry under the same id is another entry")
    func scopes() async throws {
        fixture.upstream.answer(url, with: .json("[1]"), .json("[\"theirs\"]"), .json("[2]"))
        let follower = fixture.follow(url)
        _ = try await follower.frames.element(0)
        try await fixture.fetch(url, as: .own(uid: 1_001, account: .default))
        try await fixture.fetch(url)
        try await fixture.waitForBody("[2]", of: follower)
        follower.hangUp()
        #expect(try await follower.result().frames.count == 2)
    }

    @Test(
        "A follower that has its first frame gets heartbeats at the interval it asked for",
        arguments: [nil, Duration.seconds(7)]
    )
    func heartbeats(asked: Duration?) async throws {
        fixture.upstream.answer(url, with: .json("[1]"))
        let follower = fixture.follow(url) { command in
            command.timeout = .seconds(3_600)
            if let asked { command.heartbeat = asked }
        }
        let pause = asked ?? Limits.heartbeatTime
        for beat in 1...3 {
            try await fixture.clock.sleepers(until: pause * beat)
            // Of no concern to it, but told everything up to there it was.
            let last = try await fixture.putBlob("other", "\(beat)")
            fixture.clock.advance(by: pause)
            #expect(try await follower.beats.element(beat - 1) == last)
        }
        follower.hangUp()
        #expect(try await follower.result().shape == ["network"])
    }

    @Test("A follower asks an origin that is back with the account's credential of that time")
    func renewedCredential() async throws {
        let (name, context) = (try OriginName("example"), fixture.engine.context)
        func set(_ value: String) async throws {
            let command = CredentialCommand(value: value)
            _ = try await fixture.engine.credentials.set(command, at: name, fixture.scope)
        }
        try await set("old")
        fixture.upstream.answer(url, with: .json("[1]"), .json("[2]"))
        let follower = fixture.follow(url)
        let id = try EntryID(url)
        while context.followers.holders(of: id, in: fixture.scope) == 0 { await Task.yield() }
        try await set("new")
        context.originStates.noteConnectFailure(name)
        context.originStates.noteAnswer(name)
        try await fixture.waitForBody("[2]", of: follower)
        follower.hangUp()
        let sent = fixture.upstream.asked.all.map { $0.origin.headers["Authorization"] }
        #expect(sent == ["old", "new"])
    }

    @Test("A follower that logs in gets its account's answer, and none for all", .sharedEngine)
    func login() async throws {
        let (name, context) = (try OriginName("example"), fixture.engine.context)
        fixture.upstream.answer(url, with: .json("[1]"), .json("[\"own\"]"), .json("[2]"))
        let follower = fixture.follow(url)
        let id = try EntryID(url)
        let shared = context.sharedScope
        while context.followers.holders(of: id, in: shared) == 0 { await Task.yield() }
        let command = CredentialCommand(value: "secret")
        _ = try await fixture.engine.credentials.set(command, at: name, fixture.scope)
        try await fixture.waitForBody("[\"own\"]", of: follower)
        try await fixture.fetch(url, .networkOnly, as: .own(uid: 2_000, account: .default))
        fixture.upstream.answer(url, with: .json("[\"own 2\"]"))
        try await fixture.fetch(url, .networkOnly)
        try await fixture.waitForBody("[\"own 2\"]", of: follower)
        follower.hangUp()
        #expect(try await follower.result().shape == ["network", "cache", "cache"])
        let sent = fixture.upstream.asked.all.map { $0.origin.headers["Authorization"] }
        #expect(sent == [nil, "secret", nil, "secret"])
    }

    @Test("A follower hears of the origin to which its URL moved before the answer came")
    func otherOrigin() async throws {
        fixture.upstream.answer(url, with: .json("[1]").held(by: gate), .json("[2]"))
        let follower = fixture.follow(url)
        _ = try await fixture.upstream.held.element(0)
        var settings = try #require(fixture.engine.context.origins.origin(of: url))
        settings.name = try OriginName("later")
        let known = KnownOrigin(settings, from: .file("larder.yaml"))
        _ = try await fixture.engine.origins.reload { (replace) throws(Problem) in
            try replace([known])
        }
        gate.open()
        try await fixture.waitForBody("[2]", of: follower)
        var (index, told): (Int, String?) = (0, nil)
        while told == nil {
            if case .origin(let frame) = try await follower.frames.element(index) {
                told = frame.origin
            }
            index += 1
        }
        follower.hangUp()
        #expect(told == "later")
    }

    @Test("A follower asks again after growing random pauses if too many requests are in flight")
    func noPlace() async throws {
        let (name, context) = (try OriginName("example"), fixture.engine.context)
        fixture.upstream.answer(url, with: .json("[1]"), .json("[2]"))
        let follower = fixture.follow(url)
        let id = try EntryID(url)
        while context.followers.holders(of: id, in: fixture.scope) == 0 { await Task.yield() }
        for _ in 0..<Limits.flightsPerUserMax { #expect(context.flights.enter(fixture.scope)) }
        context.originStates.noteConnectFailure(name)
        context.originStates.noteAnswer(name)
        let base = Limits.probePauseBase
        // A probe of the origin was begun, too.
        while fixture.clock.dues.count(where: { $0 < base }) < 2 { await Task.yield() }
        fixture.clock.advance(by: base)
        while !fixture.clock.dues.contains(where: { $0 > base * 2 && $0 < base * 3 }) {
            await Task.yield()
        }
        for _ in 0..<Limits.flightsPerUserMax { context.flights.leave(fixture.scope) }
        fixture.clock.advance(by: base * 2)
        try await fixture.waitForBody("[2]", of: follower)
        follower.hangUp()
        #expect(fixture.upstream.asked.all.count == 2)
    }

    @Test("A heartbeat while the network is waited for is from before the cache was read")
    func heartbeatOfNoFollower() async throws {
        try await fixture.cache(url, .json("[1]"))
        let last = try await fixture.putBlob("other", "1")
        fixture.upstream.answer(url, with: .json("[2]").held(by: Gate()))
        let fetch = fixture.start(url) { $0.timeout = .seconds(3_600) }
        _ = try await fetch.frames.element(0)
        try await fixture.clock.sleepers(until: Limits.heartbeatTime)
        try await fixture.putBlob("other", "2")
        fixture.clock.advance(by: Limits.heartbeatTime)
        #expect(try await fetch.beats.element(0) == last)
        fetch.hangUp()
        #expect(try await fetch.result().shape == ["cache"])
    }

    @Test("A follower hears when its origin goes and returns, each state once, by every policy")
    func originStates() async throws {
        let name = try OriginName("example")
        try await fixture.cache(url, .json("[1]"))
        let follower = fixture.follow(url, .cacheOnly)
        _ = try await follower.frames.element(0)
        let context = fixture.engine.context
        for index in 1...2 {
            let last = try await fixture.putBlob("other", "\(index)")
            let isDown = index == 1
            for _ in 1...2 {
                if isDown {
                    context.originStates.noteConnectFailure(name)
                } else {
                    context.originStates.noteAnswer(name)
                }
            }
            let state = isDown ? "offline" : "online"
            #expect(
                try await follower.frames.element(index)
                    == .origin(OriginFrame(last, name, state: state))
            )
        }
        follower.hangUp()
        let shape = ["cache", "origin example offline", "origin example online"]
        #expect(try await follower.result().shape == shape)
        // Nobody is told any more.
        context.originStates.noteConnectFailure(name)
    }

    @Test("Before the first frame there is no heartbeat: it may still become a problem")
    func noHeartbeatBeforeHead() async throws {
        fixture.upstream.answer(url, with: .json("[1]").held(by: Gate()))
        let fetch = fixture.start(url)
        _ = try await fixture.upstream.asked.element(0)
        try await fixture.clock.sleepers(until: .seconds(30))
        fixture.clock.advance(by: .seconds(30))
        #expect(try await fetch.result().refusal?.kind == .timeout)
        #expect(fetch.beats.all.isEmpty)
    }
}

extension EngineFixture {
    fileprivate func follow(
        _ url: WebURL,
        _ policy: FetchPolicy? = nil,
        _ adjust: (inout FetchOrder) -> Void = { _ in },
        reading read: @escaping @Sendable (FetchFrame) async -> Bool = { _ in true }
    ) -> ClientFetch {
        start(url, policy) { command in
            command.follows = true
            adjust(&command)
        } reading: { frame in
            await read(frame)
        }
    }

    /// Returns once a snapshot with this JSON has come.
    fileprivate func waitForBody(_ json: String, of fetch: ClientFetch) async throws {
        var index = 0
        while try await fetch.frames.element(index).shown?.entry.content != .json(Array(json.utf8))
        {
            index += 1
        }
    }

    fileprivate func evict(_ id: EntryID) async throws -> EvictReport {
        try await engine.eviction.evict(EvictOrder(.ids([id])), .one(scope))
    }
}

extension FetchFrame {
    fileprivate var deletedStatus: Int? {
        guard case .deleted(let frame) = self else { return nil }
        return frame.status
    }
}
