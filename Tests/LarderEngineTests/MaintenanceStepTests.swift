import LarderModel
import LarderTestSupport
import Testing

@testable import LarderEngine

@Suite("Maintenance while the daemon runs")
struct MaintenanceStepTests {
    @Test("Maintenance runs soon after a change, and rarely without one")
    func rounds() async throws {
        let (soon, quiet) = (Limits.touchFlushTime, Limits.quietTime)
        try await EngineFixture.run { fixture in
            let clock = fixture.clock
            try await clock.sleepers(until: soon)
            try await clock.sleepers(until: quiet)
            clock.advance(by: soon)
            // A round that nothing follows: only the rare one is waited for.
            try await fixture.cache(fixture.url("/a"), .json("{}"))
            try await clock.sleepers(until: soon * 2)
            clock.advance(by: soon)
            clock.advance(by: quiet - soon * 2)
            try await clock.sleepers(until: quiet * 2)
            #expect(clock.dues.allSatisfy { $0 == quiet * 2 })
        }
    }
}
