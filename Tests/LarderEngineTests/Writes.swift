import LarderJSON
import LarderModel
import LarderStore
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

extension EngineFixture {
    /// Has a write of one target accepted.
    ///
    /// Without a method its request is the one that the effect leads to. It goes to `url`, or else to
    /// the target itself.
    @discardableResult
    func write(
        _ target: ModifierCommand.Target,
        _ effect: Effect,
        _ method: String? = nil,
        to url: WebURL? = nil,
        id: String? = nil,
        hold: Duration? = nil,
        as scope: Scope = Self.scope,
        _ adjust: (inout ModifierCommand) throws -> Void = { _ in }
    ) async throws -> ModifierID {
        let changes = [ModifierCommand.Change(target: target, effect: effect)]
        var request = ModifierCommand.derivedRequest(for: changes)
        if let method { request = ModifierCommand.Request(method: method, url: nil) }
        var command = ModifierCommand(changes: changes, request: try #require(request))
        if let url { command.request.url = url }
        if command.request.url == nil, case .id(let id) = target {
            command.request.url = try WebURL(id.text)
        }
        command.id = try id.map { try ModifierID($0) }
        command.hold = hold
        try adjust(&command)
        let key = engine.store.key(for: scope)
        let receipt = try await engine.modifiers.accept(ModifiersCommand(command), key)[0]
        return try ModifierID(receipt.id)
    }

    /// The report of a write once it is settled.
    func settled(
        _ id: ModifierID,
        _ key: ScopeKey? = nil,
        wait: Duration = .seconds(60)
    ) async throws -> ModifierReport {
        try await engine.modifiers.modifier(id, key ?? scope, wait: wait)
    }

    func cancel(_ id: String) async throws {
        try await engine.modifiers.remove(ModifierID(id), scope, discarding: false)
    }
}

extension ModifierCommand.Target {
    static func url(_ url: WebURL) throws -> Self { .id(try EntryID(url)) }

    static func entity(_ text: String) throws -> Self { .key(try EntityKey(text), origin: nil) }
}

extension Effect {
    static func json(_ text: String) throws -> Effect { try Effect(parsing: Array(text.utf8)) }
}

extension ScriptedAnswer {
    static let unreachable = ScriptedAnswer.failure(
        .unreachable(host: "api.example.com", reason: "refused")
    )
}
