import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("Group commit", .timeLimit(.minutes(5)))
struct GroupCommitTests {
    @Test("Work outside transactions has its turn although commands never stop")
    func turnOutside() async throws {
        let fixture = try WriterFixture(maxBytes: 1 << 20)
        let queue = fixture.queue
        let over = Recorder<Bool>()
        /// Another command waits whenever one is carried out.
        @Sendable func postOn() {
            queue.post { _ throws(StoreError) in if over.all.isEmpty { postOn() } }
        }
        postOn()
        try await queue.outsideTransaction { _ throws(StoreError) in over.record(true) }
    }

    @Test("Waiting commands go into one transaction and are answered in their order")
    func oneTransaction() async throws {
        let fixture = try WriterFixture(maxBytes: 1 << 20)
        try await fixture.hold()
        for number in 0..<100 { try fixture.enqueuePut("\(number)", [1]) }
        let before = fixture.shared.commitNumber
        fixture.release()
        _ = try await fixture.answers.element(99)
        // The held transaction and that of the group.
        #expect(fixture.shared.commitNumber == before + 2)
        #expect(fixture.answers.all == (0..<100).map { .init(name: "\($0)", error: nil) })
        #expect(fixture.shared.totals.entries == 100)
    }

    @Test("A put of a group that fails leaves the others stored and the order as it was")
    func failuresStandAlone() async throws {
        let fixture = try WriterFixture(maxBytes: 10_000)
        let kept = try EntryID("kept")
        fixture.shared.protection.take(RowKey(fixture.scope, kept))
        try await fixture.hold()
        try fixture.enqueuePut("kept", .pattern(6_000))
        try fixture.enqueuePut("a", [1])
        try fixture.enqueuePut("larger than the cache", .pattern(10_000))
        try fixture.enqueuePut("b", [2])
        try fixture.enqueuePut("no room beside kept", .pattern(5_000))
        try fixture.enqueuePut("c", [3])
        fixture.release()
        _ = try await fixture.answers.element(5)
        let answers = fixture.answers.all
        #expect(
            answers.map(\.name) == [
                "kept", "a", "larger than the cache", "b", "no room beside kept", "c",
            ]
        )
        #expect(answers[2].error == .tooLarge(bytes: 10_289, limit: 10_000))
        #expect(answers[4].error == .noRoom(bytes: 5_287))
        #expect([0, 1, 3, 5].allSatisfy { answers[$0].error == nil })
        let totals = fixture.shared.totals
        #expect(totals.entries == 4 && totals.evictions == 0 && !totals.isFull)
    }

    /// As SQLite does by itself for an I/O error, whatever the command makes of that.
    @Test("A command that lost the transaction fails, and the others are stored and counted once")
    func lostTransaction() async throws {
        let fixture = try WriterFixture(maxBytes: 1 << 20)
        try await fixture.hold()
        try fixture.enqueuePut("a", [1])
        let command = CommitCommand(
            { writer throws(StoreError) in try writer.cache.connection.execute("ROLLBACK") },
            finish: { [answers = fixture.answers] result in
                let isFailure = if case .failure = result { true } else { false }
                answers.record(.init(name: isFailure ? "lost" : "done", error: nil))
            }
        )
        fixture.queue.enqueue(command)
        try fixture.enqueuePut("b", [2])
        fixture.release()
        _ = try await fixture.answers.element(2)
        #expect(fixture.answers.all.map(\.name) == ["a", "lost", "b"])
        #expect(fixture.answers.all.allSatisfy { $0.error == nil })
        #expect(fixture.shared.totals.entries == 2)
        let audit = try FileAudit(fixture.cachePath)
        #expect(audit.entries == 2)
    }

    @Test("A put that finds no room is told of in the totals until one has fitted")
    func full() async throws {
        let fixture = try WriterFixture(maxBytes: 10_000)
        fixture.shared.protection.take(RowKey(fixture.scope, try EntryID("kept")))
        try fixture.enqueuePut("kept", .pattern(6_000))
        try fixture.enqueuePut("other", .pattern(5_000))
        _ = try await fixture.answers.element(1)
        #expect(fixture.shared.totals.isFull)
        try fixture.enqueuePut("small", [1])
        _ = try await fixture.answers.element(2)
        #expect(!fixture.shared.totals.isFull)
    }

    @Test("When more wait than the writer takes, one more is refused and the others are not")
    func overloaded() async throws {
        let fixture = try WriterFixture(maxBytes: 1 << 20)
        try await fixture.hold()
        for _ in 1..<Limits.writerQueueMax { fixture.queue.wake() }
        try fixture.enqueuePut("last", [1])
        try fixture.enqueuePut("late", [1])
        #expect(fixture.answers.all == [.init(name: "late", error: .overloaded)])
        fixture.release()
        #expect(try await fixture.answers.element(1) == .init(name: "last", error: nil))
    }

    @Test("Of many concurrent puts of one store all but the ones that cannot be are there")
    func concurrentPuts() async throws {
        let temporary = try TemporaryStore(configure: {
            $0.maxEntryBytes = ByteSize(bytes: 5_000)
        })
        let (store, scope) = (temporary.store, temporary.scope)
        let refused = try await withThrowingTaskGroup(of: StoreError?.self) { group in
            for number in 0..<300 {
                let bytes = [UInt8].pattern(number % 100 == 99 ? 5_001 : 100)
                let new = NewEntry.blob(scope, try EntryID("\(number)"), bytes)
                group.addTask {
                    do throws(StoreError) {
                        _ = try await store.put(new, now: .epoch)
                        return nil
                    } catch {
                        return error
                    }
                }
            }
            return try await group.reduce(into: []) { $0 += [$1].compactMap { $0 } }
        }
        #expect(refused == Array(repeating: .tooLarge(bytes: 5_001, limit: 5_000), count: 3))
        #expect(store.totals.entries == 297)
        _ = try FileAudit(temporary.cachePath)
    }

    @Test("A closed store refuses every command")
    func closed() async throws {
        let temporary = try TemporaryStore()
        try await temporary.put("a", [1])
        try await temporary.store.close()
        await #expect(throws: StoreError.closed) { try await temporary.put("b", [1]) }
        await #expect(throws: StoreError.closed) { try await temporary.store.flushTouches() }
    }
}
