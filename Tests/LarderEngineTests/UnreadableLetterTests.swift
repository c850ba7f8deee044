import LarderAPI
import LarderJSON
import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@testable import LarderEngine
@testable import LarderStore

@Suite("Dead letters that cannot be read", .timeLimit(.minutes(5)))
struct UnreadableLetterTests {
    private let url = EngineFixture.firstURL

    /// A store with a refused write, whose row then gets values that this version does not know.
    private func store(with change: String) async throws -> TemporaryStore {
        var left: TemporaryStore?
        try await EngineFixture.run(.with { _ in }) { fixture in
            fixture.upstream.answer(url, with: .reply("no", status: 403))
            let id = try await fixture.write(.url(url), .put(.null), "PUT", id: "a")
            #expect(try await fixture.settled(id).state == .failed)
            left = fixture.temporary
        }
        let temporary = try #require(left)
        try SQLiteConnection(path: temporary.statePath, mode: .readWrite)
            .execute("UPDATE modifier SET \(change)")
        try temporary.open()
        return temporary
    }

    @Test(
        "A dead letter that cannot be read is listed, shown and dropped (case 26)",
        arguments: [
            "if_match = 'later'", "on_conflict = 'later'", "after_unknown = 'later'",
            "credential = 'later'", "attempts = -1", "method = '', url = '', origin = ''",
        ]
    )
    func letter(change: String) async throws {
        let temporary = try await store(with: change)
        try await EngineFixture.run(.with { _ in }, on: temporary) { fixture in
            let (modifiers, scope) = (fixture.engine.modifiers, fixture.scope)
            var list = ModifierListCommand()
            let all = try await modifiers.list(list, .one(scope)).items
            list.selection = .one(.failed)
            let letters = try await modifiers.list(list, .one(scope)).items
            let shown = try await modifiers.modifier(ModifierID("a"), scope)
            #expect(letters == [shown] && all == [shown])
            #expect(shown.id == "a" && shown.state == .failed && shown.reason == .unreadable)
            #expect(shown.targets.map(\.id) == [url.text])
            #expect(shown.answer?.status == 403)
            let dropped = try await fixture.engine.modifierActions.act(
                .drop,
                on: list,
                of: nil,
                .one(scope),
                cancellation: ClientCancellation()
            )
            #expect(dropped.items.map(\.id) == ["a"] && dropped.items.first?.problem == nil)
            #expect(try await modifiers.list(list, .one(scope)).items.isEmpty)
            #expect(fixture.engine.store.modifiers.totals.failed == 0)
        }
    }
}
