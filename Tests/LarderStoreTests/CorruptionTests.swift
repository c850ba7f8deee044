import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

/// P-07 and P-13: SQLite calls the file damaged, or the file says what cannot be.
@Suite("Damage that is met at work")
struct CorruptionTests {
    /// One thing that the store is asked to do, with the file damaged at some step of it.
    struct Step: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let run: @Sendable (TemporaryStore) async throws -> Void
    }

    static let steps: [Step] = [
        Step(testDescription: "a put over a full cache") { temporary in
            try await temporary.put("new", .pattern(20_000, 7))
        },
        Step(testDescription: "an upload over a full cache") { temporary in
            try await temporary.upload("new", .pattern(80_000, 7))
        },
        Step(testDescription: "an eviction") { temporary in
            let filter = RowFilter(scope: temporary.scope)
            let rows = try await temporary.store.candidates(filter, limit: 3)
            _ = try await temporary.store.evict(rows)
        },
        Step(testDescription: "a read") { temporary in
            _ = try await temporary.bytes("small2")
            _ = try await temporary.bytes("large")
        },
    ]

    @Test("Rows are right or gone, sums are exact, and the store goes on", arguments: steps)
    func everyOperation(step: Step) async throws {
        for n in 1... {
            let temporary = try TemporaryStore(configure: {
                $0.maxBytes = ByteSize(bytes: 160_000)
            })
            try await temporary.upload("large", .pattern(70_000, 1))
            for number in 0..<4 { try await temporary.put("small\(number)", .pattern(20_000)) }
            temporary.faults.arm(n, with: .corrupt)
            try? await step.run(temporary)
            temporary.faults.disarm()
            try await check(temporary, "n \(n)")
            guard temporary.faults.failures > 0 else { return }
        }
    }

    private func check(_ temporary: TemporaryStore, _ comment: String) async throws {
        do throws(StoreError) {
            try await temporary.store.settle()
        } catch .closed {
            temporary.drop()
            try temporary.open()
        }
        // A reader's trouble was told before this.
        try await temporary.store.maintain()
        for number in 0..<4 {
            let bytes = try await temporary.bytes("small\(number)")
            #expect(bytes == nil || bytes == .pattern(20_000), "\(comment)")
        }
        let large = try await temporary.bytes("large")
        #expect(large == nil || large == .pattern(70_000, 1), "\(comment)")
        try await temporary.put("after", [1])
        #expect(try await temporary.bytes("after") == [1], "\(comment)")
        try await temporary.store.settle()
        let audit = try FileAudit(temporary.cachePath)
        let totals = temporary.store.totals
        #expect(audit.bytes == totals.bytes && audit.entries == totals.entries, "\(comment)")
        #expect(audit.unlinkedBodies == 0, "\(comment)")
    }

    // MARK: Hostile numbers

    static let numbers: [Int64] = [.min, 1 << 43, .max]

    @Test(
        "An impossible number in a table of the whole file makes a new file, or is harmless",
        arguments: [
            "UPDATE meta SET value = ? WHERE name = 'rev'",
            "UPDATE meta SET value = ? WHERE name = 'bytes'",
            "UPDATE meta SET value = ? WHERE name = 'entries'",
            "UPDATE meta SET value = ? WHERE name = 'key_seed'",
            "UPDATE recency SET last_used = ? WHERE last_used = (SELECT max(last_used) FROM recency)",
            "UPDATE sqlite_sequence SET seq = ?",
            "UPDATE body SET body = ?",
            "UPDATE body SET body = ?, linked = 0",
        ],
        numbers
    )
    func hostileTotals(sql: String, number: Int64) async throws {
        try await goOn(after: sql, number)
    }

    @Test(
        "An impossible number in a row is a miss, or is harmless",
        arguments: [
            "UPDATE recency SET size = ?", "UPDATE recency SET stored_at = ?",
            "UPDATE recency SET expires_at = ?", "UPDATE entry SET bytes = ?",
            "UPDATE entry SET stored_at = ?", "UPDATE entry SET fresh_until = ?",
            "UPDATE entry SET rev = ?", "UPDATE entry SET status = ?", "UPDATE entry SET kind = ?",
            "UPDATE entry SET json = ?", "UPDATE entry SET body = ? WHERE id = 'large'",
            "UPDATE body SET size = ?", "UPDATE chunk SET checksum = ?",
            "UPDATE chunk SET chunk = ? WHERE chunk % 2 = 1",
        ],
        numbers
    )
    func hostileRows(sql: String, number: Int64) async throws {
        try await goOn(after: sql, number)
    }

    private func goOn(after sql: String, _ number: Int64) async throws {
        let temporary = try TemporaryStore(configure: { $0.maxBytes = ByteSize(bytes: 300_000) })
        let last = try await temporary.put("small", .pattern(1_000)).revision
        let large = [UInt8].pattern(100_000, 1)
        try await temporary.upload("large", large)
        try await temporary.damage(sql.replacing("?", with: "\(number)"))
        for id in ["small", "large"] {
            var bytes: [UInt8]?
            do { bytes = try await temporary.bytes(id) } catch StoreError.badChunk {}
            #expect(bytes == nil || bytes == .pattern(1_000) || bytes == large)
        }
        let filter = RowFilter(scope: temporary.scope)
        let rows = try await temporary.store.read { reader throws(StoreError) in
            _ = try reader.lists.page(filter, order: .size, after: nil, limit: 10)
            return try reader.lists.candidates(filter, after: nil, limit: 10)
        }
        _ = rows.map(\.size)
        try await temporary.put("small", .pattern(2_000, 2))
        try await temporary.upload("large", .pattern(80_000, 2))
        // Everything that was there has to go.
        for number in 0..<20 { try await temporary.put("\(number)", .pattern(15_000)) }
        _ = try? await temporary.store.evict(rows)
        try await temporary.store.maintain()
        try await temporary.store.settle()
        #expect(try await temporary.put("after", [1]).revision > last)
        #expect(try await temporary.bytes("after") == [1])
        try await temporary.reopen()
        #expect(try await temporary.bytes("after") == [1])
    }

    @Test("A body whose row says less than its chunks hold is a miss, not cut short")
    func shortened() async throws {
        let temporary = try TemporaryStore()
        try await temporary.upload("large", .pattern(131_072, 1))
        for bytes in [65_536, 1, 131_071, 200_000] {
            try await temporary.upload("large", .pattern(131_072, 1))
            try await temporary.damage("UPDATE entry SET bytes = \(bytes)")
            #expect(try await temporary.bytes("large") == nil)
            #expect(temporary.store.totals.damaged > 0)
            // The row goes, so that a 304 does not confirm it.
            try await temporary.store.settle()
            #expect(try await temporary.ids() == [])
        }
    }
}
