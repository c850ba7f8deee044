import Glibc
import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("The log of changes")
struct ChangeLogTests {
    private let temporary = TemporaryStore.new()

    @Test("The log has each put, delete and eviction with the client that asked for it")
    func kinds() async throws {
        let scope = temporary.scope
        let tag = ClientTag(uid: 1_000, name: "phone")
        var blob = NewEntry.blob(scope, try EntryID("a"), [1])
        blob.client = tag
        _ = try await temporary.store.put(blob, now: .epoch)
        try await temporary.answer("b", "[2]")
        _ = try await temporary.store.put(.tombstone(scope, named("b")), now: .epoch)
        _ = try await temporary.store.delete(scope, EntryID("a"), client: tag)
        try await temporary.answer("c", "[3]")
        _ = try await temporary.store.delete(scope, EntryID("c"))
        let byClient = ChangeCause(.client, client: tag)
        #expect(
            try await temporary.events(after: 0) == [
                .put(EntryID("a"), byClient), .put(EntryID("b"), ChangeCause(.network)),
                .delete(EntryID("b"), ChangeCause(.network)), .delete(EntryID("a"), byClient),
                .put(EntryID("c"), ChangeCause(.network)),
                .evict(EntryID("c"), .request, client: nil),
            ]
        )
    }

    @Test("Bytes that are there already change nothing")
    func sameBytes() async throws {
        let first = try await temporary.put("a", [1])
        #expect(try await temporary.put("a", [1]).isSame)
        #expect(try await temporary.events(after: first.revision.number) == [])
    }

    @Test("Pinning changes nothing; what comes for a pin does, in the other file")
    func pins() async throws {
        let (scope, id) = (temporary.scope, try EntryID("a"))
        try await temporary.answer("a", "[1]")
        let before = temporary.store.changes.published.number
        try await temporary.pin("a")
        #expect(try await temporary.events(after: before) == [])
        try await temporary.answer("a", "[2]")
        try await temporary.put("b", [1])
        _ = try await temporary.store.put(.tombstone(scope, named("a")), now: .epoch)
        _ = try await temporary.store.put(.tombstone(scope, named("a")), now: .epoch)
        let told: [Change.Event] = [
            .put(id, ChangeCause(.network)), .put(try EntryID("b"), ChangeCause(.client)),
            .delete(id, ChangeCause(.network)),
        ]
        #expect(try await temporary.events(after: before) == told)
        // The bytes that the pin has kept are shown no more.
        try await temporary.unpin("a")
        #expect(try await temporary.events(after: before) == told + [told[2]])
    }

    @Test("A full cache tells what had to go, and a pin that is evicted is told")
    func evictions() async throws {
        let temporary = try TemporaryStore(configure: { $0.maxBytes = ByteSize(bytes: 4_096) })
        for name in ["a", "b", "c"] { try await temporary.put(name, .pattern(1_500)) }
        try await temporary.store.settle()
        let events = try await temporary.events(after: 0)
        let evicted = events.compactMap { event in
            if case .evict(let id, .lru, nil) = event { id.text } else { nil }
        }
        let left = try await temporary.ids()
        #expect(evicted + left == ["a", "b", "c"])
        try await temporary.pin("c")
        let before = temporary.store.changes.published.number
        _ = try await temporary.store.pins.evict(temporary.scope, EntryID("c"))
        let event = Change.Event.evict(try EntryID("c"), .request, client: nil)
        #expect(try await temporary.events(after: before) == [event])
    }

    @Test("A put that fails tells nothing, and what comes after it is released")
    func failures() async throws {
        let faults = temporary.faults
        try await temporary.put("a", [1])
        let before = temporary.store.changes.published
        for n in 1...40 {
            faults.arm(n, with: .inputOutput)
            do {
                try await temporary.put("b\(n)", [UInt8(n)])
            } catch {
                faults.disarm()
                let last = try await temporary.put("c\(n)", [UInt8(n)]).revision
                #expect(temporary.store.changes.published == last)
            }
        }
        faults.disarm()
        let ids = try await temporary.changes(after: before.number).compactMap(\.id?.text)
        #expect(Set(ids) == Set(try await temporary.ids()).subtracting(["a"]))
        #expect(ids.count == Set(ids).count)
    }

    @Test("At most so many rows stay: the oldest go in batches, and who was there is told so")
    func bounds() async throws {
        let ids = try (0..<4).map { try EntryID(String($0) + String(repeating: "x", count: 8_000)) }
        let rows = Int(Limits.changeLogBytesMax / 8_000)
        await withTaskGroup(of: Void.self) { [store = temporary.store] group in
            for (number, id) in ids.enumerated() {
                group.addTask {
                    for round in 0..<(rows / 4 + 100) {
                        let bytes = [UInt8(number), UInt8(truncatingIfNeeded: round)]
                        let new = NewEntry.blob(store.key(for: .first), id, bytes)
                        _ = try? await store.put(new, now: .epoch)
                    }
                }
            }
        }
        let start = temporary.store.changes.start
        #expect(start > Revision(Limits.changeLogBatchRows))
        let gap = try await temporary.store.changes(after: Revision(1), through: start, of: .first)
        #expect(gap == nil)
        let changes = try await temporary.changes(after: start.number)
        #expect(changes.count > 1_000)
        #expect(changes.count < rows)
        // What the file says is what was counted.
        try await temporary.reopen()
        #expect(temporary.store.changes.start == start)
    }

    // MARK: Lives of the process and of the machine

    @Test("The log goes on after a crash of the process, and after an orderly end")
    func goesOn() async throws {
        let temporary = try TemporaryStore(configure: { $0.boot = 7 })
        let first = try await temporary.put("a", [1]).revision.number
        try await temporary.put("b", [1])
        try temporary.crash()
        try await temporary.put("c", [1])
        #expect(try await temporary.ids(after: first) == ["b", "c"])
        try await temporary.reopen()
        try await temporary.put("d", [1])
        #expect(try await temporary.ids(after: first) == ["b", "c", "d"])
    }

    @Test("After a reboot the log goes on if the end was orderly, and begins again otherwise")
    func machine() async throws {
        let boot = Recorder<Int64>()
        boot.record(1)
        let temporary = try TemporaryStore(configure: { $0.boot = boot.all.last })
        let first = try await temporary.put("a", [1]).revision
        try await temporary.put("b", [1])
        boot.record(2)
        try await temporary.reopen()
        #expect(try await temporary.ids(after: first.number) == ["b"])
        // Nothing was written in this life, so there was nothing to lose.
        boot.record(3)
        try temporary.crash()
        let start = temporary.store.changes.start
        #expect(start > first)
        let gap = try await temporary.store.changes(after: first, through: start, of: .first)
        #expect(gap == nil)
        let next = try await temporary.put("c", [1]).revision
        #expect(try await temporary.changes(after: start.number).map(\.revision) == [next])
        boot.record(4)
        try temporary.crash()
        #expect(temporary.store.changes.start >= next)
    }

    @Test("With a new cache.db the log begins again, also in a running store, and watchers hear it")
    func newFile() async throws {
        let first = try await temporary.put("a", [1]).revision
        _ = temporary.store.changes.take()
        #expect(unlink(temporary.cachePath) == 0)
        try await temporary.store.maintain()
        #expect(temporary.store.changes.take().isCut)
        #expect(temporary.store.changes.start >= first)
        let next = try await temporary.put("b", [1]).revision
        let start = temporary.store.changes.start
        #expect(try await temporary.changes(after: start.number).map(\.revision) == [next])
        try await temporary.close()
        #expect(unlink(temporary.cachePath) == 0)
        try temporary.open()
        #expect(temporary.store.changes.start >= next)
    }

    @Test("A watcher that learns of a lost file finds that its log was cut too")
    func lostFile() async throws {
        let last = try await temporary.put("a", [1]).revision
        let store = temporary.store
        let starts = Recorder<Revision>()
        let watch = store.watch(temporary.scope, try EntryID("a")) {
            starts.record(store.changes.start)
        }
        #expect(unlink(temporary.cachePath) == 0)
        try await store.maintain()
        #expect(starts.all.first.map { $0 >= last } == true)
        withExtendedLifetime(watch) {}
    }

    @Test("A modifier's change comes back as it was written")
    func modifiers() async throws {
        var modifier = ModifierChange(
            id: try ModifierID("m1"),
            state: .failed,
            targets: [try EntryID("a"), try EntryID("b c")]
        )
        modifier.mark = .dropped
        modifier.reason = .refused
        modifier.problem = Array(#"{"status":422}"#.utf8)
        modifier.client = ClientTag(uid: 1, name: "x")
        let store = temporary.store
        try await store.write(.modifier(modifier), of: .first)
        try await store.write(.modifier(modifier), of: .shared)
        let other = Scope.own(uid: 7, account: .default)
        try await store.write(.modifier(modifier), of: other)
        let events = try await temporary.events(after: 0)
        #expect(events == [.modifier(modifier), .modifier(modifier)])
    }
}

extension TemporaryStore {
    /// What the logs say of the first scope, page after page.
    func changes(after first: Int64) async throws -> [Change] {
        let last = store.changes.published
        var (position, changes) = (Revision(first), [Change]())
        while position < last {
            let page = try await store.changes(after: position, through: last, of: .first)
            let found = try #require(page)
            changes += found.changes
            position = found.through
        }
        return changes
    }

    func ids(after first: Int64) async throws -> [String] {
        try await changes(after: first).compactMap(\.id?.text)
    }

    func events(after first: Int64) async throws -> [Change.Event] {
        try await changes(after: first).map(\.event)
    }
}

extension Store {
    /// A step in `state.db` that changes nothing but its log.
    func write(_ event: Change.Event, of scope: Scope) async throws(StoreError) {
        try await commits.submit { writer throws(StoreError) in
            try writer.state.views.log(Change(try writer.revisions.next(), scope, event))
        }
    }
}
