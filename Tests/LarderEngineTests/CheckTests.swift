import Glibc
import LarderEngine
import LarderModel
import LarderStore
import LarderTestSupport
import LarderWire
import Testing

@Suite("The daemon looks at itself", .timeLimit(.minutes(1)))
struct CheckTests {
    private func states(_ fixture: EngineFixture) async throws -> [String: CheckReport.State] {
        let report = try await fixture.engine.examine(daemonUID: getuid())
        let pairs = report.findings.map { ($0.subject, $0.state) }
        return Dictionary(pairs) { first, _ in first }
    }

    @Test("All is well in a new cache, and the folder that others may open is told with its fix")
    func permissions() async throws {
        try await EngineFixture.run { fixture in
            try await fixture.put("a", "1")
            fixture.clock.advance(by: Limits.plausibleSince.since(ManualClock.start))
            let before = try await states(fixture)
            #expect(before["cache.db"] == .ok)
            #expect(before["state.db"] == .ok)
            #expect(before["permissions"] == .ok)
            #expect(before["clock"] == .ok)
            let folder = try #require(fixture.engine.store.fileRights.first { $0.isDirectory }).path
            try #require(chmod(folder, 0o755) == 0)
            let report = try await fixture.engine.examine(daemonUID: getuid())
            let found = try #require(report.findings.first { $0.subject == "permissions" })
            #expect(found.state == .warning)
            #expect(found.detail == "\(folder) is open to others: 0755")
            #expect(found.fix == "chmod 0700 '\(folder)'")
            let other = try await fixture.engine.examine(daemonUID: 4_000_000_001)
            #expect(other.findings.contains { $0.subject == "permissions" && $0.state == .failed })
        }
    }

    @Test("A clock that cannot be right is told")
    func clock() async throws {
        try await EngineFixture.run { fixture in
            #expect(try await states(fixture)["clock"] == .failed)
            fixture.clock.advance(by: Limits.plausibleSince.since(ManualClock.start))
            try await fixture.put("a", "1")
            #expect(try await states(fixture)["clock"] == .ok)
            let now = fixture.clock.now()
            for (seconds, state) in [(60, CheckReport.State.ok), (61, .warning)] {
                let entry = Entry(
                    id: try EntryID("future"),
                    kind: .fetched,
                    storedAt: now.advanced(by: .seconds(seconds)),
                    revision: Revision(0),
                    body: BodySummary(of: [], isJSON: false)
                )
                let new = NewEntry(scope: fixture.scope, entry: entry, body: .inline([]))
                _ = try await fixture.engine.store.put(new, now: now)
                #expect(try await states(fixture)["clock"] == state)
            }
        }
    }
}
