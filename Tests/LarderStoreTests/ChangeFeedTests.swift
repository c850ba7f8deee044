import LarderModel
import LarderNormalize
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("The feed of changes")
struct ChangeFeedTests {
    /// Several tasks put, pin, writeTombstone and delete a few ids at once, so that both writers are busy.
    @Test(
        "Published changes are those of the logs, in order, and add up to the rows (P-12)",
        arguments: 0..<6 as Range<UInt64>
    )
    func bothWriters(seed: UInt64) async throws {
        let temporary = try TemporaryStore()
        let store = temporary.store
        let scope = temporary.scope
        let batches = Recorder<ChangeFeed.Batch>()
        batches.record(store.changes.take())
        let start = store.changes.published
        store.changes.whenReleased { batches.record(store.changes.take()) }
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<4 as Range<UInt64> {
                group.addTask { await work(store, scope, seed: seed * 10 + task) }
            }
        }
        store.changes.whenReleased {}
        batches.record(store.changes.take())
        let told = batches.all.flatMap(\.changes).sorted { $0.revision < $1.revision }
        let logged = try await temporary.changes(after: start.number)
        #expect(told == logged, "seed \(seed)")
        var stored: [String: Bool] = [:]
        for change in logged {
            switch change.event {
            case .put(let id, _): stored[id.text] = true
            case .delete(let id, _), .evict(let id, _, _): stored[id.text] = false
            case .modifier, .remapped: Issue.record("there are none")
            }
        }
        for (id, isThere) in stored {
            let bytes = try await temporary.bytes(id)
            #expect((bytes != nil) == isThere, "seed \(seed): \(id)")
        }
    }

    private func work(_ store: Store, _ scope: ScopeKey, seed: UInt64) async {
        var random = SeededRandom(seed: seed)
        for _ in 0..<60 {
            let name = "id\(Int.random(in: 0..<5, using: &random))"
            guard let id = try? EntryID(name) else { return }
            let byte = UInt8.random(in: 0..<4, using: &random)
            switch Int.random(in: 0..<8, using: &random) {
            case 0: _ = try? await store.pins.pin(scope, id, origin: nil, now: .epoch)
            case 1: _ = try? await store.pins.unpin(scope, id, now: .epoch)
            case 2: _ = try? await store.delete(scope, id)
            case 3: _ = try? await store.pins.evict(scope, id)
            case _: _ = try? await store.put(.fetched(scope, id, "[\(byte)]"), now: .epoch)
            }
        }
    }

    @Test("Without a watcher the feed keeps no changes; a new watcher reads the log")
    func unwatched() async throws {
        let temporary = try TemporaryStore()
        try await temporary.put("a", [1])
        #expect(temporary.store.changes.take().changes == [])
        let told = try await temporary.put("b", [1]).revision
        let batch = temporary.store.changes.take()
        #expect(batch.changes.map(\.revision) == [told])
        #expect(batch.published == told)
        temporary.store.changes.rest()
        try await temporary.put("c", [1])
        #expect(temporary.store.changes.take().changes == [])
    }

    @Test("A watcher that joins after a step looked for watchers reads the log for its answers")
    func joinsLate() async throws {
        let temporary = try TemporaryStore()
        let (store, scope) = (temporary.store, temporary.scope)
        let name = EntityName(try EntityKey("Book:1"), of: try OriginName("books"))
        let (id, cause) = (EntryID(name), ChangeCause(.client))
        try await store.commits.submit { writer throws(StoreError) in
            let update = EntityUpdates(
                scope: scope,
                revision: try writer.revisions.next(),
                cause: cause,
                hiddenFrom: [],
                change: EntityChange(name, at: RowKey(scope, id), .created, .put(id, cause))
            )
            writer.tell([update])
            _ = store.changes.take()
        }
        #expect(store.changes.take().isCut)
    }

    @Test("A group's changes are published at its end, in the order of its steps")
    func group() throws {
        let feed = ChangeFeed()
        let cause = ChangeCause(.client)
        let (a, b) = (try EntryID("a"), try EntryID("b"))
        feed.begin(after: Revision(9))
        _ = feed.take()
        let (ten, eleven) = (feed.next(isStep: true), feed.next(isStep: true))
        #expect([ten, eleven] == [Revision(10), Revision(11)])
        // Of a flight, which holds nothing up and is held up.
        #expect(feed.next(isStep: false) == Revision(12))
        let later = Change(eleven, .first, .put(a, cause))
        feed.changed([later])
        // The other file's commit, which has put it in the same step.
        feed.changed([
            Change(ten, .first, .put(b, cause)), Change(ten, .first, .delete(a, cause)), later,
        ])
        #expect(feed.take().changes == [])
        #expect(feed.published == Revision(9))
        feed.close()
        let batch = feed.take()
        #expect(batch.published == Revision(12))
        #expect(
            batch.changes == [
                Change(ten, .first, .put(b, cause)), Change(ten, .first, .delete(a, cause)), later,
            ]
        )
    }

    @Test("A group that is given up holds nothing up and tells nothing")
    func givenUp() {
        let feed = ChangeFeed()
        _ = feed.take()
        let revision = feed.next(isStep: true)
        #expect(feed.published < revision)
        feed.close()
        let batch = feed.take()
        #expect(batch.published == revision && batch.changes == [] && !batch.isCut)
    }

    @Test("More than it keeps is lost, and said to be")
    func overflow() {
        let feed = ChangeFeed()
        _ = feed.take()
        guard let id = try? EntryID("a") else { return }
        for _ in 0...Limits.changesReadyMax {
            let revision = feed.next(isStep: true)
            feed.changed([Change(revision, .first, .put(id, ChangeCause(.client)))])
            feed.close()
        }
        let batch = feed.take()
        #expect(batch.isCut)
        #expect(batch.changes == [])
        #expect(!feed.take().isCut)
    }
}
