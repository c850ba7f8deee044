import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("Deadlines of writes over a start of the machine")
struct DeadlineShiftTests {
    @Test(
        "After a power cut a write keeps the time that it had when the clocks were noted (case 27)",
        arguments: [false, true]
    )
    func powerCut(losesCache: Bool) async throws {
        let boots = Recorder<Int64>()
        boots.record(1)
        let temporary = try TemporaryStore(configure: { configuration in
            configuration.boot = boots.all.last
            configuration.uptime = { 0 }
            configuration.isClockSynchronized = { boots.all.last == 1 }
        })
        func accept(_ name: String, at now: Int64) async throws {
            var new = NewModifier.changing([name], name, temporary.scope)
            new.expiresAt = Timestamp(milliseconds: now + 100_000)
            let moment = Timestamp(milliseconds: now)
            _ = try await temporary.store.modifiers.accept([new], now: moment)
        }
        try await temporary.store.modifiers.correctMoments(now: .epoch)
        try await accept("old", at: 10_000)
        try await temporary.store.modifiers.noteClocks(now: Timestamp(milliseconds: 40_000))
        try await accept("new", at: 50_000)
        boots.record(2)
        if losesCache { try temporary.loseCache() } else { try temporary.crash() }
        let now: Int64 = 9_000_000
        try await temporary.store.modifiers.correctMoments(now: Timestamp(milliseconds: now))
        func left(_ name: String) throws -> Int64? {
            try temporary.stateInteger("SELECT expires_at FROM modifier WHERE id = '\(name)'")
                .map { $0 - now }
        }
        #expect(try left("old") == (losesCache ? 100_000 : 70_000))
        #expect(try left("new") == 100_000)
        // A clock that is behind gives a write no more than its own time.
        boots.record(3)
        try temporary.crash()
        try await temporary.store.modifiers.correctMoments(now: Timestamp(milliseconds: 1))
        let duration = "SELECT max(expires_at - accepted_at) FROM modifier"
        #expect(try temporary.stateInteger(duration) == 100_000)
    }
}
