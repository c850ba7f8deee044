import LarderJSON
import LarderModel
import LarderStore
import LarderTestSupport
import LarderWire
import Testing

@testable import LarderEngine

@Suite("A list whose entities have pending writes", .timeLimit(.minutes(5)))
struct DurableListTests {
    private static func list(_ name: String, _ title: String) -> String {
        #"{"items":[{"type":"User","id":7,"name":"\#(name)"}],"title":"\#(title)"}"#
    }

    private static func merge(_ name: String, _ value: String) -> Effect {
        .merge(.object([JSONMember(name: name, value: .string(value))]))
    }

    private func accept(
        _ id: String,
        _ effect: Effect,
        _ target: ModifierCommand.Target,
        hold: Duration?,
        _ fixture: EngineFixture
    ) async throws {
        let changes = [ModifierCommand.Change(target: target, effect: effect)]
        var request = try #require(ModifierCommand.derivedRequest(for: changes))
        if case .key = target { request.url = try fixture.url("/users/7") }
        var command = ModifierCommand(changes: changes, request: request)
        command.id = try ModifierID(id)
        command.hold = hold
        _ = try await fixture.engine.modifiers.accept(
            ModifiersCommand(all: [command]),
            fixture.scope
        )
    }

    @Test("A pending edit of an entity shows in a list whose own write was confirmed and not read")
    func confirmedBeside() async throws {
        let setup = try EngineSetup.with { $0.origin.normalize = NormalizeRules(byType: .standard) }
        try await EngineFixture.run(setup) { fixture in
            let url = try fixture.url("/list")
            try await fixture.cache(url, .json(Self.list("Ann", "old")))
            let user = ModifierCommand.Target.key(try EntityKey("User:7"), origin: nil)
            try await accept("edit", Self.merge("name", "Bea"), user, hold: .seconds(9), fixture)
            #expect(try await fixture.cached(url).lastShown?.text == Self.list("Bea", "old"))
            // The write of the list is confirmed, and what asks for it again finds no way there.
            fixture.upstream.answer(url, with: .reply(status: 204))
            let own = ModifierCommand.Target.id(try EntryID(url))
            try await accept("title", Self.merge("title", "new"), own, hold: nil, fixture)
            let id = try ModifierID("title")
            let report = try await fixture.engine.modifiers.modifier(
                id,
                fixture.scope,
                wait: .seconds(60)
            )
            #expect(report.state == .confirmed)
            let shown = try await fixture.cached(url).lastShown
            #expect(shown?.text == Self.list("Bea", "new"))
            #expect(shown?.pendingIDs == ["edit"])
            try await fixture.engine.modifiers.remove(
                ModifierID("edit"),
                fixture.scope,
                discarding: false
            )
            #expect(try await fixture.cached(url).lastShown?.text == Self.list("Ann", "new"))
        }
    }
}
