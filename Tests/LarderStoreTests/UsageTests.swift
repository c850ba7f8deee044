import Glibc
import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("Where the bytes are, and how the files are")
struct UsageTests {
    private let temporary = TemporaryStore.new()

    private func usage(_ scopes: RowScopes, in temporary: TemporaryStore) async throws -> StoreUsage
    {
        try await temporary.store.read { reader throws(StoreError) in try reader.usage.of(scopes) }
    }

    @Test("The sums are those of the rows, in all and by kind, origin and scope")
    func sums() async throws {
        for (number, scope) in Scope.several.enumerated() {
            for index in 0...number {
                let key = temporary.store.key(for: scope)
                var new = NewEntry.blob(key, try EntryID("\(index)"), .pattern(100 * index))
                if index % 2 == 1 {
                    new.entry.kind = .fetched
                    new.entry.origin = try OriginName("host")
                }
                _ = try await temporary.store.put(new, now: .epoch)
            }
        }
        try await temporary.upload("large", .pattern(200_000))
        let all = try await usage(.all, in: temporary)
        #expect(all.total.entries == 11)
        #expect(all.total.bytes == temporary.store.totals.bytes)
        #expect(all.total.bodyBytes == 200_000 + 100 * (1 + 1 + 2 + 1 + 2 + 3))
        for parts in [all.byKind, all.byOrigin, all.byScope] {
            let rows = parts.map(\.rows)
            #expect(rows.reduce(0) { $0 + $1.entries } == all.total.entries)
            #expect(rows.reduce(0) { $0 + $1.bytes } == all.total.bytes)
            #expect(rows.reduce(0) { $0 + $1.bodyBytes } == all.total.bodyBytes)
            #expect(zip(rows, rows.dropFirst()).allSatisfy { $0.bytes >= $1.bytes })
        }
        #expect(Set(all.byOrigin.map(\.name)) == ["host", nil])
        #expect(all.byScope.map(\.name).first == "1000:default")
        let shared = try await usage(.one(temporary.store.key(for: .shared)), in: temporary)
        #expect(shared.total.entries == 4)
        #expect(shared.byScope == [])
        let user = try await usage(.user(1_000), in: temporary)
        #expect(user.total.entries == 4)
        #expect(user.byScope.map(\.name) == ["1000:default", "1000:work"])
        let nobody = try await usage(.user(1), in: temporary)
        #expect(nobody.total == UsageRows())
        #expect(nobody.byKind == [] && nobody.byOrigin == [] && nobody.byScope == [])
    }

    @Test("Pins are added up separately, for each scope, with those that wait")
    func pins() async throws {
        let (store, scopes) = (temporary.store, Scope.several.map(temporary.store.key(for:)))
        for (number, scope) in scopes.enumerated() {
            _ = try await store.put(.blob(scope, try EntryID("row"), .pattern(10)), now: .epoch)
            for index in 0...number {
                let new = NewEntry.blob(scope, try EntryID("held \(index)"), .pattern(100 * index))
                _ = try await store.pins.put(new, now: .epoch)
            }
            let id = try EntryID("https://a.example/")
            let origin = try OriginName("host")
            _ = try await store.pins.pin(scope, id, origin: origin, now: .epoch)
        }
        let all = try await usage(.all, in: temporary)
        #expect(all.pins.count == 10 + 4)
        #expect(all.pins.waiting == 4)
        #expect(all.pins.bytes == store.pins.totals.bytes)
        #expect(all.pins.bytes > 100 * (1 + 1 + 2 + 1 + 2 + 3))
        #expect(all.total.entries == 4)
        #expect(all.total.bytes == store.totals.bytes)
        var sum: Int64 = 0
        for (number, scope) in scopes.enumerated() {
            let pins = try await usage(.one(scope), in: temporary).pins
            #expect(pins.count == Int64(number) + 2)
            #expect(pins.waiting == 1)
            sum += pins.bytes
        }
        #expect(sum == all.pins.bytes)
        let nobody = try await usage(.user(1), in: temporary).pins
        #expect(nobody == PinUsage(count: 0, bytes: 0, waiting: 0))
    }

    @Test("Free pages inside the file are counted")
    func freePages() async throws {
        try await temporary.upload("large", .pattern(1_000_000))
        #expect(try await usage(.all, in: temporary).freeBytes == 0)
        _ = try await temporary.store.delete(temporary.scope, EntryID("large"))
        try await temporary.store.settle()
        #expect(try await usage(.all, in: temporary).freeBytes > 900_000)
    }

    @Test("Sound files are found sound, with the rights that they were made with")
    func sound() async throws {
        try await temporary.put("a", [1])
        let findings = try await temporary.store.files.check { try? await Gate().wait() }
        #expect(findings.map(\.name) == ["cache.db", "state.db"])
        #expect(findings.allSatisfy { $0.damage.isEmpty && $0.isComplete })
        for file in temporary.store.files.rights {
            #expect(file.mode & 0o077 == 0, "\(file.path)")
        }
        #expect(temporary.store.files.lengths.map(\.name) == ["cache.db", "state.db"])
    }

    @Test("A check that has no time says that it did not come to its end")
    func noTime() throws {
        let connection = try temporary.store.database.openReader(cacheBytes: 0)
        let checkBreak = CheckCancellation()
        #expect(try connection.quickCheck(until: checkBreak) == [])
        #expect(!checkBreak.isFinished)
        checkBreak.end()
        #expect(try connection.quickCheck(until: checkBreak) == nil)
    }

    @Test("A check under way is ended from outside")
    func interrupted() throws {
        let connection = try temporary.store.database.openReader(cacheBytes: 0)
        let checkBreak = CheckCancellation()
        #expect(throws: StoreError.self) {
            try checkBreak.during(connection) { () throws(StoreError) in
                let endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
                let statement = try connection.prepare(endless + "SELECT x FROM n")
                while try statement.step() {
                    if statement.integer(.only) == 1_000 { checkBreak.end() }
                }
            }
        }
        #expect(checkBreak.isFinished)
    }

    @Test("Only one check runs at a time, and it finds a damaged file")
    func damaged() async throws {
        for number in 0..<200 { try await temporary.put("\(number)", .pattern(3_000)) }
        try await temporary.store.close()
        let path = temporary.store.database.path
        let descriptor = open(path, O_RDWR)
        try #require(descriptor >= 0)
        let noise = [UInt8](repeating: 0x5A, count: 4_096)
        // A page in the middle of the table.
        try #require(pwrite(descriptor, noise, noise.count, 4_096 * 100) == noise.count)
        close(descriptor)
        let findings = try await temporary.store.files.check { try? await Gate().wait() }
        #expect(findings.first?.damage.isEmpty == false)
        #expect(findings.first?.isComplete == true)
        #expect(findings.last?.damage == [])
    }

    @Test("The moment of the row that was stored last is known")
    func latest() async throws {
        #expect(try await temporary.store.files.latestStoredAt() == nil)
        for moment in [3, 9, 5] {
            var new = NewEntry.blob(temporary.scope, try EntryID("\(moment)"), [1])
            new.entry.storedAt = Timestamp(milliseconds: Int64(moment))
            _ = try await temporary.store.put(new, now: .epoch)
        }
        #expect(try await temporary.store.files.latestStoredAt() == Timestamp(milliseconds: 9))
    }
}
