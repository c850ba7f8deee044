import Foundation
import LarderModel
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderStore

@Suite("The migration of state.db")
struct MigrationTests {
    private let temporary = TemporaryStore.new()

    /// A file as the first version left it: its schema and a counter far along.
    private func makeFirstVersion(at path: String, nextRevision: Int64) throws {
        for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) }
        try Data().write(to: URL(filePath: path))
        let connection = try SQLiteConnection(path: path, mode: .readWrite)
        try connection.execute("PRAGMA page_size=4096; PRAGMA journal_mode=WAL")
        try connection.execute(Schema.state.steps[0])
        try connection.execute(
            """
            UPDATE revision_block SET next_rev = \(nextRevision);
            PRAGMA application_id=\(Schema.applicationID); PRAGMA user_version=1
            """
        )
    }

    private func firstVersion(_ nextRevision: Int64) async throws -> TemporaryStore {
        try await temporary.close()
        try makeFirstVersion(at: temporary.statePath, nextRevision: nextRevision)
        return temporary
    }

    private func version(_ path: String) throws -> Int64? {
        try SQLiteConnection(path: path, mode: .readOnly).integer("PRAGMA user_version")
    }

    @Test("A file of version 1 is copied, brought to the present version, and revisions go on")
    func migrates() async throws {
        let temporary = try await firstVersion(500_000)
        let copy = temporary.statePath + ".before-1"
        try temporary.open()
        #expect(temporary.store.files.findings == [])
        #expect(temporary.store.notices.count == 1)
        #expect(temporary.store.notices.first?.contains(copy) == true)
        #expect(try await temporary.put("a", [1]).revision.number >= 500_000)
        #expect(try temporary.store.offlineOrigins() == [])
        #expect(try version(temporary.statePath) == Int64(Schema.state.steps.count))
        #expect(try temporary.stateInteger("PRAGMA auto_vacuum") == 2)
        #expect(try version(copy) == 1)
        let kept = try SQLiteConnection(path: copy, mode: .readOnly)
        #expect(try kept.integer("SELECT next_rev FROM revision_block") == 500_000)
        let mode = try FileManager.default.attributesOfItem(atPath: copy)[.posixPermissions]
        #expect(mode as? Int == 0o600)
        // The next start finds nothing to do.
        try await temporary.reopen()
        #expect(temporary.store.notices == [])
    }

    @Test("A new copy replaces that of the same version, and of the others the newest stays (S5)")
    func newestCopies() async throws {
        let temporary = try await firstVersion(7)
        let path = temporary.statePath
        try temporary.open()
        try await temporary.close()
        for name in ["3", "5", "migration", "4.new"] {
            #expect(FileManager.default.createFile(atPath: "\(path).before-\(name)", contents: nil))
        }
        try makeFirstVersion(at: path, nextRevision: 900_000)
        try temporary.open()
        let folder = temporary.directory.path("state")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        let copies = names.filter { $0.contains("before") }.sorted()
        #expect(copies == ["state.db.before-1", "state.db.before-5"])
        let kept = try SQLiteConnection(path: path + ".before-1", mode: .readOnly)
        #expect(try kept.integer("SELECT next_rev FROM revision_block") == 900_000)
    }

    @Test("Without a copy it is not migrated: the start fails and says why")
    func noCopy() async throws {
        let temporary = try await firstVersion(7)
        let copy = temporary.statePath + ".before-1"
        // A folder that is not empty cannot be replaced by a file.
        try FileManager.default.createDirectory(
            atPath: copy + "/full",
            withIntermediateDirectories: true
        )
        do throws(StoreError) {
            try temporary.open()
            Issue.record("it was opened")
        } catch {
            #expect(error.message.contains("is not migrated without a copy"), "\(error.message)")
        }
        #expect(try version(temporary.statePath) == 1)
        try FileManager.default.removeItem(atPath: copy)
        try temporary.open()
        #expect(try version(temporary.statePath) == Int64(Schema.state.steps.count))
    }

    @Test("Without room for a copy none is begun: the start fails and says how much is missing")
    func noRoom() async throws {
        let free = Mutex<Int64?>(nil)
        let temporary = try TemporaryStore(configure: {
            $0.freeBytes = { _ in free.withLock { $0 } }
        })
        try await temporary.close()
        try makeFirstVersion(at: temporary.statePath, nextRevision: 7)
        free.withLock { $0 = Limits.stateSpaceMin }
        temporary.faults.arm(1, of: "VACUUM INTO")
        do throws(StoreError) {
            try temporary.open()
            Issue.record("it was opened")
        } catch {
            let said = "and \(Limits.stateSpaceMin) are free"
            #expect(error.message.contains(said), "\(error.message)")
        }
        #expect(temporary.faults.failures == 0)
        temporary.faults.disarm()
        #expect(try version(temporary.statePath) == 1)
        free.withLock { $0 = 1 << 30 }
        try temporary.open()
        #expect(try version(temporary.statePath) == Int64(Schema.state.steps.count))
    }

    @Test("Wherever the migration fails, the file is of one version or the other, and whole")
    func everyOperationFails() async throws {
        for n in 1... {
            let temporary = try TemporaryStore()
            try await temporary.close()
            try makeFirstVersion(at: temporary.statePath, nextRevision: 300_000)
            temporary.faults.arm(n)
            do throws(StoreError) { try temporary.open() } catch {
                let found = try version(temporary.statePath)
                #expect(found == 1 || found == Int64(Schema.state.steps.count), "n \(n)")
            }
            temporary.faults.disarm()
            temporary.drop()
            try temporary.open()
            #expect(try await temporary.put("a", [1]).revision.number >= 300_000, "n \(n)")
            if temporary.faults.failures == 0 { return }
        }
    }

    @Test("Answers under ids with a credential in clear go, pinned ones too, and nothing else does")
    func credentialsInIDs() async throws {
        let url = "https://api.example.com/a"
        let (secret, other) = ("\(url) authorization=Bearer x", "\(url) accept=a/b")
        func put(_ id: String, _ body: NewBody) async throws {
            var new = NewEntry.blob(temporary.scope, try EntryID(id), [1])
            new.entry.kind = .fetched
            new.body = body
            _ = try await temporary.store.put(new, now: .epoch)
        }
        try await temporary.put("a note =authorization", [1])
        for id in [url, secret, other] { try await put(id, .inline([1])) }
        try await put("\(other) x-api-key=y", try await temporary.store.upload([1]))
        for id in ["\(secret) pinned", "\(other) pinned"] {
            try await put(id, .inline([1]))
            try await temporary.pin(id)
        }
        let key = temporary.store.digestKey
        try await temporary.close()
        do {
            let cache = try SQLiteConnection(path: temporary.cachePath, mode: .readWrite)
            try cache.execute(Schema.cache.steps[3])
            let state = try SQLiteConnection(path: temporary.statePath, mode: .readWrite)
            try state.execute("DROP TABLE secret")
            // As it reads with the names that the tables have by now.
            let step = Schema.state.steps[6].replacing("kept_body", with: "body")
            try state.execute(step.replacing("kept", with: "claim"))
        }
        try temporary.open()
        #expect(temporary.store.files.findings == [])
        #expect(temporary.store.digestKey != key)
        for (id, isThere) in [
            (url, true), ("a note =authorization", true), ("\(other) pinned", true),
            (secret, false), (other, false), ("\(secret) pinned", false),
        ] {
            #expect(try await (temporary.bytes(id) != nil) == isThere, "\(id)")
        }
        let found = temporary.store.digestKey
        try await temporary.reopen()
        #expect(temporary.store.digestKey == found)
        #expect(temporary.store.files.findings == [])
    }

    @Test(
        "Rows of version 4 of cache.db belong to their users after the migration",
        arguments: [nil, "ADD COLUMN owner", "user_version=", "COMMIT"]
    )
    func owners(failingStep: String?) async throws {
        for (number, scope) in Scope.several.enumerated() {
            for id in ["a", "b"] {
                let key = temporary.store.key(for: scope)
                let new = NewEntry.blob(key, named(id), .pattern(1_000 * number))
                _ = try await temporary.store.put(new, now: .epoch)
            }
        }
        let before = try await temporary.store.owners()
        #expect(before.keys.sorted() == [1_000, 1_001])
        try await temporary.close()
        try SQLiteConnection(path: temporary.cachePath, mode: .readWrite).execute(
            """
            DROP TABLE hidden;
            DROP INDEX recency_owner;
            ALTER TABLE entry DROP COLUMN request;
            ALTER TABLE recency DROP COLUMN owner;
            PRAGMA user_version=4
            """
        )
        if let failingStep {
            temporary.faults.arm(1, of: failingStep)
            try? temporary.open()
            #expect(temporary.faults.failures == 1)
            temporary.faults.disarm()
            temporary.drop()
        }
        try temporary.open()
        #expect(temporary.store.files.findings == [])
        #expect(try await temporary.store.owners() == before)
        #expect(try FileAudit(temporary.cachePath).entries == 8)
    }

    // MARK: Version 11

    /// A closed store whose state.db is of version 10: pins with bodies of either form, a base that
    /// three modifiers change, and what is released.
    private func tenth(pins: Int = 2) async throws -> TemporaryStore {
        let scope = temporary.scope
        for pin in 0..<pins {
            let new = NewEntry.blob(scope, named("pin \(pin)"), .pattern(60_000))
            _ = try await temporary.store.pins.put(new, now: .epoch)
        }
        try await temporary.upload("large", .pattern(300_000))
        try await temporary.pin("large")
        for id in ["base", "released"] { try await temporary.answer(id, "[1]") }
        for name in ["m1", "m2", "m3"] { try await temporary.accept(name, "base") }
        try await temporary.pin("released")
        try await temporary.unpin("released")
        try await temporary.close()
        try temporary.changeState(
            """
            DROP TABLE hidden;
            ALTER TABLE change ADD COLUMN inapplicable TEXT;
            DROP TABLE reference;
            DROP TABLE skeleton;
            ALTER TABLE claim DROP COLUMN skeleton;
            ALTER TABLE claim DROP COLUMN checksum;
            ALTER TABLE claim DROP COLUMN held; ALTER TABLE claim DROP COLUMN in_pins;
            DROP INDEX claim_scope_id;
            DROP INDEX claim_pinned;
            DROP INDEX claim_wanted;
            DROP INDEX claim_released;
            DROP INDEX claim_keeper;
            ALTER TABLE claim DROP COLUMN payer; ALTER TABLE claim DROP COLUMN request;
            DROP INDEX claim_refresh; ALTER TABLE claim DROP COLUMN refresh;
            DROP TABLE prefetch_item; DROP TABLE prefetch;
            DROP INDEX claim_prefetched; ALTER TABLE claim DROP COLUMN prefetched;
            DROP INDEX modifier_joined; ALTER TABLE history DROP COLUMN joined_into;
            ALTER TABLE modifier DROP COLUMN joined_into; ALTER TABLE modifier DROP COLUMN joined_body;
            ALTER TABLE modifier DROP COLUMN joined_method; ALTER TABLE modifier DROP COLUMN if_match;
            ALTER TABLE modifier DROP COLUMN joined_media_type; ALTER TABLE modifier DROP COLUMN etag;
            ALTER TABLE modifier DROP COLUMN on_conflict; ALTER TABLE modifier DROP COLUMN conflicts;
            ALTER TABLE modifier DROP COLUMN denied; ALTER TABLE change DROP COLUMN seen;
            ALTER TABLE change DROP COLUMN seen_view; ALTER TABLE change DROP COLUMN theirs;
            DROP TABLE temporary_use;
            DROP TABLE temporary_id;
            ALTER TABLE change_log DROP COLUMN real_id;
            DROP TABLE reading;
            ALTER TABLE change DROP COLUMN sent;
            ALTER TABLE change DROP COLUMN implied;
            ALTER TABLE change DROP COLUMN parents;
            DROP TABLE credential;
            ALTER TABLE modifier DROP COLUMN credential;
            ALTER TABLE history DROP COLUMN answer_headers;
            ALTER TABLE history DROP COLUMN answer_body;
            ALTER TABLE change_log DROP COLUMN answer;
            ALTER TABLE modifier DROP COLUMN perhaps_applied;
            ALTER TABLE modifier DROP COLUMN answered;
            ALTER TABLE change_log DROP COLUMN hidden_from;
            ALTER TABLE claim RENAME COLUMN claim TO kept;
            ALTER TABLE claim RENAME TO kept;
            ALTER TABLE body RENAME TO kept_body;
            ALTER TABLE chunk RENAME TO kept_chunk;
            CREATE UNIQUE INDEX kept_scope_id ON kept (scope, id);
            CREATE INDEX kept_pinned ON kept (scope, id) WHERE pinned_at IS NOT NULL;
            CREATE INDEX kept_wanted ON kept (kept) WHERE wanted = 1;
            CREATE INDEX kept_released ON kept (kept) WHERE pinned_at IS NULL AND targeted = 0;
            ALTER TABLE revision_block DROP COLUMN failed_commits;
            ALTER TABLE revision_block DROP COLUMN takes_along;
            ALTER TABLE modifier DROP COLUMN unclear_status;
            UPDATE kept SET targeted = 3 WHERE id = 'base';
            PRAGMA user_version=10
            """
        )
        return temporary
    }

    private func expectAll(_ temporary: TemporaryStore) async throws {
        #expect(temporary.store.files.findings == [])
        for pin in 0..<2 {
            #expect(try await temporary.bytes("pin \(pin)") == .pattern(60_000))
        }
        #expect(try await temporary.bytes("large") == .pattern(300_000))
        #expect(try await temporary.text("released") == "[1]")
        let target = try #require(try temporary.target("base"))
        #expect(target.base == "[1]" && target.1 == ["m1", "m2", "m3"])
    }

    @Test(
        "Claims of version 10 go on, whichever step of the migration fails, also without the cache",
        arguments: [
            "VACUUM INTO", "BEGIN", "ALTER TABLE kept", "application_id=", "user_version=",
            "COMMIT",
            "quick_check",
        ]
    )
    func durableRows(step: String) async throws {
        let temporary = try await tenth()
        temporary.faults.arm(1, of: step)
        try? temporary.open()
        #expect(temporary.faults.failures == 1)
        temporary.faults.disarm()
        temporary.drop()
        try FileManager.default.removeItem(atPath: temporary.cachePath)
        try temporary.open()
        try await expectAll(temporary)
    }

    @Test("No body is written again by the migration of claims")
    func writesNoBody() async throws {
        let temporary = try await tenth(pins: 100)
        let file = try SQLiteConnection(path: temporary.statePath, mode: .readWrite)
        try file.execute("PRAGMA wal_autocheckpoint=0")
        try Schema.state.migrate(file, from: 10)
        #expect(DiskSpace.fileBytes(at: temporary.statePath) > 6_000_000)
        #expect(DiskSpace.fileBytes(at: temporary.statePath + "-wal") < 600_000)
    }

    @Test("Origins that were set offline stay so until they are set online")
    func offlineOrigins() async throws {
        try await temporary.store.setOffline("one", true)
        try await temporary.store.setOffline("two", true)
        try await temporary.store.setOffline("one", true)
        #expect(try temporary.store.offlineOrigins() == ["one", "two"])
        try temporary.crash()
        #expect(try temporary.store.offlineOrigins() == ["one", "two"])
        try await temporary.store.setOffline("one", false)
        try await temporary.store.setOffline("three", false)
        try await temporary.reopen()
        #expect(try temporary.store.offlineOrigins() == ["two"])
    }
}
