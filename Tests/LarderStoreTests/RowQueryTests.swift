import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("Lists of several scopes")
struct RowQueryTests {
    private static let ids = ["a", "a/b", "ab", "b", "\u{e9}"]

    /// Each of some scopes has the same ids, with other sizes and times.
    private func filled() async throws -> TemporaryStore {
        let temporary = try TemporaryStore()
        for (number, scope) in (Scope.several + [.own(uid: 10, account: .default)]).enumerated() {
            for (index, id) in Self.ids.enumerated() {
                let bytes: [UInt8] = .pattern((number * 3 + index) % 4)
                var new = NewEntry.blob(temporary.store.key(for: scope), try EntryID(id), bytes)
                new.entry.storedAt = Timestamp(milliseconds: Int64((number + index) % 3))
                _ = try await temporary.store.put(new, now: .epoch)
            }
        }
        return temporary
    }

    @Test("Pages over all scopes give each row once and in order", arguments: RowOrder.allCases)
    func everybody(order: RowOrder) async throws {
        let temporary = try await filled()
        let whole = try await temporary.store.allRows(RowFilter(.all), order, limit: 1_000)
        #expect(whole.count == 5 * Self.ids.count)
        #expect(Set(whole.map(\.place)).count == whole.count)
        for (row, next) in zip(whole, whole.dropFirst()) {
            let isOrdered =
                switch order {
                case .id: row.place < next.place
                case .size: (-row.size, row.place) < (-next.size, next.place)
                case .age:
                    (row.entry.storedAt.milliseconds, row.place)
                        < (next.entry.storedAt.milliseconds, next.place)
                case .used: row.lastUsed < next.lastUsed
                }
            #expect(isOrdered, "\(row.place) before \(next.place)")
        }
        for limit in [1, 2, 7] {
            let paged = try await temporary.store.allRows(RowFilter(.all), order, limit: limit)
            #expect(paged == whole, "pages of \(limit)")
        }
    }

    @Test(
        "A list for a user has the rows of all its accounts, and of no other number",
        arguments: [1, 100]
    )
    func user(limit: Int) async throws {
        let temporary = try await filled()
        for (uid, scopes) in [(1_000, 2), (1_001, 1), (10, 1), (100, 0), (1, 0)] {
            let filter = RowFilter(.user(UInt32(uid)))
            for order in RowOrder.allCases {
                let rows = try await temporary.store.allRows(filter, order, limit: limit)
                #expect(rows.count == scopes * Self.ids.count, "\(uid) by \(order)")
                let uids = Set(rows.map(\.scope.uid))
                #expect(uids == (scopes > 0 ? [UInt32(uid)] : []))
            }
        }
    }

    @Test("Several scopes can be narrowed like one")
    func narrowed() async throws {
        let temporary = try await filled()
        var filter = RowFilter(.all)
        filter.prefix = "a/"
        filter.shownAt = .epoch
        let rows = try await temporary.store.allRows(filter, .id, limit: 2)
        #expect(rows.map(\.entry.id.text) == Array(repeating: "a/b", count: 5))
        filter.storedBefore = Timestamp(milliseconds: 1)
        #expect(try await temporary.store.allRows(filter, .size, limit: 1).count < 5)
        filter.origin = try OriginName("host")
        #expect(try await temporary.store.allRows(filter, .used, limit: 1) == [])
    }

    /// The scopes of the statement, its order, whether it has a cursor, and what SQLite says.
    private static let plans: [(RowScopes?, RowOrder, Bool, [String])] = [
        (nil, .id, false, ["SEARCH entry USING INDEX entry_scope_id (scope=?)"]),
        (nil, .id, true, ["SEARCH entry USING INDEX entry_scope_id (scope=? AND id>?)"]),
        (.user(7), .id, false, ["SEARCH entry USING INDEX entry_scope_id (scope>? AND scope<?)"]),
        (.all, .id, false, ["SCAN entry USING INDEX entry_scope_id"]),
        (.all, .id, true, ["SEARCH entry USING INDEX entry_scope_id ((scope,id)>(?,?))"]),
        (.all, .used, false, ["SCAN recency USING INDEX recency_last_used"]),
        (.all, .used, true, ["SEARCH recency USING INDEX recency_last_used (last_used>?)"]),
    ]

    @Test("SQLite goes through an index in the order that is asked for", arguments: plans.indices)
    func plan(index: Int) async throws {
        let (scopes, order, hasCursor, expected) = Self.plans[index]
        let temporary = try await filled()
        let query = RowQuery(
            filter: RowFilter(scopes ?? .one(temporary.scope)),
            order: order,
            cursor: hasCursor ? RowCursor(value: 1, scope: "7:default", id: "a") : nil
        )
        let plan = try await temporary.store.read { reader throws(StoreError) -> [String] in
            let sql = "EXPLAIN QUERY PLAN " + query.sql(ListedRow.columnsOfCache)
            return try reader.cache.reading { file throws(StoreError) -> [String] in
                let statement = try file.connection.prepare(sql)
                query.bind(to: statement)
                var plan: [String] = []
                while try statement.step() { plan.append(statement.text("detail") ?? "") }
                return plan
            } ?? []
        }
        for step in expected { #expect(plan.contains(step), "\(plan)") }
        #expect(!plan.contains { $0.contains("TEMP B-TREE") }, "\(plan)")
    }
}

extension ListedRow {
    /// Scope and id, as bytes order them.
    fileprivate var place: String { "\(scope.text)\u{0}\(entry.id.text)" }
}

extension Scope {
    fileprivate var uid: UInt32? {
        switch self {
        case .own(let uid, _): uid
        case .shared: nil
        }
    }
}
