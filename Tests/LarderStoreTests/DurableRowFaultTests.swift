import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("Durable rows when a commit interleaves")
struct DurableRowFaultTests {
    private let temporary = TemporaryStore.new()

    @Test("Of an answer that is told as stored every part is stored", arguments: 1...4)
    func answered(n: Int) async throws {
        let shared = temporary.store.key(for: .shared)
        try await temporary.answer("a", "[1]", in: shared)
        try await temporary.accept("one", "a", isOfSharedRow: true)
        temporary.faults.arm(n, of: "COMMIT")
        let isStored = (try? await temporary.answer("a", "[2]", in: shared)) != nil
        temporary.faults.disarm()
        guard isStored else { return }
        #expect(try temporary.target("a")?.base == "[2]")
        #expect(try await temporary.text("a", in: shared) == "[2]")
    }

    @Test("No base is seen under the revision of an accept without its change")
    func acceptedBetween() async throws {
        let (store, scope, id) = (temporary.store, temporary.scope, named("a"))
        try await temporary.answer("a", "[1]")
        let new = NewModifier.changing(["a"], "one", scope, effect: "{}")
        let reader = try store.makeReader()
        var rounds = 0
        let (changes, revision) = try reader.inConsistentSnapshot { () throws(StoreError) in
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
    }

    @Test("A row that becomes a target during the look-up is not read as a plain row")
    func targetedBetween() async throws {
        try await temporary.answer("a", "[1]")
        let reader = try temporary.store.makeReader()
        let index = temporary.store.shared.residency
        try await temporary.accept("one", "b")
        let moves = index.moves
        try await temporary.accept("two", "a")
        #expect(index.moves.arrivals > moves.arrivals)
        #expect(!reader.fastPathRow(temporary.scope, named("a"), now: .epoch) { _ in })
    }

    @Test("A kept read does not count once another row becomes a target, whichever file has it")
    func targetedBehind() async throws {
        let scope = temporary.scope
        try await temporary.answer("a", "[1]")
        try await temporary.pin("a")
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
    }

    @Test("A row that changed after its demotion was prepared stays durable until that is synced")
    func changedBetween() async throws {
        let (store, scope, id) = (temporary.store, temporary.scope, named("a"))
        try await temporary.answer("a", "[1]")
        try await temporary.pin("a")
        #expect(try await temporary.unpin("a"))
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
    }

    @Test("A command that is saved when it runs again alone is reported once, as done")
    func toldOnce() async throws {
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
        temporary.faults.arm(2, of: "COMMIT")
        commits.release()
        #expect(temporary.faults.failures == 1)
        temporary.faults.disarm()
        #expect(told.all == [true])
        #expect(try temporary.target("a")?.1 == ["one"])
    }

    @Test("A failed commit is overwritten before its client hears of it")
    func overwritten() async throws {
        func failed() throws -> Int64? {
            try temporary.stateInteger("SELECT failed_commits FROM revision_block")
        }
        try await temporary.accept("one", "a")
        #expect(try failed() == 0)
        temporary.faults.arm(1, of: "COMMIT")
        await #expect(throws: StoreError.self) { try await temporary.accept("two", "a") }
        temporary.faults.disarm()
        #expect(try failed() == 1)
        try temporary.crash()
        #expect(try temporary.target("a")?.1 == ["one"])
    }

    // MARK: Every operation

    /// A step whose every operation is made to fail.
    struct Step: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// Of the bases, with which it begins.
        let text: String
        let run: @Sendable (TemporaryStore) async throws(StoreError) -> Void
    }

    private static let long = "\"" + String(repeating: "x", count: 150_000) + "\""

    static let steps = ["[1]", long].flatMap { text in
        [
            Step(testDescription: "an accept over \(text.utf8.count) bytes", text: text) {
                temporary throws(StoreError) in
                try await temporary.accept("two", "a", "b")
            },
            Step(testDescription: "a settlement of \(text.utf8.count) bytes", text: text) {
                temporary throws(StoreError) in
                try await temporary.confirm(ModifierNumber(1), text + " ")
            },
            Step(testDescription: "giving \(text.utf8.count) bytes back", text: text) {
                temporary throws(StoreError) in
                try await temporary.confirm(ModifierNumber(1))
                try await temporary.store.maintain()
            },
        ]
    }

    @Test(
        "A step is done or not done, whichever operation fails, and after a crash the same",
        arguments: steps,
        [FaultInjection.Code.inputOutput, .full]
    )
    func everyOperationFails(step: Step, code: FaultInjection.Code) async throws {
        for n in 1... {
            let temporary = try TemporaryStore()
            try await temporary.answer("a", step.text)
            try await temporary.answer("b", "[0]")
            try await temporary.accept("one", "a")
            temporary.faults.arm(n, with: code)
            do throws(StoreError) { try await step.run(temporary) } catch {
                #expect(temporary.faults.failures > 0, "n \(n): \(error)")
            }
            temporary.faults.disarm()
            try await check(temporary, step.text, "n \(n)")
            try temporary.crash()
            try await check(temporary, step.text, "crash, n \(n)")
            try await temporary.store.maintain()
            try await check(temporary, step.text, "maintained, n \(n)")
            if temporary.faults.failures == 0 { return }
        }
    }

    private func check(_ temporary: TemporaryStore, _ text: String, _ when: String) async throws {
        let found = try await temporary.store.modifiers.unsettled(after: nil)
        let names = found.compactMap { found -> String? in
            if case .readable(let modifier) = found { modifier.id.text } else { nil }
        }
        let target = try temporary.target("a")
        #expect(target?.1 ?? [] == names, "\(when)")
        let isSettled = !names.contains("one")
        let base = try await temporary.text("a")
        // Without a modifier the cache may have dropped it.
        #expect(
            base == text || isSettled && (base == text + " " || base == nil),
            "\(when): \(base?.prefix(9) ?? "nothing")"
        )
        #expect(try temporary.target("b")?.1 ?? [] == names.filter { $0 == "two" }, "\(when)")
        let other = try await temporary.text("b")
        #expect(other == "[0]" || other == nil && names == ["one"], "\(when)")
    }
}
