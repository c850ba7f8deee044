import Glibc
import LarderModel
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderStore

@Suite("Stamps of kept reads")
struct ReadVersionTests {
    private let temporary = TemporaryStore.new()

    /// Does something on the writer's thread right before `cache.db` is committed.
    private final class AtCommit: FaultPlan {
        private let work = Mutex<(@Sendable () -> Int32?)?>(nil)

        func once(_ work: @escaping @Sendable () -> Int32?) {
            self.work.withLock { $0 = work }
        }

        func failure(before step: String, of path: String) -> Int32? {
            guard step.contains("COMMIT"), path.hasSuffix("cache.db") else { return nil }
            return work.withLock { $0.take() }?()
        }
    }

    /// A reader that one thread uses at a time.
    private final class Reads: @unchecked Sendable {
        let reader: StoreReader
        let scope: ScopeKey

        init(_ temporary: TemporaryStore) throws {
            reader = try temporary.store.makeReader()
            scope = temporary.scope
        }

        /// What a plain read finds, and its stamp.
        func read(_ id: String, then work: () -> Void = {}) -> (text: String?, stamp: ReadVersion?)
        {
            defer { reader.endTransaction() }
            let (text, stamp) = reader.stamping { () -> String? in
                var text: String?
                let isPlain = reader.fastPathRow(scope, named(id), now: .epoch) { row in
                    text = row.withBody { String(decoding: $0, as: UTF8.self) }
                }
                work()
                return isPlain ? text : nil
            }
            return (text, stamp)
        }

        func counts(_ stamp: ReadVersion?) -> Bool { stamp.map(reader.stillSays) ?? false }
    }

    private func store(_ plan: AtCommit) throws -> TemporaryStore {
        try TemporaryStore(configure: { $0.faults = plan })
    }

    @Test("Until its row is written, and no other one's")
    func rows() async throws {
        try await temporary.answer("a", "[1]")
        let reads = try Reads(temporary)
        let (text, stamp) = reads.read("a")
        #expect(text == "[1]" && reads.counts(stamp))
        try await temporary.answer("b", "[2]")
        #expect(reads.counts(stamp))
        try await temporary.answer("a", "[3]")
        #expect(!reads.counts(stamp))
        let later = reads.read("a")
        #expect(later.text == "[3]" && reads.counts(later.stamp))
        _ = try await temporary.store.delete(temporary.scope, named("a"))
        #expect(!reads.counts(later.stamp))
    }

    @Test("No more from before the commit on; and until that is published nothing is kept")
    func commit() async throws {
        let plan = AtCommit()
        let temporary = try store(plan)
        try await temporary.answer("a", "[1]")
        let reads = try Reads(temporary)
        let stamp = reads.read("a").stamp
        #expect(reads.counts(stamp))
        let seen = Recorder<Bool>()
        plan.once {
            seen.record(reads.counts(stamp))
            let (text, stamp) = reads.read("a")
            seen.record(text == "[1]" && stamp == nil)
            return nil
        }
        try await temporary.answer("a", "[2]")
        #expect(seen.all == [false, true])
        let (text, later) = reads.read("a")
        #expect(text == "[2]" && reads.counts(later))
    }

    @Test("Nothing is kept of a read into which a commit came")
    func between() async throws {
        try await temporary.answer("a", "[1]")
        let reads = try Reads(temporary)
        let (commits, scope) = (reads.reader.state.commits, reads.scope)
        let (text, stamp) = reads.read("a") {
            try? commits.submitBlocking { writer throws(StoreError) in
                try writer.cache.rows.removeQuietly(scope, named("a"))
            }
        }
        #expect(text == "[1]" && stamp == nil)
        #expect(reads.read("a").text == nil)
    }

    @Test("After a commit that failed, things are kept again")
    func failure() async throws {
        let plan = AtCommit()
        let temporary = try store(plan)
        try await temporary.answer("a", "[1]")
        let reads = try Reads(temporary)
        plan.once { FaultInjection.Code.inputOutput.rawValue }
        _ = try? await temporary.answer("a", "[2]")
        let (text, stamp) = reads.read("a")
        #expect(["[1]", "[2]"].contains(text) && reads.counts(stamp))
    }

    @Test("Not while a dead letter targets it; what others do not target counts")
    func deadLetters() async throws {
        let (modifiers, scope) = (temporary.store.modifiers, temporary.scope)
        for id in ["a", "b"] { try await temporary.answer(id, "[1]") }
        let reads = try Reads(temporary)
        var others = reads.read("b").stamp
        for isDropped in [true, false] {
            let number = try await temporary.accept("m\(isDropped)", "a")
            try await temporary.end(number, .refused)
            #expect(reads.read("a").text == nil)
            #expect(reads.counts(others) && reads.read("b").text == "[1]")
            try await temporary.store.requireInvariants()
            others = reads.read("b").stamp
            #expect(reads.counts(others))
            if isDropped {
                #expect(try await modifiers.drop(number, of: scope, now: .epoch))
            } else {
                let next = try await temporary.retry(number)
                #expect(reads.read("a").text == nil)
                try await temporary.confirm(next, "[1]")
            }
            let (text, stamp) = reads.read("a")
            #expect(text == "[1]" && reads.counts(stamp))
            try await temporary.store.requireInvariants()
        }
    }
}
