import Glibc
import LarderAPI
import LarderEngine
import LarderModel
import LarderStore
import LarderTestSupport
import LarderWire
import Synchronization
import Testing

@Suite("The daemon looks at itself", .timeLimit(.minutes(5)), .engine)
struct CheckTests {
    private let fixture = EngineFixture.running

    private func states() async throws -> [String: FindingState] {
        let report = try await fixture.engine.monitor.examine(daemonUID: getuid())
        let pairs = report.map { ($0.subject, $0.state) }
        return Dictionary(pairs) { first, _ in first }
    }

    @Test("A state.db that was set aside is a warning with the command that removes it")
    func setAside() async throws {
        let rights = fixture.engine.store.files.rights
        let state = try #require(rights.first { $0.path.hasSuffix("/state.db") }).path
        let aside = state + ".aside.2"
        #expect(await fixture.engine.monitor.status(connections: 0).warnings == [])
        let file = open(aside, O_WRONLY | O_CREAT, 0o600)
        #expect(write(file, "123", 3) == 3)
        close(file)
        let report = try await fixture.engine.monitor.examine(daemonUID: getuid())
        let told = report.filter { $0.fix == "rm '\(aside)'" }
        #expect(told.map(\.state) == [.warning])
        #expect(told.first?.detail.contains("3 bytes") == true)
        let warnings = await fixture.engine.monitor.status(connections: 0).warnings
        #expect(warnings.count == 1)
        #expect(warnings.first?.hasSuffix("rm '\(aside)'") == true)
        unlink(aside)
        #expect(await fixture.engine.monitor.status(connections: 0).warnings == [])
    }

    @Test("All is well in a new cache, and the folder that others may open is told with its fix")
    func permissions() async throws {
        try await fixture.put("a", "1")
        fixture.clock.advance(by: Limits.plausibleSince.since(ManualClock.start))
        let before = try await states()
        #expect(before["cache.db"] == .ok)
        #expect(before["state.db"] == .ok)
        #expect(before["permissions"] == .ok)
        #expect(before["clock"] == .ok)
        let folder = try #require(fixture.engine.store.files.rights.first { $0.isDirectory })
            .path
        try #require(chmod(folder, 0o755) == 0)
        let report = try await fixture.engine.monitor.examine(daemonUID: getuid())
        let found = try #require(report.first { $0.subject == "permissions" })
        #expect(found.state == .warning)
        #expect(found.detail == "\(folder) is open to others: 0755")
        #expect(found.fix == "chmod 0700 '\(folder)'")
        let other = try await fixture.engine.monitor.examine(daemonUID: 4_000_000_001)
        #expect(other.contains { $0.subject == "permissions" && $0.state == .failed })
    }

    @Test("A reserve that is missing, in want of room or obstructed is told with its fix")
    func reserves() async throws {
        let free = Mutex<Int64>(1 << 40)
        let setup = try EngineSetup.with { setup in
            setup.store.reserveBytes = 1 << 20
            setup.store.freeBytes = { _ in free.withLock { $0 } }
        }
        try await EngineFixture.run(setup) { fixture in
            let folders = fixture.engine.store.files.rights.filter(\.isDirectory).map(\.path)
            let paths = folders.map { $0 + "/reserve" }
            func findings() async throws -> [Finding] {
                let report = try await fixture.engine.monitor.examine(daemonUID: 7)
                return report.filter { $0.subject == "reserve" }
            }
            let held = paths.map { Finding("reserve", .ok, "\($0) holds 1MiB") }
            #expect(paths.count == 2)
            #expect(try await findings() == held)
            unlink(paths[0])
            let missing = Finding(
                "reserve",
                .warning,
                "\(paths[0]), which is to hold 1MiB, is missing or cut short",
                fix: "Wait 5s: the daemon makes it again. If it does not, see that uid 7 may write "
                    + "into its folder."
            )
            #expect(try await findings() == [missing, held[1]])
            free.withLock { $0 = 5 << 20 - 3 }
            let noRoom = Finding(
                "reserve",
                .warning,
                "\(paths[0]) is not held: there is no room for its 1MiB",
                fix: "Free 3 bytes more on its disk: the daemon takes it again by itself."
            )
            #expect(try await findings() == [noRoom, held[1]])
            mkdir(paths[0], 0o700)
            let obstructed = Finding(
                "reserve",
                .warning,
                "\(paths[0]), which is to hold 1MiB, is no file",
                fix: "mv '\(paths[0])' '\(paths[0]).aside'"
            )
            #expect(try await findings() == [obstructed, held[1]])
            rmdir(paths[0])
            free.withLock { $0 = 1 << 40 }
            try await fixture.engine.store.maintain()
            #expect(try await findings() == held)
        }
    }

    @Test("A clock that cannot be right is told")
    func clock() async throws {
        #expect(try await states()["clock"] == .failed)
        fixture.clock.advance(by: Limits.plausibleSince.since(ManualClock.start))
        try await fixture.put("a", "1")
        #expect(try await states()["clock"] == .ok)
        let now = fixture.clock.now()
        for (seconds, state) in [(60, FindingState.ok), (61, .warning)] {
            let entry = Entry(
                id: try EntryID("future"),
                kind: .fetched,
                storedAt: now.advanced(by: .seconds(seconds)),
                revision: Revision(0),
                body: BodySummary(of: [], isJSON: false)
            )
            let new = NewEntry(scope: fixture.scope, entry: entry, body: .inline([]))
            _ = try await fixture.engine.store.put(new, now: now)
            #expect(try await states()["clock"] == state)
        }
    }
}
