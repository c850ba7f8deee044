import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

/// A queue as long as it may be, judged by what SQLite is asked to do and not by the time it takes.
@Suite("A queue of 100,000 modifiers")
struct LongQueueTests {
    private static let modifiers: Int64 = 100_000
    private static let targets: Int64 = 1_000

    /// A closed store with as many modifiers, a hundred for each target.
    private func prepared() async throws -> TemporaryStore {
        let temporary = try TemporaryStore(configure: { $0.queue.maxModifiers = 200_000 })
        try await temporary.accept("first", "t0")
        try await temporary.close()
        try temporary.changeState(
            """
            BEGIN;
            INSERT INTO modifier (scope, id, origin, state, depends_on, attempts, not_applied,
                stalled, round, accepted_at, rev, digest_high, digest_low, size, changes, method,
                url, headers, body)
            WITH RECURSIVE n(n) AS (
                SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < \(Self.modifiers))
            SELECT '1000:default', 'm' || n, 'host', 'queued', '', 0, 0, 0, 1, 0, 1, n, n, 1000, 1,
                'PATCH', 'https://host/1', '', zeroblob(100)
            FROM n;
            INSERT INTO change (modifier, position, scope, id, settled, effect)
            SELECT number, 0, scope, 't' || (number % \(Self.targets)), 0, x'7b7d' FROM modifier
            WHERE id <> 'first';
            INSERT OR IGNORE INTO claim (scope, id, size, targeted, shared, wanted)
            SELECT DISTINCT scope, id, 300, 0, 0, 0 FROM change;
            UPDATE claim SET targeted = EXISTS (SELECT 1 FROM change
                WHERE change.scope = claim.scope AND change.id = claim.id);
            COMMIT
            """
        )
        return temporary
    }

    @Test("Each step costs as much as in a short queue, and each page as much as it has rows")
    func steps() async throws {
        let temporary = try await prepared()
        func cost(_ work: () async throws -> Void) async throws -> Int {
            let before = temporary.faults.operations
            try await work()
            return temporary.faults.operations - before
        }
        // Each durable row is one step, beside a few for the files.
        let opening = try await cost { try temporary.open() }
        #expect(opening < Self.targets + 500, "opening: \(opening)")
        #expect(temporary.store.modifiers.totals.unsettled == Self.modifiers + 1)
        let accept = try await cost { try await temporary.accept("new", "fresh") }
        #expect(accept < 80, "an accept: \(accept)")
        let onOld = try await cost { try await temporary.accept("more", "t1") }
        #expect(onOld < 80, "an accept on a target of many: \(onOld)")
        let number = ModifierNumber(50_000)
        let send = try await cost { _ = try await temporary.store.modifiers.send(number) }
        #expect(send < 20, "a send: \(send)")
        let settle = try await cost { try await temporary.confirm(number, "[1]") }
        #expect(settle < 120, "a settlement: \(settle)")
        var found: [FoundModifier] = []
        let page = try await cost {
            found = try await temporary.store.modifiers.unsettled(
                after: ModifierNumber(90_000),
                limit: 100
            )
        }
        #expect(found.count == 100 && page < 500, "a page of 100: \(page)")
        let view = try await cost { _ = try temporary.target("t7") }
        #expect(view < 150, "a target of 100 changes: \(view)")
        let none = try await cost { _ = try temporary.target("nothing") }
        #expect(none < 20, "what nothing targets: \(none)")
    }

    @Test("No read or step goes through the queue to find its rows")
    func plans() async throws {
        let temporary = try TemporaryStore()
        let file = try SQLiteConnection(path: temporary.statePath, mode: .readOnly)
        for (sql, index) in [
            (
                "SELECT * FROM change WHERE scope = 'a' AND id = 'b' AND settled = 0",
                "change_target"
            ),
            (
                "SELECT count(*) FROM change WHERE scope = 'a' AND id = 'b' AND settled = 1",
                "COVERING INDEX change_target"
            ),
            ("SELECT * FROM change WHERE modifier = 1 ORDER BY position", "change_modifier"),
            ("SELECT number FROM modifier WHERE scope = 'a' AND id = 'b'", "modifier_id"),
            ("SELECT number FROM history WHERE scope = 'a' AND id = 'b'", "history_id"),
        ] {
            let plan = try file.prepare("EXPLAIN QUERY PLAN \(sql)")
            #expect(try plan.step())
            #expect(
                plan.text("detail")?.contains(index) == true,
                "\(sql): \(plan.text("detail") ?? "")"
            )
        }
    }
}
