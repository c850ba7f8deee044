import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("Readers")
struct ReaderTests {
    private let temporary = TemporaryStore.new()

    @Test("A kept transaction is renewed by a commit: every reader reads what was answered")
    func readYourWrites() async throws {
        let readers = [try temporary.store.makeReader(), try temporary.store.makeReader()]
        let id = try EntryID("a")
        for mark in UInt8(1)...100 {
            try await temporary.put("a", [mark])
            for reader in readers {
                let bytes = try reader.withEntry(temporary.scope, id, now: .epoch) { row in
                    row.withBody { Array($0) }
                }
                #expect(bytes == [mark])
            }
        }
    }

    @Test("A transaction is kept over reads, and its owner is told once of each")
    func keptTransaction() async throws {
        try await temporary.put("a", [1])
        let reader = try temporary.store.makeReader()
        let opened = Recorder<Bool>()
        reader.transactionOpened = { opened.record(true) }
        let id = try EntryID("a")
        for _ in 0..<5 { _ = try reader.entry(temporary.scope, id, now: .epoch) }
        #expect(opened.all.count == 1)
        try await temporary.put("b", [1])
        for _ in 0..<5 { _ = try reader.entry(temporary.scope, id, now: .epoch) }
        #expect(opened.all.count == 2)
        reader.endTransaction()
        reader.endTransaction()
        _ = try reader.entry(temporary.scope, id, now: .epoch)
        #expect(opened.all.count == 3)
    }

    @Test("A log of uses says of how many rows it has one, and is empty once it was drained")
    func touchLog() {
        let log = TouchLog()
        let counts = (1...Int64(Limits.touchesMax)).map { log.touch(RowKey($0), at: $0) }
        #expect(counts == (1...Limits.touchesMax).map { $0 })
        #expect(log.touch(RowKey(5), at: 0) == nil)
        let drained = log.drain()
        #expect(drained.count == Limits.touchesMax && log.drain().isEmpty)
        _ = log.touch(RowKey(5), at: 1_000_000)
        log.restore(drained)
        #expect(log.drain()[RowKey(5)] == 1_000_000)
    }

    @Test("The WAL stays small over 10,000 puts while a reader ends its transactions")
    func boundedWAL() async throws {
        let reader = try temporary.store.makeReader()
        let (store, scope) = (temporary.store, temporary.scope)
        var largest: Int64 = 0
        for round in 0..<1_250 {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<8 {
                    let id = try EntryID("\((round * 8 + number) % 1_000)")
                    let new = NewEntry.blob(scope, id, .pattern(1_024, UInt8(round % 256)))
                    group.addTask { _ = try await store.put(new, now: .epoch) }
                }
                try await group.waitForAll()
            }
            _ = try reader.entry(scope, EntryID("7"), now: .epoch)
            reader.endTransaction()
            largest = max(largest, store.files.sizes.wal)
        }
        #expect(largest < Int64(Limits.walPagesMax) * 5_000)
        #expect(store.files.sizes.database > 1_000_000)
    }

    @Test("A reader that keeps its transaction lets the WAL grow; once it ends, the WAL restarts")
    func heldWAL() async throws {
        let reader = try temporary.store.makeReader()
        let (store, scope) = (temporary.store, temporary.scope)
        func put(_ rounds: Int) async throws {
            for round in 0..<rounds {
                try await temporary.put("\(round % 50)", .pattern(60_000, UInt8(round % 256)))
            }
        }
        _ = try reader.entry(scope, EntryID("7"), now: .epoch)
        try await put(500)
        let held = store.files.sizes.wal
        #expect(held > Int64(Limits.walPagesMax) * 4_096)
        reader.endTransaction()
        try await put(250)
        let free = store.files.sizes.wal
        try await put(500)
        #expect(store.files.sizes.wal == free)
    }
}
