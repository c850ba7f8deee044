import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

/// What the model of one row in one place has found.
@Suite("What is claimed, where a commit comes between")
struct DurableRowFaultTests {
    private func store(_ faults: FaultInjection) throws -> TemporaryStore {
        try TemporaryStore(configure: { $0.faults = faults })
    }

    @Test("What is evicted is gone, or was not evicted, whichever commit fails", arguments: 1...6)
    func evicted(n: Int) async throws {
        let faults = FaultInjection()
        let temporary = try store(faults)
        let (store, scope, id) = (temporary.store, temporary.scope, named("a"))
        try await temporary.answer("a", "[1]")
        _ = try await store.pins.pin(scope, id, origin: nil, now: .epoch)
        faults.arm(n, of: "COMMIT")
        let isDone = (try? await store.pins.evict(scope, id)) ?? false
        faults.disarm()
        #expect(try await temporary.text("a") == (isDone ? nil : "[1]"))
        try await store.maintain()
        #expect(try await temporary.text("a") == (isDone ? nil : "[1]"))
        try await temporary.close()
    }

    @Test("Of an answer that is told as stored every part is stored", arguments: 1...4)
    func answered(n: Int) async throws {
        let faults = FaultInjection()
        let temporary = try store(faults)
        let shared = temporary.store.key(for: .shared)
        try await temporary.answer("a", "[1]", in: shared)
        try await temporary.accept("one", "a", isOfSharedRow: true)
        faults.arm(n, of: "COMMIT")
        let isStored = (try? await temporary.answer("a", "[2]", in: shared)) != nil
        faults.disarm()
        guard isStored else { return try await temporary.close() }
        #expect(try temporary.target("a")?.base == "[2]")
        #expect(try await temporary.text("a", in: shared) == "[2]")
        try await temporary.close()
    }

    @Test("No base is seen under the revision of an accept without its change")
    func acceptedBetween() async throws {
        let temporary = try TemporaryStore()
        let (store, scope, id) = (temporary.store, temporary.scope, named("a"))
        try await temporary.answer("a", "[1]")
        let new = NewModifier.changing(["a"], "one", scope, effect: "{}")
        let reader = try store.makeReader()
        var rounds = 0
        let (changes, revision) = try reader.atOneMoment { () throws(StoreError) in
            let changes = try reader.targets.target(scope, id)?.changes ?? []
            if rounds == 0 {
                _ = try store.commits.submitBlocking { writer throws(StoreError) in
                    let bases = try writer.accepting.accept([new], now: .epoch)
                    guard case .done = bases else { throw .closed }
                }
            }
            rounds += 1
            let row = try reader.withEntry(scope, id, now: .epoch) { $0.revision }
            return (changes, row)
        }
        #expect(rounds == 2)
        #expect(changes.count == 1 && changes.first?.revision == revision)
        reader.endTransaction()
        try await temporary.close()
    }

    @Test("What is shown as it lies is not, where it comes to be targeted as it is looked at")
    func targetedBetween() async throws {
        let temporary = try TemporaryStore()
        try await temporary.answer("a", "[1]")
        let reader = try temporary.store.makeReader()
        let index = temporary.store.shared.residency
        try await temporary.accept("one", "b")
        let moves = index.moves
        try await temporary.accept("two", "a")
        #expect(index.moves.arrivals > moves.arrivals)
        #expect(!reader.plainRow(temporary.scope, named("a"), now: .epoch) { _ in })
        try await temporary.close()
    }

    @Test("What was read beside it counts no more once it is targeted, wherever it stood before")
    func targetedBehind() async throws {
        let temporary = try TemporaryStore()
        let scope = temporary.scope
        try await temporary.answer("a", "[1]")
        _ = try await temporary.store.pins.pin(scope, named("a"), origin: nil, now: .epoch)
        let reader = try temporary.store.makeReader()
        // As of an id under which a modifier of "a" would show.
        let (found, stamp) = reader.stamping {
            try? reader.entry(scope, named("b"), now: .epoch)
        }
        let kept = try #require(stamp)
        #expect(found == nil && reader.stillSays(kept))
        try await temporary.accept("one", "a")
        #expect(!reader.stillSays(kept))
        reader.endTransaction()
        try await temporary.close()
    }

    @Test("What has changed since it was shown stays saved until that is synced")
    func changedBetween() async throws {
        let temporary = try TemporaryStore()
        let (store, scope, id) = (temporary.store, temporary.scope, named("a"))
        try await temporary.answer("a", "[1]")
        _ = try await store.pins.pin(scope, id, origin: nil, now: .epoch)
        #expect(try await store.pins.unpin(scope, id, now: .epoch))
        let releases = try await store.commits.submit { writer throws(StoreError) in
            try writer.demotion.prepare([TargetName(scope, id)], now: .epoch)
        }
        try await temporary.answer("a", "[2]")
        try await store.commits.submit { writer throws(StoreError) in
            try writer.demotion.remove(releases)
        }
        #expect(store.isDurable(scope, id))
        try await store.maintain()
        #expect(!store.isDurable(scope, id))
        #expect(try await temporary.text("a") == "[2]")
        try await temporary.close()
    }

    @Test("What is saved when it runs again alone is told once, and as done")
    func toldOnce() async throws {
        let faults = FaultInjection()
        let temporary = try store(faults)
        let (commits, scope) = (temporary.store.commits, temporary.scope)
        let new = NewModifier.changing(["a"], "one", scope, effect: "{}")
        let told = Recorder<Bool>()
        commits.hold()
        let command = CommitCommand(
            { writer throws(StoreError) in _ = try writer.accepting.accept([new], now: .epoch)
            },
            finish: { result in
                if case .success = result { told.record(true) } else { told.record(false) }
            }
        )
        commits.enqueue(command)
        commits.post { _ throws(StoreError) in throw .tooLarge(bytes: 2, limit: 1) }
        faults.arm(2, of: "COMMIT")
        commits.release()
        #expect(faults.failures == 1)
        faults.disarm()
        #expect(told.all == [true])
        #expect(try temporary.target("a")?.1 == ["one"])
        try await temporary.close()
    }

    @Test("A commit that has failed is overwritten before anybody is told")
    func overwritten() async throws {
        let faults = FaultInjection()
        let temporary = try store(faults)
        func failed() throws -> Int64? {
            try SQLiteConnection(path: temporary.statePath, mode: .readOnly)
                .integer("SELECT failed_commits FROM revision_block")
        }
        try await temporary.accept("one", "a")
        #expect(try failed() == 0)
        faults.arm(1, of: "COMMIT")
        await #expect(throws: StoreError.self) { try await temporary.accept("two", "a") }
        faults.disarm()
        #expect(try failed() == 1)
        try temporary.crash()
        #expect(try temporary.target("a")?.1 == ["one"])
    }
}
