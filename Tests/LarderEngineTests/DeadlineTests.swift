import LarderAPI
import LarderJSON
import LarderModel
import LarderStore
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

@Suite("The time of hold and expires", .timeLimit(.minutes(1)))
struct DeadlineTests {
    private let url = EngineFixture.firstURL

    /// Accepts a write into a paused lane.
    private func write(_ fixture: EngineFixture, expires: Duration) async throws -> ModifierID {
        let lane = try LaneName("paused")
        try await fixture.engine.modifiers.setLane(.name(lane), fixture.scope, isPaused: true)
        return try await fixture.write(.url(url), .none, "POST", id: "a") {
            ($0.lane, $0.expires) = (lane, expires)
        }
    }

    // MARK: Suspends

    @Test("A write expires in a suspend, and a client hears it after that (case 27)", .engine)
    func suspendExpires() async throws {
        let fixture = EngineFixture.running
        let id = try await write(fixture, expires: .seconds(1_234))
        try await fixture.clock.sleepers(until: .seconds(1_234))
        fixture.clock.suspend(for: .seconds(1_234))
        let report = try await fixture.settled(id)
        #expect(report.state == .failed)
        #expect(report.reason == .expired)
    }

    @Test("The hold of a write ends in a suspend (case 27)", .engine)
    func suspendHold() async throws {
        let fixture = EngineFixture.running
        fixture.upstream.answerOthers { .reply(status: $0.method == "GET" ? 403 : 204) }
        let hold = Duration.seconds(1_234)
        let id = try await fixture.write(.url(url), .none, "POST", hold: hold)
        try await fixture.clock.sleepers(until: hold)
        fixture.clock.suspend(for: hold)
        #expect(try await fixture.settled(id).state == .confirmed)
    }

    // MARK: Reboots

    /// A start of the machine.
    private struct Start {
        let isSynchronized: Bool
        let clock = ManualClock()
    }

    /// A reboot after 437 of the 1,000 seconds of a write.
    struct Reboot: Sendable {
        let wasSynchronized: Bool
        let isSynchronized: Bool
        /// The wall clock after the reboot, in seconds since the write was accepted.
        let wall: Int64
        let left: Int64
    }

    private func makeStore(of starts: Recorder<Start>) throws -> TemporaryStore {
        try TemporaryStore(
            now: { starts.all.last?.clock.now() ?? ManualClock.start },
            configure: { configuration in
                configuration.boot = Int64(starts.all.count)
                configuration.uptime = { starts.all.last?.clock.boot.monotonic().milliseconds }
                configuration.isClockSynchronized = { starts.all.last?.isSynchronized ?? false }
            }
        )
    }

    @Test(
        "Over a reboot only the time of a synchronized clock counts (case 27)",
        arguments: [
            Reboot(wasSynchronized: true, isSynchronized: true, wall: 813, left: 187),
            Reboot(wasSynchronized: true, isSynchronized: true, wall: 5_000, left: 0),
            Reboot(wasSynchronized: true, isSynchronized: false, wall: 5_000, left: 563),
            Reboot(wasSynchronized: false, isSynchronized: true, wall: 5_000, left: 563),
            Reboot(wasSynchronized: false, isSynchronized: false, wall: 813, left: 563),
        ]
    )
    func reboot(_ reboot: Reboot) async throws {
        let starts = Recorder<Start>()
        let first = Start(isSynchronized: reboot.wasSynchronized)
        starts.record(first)
        let temporary = try makeStore(of: starts)
        try await EngineFixture.run(on: temporary, at: first.clock) { fixture in
            _ = try await write(fixture, expires: .seconds(1_000))
            fixture.clock.advance(by: .seconds(437))
        }
        let second = Start(isSynchronized: reboot.isSynchronized)
        second.clock.advance(by: .seconds(reboot.wall))
        starts.record(second)
        try temporary.open()
        try await EngineFixture.run(on: temporary, at: second.clock) { fixture in
            let id = try ModifierID("a")
            guard reboot.left > 0 else {
                #expect(try await fixture.settled(id).reason == .expired)
                return
            }
            try await fixture.clock.sleepers(until: .seconds(reboot.wall + reboot.left))
            let report = try await fixture.engine.modifiers.modifier(id, fixture.scope)
            #expect(report.state == .queued)
            fixture.clock.advance(by: .seconds(reboot.left))
            #expect(try await fixture.settled(id).reason == .expired)
        }
    }
}
