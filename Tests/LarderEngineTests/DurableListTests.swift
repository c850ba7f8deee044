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

    @Test("A pending edit of an entity shows in a list whose own write was confirmed and not read")
    func confirmedBeside() async throws {
        let setup = try EngineSetup.with { $0.origin.normalize = NormalizeRules(byType: .standard) }
        try await EngineFixture.run(setup) { fixture in
            let url = try fixture.url("/list")
            try await fixture.cache(url, .json(Self.list("Ann", "old")))
            try await fixture.write(
                .entity("User:7"),
                Self.merge("name", "Bea"),
                to: fixture.url("/users/7"),
                id: "edit",
                hold: .seconds(9)
            )
            #expect(try await fixture.cached(url).lastShown?.text == Self.list("Bea", "old"))
            // The write of the list is confirmed, and what asks for it again finds no way there.
            fixture.upstream.answer(url, with: .reply(status: 204))
            let id = try await fixture.write(.url(url), Self.merge("title", "new"))
            #expect(try await fixture.settled(id).state == .confirmed)
            let shown = try await fixture.cached(url).lastShown
            #expect(shown?.text == Self.list("Bea", "new"))
            #expect(shown?.pendingIDs == ["edit"])
            try await fixture.cancel("edit")
            #expect(try await fixture.cached(url).lastShown?.text == Self.list("Ann", "new"))
        }
    }
}
