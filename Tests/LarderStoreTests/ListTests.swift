import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("Lists")
struct ListTests {
    private let temporary = TemporaryStore.new()

    private static let ids = [
        "a", "a%", "a%b", "a_", "a_b", "ab", "b", "caf\u{e9}", "cafe\u{301}", "\u{d7ff}",
        "\u{d7ff}a", "\u{e000}", "\u{1F4A1}", "\u{1F4A1}x", "\u{10FFFF}", "\u{10FFFF}\u{10FFFF}",
        "z\u{10FFFF}", "z\u{10FFFF}a", "z\u{10FFFF}\u{10FFFF}",
    ]

    private func filled() async throws -> TemporaryStore {
        for (index, id) in Self.ids.enumerated() {
            var new = NewEntry.blob(temporary.scope, try EntryID(id), .pattern(index * 7 % 10))
            new.entry.storedAt = Timestamp(milliseconds: Int64(index * 5 % 7))
            if index % 3 == 0 { new.entry.origin = try OriginName("host") }
            _ = try await temporary.store.put(new, now: .epoch)
            new.scope = temporary.store.key(for: .shared)
            _ = try await temporary.store.put(new, now: .epoch)
        }
        return temporary
    }

    @Test("A prefix is bytes: no character of it is a pattern", arguments: ids + ["", "z", "ca"])
    func prefixes(prefix: String) async throws {
        let temporary = try await filled()
        var filter = RowFilter(scope: temporary.scope)
        filter.prefix = prefix
        let expected = Self.ids.filter { $0.utf8.starts(with: prefix.utf8) }.sorted(by: byBytes)
        for order in [RowOrder.id, .size, .age, .used] {
            let rows = try await temporary.store.rows(filter, order)
            #expect(rows.map(\.entry.id.text).sorted(by: byBytes) == expected, "\(order)")
        }
    }

    @Test(
        "Pages give each row once and in order, among them targets of which nothing is known",
        arguments: RowOrder.allCases
    )
    func pages(order: RowOrder) async throws {
        let temporary = try await filled()
        let made = ["a~", "made", "z"]
        for (number, id) in made.enumerated() {
            let now = Timestamp(milliseconds: Int64(number) + 2)
            let new = NewModifier.changing([id], "m\(number)", temporary.scope)
            _ = try await temporary.store.modifiers.accept([new], now: now)
        }
        // This one has a row; what is settled shows no more.
        try await temporary.accept("m3", Self.ids[0])
        try await temporary.confirm(try await temporary.accept("m4", "gone"))
        let expected = (Self.ids + made).sorted(by: byBytes)
        for scopes in [RowScopes.one(temporary.scope), .all] {
            for limit in [1, 2, 7, 100] {
                let rows = try await temporary.store.allRows(RowFilter(scopes), order, limit: limit)
                let own = rows.filter { $0.scope == temporary.scope.scope }
                #expect(own.map(\.entry.id.text).sorted(by: byBytes) == expected)
                #expect(rows.filter(\.isBare).map(\.entry.id.text).sorted() == made)
                for (row, next) in zip(rows, rows.dropFirst()) {
                    #expect(row.precedes(next, in: order), "\(row.entry.id), \(next.entry.id)")
                }
            }
        }
    }

    @Test("While rows come and go, pages give those that stay exactly once")
    func pagesWhileChanging() async throws {
        var random = SeededRandom(seed: 3)
        let staying = (0..<40).map { "stays-\($0)" }
        for id in staying { try await temporary.put(id, [1]) }
        for order in [RowOrder.id, .size, .age, .used] {
            var seen: [String] = []
            var cursor: RowCursor?
            while true {
                let filter = RowFilter(scope: temporary.scope)
                let page = try await temporary.store.rows(filter, order, after: cursor, limit: 3)
                guard let last = page.last, seen.count < 1_000 else { break }
                seen += page.map(\.entry.id.text)
                cursor = last.cursor(order)
                let passing = "passes-\(random.next() % 20)"
                if random.next() % 3 == 0, order != .used {
                    try await temporary.put(passing, .pattern(Int(random.next() % 9)))
                } else {
                    let id = try EntryID(passing)
                    _ = try await temporary.store.delete(temporary.scope, id)
                }
            }
            let stayed = seen.filter { $0.hasPrefix("stays-") }
            #expect(stayed.sorted() == staying.sorted(), "\(order)")
        }
    }

    @Test("Origin and age filter; another scope's, our own and expired rows are not shown")
    func filters() async throws {
        let temporary = try await filled()
        var variants = NewEntry.blob(temporary.scope, try EntryID("a"), [])
        variants.entry.kind = .variants
        variants.entry.id = try EntryID("a?")
        _ = try await temporary.store.put(variants, now: .epoch)
        var filter = RowFilter(scope: temporary.scope)
        filter.origin = try OriginName("host")
        filter.storedBefore = Timestamp(milliseconds: 3)
        let rows = try await temporary.store.rows(filter)
        let expected = Self.ids.enumerated().filter { $0.offset % 3 == 0 && $0.offset * 5 % 7 < 3 }
        #expect(rows.map(\.entry.id.text) == expected.map(\.element).sorted(by: byBytes))
        var expired = NewEntry.blob(temporary.scope, try EntryID("b?"), [])
        expired.entry.freshUntil = Timestamp(milliseconds: 10)
        _ = try await temporary.store.put(expired, now: .epoch)
        var shown = RowFilter(scope: temporary.scope)
        for (moment, count) in [(9, Self.ids.count + 1), (10, Self.ids.count)] {
            shown.shownAt = Timestamp(milliseconds: Int64(moment))
            let listed = try await temporary.store.rows(shown)
            #expect(listed.count == count, "at \(moment) ms")
        }
        // An eviction sees every row.
        #expect(try await temporary.ids().count == Self.ids.count + 2)
        let other = temporary.store.key(for: .own(uid: 7, account: .default))
        let none = try await temporary.store.rows(RowFilter(scope: other))
        #expect(none == [])
    }

    @Test("Candidates come in pages, the least recently used first")
    func candidates() async throws {
        let temporary = try await filled()
        let filter = RowFilter(scope: temporary.scope)
        let all = try await temporary.store.read { reader throws(StoreError) in
            var all: [EvictionCandidate] = []
            while true {
                let cursor = all.last?.cursor
                let page = try reader.lists.candidates(filter, after: cursor, limit: 4)
                if page.isEmpty { return all }
                all += page
            }
        }
        #expect(all.map(\.id.text) == Self.ids)
        let id = try EntryID("a_b")
        let scope = temporary.scope
        let one = try await temporary.store.candidate(scope, id)
        #expect(one == all[4])
    }

    @Test("An eviction skips what is protected, gone, or changed since it was named")
    func changedRows() async throws {
        for number in 0..<600 { try await temporary.put("\(number)", [1]) }
        let filter = RowFilter(scope: temporary.scope)
        let named = try await temporary.store.candidates(filter)
        try await temporary.put("1", [2])
        try await temporary.put("2", [1])
        _ = try await temporary.store.delete(temporary.scope, EntryID("3"))
        temporary.store.protect(temporary.scope, try EntryID("4"))
        #expect(temporary.store.protections(temporary.scope, try EntryID("4")) == 1)
        let receipt = try await temporary.store.evict(named)
        #expect(receipt.skipped == 3 && receipt.evicted.count == 597)
        #expect(
            receipt.bytes == named.reduce(0) { $0 + $1.size } - 2 * named[1].size - named[3].size
        )
        #expect(try await temporary.ids() == ["1", "4"])
    }
}

private func byBytes(_ one: String, _ other: String) -> Bool {
    one.utf8.lexicographicallyPrecedes(other.utf8)
}
