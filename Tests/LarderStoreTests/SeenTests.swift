import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("Values that modifiers have seen of their targets")
struct SeenTests {
    private let temporary = TemporaryStore.new()

    /// Base, and the number of changes beneath.
    private static let look: SeenValues.Reader = { _, target, _, _ in
        guard let text = target.base.text else { return nil }
        let beneath = target.changes.count
        return SeenValues(
            base: Array(text.utf8),
            view: beneath == 0 ? nil : Array("\(beneath)".utf8)
        )
    }

    @discardableResult
    private func accept(_ id: String) async throws -> ModifierNumber {
        let new = NewModifier.changing(["a"], id, temporary.scope)
        let accepted = try await temporary.store.modifiers
            .accept([new], now: .epoch, seeing: Self.look)
        return try #require(accepted.first).number
    }

    private func whole(_ number: ModifierNumber) async throws -> WholeModifier {
        try #require(try await temporary.store.modifiers.whole(number))
    }

    private func text(_ bytes: [UInt8]?) -> String? {
        bytes.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test("A modifier keeps base and view as they were when it was accepted (case 19)")
    func accepted() async throws {
        try await temporary.answer("a", "[1]")
        let first = try await accept("one")
        let second = try await accept("two")
        try await temporary.answer("a", "[2]")
        try temporary.crash()
        let seen = try await whole(first).changes.first?.seen
        #expect(text(seen?.base) == "[1]" && seen?.view == nil)
        let later = try await whole(second).changes.first?.seen
        #expect(text(later?.base) == "[1]" && text(later?.view) == "1")
        let compared = try await temporary.store.modifiers.send(first)?.compared
        #expect(compared?[named("a")]?.text == "[2]")
    }

    @Test("A send step that is kept back changes nothing but what was found (case 19)")
    func stopped() async throws {
        try await temporary.answer("a", "[1]")
        let number = try await accept("one")
        let before = try await whole(number).modifier
        let looked = try await temporary.store.modifiers.send(number) { _ in .look }
        #expect(looked?.decision == .look)
        #expect(try await whole(number).modifier == before)
        let theirs = [named("a"): Array("[2]".utf8)]
        let stopped = try await temporary.store.modifiers.send(number) { _ in
            .stop(theirs: theirs)
        }
        #expect(stopped?.decision == .stop(theirs: theirs))
        let found = try await whole(number)
        #expect(found.modifier.state == .queued && found.modifier.attempts == 0)
        #expect(text(found.changes.first?.theirs) == "[2]")
        #expect(temporary.store.modifiers.totals.byState == [.queued: 1])
    }

    @Test("The If-Match stays for a round, and the next round has another key (cases 19 and 21)")
    func rounds() async throws {
        try await temporary.answer("a", "[1]")
        let number = try await accept("one")
        let sent = try await temporary.store.modifiers.send(number) { _ in .send(etag: "\"1\"") }
        #expect(sent?.whole.modifier.etag == "\"1\"" && sent?.whole.modifier.isRepeat == false)
        #expect(try await whole(number).modifier == sent?.whole.modifier)
        var update = ModifierUpdate(number, .unknown, answersNotApplied: 0)
        try await temporary.store.modifiers.update(update)
        #expect(try await whole(number).modifier.etag == "\"1\"")
        #expect(try await whole(number).modifier.mayBeApplied)
        update = ModifierUpdate(number, .queued, answersNotApplied: 0)
        update.round = .next
        try await temporary.store.modifiers.update(update)
        let next = try await whole(number).modifier
        #expect(next.round == 2 && next.etag == nil && next.conflicts == 1)
        #expect(!next.mayBeApplied, "what came of the earlier rounds is known")
    }

    @Test("After a person's decision what was found counts as seen (case 19)")
    func decided() async throws {
        try await temporary.answer("a", "[1]")
        let number = try await accept("one")
        var update = ModifierUpdate(number, .conflict)
        update.theirs = [named("a"): Array("[2]".utf8)]
        try await temporary.store.modifiers.update(update)
        #expect(temporary.store.modifiers.totals.waitingForPerson.values.first == [.conflict: 1])
        try temporary.crash()
        update = ModifierUpdate(number, .queued)
        update.round = .decided
        try await temporary.store.modifiers.update(update)
        let whole = try await whole(number)
        #expect(text(whole.changes.first?.seen?.base) == "[2]")
        #expect(whole.changes.first?.theirs == nil)
        #expect(whole.modifier.round == 2 && whole.modifier.conflicts == 0)
    }

    private func sizes(_ store: TemporaryStore) throws -> Int64? {
        try store.stateInteger("SELECT sum(size) FROM modifier")
    }

    @Test("The values that a modifier has seen and found count in its size while they are kept")
    func counted() async throws {
        try await temporary.answer("a", "[1]")
        let number = try await accept("one")
        let seen = try #require(try sizes(temporary))
        var update = ModifierUpdate(number, .conflict)
        update.theirs = [named("a"): .pattern(1_000)]
        try await temporary.store.modifiers.update(update)
        #expect(try sizes(temporary) == seen + 1_000)
        try await temporary.store.modifiers.update(update)
        #expect(try sizes(temporary) == seen + 1_000, "found again, in place of the last")
        update = ModifierUpdate(number, .queued)
        update.round = .decided
        try await temporary.store.modifiers.update(update)
        #expect(try sizes(temporary) == seen + 1_000 - 3, "in place of what was seen")
        let claims = try temporary.stateInteger("SELECT sum(size) FROM claim")
        let bytes = try sizes(temporary).map { $0 + (claims ?? 0) }
        #expect(temporary.store.modifiers.totals.bytes == bytes)
    }

    @Test("A modifier that does not fit with what it sees is refused whole (case 2)")
    func full() async throws {
        let small = try TemporaryStore(configure: { $0.queue.maxBytes = 60_000 })
        try await small.answer("a", "[\"\(String(repeating: "x", count: 20_000))\"]")
        let new = NewModifier.changing(["a"], "one", small.scope)
        let store = small.store
        // Base and the modifier alone have their place.
        let twice: SeenValues.Reader = { _, target, _, _ in
            target.base.text.map { SeenValues(base: Array($0.utf8), view: Array($0.utf8)) }
        }
        await #expect(throws: StoreError.self) {
            try await store.modifiers.accept([new], now: .epoch, seeing: twice)
        }
        #expect(try small.count("modifier") == 0)
        #expect(store.modifiers.totals.bytes == 0)
        #expect(try await store.modifiers.accept([new], now: .epoch).first?.isNew == true)
    }
}
