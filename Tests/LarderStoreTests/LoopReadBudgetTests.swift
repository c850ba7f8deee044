import LarderModel
import LarderNormalize
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("Reads on an event loop")
struct LoopReadBudgetTests {
    private let temporary = TemporaryStore.new()

    /// Whether a loop reads it; off the loop it is read in any case.
    private func isBrief<Value: Sendable>(
        _ store: Store,
        _ work: @escaping @Sendable (StoreReader) throws(StoreError) -> Value
    ) async throws -> Bool {
        _ = try await store.read(work)
        let loop = try store.makeReader()
        defer { loop.endTransaction() }
        // Read twice, as what one answer takes is no other's.
        _ = try? loop.briefly(work)
        do throws(StoreError) {
            _ = try loop.briefly(work)
            return true
        } catch {
            guard case .overLoopBudget = error else { throw error }
            return false
        }
    }

    private func isTargetBrief(_ temporary: TemporaryStore, _ id: String) async throws -> Bool {
        let scope = temporary.scope
        return try await isBrief(temporary.store) { reader throws(StoreError) in
            try reader.targets.target(scope, named(id))
        }
    }

    @Test("A target with a few changes is read on the loop, one with more is not")
    func changes() async throws {
        for number in 0..<Limits.loopChangesMax {
            try await temporary.accept("m-\(number)", "https://a/1")
        }
        #expect(try await isTargetBrief(temporary, "https://a/1"))
        try await temporary.accept("one-more", "https://a/1")
        #expect(try await !isTargetBrief(temporary, "https://a/1"))
    }

    @Test("A base of one chunk with its effects is read on the loop, a larger one is not")
    func bytes() async throws {
        func text(_ count: Int) -> String { "\"" + String(repeating: "x", count: count - 2) + "\"" }
        try await temporary.answer("https://a/1", text(Limits.inlineBodyBytesMax))
        try await temporary.answer("https://a/2", text(Limits.inlineBodyBytesMax + 1))
        try await temporary.accept("m-1", "https://a/1")
        try await temporary.accept("m-2", "https://a/2")
        #expect(try await isTargetBrief(temporary, "https://a/1"))
        #expect(try await !isTargetBrief(temporary, "https://a/2"))
        let rest = Limits.loopReadBytesMax - Limits.inlineBodyBytesMax
        try await temporary.accept("large", "https://a/1", effect: text(rest))
        #expect(try await !isTargetBrief(temporary, "https://a/1"))
    }

    @Test("An answer of a few entities is put together on the loop, one of more or larger is not")
    func answers() async throws {
        let answers = try AnswerFixture()
        func list(_ ids: Range<Int>, name: String = "Ada") -> String {
            let users = ids.map { #"{"type":"User","id":\#($0),"name":"\#(name)"}"# }
            return "[" + users.joined(separator: ",") + "]"
        }
        let texts = [
            "some": list(0..<Limits.loopEntitiesMax),
            "many": list(0..<Limits.loopEntitiesMax + 1),
            "large": list(100..<102, name: String(repeating: "x", count: 40_000)),
        ]
        for (id, text) in texts { try await answers.put(id, text) }
        let scope = answers.scope
        let loop = try answers.store.makeReader()
        for (id, text) in texts {
            let read = { @Sendable (reader: StoreReader) throws(StoreError) -> String? in
                let found = try reader.answers.shownRow(
                    scope,
                    named(id),
                    for: .view(of: scope),
                    now: .epoch
                ) { _ in () }
                guard case .normalized(.shown(let shown), _)? = found else { return nil }
                return String(decoding: shown.answer.bytes, as: UTF8.self)
            }
            #expect(try await isBrief(answers.store, read) == (id == "some"), "\(id)")
            #expect(try await answers.store.read(on: loop, read) == text, "\(id)")
            loop.endTransaction()
        }
        try await answers.temporary.close()
    }

    @Test("Views share the steps that an answer has on the loop, and off it each has its own")
    func steps() async throws {
        let read = { @Sendable (reader: StoreReader) throws(StoreError) -> [Int] in
            try [3, 2].map { part throws(StoreError) in
                try reader.loopBudget.viewing { steps in
                    let taken = Limits.loopViewStepsMax / part
                    steps -= min(taken, steps)
                    return (steps, false)
                }
            }
        }
        #expect(try await isBrief(temporary.store, read))
        let cut = { @Sendable (reader: StoreReader) throws(StoreError) -> Int in
            try reader.loopBudget.viewing { steps in (steps, steps < Limits.viewStepsMax) }
        }
        #expect(try await !isBrief(temporary.store, cut))
        let loop = try temporary.store.makeReader()
        let left = try loop.briefly(read)
        #expect(left[1] < left[0])
        #expect(try await temporary.store.read(on: loop, cut) == Limits.viewStepsMax)
    }

    @Test("Work on many bytes leaves the loop, and waits for a reader")
    func work() async throws {
        let store = temporary.store
        try await store.holdingReaders(by: .all) {
            let value = try await store.work(onBytes: Limits.inlineBodyBytesMax) { 1 }
            #expect(value == 1)
        }
        #expect(try await store.work(onBytes: Limits.inlineBodyBytesMax + 1) { 2 } == 2)
    }
}
