import Foundation
import LarderModel
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderStore

@Suite("Durable rows over both files")
struct DurableRowTests {
    private let temporary = TemporaryStore.new()

    /// What has a part in both files: what it leaves is `[2]`, or for what changes no bytes `[1]`.
    enum Command: String, CaseIterable, Sendable {
        case news, refusedNews, confirmed, cancelled, putPinned, pinned, unpinned, renewed
    }

    /// What comes twice in one group: an id is durable less, and then again.
    enum Reclaimed: CaseIterable, Sendable {
        case deletedAndTargeted, removedAndTargeted, unpinnedAndPinned, droppedAndPinned
        /// Unpinned at the end, too: the row stays until the cache has it.
        case droppedAndPinnedAndUnpinned
    }

    @Test("An eviction between the two steps of a demotion finds the row")
    func evictedInDemotion() async throws {
        let (store, name) = (temporary.store, TargetName(temporary.scope, named("a")))
        try await temporary.answer("a", "[1]")
        try await temporary.pin("a")
        _ = try await store.pins.unpin(name.scope, name.id, now: .epoch)
        let releases = try await store.commits.submit { writer throws(StoreError) in
            try writer.demotion.prepare([name], now: .epoch)
        }
        try await store.commits.submit { writer throws(StoreError) in
            try writer.pinning.hide(name)
        }
        try await store.stateFile.settle { writer throws(StoreError) in
            try writer.demotion.remove(releases)
        }
        #expect(try await temporary.text("a") == "[1]")
        #expect(try await store.pins.evict(name.scope, name.id))
        #expect(try await temporary.text("a") == nil)
        try await store.requireInvariants()
    }

    @Test(
        "A row that is demoted and promoted in one group is durable",
        arguments: Reclaimed.allCases
    )
    func reclaimed(_ commands: Reclaimed) async throws {
        let (store, scope, id) = (temporary.store, temporary.scope, named("a"))
        try await temporary.answer("a", "[1]")
        switch commands {
        case .deletedAndTargeted, .removedAndTargeted:
            try await temporary.confirm(try await temporary.accept("one", "a"), "[2]")
        case .unpinnedAndPinned, .droppedAndPinned, .droppedAndPinnedAndUnpinned:
            try await temporary.pin("a")
        }
        let new = NewModifier.changing(["a"], "two", scope)
        try await store.commits.submit { writer throws(StoreError) in
            switch commands {
            case .deletedAndTargeted:
                _ = try writer.entries.delete(TargetName(scope, id), client: nil)
            case .removedAndTargeted:
                try writer.demotion.remove(
                    writer.demotion.prepare([TargetName(scope, id)], now: .epoch)
                )
            case .unpinnedAndPinned:
                _ = try writer.pinning.unpin(TargetName(scope, id), now: .epoch)
            case .droppedAndPinned, .droppedAndPinnedAndUnpinned:
                _ = try writer.pinning.drop(TargetName(scope, id), client: nil)
            }
            switch commands {
            case .deletedAndTargeted, .removedAndTargeted:
                _ = try writer.accepting.accept([new], now: .epoch)
            case .unpinnedAndPinned, .droppedAndPinned, .droppedAndPinnedAndUnpinned:
                _ = try writer.pinning.putPinned(.fetched(scope, id, "[3]"), now: .epoch)
            }
            guard commands == .droppedAndPinnedAndUnpinned else { return }
            _ = try writer.pinning.unpin(TargetName(scope, id), now: .epoch)
        }
        try await store.requireInvariants()
        switch commands {
        case .deletedAndTargeted: #expect(try temporary.target("a")?.1 == ["two"])
        case .removedAndTargeted:
            #expect(try temporary.target("a")?.base == "[2]")
            #expect(try temporary.target("a")?.1 == ["two"])
        case .unpinnedAndPinned, .droppedAndPinned:
            #expect(try await store.pins.pin(scope, id)?.state == .held)
            #expect(store.isDurable(scope, id))
        case .droppedAndPinnedAndUnpinned:
            try await temporary.answer("a", "[4]")
            try await store.maintain()
            #expect(try await temporary.text("a") == "[4]")
        }
    }

    /// As a kill between the two commits would leave it, and as a failing disk does.
    @Test(
        "Rows that cache.db failed to commit after state.db are read from state.db",
        arguments: Command.allCases,
        [false, true]
    )
    func uncommittedCache(command: Command, isCrash: Bool) async throws {
        let (store, scope, id) = (temporary.store, temporary.scope, named("a"))
        try await temporary.answer("a", "[1]")
        var number: ModifierNumber?
        switch command {
        case .news, .refusedNews, .unpinned, .renewed:
            try await temporary.pin("a")
        case .confirmed, .cancelled: number = try await temporary.accept("one", "a")
        case .putPinned, .pinned: break
        }
        temporary.faults.arm(2, of: "COMMIT")
        var expected = "[1]"
        switch command {
        case .news, .putPinned, .confirmed: expected = "[2]"
        case .refusedNews, .cancelled, .pinned, .unpinned, .renewed: break
        }
        switch command {
        case .news: try await temporary.answer("a", "[2]")
        case .refusedNews: try await temporary.answer("a", "[1]")
        case .confirmed: _ = try await temporary.confirm(try #require(number), "[2]")
        case .cancelled:
            try await temporary.end(try #require(number), .cancelled)
        case .putPinned:
            let new = NewEntry.fetched(scope, id, "[2]")
            _ = try await store.pins.put(new, now: .epoch)
        case .pinned: try await temporary.pin("a")
        case .unpinned: #expect(try await temporary.unpin("a"))
        case .renewed:
            let event = Change.Event.put(id, ChangeCause(.modifier))
            let news = [(TargetName(scope, id), event)]
            try await store.modifiers.renew(news, seenBy: scope.scope)
        }
        temporary.faults.disarm()
        if isCrash { try temporary.crash() }
        let again = temporary.store
        #expect(try await temporary.text("a") == expected)
        try await again.requireInvariants()
        try await again.maintain()
        try await again.requireInvariants()
        #expect(try await temporary.text("a") == expected)
        _ = try FileAudit(temporary.cachePath)
    }

    @Test("A large pin's row and body are in state.db alone, and in the cache once it is unpinned")
    func large() async throws {
        let (store, scope) = (temporary.store, temporary.scope)
        let bytes = [UInt8].pattern(200_000)
        try await temporary.upload("large", bytes)
        let before = try FileAudit(temporary.cachePath).bytes
        #expect(try await temporary.pin("large") == .held(isNew: true))
        try await store.maintain()
        try await store.settle()
        #expect(try FileAudit(temporary.cachePath).entries == 0)
        #expect(try await temporary.bytes("large") == bytes)
        #expect(try await temporary.ids() == ["large"])
        // Released it stands in the cache again, and only then no more in state.db.
        #expect(try await temporary.unpin("large"))
        #expect(try await temporary.bytes("large") == bytes)
        try await store.maintain()
        try await store.settle()
        #expect(!store.isDurable(scope, named("large")))
        #expect(try temporary.count("claim") == 0)
        #expect(try FileAudit(temporary.cachePath).bytes >= before)
        #expect(try await temporary.bytes("large") == bytes)
    }

    @Test("An unpinned row without room among protected rows is lost, and no other row is")
    func noRoom() async throws {
        let temporary = try TemporaryStore(configure: { $0.maxBytes = ByteSize(bytes: 100_000) })
        let (store, scope) = (temporary.store, temporary.scope)
        try await temporary.put("other", .pattern(5_000))
        try await temporary.put("watched", .pattern(60_000))
        store.protect(scope, named("watched"))
        let new = NewEntry.blob(scope, named("pin"), .pattern(45_000))
        _ = try await store.pins.put(new, now: .epoch)
        #expect(try await temporary.bytes("other") == .pattern(5_000))
        #expect(try await temporary.bytes("pin") == .pattern(45_000))
        #expect(try await temporary.unpin("pin"))
        #expect(try await temporary.bytes("pin") == .pattern(45_000))
        try await store.maintenance.removeReleased(now: .epoch)
        #expect(try await temporary.bytes("pin") == nil)
        #expect(try await temporary.bytes("other") == .pattern(5_000))
        #expect(try FileAudit(temporary.cachePath).entries == 2)
    }

    @Test("A large body that the cache cannot take keeps nothing else from being released")
    func largeIsLost() async throws {
        let temporary = try TemporaryStore(configure: { $0.maxBytes = ByteSize(bytes: 10 << 20) })
        let (store, scope) = (temporary.store, temporary.scope)
        let count = Limits.copiedAtOnceBytesMax + 1_000_000
        try await temporary.upload("large", .pattern(count))
        try await temporary.pin("large")
        try await store.settle()
        try await temporary.upload("watched", .pattern(7_000_000))
        store.protect(scope, named("watched"))
        _ = try await store.pins.put(.blob(scope, named("small"), [1]), now: .epoch)
        for id in ["large", "small"] {
            #expect(try await temporary.unpin(id))
        }
        try await store.maintain()
        #expect(try temporary.count("claim") == 0)
        #expect(try await temporary.bytes("large") == nil)
        #expect(try await temporary.bytes("small") == [1])
        #expect(try await temporary.bytes("watched") == .pattern(7_000_000))
    }

    @Test("A base that is copied first leaves no second copies of the other bases")
    func copiedFirst() async throws {
        let large = "\"" + String(repeating: "x", count: Limits.copiedAtOnceBytesMax) + "\""
        let long = "\"" + String(repeating: "x", count: 150_000) + "\""
        try await temporary.answer("large", large)
        for id in ["a", "b"] { try await temporary.answer(id, long) }
        try await temporary.accept("m", "a", "large", "b")
        let file = try SQLiteConnection(path: temporary.statePath, mode: .readOnly)
        #expect(try file.integer("SELECT count(*) FROM body WHERE linked = 1") == 3)
        #expect(try file.integer("SELECT count(*) FROM body WHERE linked = 0") == 0)
    }

    /// P-04: a write is seen from its accept on, and what it came to behind its end, by a loop that
    /// keeps its transactions as by one that opens each anew.
    @Test(
        "A reader never sees an earlier value again while writes are confirmed",
        arguments: [false, true]
    )
    func neverBack(isKept: Bool) async throws {
        let (store, scope, id) = (temporary.store, temporary.scope, named("a"))
        try await temporary.answer("a", "0")
        let isFinished = Atomic<Bool>(false)
        let broken = Mutex<String?>(nil)
        let reads = Mutex(0)
        let reader = Thread {
            guard let reader = try? store.makeReader() else { return }
            var last = 0
            while !isFinished.load(ordering: .relaxed) {
                let seen = Self.seen(scope, id, reader)
                if !isKept { reader.endTransaction() }
                if let seen, seen >= last {
                    last = seen
                } else {
                    broken.withLock { $0 = "\(String(describing: seen)) after \(last)" }
                }
                reads.withLock { $0 += 1 }
            }
            reader.endTransaction()
        }
        reader.start()
        for value in 1...300 {
            let number = try await temporary.accept("m-\(value)", "a", effect: "\(value)")
            _ = try await temporary.confirm(number, "\(value)")
        }
        isFinished.store(true, ordering: .relaxed)
        while !reader.isFinished { await Task.yield() }
        #expect(broken.withLock { $0 } == nil)
        #expect(reads.withLock { $0 } > 0)
    }

    /// What a view is made of: the last change of a target, else what its row says.
    private static func seen(_ scope: ScopeKey, _ id: EntryID, _ reader: StoreReader) -> Int? {
        if let target = try? reader.targets.target(scope, id) {
            return target.changes.last.flatMap { Int(String(decoding: $0.effect, as: UTF8.self)) }
        }
        let row = try? reader.withEntry(scope, id, now: .epoch) { row in
            row.withBody { String(decoding: $0, as: UTF8.self) }
        }
        return row.flatMap { $0 }.flatMap { Int($0) }
    }
}
