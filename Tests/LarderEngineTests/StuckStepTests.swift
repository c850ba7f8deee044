import LarderJSON
import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@testable import LarderEngine
@testable import LarderStore

/// Steps of the queue that fail for ever: whom they concern waits, and nobody else.
@Suite(
    "Steps that fail for ever",
    .timeLimit(.minutes(5)),
    .engine {
        let url = try WebURL("https://other.example.com")
        $0.others = [OriginSettings(name: try OriginName("other"), baseURL: url)]
    }
)
struct StuckStepTests {
    private let fixture = EngineFixture.running
    private static let other = "https://other.example.com"

    private func accept(
        _ fixture: EngineFixture,
        _ url: WebURL,
        _ effect: Effect = .none
    ) async throws -> ModifierID {
        try await fixture.write(.url(url), effect, "PUT")
    }

    /// One in a lane of its own, and one of another origin, are sent and settle.
    private func expectOthersToSettle(_ fixture: EngineFixture) async throws {
        for url in [try fixture.url("/free"), try WebURL(Self.other + "/1")] {
            fixture.upstream.answer(url, with: .reply(status: 204), .json("{}"))
            let id = try await accept(fixture, url)
            let report = try await fixture.settled(id)
            #expect(report.state == .confirmed, "\(url.text)")
        }
    }

    @Test("More settle steps than an origin has places fail, and others are sent and settle")
    func settleSteps() async throws {
        defer { fixture.faults.disarm() }
        // What is confirmed becomes base, which is too large for its row.
        let large = String(repeating: "x", count: Limits.inlineBodyBytesMax)
        fixture.faults.arm(1, of: "INTO chunk", .forGood)
        for number in 0...Limits.modifiersInFlightMax {
            let url = try fixture.url("/\(number)")
            fixture.upstream.answer(url, with: .reply(status: 204))
            _ = try await accept(fixture, url, .put(.string(large)))
            _ = try await fixture.upstream.asked.element(number)
        }
        try await expectOthersToSettle(fixture)
        #expect(fixture.faults.failures > 0)
        #expect(fixture.engine.store.modifiers.totals.unsettled > Limits.modifiersInFlightMax)
    }

    @Test("A look for what was accepted fails, and what is known is sent and settles")
    func looks() async throws {
        defer { fixture.faults.disarm() }
        try await expectOthersToSettle(fixture)
        fixture.faults.arm(
            1,
            of: "settled_at IS NULL AND number > :after ORDER BY number",
            .forGood
        )
        fixture.engine.context.modifiers.arrived()
        // It is looked again after a while, by the clock.
        try await fixture.clock.sleepers(until: Limits.modifierRetryBase)
        try await expectOthersToSettle(fixture)
        fixture.faults.disarm()
        fixture.clock.advance(by: Limits.modifierRetryBase)
        try await expectOthersToSettle(fixture)
    }

    @Test("A modifier that cannot be read is no dead letter, and others are sent and settle")
    func unreadable() async throws {
        defer { fixture.faults.disarm() }
        try SQLiteConnection(path: fixture.temporary.statePath, mode: .readWrite).execute(
            """
            INSERT INTO modifier (scope, id, origin, state, depends_on, attempts, not_applied,
                stalled, round, accepted_at, rev, digest_high, digest_low, size, changes,
                method, url, headers)
            VALUES ('1000:default', 'odd', 'example', 'levitating', '', 0, 0, 0, 1, 0, 1, 1, 1,
                0, 0, 'PUT', 'https://api.example.com/odd', '')
            """
        )
        fixture.faults.arm(1, of: "found_state", .forGood)
        fixture.engine.context.modifiers.arrived()
        try await fixture.clock.sleepers(until: Limits.modifierRetryBase)
        #expect(fixture.faults.failures > 0)
        try await expectOthersToSettle(fixture)
        fixture.faults.disarm()
        fixture.clock.advance(by: Limits.modifierRetryBase)
        try await expectOthersToSettle(fixture)
    }
}
