import Foundation
import LarderModel
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderStore

/// P-02, P-07, P-13: what disks do to `state.db`.
@Suite("Damage of state.db", .timeLimit(.minutes(5)))
struct StateDamageTests {
    private let temporary = TemporaryStore.new()

    /// A closed store with modifiers, whose state.db is larger than what is read through at start.
    private func large() async throws -> TemporaryStore {
        try await temporary.put("cached", [1])
        for number in 0..<200 { try await temporary.accept("m\(number)", "a\(number)") }
        try await temporary.close()
        try temporary.changeState(
            """
            INSERT INTO body (body, size, linked) VALUES (1, 0, 1);
            INSERT INTO chunk (chunk, checksum, data)
            WITH RECURSIVE number(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM number WHERE n < 4)
            SELECT (1 << 20) + n, 0, zeroblob(16 << 20) FROM number
            """
        )
        #expect(DiskSpace.fileBytes(at: temporary.statePath) > Limits.checkedStateBytesMax)
        return temporary
    }

    @Test(
        "A large file is salvaged, wherever the start meets its damage",
        arguments: ["claim", "modifier", "change", "modifier_id", "change_target", "paused_lane"]
    )
    func largeFile(table: String) async throws {
        let temporary = try await large()
        let pages = StatePages(path: temporary.statePath)
        let root = try pages.root(of: table)
        // The last of the leaves below it, which no statement meets that is only prepared.
        let page = try pages.children(of: root).dropFirst().first ?? root
        try pages.write(.noise(StatePages.bytes), at: page)
        try temporary.open()
        #expect(temporary.store.files.findings.count >= 1)
        #expect(DiskSpace.fileBytes(at: temporary.statePath + ".aside") > 64 << 20)
        #expect(try temporary.count("modifier") ?? 0 > 100)
        try await temporary.accept("next", "a0")
        #expect(try await temporary.bytes("cached") == [1])
        try await temporary.reopen()
        #expect(temporary.store.files.findings == [])
    }

    @Test("Damage that a large file shows at work is told with the restart, which then finds it")
    func metAtWork() async throws {
        let temporary = try await large()
        let pages = StatePages(path: temporary.statePath)
        // Within the chunks, which a start does not read.
        try pages.write(.noise(StatePages.bytes), at: pages.count - 1_000)
        try temporary.open()
        #expect(temporary.store.files.findings == [] && temporary.store.files.warnings == [])
        temporary.faults.arm(1, of: "FROM claim", with: .corrupt)
        await #expect(throws: StoreError.self) {
            _ = try await temporary.store.pins.pin(temporary.scope, named("a0"))
        }
        #expect(temporary.store.files.warnings.contains { $0.contains("restart the daemon") })
        try await temporary.reopen()
        #expect(temporary.store.files.findings.count >= 1 && temporary.store.files.warnings == [])
        #expect(try temporary.count("modifier") == 200)
        try await temporary.reopen()
        #expect(temporary.store.files.findings == [])
    }

    @Test("A salvage ends where pages of another moment, in the place of later ones, lead back")
    func circle() async throws {
        for number in 0..<400 { try await temporary.accept("m\(number)", "a\(number)") }
        try await temporary.close()
        let pages = StatePages(path: temporary.statePath)
        for table in ["modifier", "claim"] {
            let leaves = try pages.children(of: pages.root(of: table))
            try #require(leaves.count > 4)
            try pages.write(try pages.read(leaves[0]), at: leaves[leaves.count / 2])
        }
        try temporary.open()
        #expect(temporary.store.files.findings.count >= 1)
        #expect(try temporary.count("modifier") ?? 0 > 300)
        try await temporary.accept("next", "a0")
        try await temporary.reopen()
        #expect(temporary.store.files.findings == [])
    }

    @Test("A page of rows whose keys do not ascend is damage, and no endless loop")
    func circleAtWork() async throws {
        let connection = try SQLiteConnection(path: ":memory:", mode: .readWrite)
        let statement = try connection.prepare("SELECT column1 FROM (VALUES (1), (2), (2), (3))")
        #expect(throws: StoreError.self) {
            _ = try statement.page(by: .only, after: 0) { row throws(StoreError) in
                row.integer(.only)
            }
        }
    }

    @Test("A table that is not there is damage of the file, in either of them")
    func missingTable() async throws {
        for (isState, sql) in [(true, "DROP TABLE history"), (false, "DROP TABLE recency")] {
            let temporary = try TemporaryStore()
            try await temporary.put("a", [1])
            try await temporary.accept("m", "b")
            try await temporary.close()
            let path = isState ? temporary.statePath : temporary.cachePath
            try SQLiteConnection(path: path, mode: .readWrite).execute(sql)
            try temporary.open()
            #expect(temporary.store.files.findings.count == 1, "\(temporary.store.files.findings)")
            #expect(try await temporary.store.modifiers.unsettled(after: nil).count == 1)
            #expect(try await temporary.bytes("a") == (isState ? [1] : nil))
        }
    }

    @Test(
        "A header that says another version than the tables is damage, and no row is lost by it",
        arguments: [-1, 0, 1, 5, 9]
    )
    func wrongVersion(version: Int) async throws {
        try await temporary.accept("m", "b")
        try await temporary.close()
        try temporary.changeState("PRAGMA user_version=\(version)")
        try temporary.open()
        #expect(temporary.store.files.findings.count == 1, "\(temporary.store.files.findings)")
        #expect(try await temporary.store.modifiers.unsettled(after: nil).count == 1)
        try await temporary.reopen()
        #expect(temporary.store.files.findings == [])
    }

    @Test("A table that a file of an earlier version has lost is damage, and no other is")
    func missingEarlierTable() async throws {
        try await temporary.accept("m", "b")
        try await temporary.close()
        try temporary.changeState(
            """
            ALTER TABLE modifier DROP COLUMN answer_at; DROP TABLE history; PRAGMA user_version=9
            """
        )
        try temporary.open()
        #expect(temporary.store.files.findings.count == 1, "\(temporary.store.files.findings)")
        #expect(try await temporary.store.modifiers.unsettled(after: nil).count == 1)
    }

    @Test("A salvage for which the disk has no room leaves nothing of it on the disk")
    func salvageOnFullDisk() async throws {
        try await temporary.accept("m", "b")
        try await temporary.close()
        try temporary.changeState("DROP TABLE history")
        temporary.faults.arm(1, of: "INSERT OR IGNORE INTO modifier", with: .full)
        #expect(throws: StoreError.self) { try temporary.open() }
        #expect(temporary.faults.failures == 1)
        #expect(!(temporary.statePath + ".new").isThere)
        try temporary.open()
        #expect(temporary.store.files.findings.count == 1)
        #expect(try await temporary.store.modifiers.unsettled(after: nil).count == 1)
    }

    // MARK: A disk that cannot read

    /// A disk that cannot read a page of state.db, until that is set aside.
    private final class UnreadablePage: FaultPlan {
        private let isLost = Mutex(false)
        private let meetsPage: @Sendable (_ sql: String) -> Bool
        private let read: String

        /// SQLite reports such a page as damage to a statement that meets it.
        init(read: String, meetsPage: @escaping @Sendable (_ sql: String) -> Bool) {
            (self.read, self.meetsPage) = (read, meetsPage)
        }

        func set(_ isLost: Bool) { self.isLost.withLock { $0 = isLost } }

        func failure(before step: String, of path: String) -> Int32? {
            guard path.hasSuffix("/state.db"), isLost.withLock({ $0 }),
                !(path + ".aside").isThere
            else { return nil }
            if step == "read \(path)\(read)" { return FaultInjection.Code.inputOutput.rawValue }
            return meetsPage(step) ? FaultInjection.Code.corrupt.rawValue : nil
        }
    }

    @Test("A read of the disk that fails once at the start does not cost state.db")
    func momentaryFault() async throws {
        try await temporary.accept("m", "b")
        try await temporary.close()
        temporary.faults.arm(1, of: "quick_check", with: .corrupt)
        try temporary.open()
        #expect(temporary.faults.failures == 1)
        #expect(temporary.store.files.findings == [])
        #expect(!(temporary.statePath + ".aside").isThere)
        #expect(try await temporary.store.modifiers.unsettled(after: nil).count == 1)
    }

    /// The blocks of the note that counts starts; nil without a note that has counted one.
    private func blocks(ofNoteIn temporary: TemporaryStore) -> Int64? {
        var answer = stat()
        guard stat(temporary.statePath + ".damaged", &answer) == 0, answer.st_size > 0 else {
            return nil
        }
        return Int64(answer.st_blocks)
    }

    @Test("A state.db that the disk cannot read ends some starts before a start salvages it")
    func unreadablePage() async throws {
        let plan = UnreadablePage(read: "") { $0.contains("quick_check") }
        let temporary = try TemporaryStore(configure: { $0.faults = plan })
        try await temporary.accept("m", "b")
        for isPassing in [true, false] {
            try await temporary.close()
            plan.set(true)
            for _ in 1..<Limits.unreadableStartsMax {
                #expect(throws: StoreError.self) { try temporary.open() }
            }
            #expect(!(temporary.statePath + ".aside").isThere)
            #expect(blocks(ofNoteIn: temporary) == 0, "starts on a full disk count, too")
            if isPassing { plan.set(false) }
            try temporary.open()
            #expect(temporary.store.files.findings.isEmpty == isPassing)
            #expect((temporary.statePath + ".aside").isThere != isPassing)
            #expect(try await temporary.store.modifiers.unsettled(after: nil).count == 1)
        }
    }

    @Test("A state.db of which the disk cannot read the first page is salvaged")
    func unreadableFirstPage() async throws {
        let plan = UnreadablePage(read: " at 0") { $0.first?.isUppercase == true }
        let temporary = try TemporaryStore(configure: { $0.faults = plan })
        try await temporary.accept("m", "b")
        try await temporary.close()
        plan.set(true)
        try temporary.open()
        #expect(temporary.store.files.findings.count >= 1)
        #expect(try await temporary.store.modifiers.unsettled(after: nil).count == 1)
    }

    // MARK: Whose damage it is

    /// Reads that go into both files.
    private func reads(_ temporary: TemporaryStore) async {
        let (scope, store) = (temporary.scope, temporary.store)
        let filter = RowFilter(scope: scope)
        _ = try? await store.rows(filter, limit: 10)
        _ = try? await store.candidates(filter, limit: 10)
        let ids = ["cached", "pinned", "target"].map(named)
        _ = try? await store.read { reader throws(StoreError) in
            for id in ids {
                _ = try reader.answers.shownRow(scope, id, for: .view(of: scope), now: .epoch) {
                    _ in ()
                }
            }
        }
        for id in ids { _ = try? await store.bytes(scope, id) }
        _ = try? await store.read { reader throws(StoreError) in try reader.usage.of(.one(scope)) }
        _ = try? await store.read { reader throws(StoreError) in
            try reader.targets.target(scope, named("target"))
        }
    }

    @Test(
        "A fault of a read in state.db does not cost the cache",
        arguments: [FaultInjection.Code.corrupt, .mistake, .constraint, .full]
    )
    func blame(code: FaultInjection.Code) async throws {
        for n in 1... {
            let temporary = try TemporaryStore()
            try await temporary.put("cached", [1])
            try await temporary.put("pinned", [2])
            try await temporary.pin("pinned")
            try await temporary.answer("target", "[1]")
            try await temporary.accept("m", "target")
            let generation = temporary.store.shared.generation
            temporary.faults.arm(n, of: "claim", with: code)
            await reads(temporary)
            temporary.faults.disarm()
            try await temporary.store.maintain()
            #expect(temporary.store.shared.generation == generation, "n \(n)")
            #expect(temporary.store.files.findings == [], "n \(n)")
            #expect(try await temporary.bytes("cached") == [1], "n \(n)")
            #expect(try await temporary.bytes("pinned") == [2], "n \(n)")
            #expect(try await temporary.text("target") == "[1]", "n \(n)")
            if temporary.faults.failures == 0 { return }
        }
    }

    @Test(
        "A statement that SQL refuses does not discard a file",
        arguments: [FaultInjection.Code.mistake, .constraint]
    )
    func mistakes(code: FaultInjection.Code) async throws {
        for n in 1... {
            let temporary = try TemporaryStore()
            try await temporary.put("cached", [1])
            let generation = temporary.store.shared.generation
            temporary.faults.arm(n, with: code)
            _ = try? await temporary.put("other", [2])
            _ = try? await temporary.bytes("cached")
            temporary.faults.disarm()
            #expect(temporary.store.shared.generation == generation, "n \(n)")
            #expect(try await temporary.bytes("cached") == [1], "n \(n)")
            try await temporary.put("other", [3])
            #expect(try await temporary.bytes("other") == [3], "n \(n)")
            if temporary.faults.failures == 0 { return }
        }
    }

    @Test(
        "While its path leads elsewhere nothing new is accepted, which status and log say",
        arguments: ["", "-wal"]
    )
    func lostInUse(suffix: String) async throws {
        try await temporary.accept("m1", "a")
        let store = temporary.store
        let (path, elsewhere) = (temporary.statePath + suffix, temporary.statePath + ".elsewhere")
        #expect(rename(path, elsewhere) == 0)
        try await store.maintain()
        #expect(store.files.warnings.contains { $0.contains("deleted or replaced") })
        #expect(store.files.takeNews().count == 1)
        await #expect {
            _ = try await temporary.accept("m2", "b")
        } throws: { error in
            if case StoreError.cannotOpen = error { true } else { false }
        }
        try await store.maintain()
        #expect(store.files.takeNews() == [])

        #expect(rename(elsewhere, path) == 0)
        try await store.maintain()
        #expect(store.files.warnings == [])
        try await temporary.accept("m2", "b")
    }

    // MARK: Bases

    /// P-04.
    @Test("While the cache cannot be read a write is refused, and what it changes is kept")
    func unreadableCache() async throws {
        try await temporary.answer("a", "[1]")
        temporary.faults.arm(1, of: "entry", .forGood)
        await #expect {
            _ = try await temporary.accept("m", "a")
        } throws: { error in
            if case StoreError.noFile = error { true } else { false }
        }
        temporary.faults.disarm()
        try await temporary.store.maintain()
        #expect(try await temporary.text("a") == "[1]")
        try await temporary.accept("m", "a")
        #expect(try temporary.target("a")?.0 == "[1]")
    }

    @Test("Without a cache a write is taken, as nothing of it can come back")
    func lostCache() async throws {
        try await temporary.answer("a", "[1]")
        for suffix in ["", "-wal", "-shm"] { unlink(temporary.cachePath + suffix) }
        try await temporary.store.maintain()
        try await temporary.accept("m", "a")
        let target = try #require(try temporary.target("a"))
        #expect(target.0 == nil && target.1 == ["m"])
    }
}
