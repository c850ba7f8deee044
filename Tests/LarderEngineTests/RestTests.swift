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

/// What the daemon does by itself, while an origin has told an account to wait.
@Suite("An origin that is left alone", .timeLimit(.minutes(5)), .engine)
struct RestTests {
    private let fixture = EngineFixture.running
    private let url = EngineFixture.firstURL

    private static let busy = ScriptedAnswer.reply(
        "busy",
        status: 429,
        headers: ["Retry-After": "60"]
    )

    private func write(
        _ path: String,
        as scope: Scope = EngineFixture.scope
    ) async throws -> ModifierID {
        try await fixture.write(.url(fixture.url(path)), .none, "POST", as: scope)
    }

    private func asked(_ path: String) throws -> Int {
        let url = try fixture.url(path)
        return fixture.upstream.asked.all.count { $0.url == url }
    }

    @Test("A read's Retry-After holds the account's writes, and they say until when (case 10)")
    func writesWait() async throws {
        fixture.upstream.answer(try fixture.url("/read"), with: Self.busy)
        _ = try await fixture.fetch(try fixture.url("/read"))
        let end = ManualClock.start.advanced(by: .seconds(60))
        let id = try await write("/a")
        let report = try await fixture.engine.modifiers.modifier(id, fixture.scope)
        #expect(report.state == .queued)
        #expect(report.waitingFor?.reason == "retry_after")
        #expect(report.waitingFor?.until == .init(end))
        #expect(fixture.engine.origins.reports().map(\.condition.retryAfterUntil) == [.init(end)])
        #expect(
            fixture.engine.origins.reports().map(\.condition.retryAfterFor) == [
                EngineFixture.scope.userAndAccount
            ]
        )
        #expect(
            await fixture.engine.monitor.status(connections: 0).origins.map(
                \.condition.retryAfterUntil
            )
                == [.init(end)]
        )
        // Whose account is another's is told that there is one, and not which.
        let stranger = ClientStatus(user: 1_001, groups: [], administrator: false)
        let told = fixture.engine.origins.reports(for: stranger)
        #expect(
            told.map(\.condition.retryAfterUntil) == [.init(end)]
                && told.map(\.condition.retryAfterFor) == [nil]
        )
        let status = await fixture.engine.monitor.status(connections: 0, for: stranger).origins
        #expect(
            status.map(\.condition.retryAfterUntil) == [.init(end)]
                && status.map(\.condition.retryAfterFor) == [nil]
        )
        // Another account is another matter.
        let other = Scope.own(uid: 1_001, account: .default)
        fixture.upstream.answer(try fixture.url("/b"), with: .reply(status: 204), .json("[1]"))
        let theirs = try await write("/b", as: other)
        let settled = try await fixture.settled(theirs, fixture.key(other), wait: .seconds(30))
        #expect(settled.state == .confirmed)
        // The read behind it has finished: no time goes by in which it would be silent.
        _ = try await fixture.upstream.asked.element(2)
        while fixture.engine.context.flights.count > 0 { await Task.yield() }
        #expect(try asked("/a") == 0)
        fixture.upstream.answer(try fixture.url("/a"), with: .reply(status: 204))
        try await fixture.clock.sleepers(until: .seconds(60))
        fixture.clock.advance(by: .seconds(60))
        let sent = try await fixture.settled(id, wait: .seconds(30))
        #expect(sent.state == .confirmed)
        #expect(fixture.engine.origins.reports().map(\.condition.retryAfterUntil) == [nil])
    }

    @Test("A client's own request is tried all the same, a refresh behind an answer is not made")
    func reads() async throws {
        try await fixture.cache(url, .json("[1]"))
        fixture.upstream.answer(url, with: Self.busy)
        _ = try await fixture.fetch(url)
        #expect(try asked("/a") == 2)
        let cached = try await fixture.fetch(url, .staleWhileRevalidate)
        #expect(cached.shape == ["cache", "end cache"])
        #expect(try asked("/a") == 2)
        fixture.upstream.answer(url, with: .json("[2]"))
        let own = try await fixture.fetch(url, .networkOnly)
        #expect(own.shape == ["network", "end network"])
        #expect(try asked("/a") == 3)
        fixture.clock.advance(by: .seconds(60))
        _ = try await fixture.fetch(url, .staleWhileRevalidate)
        let behind = try await fixture.upstream.asked.element(3)
        #expect(behind.url == url)
    }

    @Test("A pin is asked for again when the origin may be, and not a second after it said so")
    func pins() async throws {
        fixture.upstream.answer(url, with: Self.busy, .json("[1]"))
        #expect(try await fixture.pin(url).item.state == .waiting)
        try await fixture.clock.sleepers(until: .seconds(60))
        fixture.clock.advance(by: .seconds(59))
        #expect(try asked("/a") == 1)
        fixture.clock.advance(by: .seconds(1))
        _ = try await fixture.upstream.asked.element(1)
    }

    @Test("An origin that is down is not probed while it has told all who wait to wait")
    func probes() async throws {
        let (name, scope) = (try OriginName("example"), EngineFixture.scope)
        fixture.upstream.answer(try fixture.url("/read"), with: Self.busy)
        _ = try await fixture.fetch(try fixture.url("/read"))
        fixture.engine.context.originStates.noteConnectFailure(name)
        let cancellation = fixture.engine.context.originStates.waitForReturn(of: name, as: scope) {}
        // The first draw was the fetch's.
        let randomUnit = fixture.randomUnit(1)
        let pause = ProbeMachine.pause(upTo: Limits.probePauseBase, randomUnit: randomUnit)
        try await fixture.clock.sleepers(until: pause)
        fixture.clock.advance(by: pause)
        try await fixture.clock.sleepers(until: .seconds(60))
        #expect(try asked("/") == 0)
        fixture.clock.advance(by: .seconds(60) - pause)
        #expect(try await fixture.upstream.asked.element(1).url == fixture.url("/"))
        cancellation.end()
    }

    @Test("A follower's origin is asked again once its Retry-After is over", arguments: [429, 503])
    func followers(status: Int) async throws {
        let name = try OriginName("example")
        try await fixture.cache(url, .json("[1]"))
        fixture.upstream.answer(url, with: .json("[1]"))
        let follower = fixture.start(url, .cacheFirst) { $0.follows = true }
        _ = try await follower.frames.element(0)
        let busy = ScriptedAnswer.reply(status: status, headers: ["Retry-After": "60"])
        fixture.upstream.answer(try fixture.url("/read"), with: busy)
        _ = try await fixture.fetch(try fixture.url("/read"))
        let asked = try asked("/a")
        fixture.engine.context.originStates.noteConnectFailure(name)
        fixture.engine.context.originStates.noteAnswer(name)
        try await fixture.clock.sleepers(until: .seconds(60))
        fixture.clock.advance(by: .seconds(59))
        #expect(try self.asked("/a") == asked)
        fixture.upstream.answer(url, with: .json("[2]"))
        fixture.clock.advance(by: .seconds(1))
        var count = 0
        repeat { count += 1 } while try await follower.frames.element(count).shown == nil
        #expect(follower.frames.all[count].shown?.text == "[2]")
    }

    @Test(
        "A target that a write changed is read once the Retry-After is over",
        arguments: [429, 503]
    )
    func readsBehind(status: Int) async throws {
        let sent = Gate()
        fixture.upstream.answer(url, with: .reply(status: 204).held(by: sent))
        let id = try await write("/a")
        _ = try await fixture.upstream.asked.element(0)
        let busy = ScriptedAnswer.reply(status: status, headers: ["Retry-After": "60"])
        fixture.upstream.answer(try fixture.url("/read"), with: busy)
        _ = try await fixture.fetch(try fixture.url("/read"))
        sent.open()
        let report = try await fixture.settled(id, wait: .seconds(30))
        #expect(report.state == .confirmed)
        try await fixture.clock.sleepers(until: .seconds(60))
        fixture.clock.advance(by: .seconds(59))
        #expect(try asked("/a") == 1)
        fixture.clock.advance(by: .seconds(1))
        let read = try await fixture.upstream.asked.element(2)
        #expect(read.url == url && read.method == "GET")
    }
}
