import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("Edited modifiers (case 18)")
struct EditingTests {
    private let temporary = TemporaryStore.new()
    private static let text = "tmp:6f1c0a52-0000-4000-8000-0123456789ab"

    private var totals: QueueTotals { temporary.store.modifiers.totals }

    @discardableResult
    private func edit(
        _ number: ModifierNumber,
        _ name: String,
        _ ids: String...,
        effect: String = "{}",
        isDeadLetter: Bool = false,
        isOfSharedRow: Bool = false,
        _ adjust: (inout NewModifier) throws -> Void = { _ in }
    ) async throws -> StoredModifier? {
        var new = NewModifier.changing(
            ids,
            name,
            temporary.scope,
            effect: effect,
            isOfSharedRow: isOfSharedRow,
            body: Array("edited".utf8)
        )
        try adjust(&new)
        let edit = new
        return try await temporary.store.modifiers.edit(
            number,
            to: edit,
            isDeadLetter: isDeadLetter,
            now: .epoch
        )?.modifier
    }

    /// The sums of the queue are those that a restart counts.
    private func checkTotals() throws {
        let before = totals
        try temporary.crash()
        #expect(totals == before)
    }

    @Test("An edit releases the targets that it drops, and keeps those that it adds")
    func targets() async throws {
        for id in ["a", "b", "c"] { try await temporary.answer(id, "\"\(id)\"") }
        let first = try await temporary.accept("one", "a", "b")
        try await temporary.accept("two", "b")
        let whole = try #require(try await edit(first, "one", "b", "c", effect: "[1]"))
        #expect(whole.number == first && whole.targets == [named("b"), named("c")])
        let store = temporary.store
        #expect(!store.modifiers.isTarget(temporary.scope, named("a")))
        #expect(store.modifiers.isTarget(temporary.scope, named("c")))
        try await store.maintain()
        for isAgain in [false, true] {
            if isAgain { try temporary.crash() }
            #expect(try temporary.target("b")?.1 == ["one", "two"])
            #expect(try temporary.target("c")?.base == "\"c\"")
            #expect(try await temporary.text("a") == "\"a\"")
            let stored = try #require(try await temporary.store.modifiers.whole(first))
            #expect(stored.body == Array("edited".utf8))
            #expect(stored.changes.map(\.effect) == [Array("[1]".utf8), Array("[1]".utf8)])
        }
        #expect(try temporary.stateInteger("SELECT count(*) FROM claim WHERE id = 'a'") == 0)
        try checkTotals()
        try await temporary.confirm(first)
        try await temporary.confirm(ModifierNumber(2))
        try await temporary.store.maintain()
        #expect(try temporary.count("claim") == 0)
        #expect(totals.bytes == 0)
    }

    @Test("A shared row that an edit drops has no keeper, one that it adds has one")
    func shared() async throws {
        let scope = temporary.store.key(for: .shared)
        for id in ["a", "b"] { try await temporary.answer(id, "1", in: scope) }
        let number = try await temporary.accept("one", "a", isOfSharedRow: true)
        try await edit(number, "one", "b", isOfSharedRow: true)
        #expect(try temporary.target("b")?.base == "1")
        #expect(!temporary.store.modifiers.isTarget(scope, named("a")))
        #expect(temporary.store.modifiers.isTarget(scope, named("b")))
        try checkTotals()
        try await temporary.store.modifiers.settle(
            [Settlement(number: number, outcome: .cancelled)],
            now: .epoch
        )
        try await temporary.store.maintain()
        #expect(try temporary.count("claim") == 0)
    }

    @Test("The key stays before an attempt, and after one the next is used")
    func round() async throws {
        let number = try await temporary.accept("one", "a")
        #expect(try await edit(number, "one", "a")?.round == 1)
        #expect(try await temporary.store.modifiers.send(number) != nil)
        // No byte left.
        let back = ModifierUpdate(number, .queued, attempts: 0, answersNotApplied: 0)
        _ = try await temporary.store.modifiers.update(back)
        #expect(try await edit(number, "one", "b")?.round == 1)
        #expect(try await temporary.store.modifiers.send(number) != nil)
        _ = try await temporary.store.modifiers.update(ModifierUpdate(number, .retryWait))
        let edited = try await edit(number, "one", "a")
        #expect(edited?.round == 2 && edited?.attempts == 1 && edited?.state == .retryWait)
    }

    @Test("A dead letter stays one, and is sent as edited once it is retried")
    func deadLetter() async throws {
        let number = try await temporary.accept("one", "a")
        let lost = LostView(before: [1], after: [2])
        try await temporary.end(number, .failed(.refused) { _, _ in lost })
        #expect(try await edit(number, "one", "b") == nil)
        let edited = try await edit(number, "one", "b", effect: "[1]", isDeadLetter: true)
        #expect(edited?.state == .failed && edited?.reason == .refused && edited?.round == 1)
        #expect(try temporary.target("b") == nil)
        let index = temporary.store.shared.residency
        #expect(index.mayHaveDeadLetters(temporary.scope, named("b")))
        #expect(!index.mayHaveDeadLetters(temporary.scope, named("a")))
        try checkTotals()
        let whole = try #require(try await temporary.store.modifiers.whole(number))
        #expect(whole.changes.map(\.effect) == [Array("[1]".utf8)])
        #expect(whole.changes.first?.before == nil && whole.changes.first?.after == nil)
        let next = try await temporary.retry(number)
        #expect(try temporary.target("b")?.1 == ["one"])
        let again = try #require(try await temporary.store.modifiers.whole(next))
        #expect(again.modifier.round == 2 && again.body == Array("edited".utf8))
        try checkTotals()
        try await temporary.confirm(next)
        try await temporary.store.maintain()
        #expect(totals.bytes == 0)
    }

    @Test("A modifier that was settled meanwhile, or is another user's, is not edited")
    func gone() async throws {
        let number = try await temporary.accept("one", "a")
        let other = temporary.store.key(for: .own(uid: 4_000, account: .default))
        let foreign = NewModifier.changing(["b"], "one", other)
        let result = try await temporary.store.modifiers.edit(
            number,
            to: foreign,
            isDeadLetter: false,
            now: .epoch
        )
        #expect(result == nil)
        try await temporary.confirm(number)
        #expect(try await edit(number, "one", "b") == nil)
        try await temporary.store.maintain()
        #expect(try temporary.count("claim") == 0)
    }

    @Test("A submission is compared with the edit from then on")
    func digest() async throws {
        let number = try await temporary.accept("one", "a")
        try await edit(number, "one", "b")
        await #expect(throws: StoreError.modifierExists) { try await temporary.accept("one", "a") }
        #expect(try await temporary.accept("one", "b") == number)
    }

    @Test("An edit that makes the queue too large changes nothing")
    func full() async throws {
        let temporary = try TemporaryStore(configure: { $0.queue.maxBytes = 2_000 })
        let number = try await temporary.accept("one", "a")
        let before = temporary.store.modifiers.totals
        let large = NewModifier.changing(
            ["b"],
            "one",
            temporary.scope,
            body: Array(repeating: 0, count: 2_000)
        )
        await #expect(throws: StoreError.self) {
            try await temporary.store.modifiers.edit(
                number,
                to: large,
                isDeadLetter: false,
                now: .epoch
            )
        }
        #expect(temporary.store.modifiers.totals == before)
        #expect(try temporary.target("b") == nil)
        #expect(try temporary.target("a")?.1 == ["one"])
    }

    @Test("A create keeps its temporary id, and drops it only if no other write names it (case 16)")
    func temporaryIDs() async throws {
        let id = try EntryID(Self.text)
        let name = try #require(TemporaryID(Self.text))
        func create(_ new: inout NewModifier) { new.temporaries = [TemporaryUse(name, made: id)] }
        var new = NewModifier.changing([Self.text], "one", temporary.scope)
        create(&new)
        let made = new
        let store = temporary.store
        let number = try await store.modifiers.accept([made], now: .epoch)[0].number
        let edited = try await edit(number, "one", Self.text) { create(&$0) }
        #expect(edited?.dependsOn == [])
        #expect(try temporary.count("temporary_use") == 1)
        var naming = NewModifier.changing([Self.text], "two", temporary.scope)
        naming.temporaries = [TemporaryUse(name)]
        let child = naming
        let two = try await store.modifiers.accept([child], now: .epoch)[0].number
        await #expect(throws: StoreError.idNamed) { try await edit(number, "one", "a") }
        // The other write names it no more, and depends on it as before.
        #expect(try await edit(two, "two", "a") { $0.dependsOn = [number] }?.dependsOn == [number])
        #expect(try await edit(number, "one", "a") != nil)
        #expect(try temporary.count("temporary_id") == 0)
        #expect(try temporary.count("temporary_use") == 0)
    }
}
