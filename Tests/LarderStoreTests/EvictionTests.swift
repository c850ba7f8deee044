import LarderModel
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderStore

@Suite("Eviction from a full cache")
struct EvictionTests {
    /// Counts the rows that eviction looks at.
    private final class LookCounter: FaultPlan {
        private static let statements = [CacheStatement.oldest, .oldestWithKind, .expired].map(
            \.sql
        )
        private let count = Mutex(0)

        var looks: Int { count.withLock { $0 } }

        func failure(before step: String, of path: String) -> Int32? {
            if Self.statements.contains(step) { count.withLock { $0 += 1 } }
            return nil
        }
    }

    /// The rows of a cache that is full, all of one size.
    enum Rows: CaseIterable {
        case blobs
        /// Those of the front have expired.
        case expiredBlobs
        /// The disk is short, so that blobs go last.
        case answersOnShortDisk

        /// In how many orders eviction looks for them.
        var orders: Int { self == .blobs ? 1 : 2 }

        func entry(_ number: Int, isAtFront: Bool, in scope: ScopeKey) throws -> NewEntry {
            var new = NewEntry.blob(scope, Self.id(number), .pattern(1_000))
            if self == .answersOnShortDisk { new.entry.kind = .fetched }
            if self == .expiredBlobs, isAtFront {
                new.entry.freshUntil = Timestamp(milliseconds: -1)
            }
            return new
        }

        static func id(_ number: Int) -> EntryID {
            let digits = String(number + 10_000)
            guard let id = try? EntryID("https://host/\(digits)") else {
                preconditionFailure("\(number) makes no id")
            }
            return id
        }
    }

    @Test(
        "Puts into a full cache do not look at all protected rows, and evict others in order of use",
        arguments: Rows.allCases
    )
    func protectedRows(rows: Rows) async throws {
        let (protected, others, puts) = (300, 100, 400)
        let counter = LookCounter()
        let size = 256 + "1000:default".utf8.count + Rows.id(0).text.utf8.count + 1_000
        let budget = Int64((protected + others) * size)
        let temporary = try TemporaryStore(configure: {
            $0.faults = counter
            $0.lowWatermark = 1
            let isShort = rows == .answersOnShortDisk
            $0.maxBytes = ByteSize(bytes: isShort ? 2 * budget : budget)
            if isShort {
                $0.minFreeBytes = ByteSize(bytes: 1_000)
                $0.freeBytes = { _ in 1_000 + budget }
            }
        })
        let (store, scope) = (temporary.store, temporary.scope)
        func put(_ numbers: Range<Int>, isAtFront: Bool = false) async throws {
            for number in numbers {
                let new = try rows.entry(number, isAtFront: isAtFront, in: scope)
                _ = try await store.put(new, now: .epoch)
            }
        }
        func held() async throws -> Set<String> { Set(try await temporary.ids()) }
        func ids(_ numbers: Range<Int>) -> Set<String> { Set(numbers.map { Rows.id($0).text }) }

        try await put(0..<protected, isAtFront: true)
        let first = protected + others
        try await put(protected..<first)
        #expect(store.totals.bytes == budget && store.totals.evictions == 0)
        for number in 0..<protected { store.protect(scope, Rows.id(number)) }
        let before = counter.looks
        try await put(first..<(first + puts))
        let perPut = 2 + Int(Limits.passedRowsPerEviction)
        #expect(counter.looks - before <= rows.orders * (protected + perPut * puts))
        #expect(store.totals.evictions == puts)
        let left = ids(0..<protected).union(ids((first + puts - others)..<(first + puts)))
        #expect(try await held() == left)
        #expect(store.totals.entries == Int64(first))

        // A sixteenth of their number later they are the first to go.
        for number in 0..<protected { store.release(scope, Rows.id(number)) }
        let after = first + puts
        try await put(after..<(after + 20))
        #expect(try await held().isSuperset(of: ids((after - 70)..<(after + 20))))
        try await put((after + 20)..<(after + 700))
        #expect(try await held() == ids((after + 700 - first)..<(after + 700)))
        #expect(store.totals.entries == Int64(first))
    }

    @Test("A put that needs their room finds rows whose protection has just ended")
    func released() async throws {
        let size = 256 + "1000:default".utf8.count + Rows.id(0).text.utf8.count + 1_000
        let temporary = try TemporaryStore(configure: {
            $0.lowWatermark = 1
            $0.maxBytes = ByteSize(bytes: Int64(100 * size))
        })
        let (store, scope) = (temporary.store, temporary.scope)
        for number in 0..<100 { try await temporary.put(Rows.id(number).text, .pattern(1_000)) }
        for number in 0..<99 { store.protect(scope, Rows.id(number)) }
        try await temporary.put(Rows.id(100).text, .pattern(1_000))
        for number in 0..<99 { store.release(scope, Rows.id(number)) }
        try await temporary.put("large", .pattern(50 * size))
        #expect(try await temporary.ids(.used).suffix(2) == [Rows.id(98).text, "large"])
    }

    // MARK: Quota

    /// A cache that has room for 100 rows of some users, all of one size.
    private struct Shared {
        let temporary: TemporaryStore
        static let (one, other) = (1_000 as UInt32, 1_001 as UInt32)

        init(isDiskShort: Bool = false) throws {
            let size = 256 + "1000:default".utf8.count + Rows.id(0).text.utf8.count + 1_000
            let budget = Int64(100 * size)
            temporary = try TemporaryStore(configure: {
                $0.lowWatermark = 1
                $0.maxBytes = ByteSize(bytes: isDiskShort ? 2 * budget : budget)
                if isDiskShort {
                    $0.minFreeBytes = ByteSize(bytes: 1_000)
                    $0.freeBytes = { _ in 1_000 + budget }
                }
            })
        }

        private func scope(_ uid: UInt32?) -> ScopeKey {
            let own = uid.map { Scope.own(uid: $0, account: .default) }
            return temporary.store.key(for: own ?? .shared)
        }

        /// Nil puts rows that all users share.
        func put(_ numbers: Range<Int>, by uid: UInt32?, _ kind: EntryKind = .blob) async throws {
            for number in numbers {
                var new = NewEntry.blob(scope(uid), Rows.id(number), .pattern(1_000))
                new.entry.kind = kind
                _ = try await temporary.store.put(new, now: .epoch)
            }
        }

        /// The numbers of the rows that are left.
        func left(of uid: UInt32?) async throws -> [Int] {
            let filter = RowFilter(scope: scope(uid))
            let rows = try await temporary.store.rows(filter)
            return rows.compactMap { Int($0.entry.id.text.suffix(5)).map { $0 - 10_000 } }
        }
    }

    @Test("A user who stores without end evicts no row of another user within that one's share")
    func flood() async throws {
        let cache = try Shared()
        try await cache.put(0..<5, by: nil)
        try await cache.put(0..<40, by: Shared.other)
        try await cache.put(0..<500, by: Shared.one)
        #expect(try await cache.left(of: Shared.other) == Array(0..<40))
        #expect(try await cache.left(of: nil).count == 5)
        #expect(try await cache.left(of: Shared.one) == Array(445..<500))
        // The other user gets the whole share back from who has more, and no more than that.
        try await cache.put(40..<60, by: Shared.other)
        #expect(try await cache.left(of: Shared.other).count == 50)
        #expect(try await cache.left(of: Shared.one).count == 50)
    }

    @Test("On a short disk a user above the share loses answers before blobs, and others nothing")
    func shortDisk() async throws {
        let cache = try Shared(isDiskShort: true)
        try await cache.put(0..<40, by: Shared.other, .fetched)
        try await cache.put(0..<30, by: Shared.one)
        try await cache.put(30..<60, by: Shared.one, .fetched)
        #expect(cache.temporary.store.totals.bytes == cache.temporary.store.totals.budget)
        try await cache.put(60..<65, by: Shared.one)
        #expect(try await cache.left(of: Shared.one) == Array(0..<30) + Array(35..<65))
        try await cache.put(65..<100, by: Shared.one)
        #expect(try await cache.left(of: Shared.one) == Array(10..<30) + Array(60..<100))
        #expect(try await cache.left(of: Shared.other) == Array(0..<40))
    }
}
