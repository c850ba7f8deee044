import Foundation
import LarderModel
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderStore

@Suite("Copies of state.db")
struct StateSnapshotTests {
    private let temporary = TemporaryStore.new()

    private func snapshots(
        of temporary: TemporaryStore,
        every age: Duration? = .seconds(60),
        hasRoom: Bool = true
    ) -> StateSnapshots {
        var configuration = temporary.store.configuration
        configuration.snapshotAge = age
        configuration.freeBytes = { _ in hasRoom ? nil : 0 }
        configuration.reserveBytes = 0
        let reserves = Reserve.ofFolders(configuration)
        let shared = SharedCacheState(configuration, reserves, keySeed: 0) { .epoch }
        return StateSnapshots(shared, temporary.store.stateFile.file)
    }

    private func modifiers(in path: String) throws -> Int64? {
        try SQLiteConnection(path: path, mode: .readOnly).integer("SELECT count(*) FROM modifier")
    }

    private var now: Timestamp {
        Timestamp(milliseconds: Int64(Date.now.timeIntervalSince1970 * 1_000))
    }

    @Test("A snapshot is taken of a file in use, for its owner only, and again when it is old")
    func taken() async throws {
        let path = temporary.statePath + ".snapshot"
        let snapshots = snapshots(of: temporary)
        try await temporary.accept("one", "a")
        let begin = now
        snapshots.takeIfDue(now: begin)
        snapshots.wait()
        #expect(try modifiers(in: path) == 1)
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
        #expect(mode as? Int == 0o600)
        try await temporary.accept("two", "b")
        // Not old yet.
        snapshots.takeIfDue(now: begin.advanced(by: .seconds(30)))
        snapshots.wait()
        #expect(try modifiers(in: path) == 1)
        snapshots.takeIfDue(now: begin.advanced(by: .seconds(86_400)))
        snapshots.wait()
        #expect(try modifiers(in: path) == 2)
        #expect(!FileManager.default.fileExists(atPath: path + ".new"))
    }

    @Test("No copy has a credential, not even in its free space (case 23)")
    func credentials() async throws {
        let name = CredentialName(.own(uid: 1_000, account: .default), at: try OriginName("a"))
        let secret = "s3cret" + String(repeating: "-", count: 9_000) + "s3cret"
        try await temporary.store.setCredential(
            StoredCredential(
                name,
                address: "https://a.example",
                Credential(header: "Authorization", value: secret, setAt: .epoch)
            )
        )
        let snapshots = snapshots(of: temporary)
        snapshots.takeIfDue(now: now)
        snapshots.wait()
        let file = temporary.store.stateFile.file
        try file.copyBeforeMigration(try file.connect(.readOnly), from: 7)
        for path in [file.snapshotPath, file.copyPath(before: 7)] {
            #expect(try modifiers(in: path) == 0)
            let copy = try Data(contentsOf: URL(fileURLWithPath: path))
            #expect(copy.range(of: Data("s3cret".utf8)) == nil, "\(path)")
        }
        #expect(try temporary.store.credentials().count == 1)
    }

    @Test("The next start removes a copy that a killed process has left (case 23)")
    func unfinished() async throws {
        let file = temporary.store.stateFile.file
        let unfinished = [file.path, file.snapshotPath, file.copyPath(before: 7)]
            .map { $0 + ".new" }
        for path in unfinished {
            #expect(FileManager.default.createFile(atPath: path, contents: Data("s3cret".utf8)))
        }
        try await temporary.reopen()
        #expect(!unfinished.contains { FileManager.default.fileExists(atPath: $0) })
    }

    @Test("None is taken without room, of what has not changed, or where there are to be none")
    func left() async throws {
        let path = temporary.statePath + ".snapshot"
        try await temporary.accept("one", "a")
        for without in [
            snapshots(of: temporary, every: nil), snapshots(of: temporary, hasRoom: false),
        ] {
            without.takeIfDue(now: now)
            without.wait()
            #expect(!FileManager.default.fileExists(atPath: path))
        }
        let snapshots = snapshots(of: temporary)
        snapshots.takeIfDue(now: now)
        snapshots.wait()
        let number = try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber]
        snapshots.takeIfDue(now: now.advanced(by: .seconds(86_400)))
        snapshots.wait()
        let later = try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber]
        #expect(number as? Int == later as? Int)
    }

    @Test("A failed snapshot is reported, leaves the old one, and is tried again after a pause")
    func failing() async throws {
        let snapshots = snapshots(of: temporary)
        let found = snapshots.shared.findings
        // A folder under the name that a new one has at first.
        let obstacle = temporary.statePath + ".snapshot.new"
        try FileManager.default.createDirectory(
            atPath: obstacle + "/full",
            withIntermediateDirectories: true
        )
        let begin = now
        snapshots.takeIfDue(now: begin)
        snapshots.wait()
        let told = found.takeUntold()
        #expect(told.count == 1 && told[0].sentence.contains(temporary.statePath))
        snapshots.takeIfDue(now: begin.advanced(by: .seconds(60)))
        snapshots.wait()
        #expect(found.takeUntold().isEmpty)
        try FileManager.default.removeItem(atPath: obstacle)
        snapshots.takeIfDue(now: begin.advanced(by: .seconds(7_200)))
        snapshots.wait()
        #expect(try modifiers(in: temporary.statePath + ".snapshot") == 0)
        #expect(found.takeUntold().isEmpty)
    }

    @Test("That of a damaged file is kept with it")
    func keptAside() async throws {
        try temporary.crash { directory in
            try directory.write("state/state.db", .pattern(20_000))
            try directory.write("state/state.db-wal", [])
            try directory.write("state/state.db.snapshot", [1])
        }
        let path = temporary.statePath
        #expect(
            temporary.store.files.findings.contains {
                $0.hasPrefix("\(path).aside.snapshot is a copy")
            }
        )
        #expect(try Data(contentsOf: URL(filePath: path + ".aside.snapshot")) == Data([1]))
        #expect(!FileManager.default.fileExists(atPath: path + ".snapshot"))
    }

    @Test("On a full disk it gives way, and none is taken while the reserve is not held")
    func givesWay() async throws {
        let directory = try TemporaryDirectory()
        let free = Mutex<Int64?>(nil)
        let path = directory.path("state.db.snapshot")
        let reserve = Reserve(directory: directory.path, bytes: 65_536, expendable: path) { _ in
            free.withLock { $0 }
        }
        try directory.write("state.db.snapshot", [1])
        #expect(reserve.take())
        free.withLock { $0 = 0 }
        #expect(reserve.release())
        #expect(!FileManager.default.fileExists(atPath: path))
        #expect(!reserve.release())
        // Somebody had the reserve's space: that of the copy is worth another try.
        try directory.write("state.db.snapshot", [1])
        #expect(reserve.release())
        #expect(!reserve.isHeld)
    }

    @Test("The store takes none while its reserve is not held")
    func notWithoutReserve() async throws {
        let free = Mutex<Int64>(0)
        let clock = Mutex(now)
        let temporary = try TemporaryStore(
            now: { clock.withLock { $0 } },
            configure: { configuration in
                configuration.snapshotAge = .seconds(60)
                configuration.reserveBytes = 65_536
                configuration.minFreeBytes = ByteSize(bytes: 0)
                configuration.freeBytes = { _ in free.withLock { $0 } }
            }
        )
        let path = temporary.statePath + ".snapshot"
        try await temporary.store.maintain()
        temporary.store.snapshots.wait()
        #expect(!FileManager.default.fileExists(atPath: path))
        free.withLock { $0 = 1 << 30 }
        clock.withLock { $0 = $0.advanced(by: .seconds(7_200)) }
        try await temporary.store.maintain()
        temporary.store.snapshots.wait()
        #expect(FileManager.default.fileExists(atPath: path))
    }
}
