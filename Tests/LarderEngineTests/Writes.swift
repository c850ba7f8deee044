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
        _ target: EntryID,
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
        if command.request.url == nil, !target.isEntity {
            command.request.url = try WebURL(target.text)
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

/// Waits until something is so; the time limit of the test ends it.
func until(_ isTrue: () async throws -> Bool) async throws {
    while try await !isTrue() {
        try Task.checkCancellation()
        await Task.yield()
    }
}

extension EntryID {
    static func url(_ url: WebURL) throws -> Self { try EntryID(url) }

    /// An entity of the fixture's origin, by its key.
    static func entity(_ key: String) throws -> Self { EntryID(try .example(key)) }
}

extension EntityName {
    /// An entity of the fixture's origin.
    static func example(_ key: String) throws -> Self {
        EntityName(try EntityKey(key), of: try OriginName("example"))
    }
}

extension EngineFixture {
    /// The entity as a client sees it; nil for a miss.
    func read(
        _ name: EntityName,
        as form: ShownView = .view,
        expanding depth: Int = 0,
        _ scope: ScopeKey? = nil
    ) async throws -> EntryView<Entry?>? {
        let (key, now) = (scope ?? self.scope, clock.now())
        return try await engine.store.read { [engine] reader throws(StoreError) in
            try engine.view(
                of: EntryID(name),
                for: key,
                reader,
                now: now,
                as: form,
                expanding: depth
            ) { row, _ in row.entry() }
        }
    }
}

extension Effect {
    static func json(_ text: String) throws -> Effect { try Effect(parsing: Array(text.utf8)) }
}

extension ScriptedAnswer {
    static let unreachable = ScriptedAnswer.failure(
        .unreachable(host: "api.example.com", reason: "refused")
    )
}
