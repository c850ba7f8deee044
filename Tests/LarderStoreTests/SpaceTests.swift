import LarderModel
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderStore

@Suite("Space on the disk")
struct SpaceTests {
    /// A disk on which there is nothing else but the cache.
    private final class Disk: Sendable {
        private let size = Mutex<Int64>(.max / 2)

        /// What is free with a cache that takes no space.
        func resize(to bytes: Int64) { size.withLock { $0 = bytes } }

        func freeBytes(_ folder: String) -> Int64 {
            max(0, size.withLock { $0 } - DiskSpace.fileBytes(at: folder + "/cache.db"))
        }
    }

    @Test("A short disk first ends the growth, then shrinks the cache, and space lets it grow back")
    func minimumFreeBytes() async throws {
        let disk = Disk()
        let temporary = try TemporaryStore(configure: {
            $0.maxBytes = ByteSize(bytes: 1_000_000)
            $0.minFreeBytes = ByteSize(bytes: 600_000)
            $0.freeBytes = { disk.freeBytes($0) }
        })
        for number in 0..<90 { try await temporary.put("\(number)", .pattern(10_000)) }
        try await temporary.reopen()
        let before = temporary.store.totals
        #expect(before.budget == 1_000_000 && before.entries == 90)

        let database = temporary.store.files.sizes.database
        disk.resize(to: 500_000 + database)
        try await temporary.store.maintain()
        #expect(temporary.store.totals.budget == before.bytes)
        #expect(temporary.store.totals.entries == 90)

        disk.resize(to: 250_000 + database)
        for _ in 0..<20 {
            try await temporary.store.maintain()
            try await temporary.store.settle()
        }
        let short = temporary.store.totals
        #expect(short.bytes < before.bytes)
        #expect(short.bytes > before.bytes * 8 / 20)
        #expect(short.budget < 1_000_000 && short.bytes <= short.budget)
        // The newest are what is left.
        let left = Int(short.entries)
        #expect(try await temporary.ids(.used) == ((90 - left)..<90).map { "\($0)" })

        disk.resize(to: .max / 2)
        try await temporary.store.maintain()
        #expect(temporary.store.totals.budget == 1_000_000)
        #expect(temporary.store.totals.entries == short.entries)
    }

    @Test("A smaller max_bytes is kept to from the start, without a put")
    func smallerBudget() async throws {
        let budget = Mutex<Int64>(1_000_000)
        let temporary = try TemporaryStore(configure: {
            $0.maxBytes = ByteSize(bytes: budget.withLock { $0 })
        })
        for number in 0..<90 { try await temporary.put("\(number)", .pattern(10_000)) }
        budget.withLock { $0 = 200_000 }
        try await temporary.reopen()
        try await temporary.store.settle()
        #expect(temporary.store.totals.bytes <= 200_000)
        #expect(try await temporary.ids(.used).last == "89")
    }

    @Test("A use without its entry, which only damage leaves, goes like any row")
    func orphanedUse() async throws {
        let temporary = try TemporaryStore(configure: {
            $0.maxBytes = ByteSize(bytes: 50_000)
        })
        for number in 0..<4 { try await temporary.put("\(number)", .pattern(10_000)) }
        try await temporary.damage("DELETE FROM entry WHERE id = '0'")
        for number in 4..<9 { try await temporary.put("\(number)", .pattern(10_000)) }
        try await temporary.store.settle()
        #expect(temporary.store.totals.bytes <= 50_000)
        #expect(try await temporary.ids(.used).last == "8")
    }

    @Test("A disk without a byte to spare leaves half of the cache, the blobs last of all")
    func fullDisk() async throws {
        let disk = Disk()
        let temporary = try TemporaryStore(configure: {
            $0.minFreeBytes = ByteSize(bytes: 1 << 40)
            $0.freeBytes = { disk.freeBytes($0) }
        })
        try await temporary.put("a", .pattern(10_000))
        for id in ["https://host/b", "https://host/c"] {
            var fetched = NewEntry.blob(temporary.scope, try EntryID(id), .pattern(10_000))
            fetched.entry.kind = .fetched
            _ = try await temporary.store.put(fetched, now: .epoch)
        }
        disk.resize(to: 0)
        try await temporary.store.maintain()
        try await temporary.store.settle()
        #expect(try await temporary.ids() == ["a"])
        #expect(temporary.store.totals.diskEvictions == 2)
    }

    @Test("Where free space cannot be told the budget is the configured one")
    func unknownSpace() async throws {
        let temporary = try TemporaryStore(configure: {
            $0.minFreeBytes = ByteSize(bytes: 1 << 40)
            $0.freeBytes = { _ in nil }
        })
        #expect(temporary.store.totals.budget == 512 << 20)
    }

    @Test("Pages of evicted rows go back to the disk in idle moments")
    func vacuum() async throws {
        let temporary = try TemporaryStore()
        for number in 0..<200 { try await temporary.put("\(number)", .pattern(60_000)) }
        try await temporary.reopen()
        #expect(temporary.store.files.sizes.database > 12_000_000)
        for number in 0..<190 {
            let id = try EntryID("\(number)")
            _ = try await temporary.store.delete(temporary.scope, id)
        }
        for _ in 0..<20 { try await temporary.store.maintain() }
        try await temporary.reopen()
        #expect(temporary.store.files.sizes.database < 2_000_000)
        #expect(try FileAudit(temporary.cachePath).entries == 10)
    }

    @Test("A file that is far larger than its rows is rebuilt")
    func rebuild() async throws {
        let temporary = try TemporaryStore()
        try await fill(temporary)
        let before = temporary.store.files.sizes.database
        #expect(before > Limits.rebuildBytesMin)
        // SQLite keeps its pages a third full, and a row counts more than it takes: for a rebuild
        // the rows have to say less than they have.
        try await temporary.damage("UPDATE recency SET size = size - 500; " + Self.sumUp)
        try await temporary.store.maintain()
        try await temporary.damage("UPDATE recency SET size = size + 500; " + Self.sumUp)
        #expect(temporary.store.files.sizes.database < before * 19 / 20)
        let audit = try FileAudit(temporary.cachePath)
        #expect(audit.bytes == temporary.store.totals.bytes && audit.entries == 60_001)
        try await temporary.store.maintain()
        #expect(try await temporary.bytes("id-000000") == [])
    }

    @Test("A rebuild waits for room on the disk, and one that fails is tried again after an hour")
    func rebuildWithoutRoom() async throws {
        let (disk, clock) = (Disk(), HandClock())
        let temporary = try TemporaryStore(
            now: { clock.now },
            configure: { $0.freeBytes = { disk.freeBytes($0) } }
        )
        try await fill(temporary)
        try await temporary.damage("UPDATE recency SET size = size - 500; " + Self.sumUp)
        let before = temporary.store.files.sizes.database
        #expect(before > Limits.rebuildBytesMin)
        disk.resize(to: 2 * before)
        temporary.faults.arm(1, of: "VACUUM", with: .full)
        try await temporary.store.maintain()
        #expect(temporary.faults.failures == 0)

        disk.resize(to: .max / 2)
        await #expect(throws: StoreError.self) { try await temporary.store.maintain() }
        #expect(temporary.faults.failures == 1)
        try await temporary.store.maintain()
        #expect(temporary.store.files.sizes.database > before * 19 / 20)
        clock.advance(by: Limits.rebuildRetryTime)
        try await temporary.store.maintain()
        // A file becomes shorter when its WAL is written back.
        try await temporary.reopen()
        #expect(temporary.store.files.sizes.database < before * 19 / 20)
    }

    private func fill(_ temporary: TemporaryStore) async throws {
        var template = NewEntry.blob(temporary.scope, try EntryID("id-000000"), [])
        template.entry.headers.set("X", String(repeating: "x", count: 300))
        _ = try await temporary.store.put(template, now: .epoch)
        try await temporary.damage(Self.manyRows)
    }

    /// Copies of the one row, in an order that leaves pages two thirds full.
    private static let manyRows = """
        BEGIN;
        CREATE TEMP TABLE number AS
            WITH RECURSIVE number(n) AS (
                SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 60000)
            SELECT n, 16 * (n * 7919 % 60001) AS key FROM number;
        INSERT INTO entry (key, scope, id, kind, stored_at, rev, status, headers, bytes, json,
            digest_high, digest_low, data)
        SELECT number.key, scope, printf('id-%06d', n), kind, stored_at, rev, status, headers,
            bytes, json, digest_high, digest_low, data
        FROM number, (SELECT * FROM entry);
        INSERT INTO recency (key, last_used, size, stored_at, owner)
        SELECT number.key, 16 * n, size, stored_at, owner FROM number, (SELECT * FROM recency);
        UPDATE meta SET value = 60001 WHERE name = 'entries';
        UPDATE meta SET value = (SELECT sum(size) FROM recency) WHERE name = 'bytes';
        COMMIT
        """

    private static let sumUp =
        "UPDATE meta SET value = (SELECT sum(size) FROM recency) WHERE name = 'bytes'"
}
