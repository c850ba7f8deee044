import LarderAPI
import LarderJSON
import LarderModel
import LarderStore
import LarderStrategy
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

/// Origins that are down and asked again while somebody waits, and origins set offline by hand.
@Suite(.timeLimit(.minutes(5)), .engine)
struct ProbingTests {
    private let fixture = EngineFixture.running
    private let url = EngineFixture.firstURL

    private func name() throws -> OriginName { try OriginName("example") }

    private func waitForReturn(_ tell: @escaping @Sendable () -> Void) throws -> Interest {
        let states = fixture.engine.context.originStates
        return states.waitForReturn(of: try name(), as: .shared, tell)
    }

    /// The moment until which the probe after `failures` others sleeps, drawn with the n-th randomUnit.
    private func pause(_ failures: Int, randomUnit n: Int) -> Duration {
        ProbeMachine.pause(
            upTo: min(Limits.probePauseBase * (1 << failures), Limits.probePauseMax),
            randomUnit: fixture.randomUnit(n)
        )
    }

    @Test("An origin that is down is probed while a client waits, until it is back")
    func probed() async throws {
        let base = try fixture.url("/")
        let context = fixture.engine.context
        let back = Gate()
        context.originStates.noteConnectFailure(try name())
        let cancellation = try waitForReturn { back.open() }
        fixture.upstream.answer(base, with: .unreachable, .reply(status: 503))
        let first = pause(0, randomUnit: 0)
        try await fixture.clock.sleepers(until: first)
        #expect(fixture.upstream.asked.all.isEmpty)
        fixture.clock.advance(by: first)
        let second = pause(1, randomUnit: 1)
        try await fixture.clock.sleepers(until: first + second)
        #expect(fixture.upstream.asked.all.map(\.url) == [base])
        fixture.clock.advance(by: second)
        try await back.wait()
        #expect(fixture.upstream.asked.all.count == 2)
        #expect(context.health[try name()]?.state == .online)
        cancellation.end()
    }

    @Test(
        "A page or a redirect of the base URL keeps no origin captive, one of any path does",
        .engine { $0.origin.baseURL = try WebURL("http://api.example.com") },
        arguments: [true, false]
    )
    func ownPage(isEverywhere: Bool) async throws {
        let page = ScriptedAnswer.reply("<html>", headers: ["Content-Type": "text/html"])
        let redirect = ScriptedAnswer.reply(status: 302, headers: ["Location": "http://other/"])
        let (context, name) = (fixture.engine.context, try name())
        for answer in [page, redirect] {
            fixture.upstream.answerOthers { request in
                request.url.path == "/" || isEverywhere ? answer : .reply(status: 404)
            }
            context.originStates.notePortal(name)
            await context.originStates.probe(name)
            #expect(context.health[name]?.state == (isEverywhere ? .captive : .online))
        }
    }

    @Test(
        "A write is sent though its queue heard of a portal after the origin was back (case 25)",
        .engine { $0.origin.baseURL = try WebURL("http://api.example.com") }
    )
    func lateNews() async throws {
        let (context, name) = (fixture.engine.context, try name())
        let url = try WebURL("http://api.example.com/w")
        fixture.upstream.answerOthers { _ in .reply(status: 204) }
        context.originStates.noteAnswer(name)
        let effect = try Effect.json(#"{"type":"put","value":1}"#)
        try await fixture.write(EntryID("a"), effect, "POST", to: url, hold: .seconds(3_600))
        context.modifiers.post(
            .told { $0.originWentDown(name, isCaptive: true, randomUnit: 0, now: $1) }
        )
        let id = try await fixture.write(EntryID("b"), effect, "POST", to: url)
        while try await fixture.engine.modifiers.modifier(id, fixture.scope).state != .confirmed {
            fixture.clock.advance(by: .milliseconds(500))
            for _ in 0..<50 { await Task.yield() }
        }
        #expect(fixture.upstream.asked.all.count { $0.method == "POST" } == 1)
    }

    @Test("A client's request that is answered tells those who wait as well")
    func requestTells() async throws {
        let back = Gate()
        fixture.engine.context.originStates.noteConnectFailure(try name())
        let cancellation = try waitForReturn { back.open() }
        fixture.upstream.answer(url, with: .json("[1]"))
        try await fixture.fetch(url)
        try await back.wait()
        #expect(fixture.upstream.asked.all.map(\.url) == [url])
        cancellation.end()
    }

    @Test("After it has given up, a client hears nothing and no request is sent")
    func ended() async throws {
        let context = fixture.engine.context
        context.originStates.noteConnectFailure(try name())
        let told = Recorder<Int>()
        let cancellation = try waitForReturn { told.record(1) }
        let other = try waitForReturn { told.record(2) }
        cancellation.end()
        cancellation.end()
        let first = pause(0, randomUnit: 0)
        try await fixture.clock.sleepers(until: first)
        context.originStates.noteAnswer(try name())
        #expect(told.all == [2])
        other.end()
        fixture.clock.advance(by: first)
        context.originStates.noteConnectFailure(try name())
        context.originStates.noteAnswer(try name())
        #expect(told.all == [2])
        #expect(fixture.upstream.asked.all.isEmpty)
    }

    @Test("An origin set offline gets no request, and the cache is shown with the problem")
    func offlineByHand() async throws {
        try await fixture.cache(url, .json("[1]"))
        let asked = fixture.upstream.asked.all.count
        let report = try await fixture.engine.origins.setOffline(try name(), true, for: 1_000)
        #expect(report.condition.offline)
        #expect(report.condition.state == .offline)
        let shown = try await fixture.fetch(url)
        #expect(shown.shape == ["cache", "problem offline", "end error"])
        let first = try await fixture.fetch(url, .networkFirst)
        #expect(first.shape == ["cache", "problem offline", "end error"])
        let miss = try await fixture.fetch(try fixture.url("/b")).refusal
        #expect(miss?.kind == .offline)
        #expect(miss?.status == 503)
        #expect(miss?.hint.hasSuffix("cachectl origin online example") == true)
        #expect(fixture.upstream.asked.all.count == asked)
        let status = await fixture.engine.monitor.status(connections: 0).origins
        #expect(status.map(\.condition.state) == [.offline])
        #expect(status.map(\.condition.offline) == [true])

        _ = try await fixture.engine.origins.setOffline(try name(), false, for: 1_000)
        fixture.upstream.answer(url, with: .json("[2]"))
        #expect(try await fixture.fetch(url).shape == ["cache", "network", "end network"])
        #expect(try fixture.engine.store.offlineOrigins().isEmpty)
    }

    @Test("The store remembers an origin set offline, and larderd does not probe it")
    func offlineRemembered() async throws {
        _ = try await fixture.engine.origins.setOffline(try name(), true, for: 1_000)
        #expect(try fixture.engine.store.offlineOrigins() == ["example"])
        let remembered = Origins.offlineOrigins(fixture.engine.store, fixture.log.logger)
        #expect(remembered == [try name()])
        let back = Gate()
        fixture.engine.context.originStates.noteConnectFailure(try name())
        let cancellation = try waitForReturn { back.open() }
        fixture.engine.context.originStates.noteAnswer(try name())
        let state = try fixture.engine.context.watch.machine(of: name()) { $0.state }
        #expect(state == .idle)
        _ = try await fixture.engine.origins.setOffline(try name(), false, for: 1_000)
        try await back.wait()
        cancellation.end()
    }

    @Test("A flight that is about to ask again when the origin is set offline asks no more")
    func offlineInFlight() async throws {
        fixture.upstream.answer(url, with: .unreachable, .json("[1]"))
        let fetch = fixture.start(url)
        let pause = Limits.retryBase * fixture.randomUnit(0)
        try await fixture.clock.sleepers(until: pause)
        _ = try await fixture.engine.origins.setOffline(try name(), true, for: 1_000)
        fixture.clock.advance(by: pause)
        #expect(try await fetch.result().refusal?.kind == .offline)
        #expect(fixture.upstream.asked.all.count == 1)
    }

    @Test("Only an origin that there is can be set offline")
    func unknown() async throws {
        let problem = await #expect(throws: Problem.self) {
            try await fixture.engine.origins.setOffline(try OriginName("other"), true, for: 1_000)
        }
        #expect(problem?.kind == .noSuchOrigin)
    }

    @Test("While a request waits for one of our own connections, the origin is not silent")
    func notSilent() async throws {
        let gate = Gate()
        fixture.upstream.holdRequestsBack()
        fixture.upstream.answer(url, with: .json("[1]").held(by: gate))
        let fetch = fixture.start(url)
        _ = try await fixture.upstream.asked.element(0)
        try await fixture.clock.sleepers(2, until: .seconds(30))
        fixture.clock.advance(by: Limits.silenceTime * 2)
        #expect(fixture.engine.context.health[try name()]?.state == .unknown)
        gate.open()
        #expect(try await fetch.result().shape == ["network", "end network"])
    }
}
