import LarderJSON
import LarderModel
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

@Suite("What is left of a write when it was done", .timeLimit(.minutes(5)))
struct ConfirmedWriteTests {
    private static let unreachable = ScriptedAnswer.failure(
        .unreachable(host: "api.example.com", reason: "gone")
    )

    private func accept(
        _ fixture: EngineFixture,
        _ change: ModifierCommand.Change,
        _ request: ModifierCommand.Request? = nil
    ) async throws {
        let derived = ModifierCommand.derivedRequest(for: [change])
        var command = ModifierCommand(changes: [change], request: try #require(request ?? derived))
        command.id = try ModifierID("m")
        _ = try await fixture.engine.modifiers.accept(ModifiersCommand(command), fixture.scope)
    }

    private func settled(_ fixture: EngineFixture) async throws -> ModifierState {
        let (id, scope) = (try ModifierID("m"), fixture.scope)
        return try await fixture.engine.modifiers.modifier(id, scope, wait: .seconds(60)).state
    }

    @Test("What was deleted stays so, whatever the answer says of it", arguments: [200, 404, 410])
    func deleted(status: Int) async throws {
        let user = #"{"type":"User","id":7,"name":"Ann"}"#
        let setup = try EngineSetup.with {
            $0.origin.normalize = NormalizeRules(
                byType: .standard,
                types: [TypeRule(type: "User", url: "/users/{id}")]
            )
        }
        try await EngineFixture.run(setup) { fixture in
            let list = try fixture.url("/users")
            try await fixture.cache(list, .json("[\(user)]"))
            fixture.upstream.answer(
                try fixture.url("/users/7"),
                with: .json(user, status: status),
                Self.unreachable
            )
            let target = ModifierCommand.Target.key(try EntityKey("User:7"), origin: nil)
            let change = ModifierCommand.Change(target: target, effect: .delete)
            try await accept(fixture, change)
            #expect(try await settled(fixture) == .confirmed)
            #expect(try await fixture.cached(list).lastShown?.text == "[]")
        }
    }

    @Test("6: what was read after a write was sent may have its addition: it is not added again")
    func added() async throws {
        try await EngineFixture.run { fixture in
            let (url, writes) = (try fixture.url("/a"), try fixture.url("/w"))
            try await fixture.cache(url, .json(#"{"n":5}"#))
            let gate = Gate()
            fixture.upstream.answer(writes, with: ScriptedAnswer.reply(status: 204).held(by: gate))
            fixture.upstream.answer(url, with: .json(#"{"n":6}"#), Self.unreachable)
            let effect = try Effect(parsing: Array(#"{"type":"add","value":{"/n":1}}"#.utf8))
            let change = ModifierCommand.Change(target: try EntryID(url), effect: effect)
            try await accept(fixture, change, .init(method: "POST", url: writes))
            _ = try await fixture.upstream.asked.element(1)
            try await fixture.fetch(url) { $0.policy = .networkOnly }
            gate.open()
            #expect(try await settled(fixture) == .confirmed)
            let shown = try await fixture.cached(url).lastShown
            #expect(shown?.text == #"{"n":6}"#)
        }
    }

    @Test("P-06: a 304 to what was asked before a write was confirmed confirms nothing")
    func overtakenConfirmation() async throws {
        try await EngineFixture.run { fixture in
            let (url, writes) = (try fixture.url("/a"), try fixture.url("/w"))
            try await fixture.cache(url, .json(#"{"n":1}"#, etag: "\"1\""))
            let gate = Gate()
            fixture.upstream.answer(
                url,
                with: ScriptedAnswer.notModified.held(by: gate),
                .json(#"{"n":2}"#, etag: "\"2\"")
            )
            fixture.upstream.answer(writes, with: .reply(status: 204))
            let fetch = fixture.start(url, .networkFirst)
            _ = try await fixture.upstream.asked.element(1)
            // What it changes is there already: nothing is known of what the origin made of it.
            let effect = try Effect(parsing: Array(#"{"type":"merge","value":{"n":1}}"#.utf8))
            let change = ModifierCommand.Change(target: try EntryID(url), effect: effect)
            try await accept(fixture, change, .init(method: "POST", url: writes))
            #expect(try await settled(fixture) == .confirmed)
            gate.open()
            _ = try await fetch.result()
            #expect(try await fixture.cached(url).lastShown?.text == #"{"n":2}"#)
        }
    }
}
