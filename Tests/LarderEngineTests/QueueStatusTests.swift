import LarderAPI
import LarderEngine
import LarderJSON
import LarderModel
import LarderStore
import LarderTestSupport
import LarderWire
import Testing

@Suite("The queue in status and statistics", .timeLimit(.minutes(5)), .engine)
struct QueueStatusTests {
    private let fixture = EngineFixture.running

    private func merge(
        _ fixture: EngineFixture,
        _ name: String,
        _ effect: Effect = .merge(.object([])),
        hold: Duration? = nil
    ) async throws -> ModifierID {
        let (url, writes) = (try fixture.url("/a"), try fixture.url("/w"))
        return try await fixture.write(.url(url), effect, "PATCH", to: writes, id: name, hold: hold)
    }

    /// A modifier that the keeper has in memory, so that it does not read what is written of it.
    private func heldAndKnown() async throws -> ModifierID {
        let hold = Duration.seconds(3_600)
        let id = try await merge(fixture, "m-1", hold: hold)
        try await fixture.clock.sleepers(until: hold)
        return id
    }

    private func write(_ id: ModifierID, _ state: ModifierState, isStalled: Bool) async throws {
        let number = try #require(
            try await fixture.engine.store.modifiers.number(id, of: fixture.scope)
        )
        let update = ModifierUpdate(
            number: number,
            state: state,
            nextAttemptAt: nil,
            attempts: 1,
            answersNotApplied: 1,
            isStalled: isStalled
        )
        _ = try await fixture.engine.store.modifiers.update(update)
    }

    @Test("Status tells the states, the oldest age and the bytes, and an empty queue is none")
    func states() async throws {
        var queue = await fixture.engine.monitor.status(connections: 0).queue
        #expect(queue.states.members.allSatisfy { $0.value == 0 })
        #expect(queue.oldestAgeMs == nil)
        #expect(queue.accountedBytes == 0)
        _ = try await merge(fixture, "m-1", hold: .seconds(3_600))
        fixture.clock.advance(by: .seconds(5))
        _ = try await merge(fixture, "m-2", hold: .seconds(3_600))
        fixture.clock.advance(by: .seconds(2))
        let status = await fixture.engine.monitor.status(connections: 0)
        queue = status.queue
        #expect(queue.states["held"] == 2)
        #expect(queue.unsettled == 2)
        #expect(queue.failed == 0)
        #expect(queue.oldestAgeMs == 7_000)
        #expect(queue.accountedBytes == fixture.engine.store.modifiers.totals.bytes)
        #expect(queue.accountedBytes > 0)
        #expect(queue.maxModifiers == 100_000)
        #expect(queue.maxBytes == 256 << 20)
        #expect(status.state == .ok)
    }

    @Test("Writes that are stalled or wait for a credential degrade the status (cases 10 and 23)")
    func degraded() async throws {
        let id = try await heldAndKnown()
        try await write(id, .retryWait, isStalled: true)
        var status = await fixture.engine.monitor.status(connections: 0)
        #expect(status.state == .degraded)
        #expect(status.queue.stalled == 1)
        #expect(status.warnings == ["1 modifiers are stalled: their origins put them off"])
        try await write(id, .authWait, isStalled: true)
        try await write(id, .authWait, isStalled: false)
        status = await fixture.engine.monitor.status(connections: 0)
        #expect(status.state == .degraded)
        #expect(status.queue.stalled == 0)
        #expect(
            status.warnings == ["1 write of uid 1000 must have a credential that the server takes"]
        )
        try await write(id, .queued, isStalled: false)
        #expect(await fixture.engine.monitor.status(connections: 0).state == .ok)
    }

    @Test("A write that waits for a person is a warning with its command, to administrators all")
    func waitingForPerson() async throws {
        let id = try await heldAndKnown()
        let own = ClientStatus(user: 1_000, groups: [], administrator: false)
        let other = ClientStatus(user: 1_001, groups: [], administrator: false)
        let root = ClientStatus(user: 0, groups: [], administrator: true)
        for (state, option) in [
            (ModifierState.unknown, " --discard"),
            (.authWait, " --discard"),
            (.conflict, " --discard"),
        ] {
            try await write(id, state, isStalled: false)
            let status = await fixture.engine.monitor.status(connections: 0, for: own)
            #expect(status.state == .degraded)
            #expect(status.findings.map(\.detail) == status.warnings)
            #expect(status.warnings.count == 1)
            #expect(status.warnings[0].hasPrefix("1 write m"))
            let fix = status.findings.first?.fix ?? ""
            #expect(fix.contains("cachectl queue list --state \(state.rawValue) "))
            #expect(fix.hasSuffix("cachectl queue drop --state \(state.rawValue)\(option)"))
            #expect(await fixture.engine.monitor.status(connections: 0, for: other).state == .ok)
            let all = await fixture.engine.monitor.status(connections: 0, for: root)
            #expect(all.warnings[0].hasPrefix("1 write of uid 1000 m"))
            #expect(all.findings[0].fix?.hasSuffix("--uid 1000") == true)
        }
        try await write(id, .authWait, isStalled: false)
        let refused = await fixture.engine.monitor.status(connections: 0, for: own)
        let fix = refused.findings[0].fix ?? ""
        #expect(fix.contains("cachectl origin login NAME"))
        #expect(!fix.contains("retry"), "a retry is refused as well")
        try await write(id, .queued, isStalled: false)
        #expect(await fixture.engine.monitor.status(connections: 0, for: own).warnings == [])
        let lane = Lane.name(try LaneName("cart"))
        try await fixture.engine.modifiers.setLane(lane, fixture.scope, isPaused: true)
        let paused = await fixture.engine.monitor.status(connections: 0, for: own)
        #expect(paused.warnings == ["the lane 'name:cart' is paused"])
        #expect(paused.findings[0].fix == "Let it go on: cachectl queue resume 'name:cart'")
        #expect(await fixture.engine.monitor.status(connections: 0, for: other).state == .ok)
        try await fixture.engine.modifiers.setLane(lane, fixture.scope, isPaused: false)
        #expect(await fixture.engine.monitor.status(connections: 0, for: own).state == .ok)
    }

    @Test(
        "A write that is refused or put off is in the log, with what its origin answered",
        arguments: [(403, "refused"), (503, "put off"), (401, "refused for its credential")]
    )
    func logged(status: Int, words: String) async throws {
        let url = try fixture.url("/w")
        fixture.upstream.answer(url, with: .reply("no", status: status))
        _ = try await merge(fixture, "m-1")
        var place = 0
        var line = ""
        repeat {
            line = try await fixture.log.lines.element(place)
            place += 1
        } while !line.hasPrefix("a write was not confirmed")
        #expect(
            line == "a write was not confirmed id=m-1 origin=example reason=\(status) "
                + "state=\(words) uid=1000"
        )
    }

    @Test("A queue that is four fifths full is a warning (case 2)")
    func nearlyFull() async throws {
        let setup = try EngineSetup.with { $0.store.queue.maxModifiers = 5 }
        try await EngineFixture.run(setup) { fixture in
            for number in 1...4 {
                _ = try await merge(fixture, "m-\(number)", hold: .seconds(3_600))
            }
            #expect(await fixture.engine.monitor.status(connections: 0).state == .ok)
            _ = try await merge(fixture, "m-5", hold: .seconds(3_600))
            let status = await fixture.engine.monitor.status(connections: 0)
            #expect(status.state == .degraded)
            #expect(status.warnings.count == 1)
            #expect(status.warnings[0].hasPrefix("the queue is nearly full: 5 of 5 modifiers, "))
        }
    }

    @Test("A queue that cannot be read is a warning, and no failure")
    func unreadable() async throws {
        fixture.faults.arm(1, of: StoreStep.oldest, .forGood)
        let status = await fixture.engine.monitor.status(connections: 0)
        #expect(status.state == .degraded)
        #expect(status.warnings.count == 1)
        #expect(status.warnings[0].hasPrefix("the queue was not read: "))
    }

    @Test("Counters count each modifier once, also one that is given again")
    func counters() async throws {
        fixture.upstream.answer(
            try fixture.url("/w"),
            with: .reply(status: 204),
            .reply("no", status: 403),
            .reply("no", status: 403)
        )
        // What is settled is asked for again.
        for _ in 0..<3 { fixture.upstream.answer(try fixture.url("/a"), with: .json("{}")) }
        let effects: [Effect] = [.merge(.object([])), .merge(.object([])), .none]
        for (number, effect) in effects.enumerated() {
            let id = try await merge(fixture, "m-\(number)", effect)
            _ = try await fixture.settled(id)
        }
        let held = try await merge(fixture, "m-9", hold: .seconds(3_600))
        _ = try await merge(fixture, "m-9", hold: .seconds(3_600))
        try await fixture.engine.modifiers.remove(held, fixture.scope, discarding: false)
        let counts = fixture.engine.monitor.stats().modifiers
        #expect(counts.accepted == 4)
        #expect(counts.confirmed == 1)
        #expect(counts.failed == 2)
        #expect(counts.reverts == 1)
        #expect(counts.cancelled == 1)
        #expect(counts.attempts == 3)
    }
}
