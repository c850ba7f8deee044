import LarderJSON
import LarderModel
import LarderStore
import LarderTestSupport
import LarderUpstream
import LarderWire
import Synchronization
import Testing

@testable import LarderEngine

/// Clients that wait, the ends of their waits, and what is left of them: nothing.
@Suite("Waits", .timeLimit(.minutes(5)), .engine)
struct WaitTests {
    private let fixture = EngineFixture.running

    private static let hold = Duration.seconds(7_200)

    /// A modifier that nothing becomes of by itself.
    private func held(
        _ fixture: EngineFixture,
        _ path: String = "/a",
        for hold: Duration = Self.hold
    ) async throws -> ModifierID {
        try await fixture.write(.url(fixture.url(path)), .none, "POST", hold: hold)
    }

    /// When those are to be woken who sleep neither for the maintenance nor until a hold is over.
    private func sleepers() -> [Duration] {
        let others = [Limits.touchFlushTime, Limits.quietTime, Self.hold]
        return fixture.clock.dues.filter { !others.contains($0) }
    }

    // MARK: Their ends

    @Test("A wait ends when its event happens, and leaves no sleeping task")
    func cameAbout() async throws {
        let (engine, scope) = (fixture.engine, fixture.scope)
        let id = try await held(fixture)
        async let report = engine.modifiers.modifier(id, scope, wait: .seconds(61))
        try await fixture.clock.sleepers(until: .seconds(61))
        var list = ModifierListCommand()
        list.selection = .unsettled
        list.wait = .seconds(62)
        async let page = engine.modifiers.list(list, .one(scope))
        try await fixture.clock.sleepers(until: .seconds(62))
        try await engine.modifiers.remove(id, scope, discarding: false)
        #expect(try await report.state == .cancelled)
        #expect(try await page.items.isEmpty)
        #expect(sleepers() == [])
        #expect(engine.context.sessions.count == 0)
    }

    @Test("A wait ends with its time: what is known then is answered")
    func timeIsOver() async throws {
        let (engine, scope) = (fixture.engine, fixture.scope)
        let id = try await held(fixture)
        async let report = engine.modifiers.modifier(id, scope, wait: .seconds(1))
        try await fixture.clock.sleepers(until: .seconds(1))
        fixture.clock.advance(by: .seconds(1))
        #expect(try await report.state == .held)
        #expect(try await engine.modifiers.modifier(id, scope, wait: .zero).state == .held)
        #expect(sleepers() == [])
        #expect(engine.context.sessions.count == 0)
    }

    @Test("A wait ends when its client hangs up")
    func clientLeft() async throws {
        let (engine, scope) = (fixture.engine, fixture.scope)
        let id = try await held(fixture)
        let cancellation = ClientCancellation()
        async let report = engine.modifiers.modifier(
            id,
            scope,
            wait: .seconds(61),
            cancellation: cancellation
        )
        try await fixture.clock.sleepers(until: .seconds(61))
        cancellation.giveUp()
        _ = try await report
        #expect(sleepers() == [])
        #expect(engine.context.sessions.count == 0)
    }

    @Test("The daemon's end ends a wait, and says so")
    func daemonEnds() async throws {
        let (engine, scope) = (fixture.engine, fixture.scope)
        let id = try await held(fixture)
        async let one = problem {
            try await engine.modifiers.modifier(id, scope, wait: .seconds(61))
        }
        try await fixture.clock.sleepers(until: .seconds(61))
        var list = ModifierListCommand()
        list.selection = .unsettled
        list.wait = .seconds(62)
        let ready = list
        async let all = problem { try await engine.modifiers.list(ready, .one(scope)) }
        try await fixture.clock.sleepers(until: .seconds(62))
        engine.drain()
        #expect(await one == .daemonEnds)
        #expect(await all == .daemonEnds)
        #expect(sleepers() == [])
    }

    @Test("A pin's wait and a long poll end with their clients, and leave no sleeping task")
    func others() async throws {
        let (engine, scope) = (fixture.engine, fixture.scope)
        let url = try fixture.url("/a")
        fixture.upstream.answer(url, with: .json("[1]").held(by: Gate()))
        let pinning = ClientCancellation()
        async let pin = engine.pins.pin(
            EntryID(url),
            scope,
            wait: .seconds(61),
            cancellation: pinning
        )
        try await fixture.clock.sleepers(until: .seconds(61))
        pinning.giveUp()
        guard case .waiting = try await pin else {
            Issue.record("it is held")
            return
        }
        var watch = WatchOrder()
        watch.timeout = .seconds(62)
        let (polling, command) = (ClientCancellation(), watch)
        async let report = engine.watches.poll(
            command,
            scope: scope,
            client: nil,
            cancellation: polling
        )
        try await fixture.clock.sleepers(until: .seconds(62))
        polling.giveUp()
        #expect(try await report.items.isEmpty)
        #expect(sleepers().filter { $0 > .seconds(60) } == [])
        #expect(engine.context.sessions.count == 0)
    }

    // MARK: What they cost

    @Test("10,000 settlements of others are one flag for who waits: it looks once more")
    func oneFlag() async throws {
        let engine = fixture.engine
        let (news, cancellation, looks, gate) = (
            Listeners(), ClientCancellation(), Recorder<Int>(), Gate()
        )
        let count = Mutex(0)
        async let outcome: Bool = {
            let outcome = try await engine.context.wait(upTo: .seconds(61), cancellation, on: news)
            {
                () async throws(Problem) -> Void? in
                let look = count.withLock { count in
                    count += 1
                    return count
                }
                looks.record(look)
                if look == 1 { try? await gate.wait() }
                return look == 3 ? () : nil
            }
            if case .came = outcome { return true }
            return false
        }()
        _ = try await looks.element(0)
        for _ in 0..<10_000 { news.tell() }
        gate.open()
        _ = try await looks.element(1)
        #expect(looks.all == [1, 2])
        news.tell()
        #expect(try await outcome)
        #expect(looks.all == [1, 2, 3])
    }

    @Test("DELETE of a modifier leaves no sleeping task")
    func deletes() async throws {
        for number in 0..<10 {
            let id = try await held(fixture, "/\(number)")
            try await fixture.engine.modifiers.remove(id, fixture.scope, discarding: false)
        }
        #expect(sleepers() == [])
    }

    @Test("With many held modifiers and a stuck one, one task sleeps until the first is due")
    func oneAlarm() async throws {
        try await fixture.clock.sleepers(until: Limits.touchFlushTime)
        _ = try await held(fixture, "/stuck", for: .seconds(80_000))
        try await fixture.clock.sleepers(until: .seconds(80_000))
        for number in 0..<10 {
            let hold = Duration.seconds(100 - number)
            _ = try await held(fixture, "/\(number)", for: hold)
            try await fixture.clock.sleepers(until: hold)
            let others = [Limits.touchFlushTime, Limits.quietTime]
            #expect(fixture.clock.dues == (others + [hold]).sorted())
        }
    }

    // MARK: Steps that cannot be written

    @Test("A DELETE that cannot be written down is told so after a while, or when the daemon ends")
    func notWritten() async throws {
        let (engine, scope) = (fixture.engine, fixture.scope)
        let id = try await held(fixture)
        fixture.faults.arm(1, of: "INSERT INTO history", .forGood)
        defer { fixture.faults.disarm() }
        let remove: @Sendable () async -> Problem? = {
            await problem { try await engine.modifiers.remove(id, scope, discarding: false) }
        }
        async let first = remove()
        try await fixture.clock.sleepers(until: Limits.modifierStepTime)
        // Its step is tried again and again meanwhile.
        async let second = remove()
        try await fixture.clock.sleepers(2, until: Limits.modifierStepTime)
        fixture.clock.advance(by: Limits.modifierStepTime)
        #expect(await first?.kind == .overloaded)
        #expect(await second?.kind == .overloaded)
        async let third = remove()
        try await fixture.clock.sleepers(until: Limits.modifierStepTime * 2)
        engine.drain()
        #expect(await third == .daemonEnds)
    }
}

/// What some work throws; nil where it succeeds.
func problem<Value>(_ work: @Sendable () async throws -> Value) async -> Problem? {
    do {
        _ = try await work()
        return nil
    } catch {
        return error as? Problem
    }
}
