import LarderJSON
import LarderModel
import LarderNormalize
import LarderStore
import LarderTestSupport
import LarderWire
import Synchronization
import Testing

import struct LarderAPI.CredentialCommand

@testable import LarderEngine

/// A judge that knows neither base nor view: once every write has ended and all has been read, each
/// account sees what the server has.
///
/// Accounts create to-dos under temporary ids, edit and delete them, and write a note, while other
/// devices do the same, and while the network, the server and the credentials fail. The daemon is
/// restarted.
@Suite("Writes that end, and the server's documents", .timeLimit(.minutes(20)))
struct ServerDocumentTests {
    @Test("With every write ended and read back, each view is the server's document")
    func agrees() async throws {
        _ = try await SimulationSeeds.run(SimulationSeeds.first(40)) { seed in
            let server = DocumentServer(seed: ~seed)
            var writer = try DocumentWriter(seed: seed, server)
            for life in 0..<3 { try await writer.live(isLast: life == 2) }
            return KeptCounts()
        }
    }
}

private struct DocumentWriter {
    private struct Complaint: Error, CustomStringConvertible {
        let description: String
    }

    /// A write, and the mark of the to-do that it creates.
    private struct Write {
        let id: ModifierID
        let scope: Scope
        let mark: String?
        /// Whether a person has had it sent again, under another key.
        var isRetried = false
    }

    private let server: DocumentServer
    private let setup: EngineSetup
    private let scopes: [Scope]
    private let origin: OriginName
    private var random: SeededRandom
    private var left: TemporaryStore?
    private var elapsed = Duration.zero
    private var writes: [Write] = []
    /// Keys of to-dos that were created here or seen, some of them temporary.
    private var todos: [String] = []
    private var count = 0

    init(seed: UInt64, _ server: DocumentServer) throws {
        (self.server, random) = (server, SeededRandom(seed: seed))
        let rules = NormalizeRules(
            byType: .standard,
            types: [TypeRule(type: "Todo", url: "/todos/{id}")]
        )
        let (hasRules, honours) = (random.next() % 4 != 0, random.next() % 4 != 0)
        let match = random.pick(ModifierRules.MatchRule.allCases)
        let conflict = random.pick(ModifierRules.ConflictRule.allCases)
        let coalesce = random.pick(ModifierRules.CoalesceRule.allCases)
        setup = try EngineSetup.with { setup in
            if hasRules { setup.origin.normalize = rules }
            setup.origin.modifiers.empty = [EmptyForm(path: "/todos", form: #"{"items":[]}"#)]
            setup.origin.modifiers.createdID = "/id"
            setup.origin.modifiers.idempotency.isHonoured = honours
            setup.origin.modifiers.ifMatch = match
            setup.origin.modifiers.onConflict = conflict
            setup.origin.modifiers.coalesce = coalesce
        }
        scopes = [EngineFixture.scope, .own(uid: 1_000, account: try AccountName("work"))]
        origin = setup.origin.name
    }

    /// From a start of the daemon to its end; after the last one, all is compared.
    mutating func live(isLast: Bool) async throws {
        try left?.open()
        var (after, store) = (self, left)
        try await EngineFixture.run(setup, on: left) { fixture in
            store = fixture.temporary
            fixture.clock.advance(by: after.elapsed)
            fixture.upstream.answerOthers { [server] in server.answer($0) }
            for _ in 0..<12 { try await after.act(fixture) }
            if isLast {
                server.recover()
                try await after.end(fixture)
                try await after.compare(fixture)
            }
            after.elapsed = fixture.clock.monotonic()
        }
        self = after
        left = store
    }

    // MARK: What is done

    private mutating func act(_ fixture: EngineFixture) async throws {
        count += 1
        let scope = random.pick(scopes)
        switch random.next() % 16 {
        case 0, 1, 2: try await create(fixture, scope)
        case 3, 4, 5: try await edit(fixture, scope)
        case 6: try await delete(fixture, scope)
        case 7, 8: try await writeNote(fixture, scope)
        case 9, 10: server.writeElsewhere("other \(count)")
        case 11, 12: await read(fixture, scope)
        case 13: try await logIn(fixture, scope)
        case 14: try await decide(fixture, isEnding: false)
        default: await pass(.seconds(Int64(random.next() % 90)), fixture)
        }
        if random.next() % 2 == 0 { await pass(.seconds(1), fixture) }
    }

    private func pass(_ time: Duration, _ fixture: EngineFixture) async {
        fixture.clock.advance(by: time)
        for _ in 0..<100 { await Task.yield() }
    }

    /// Has a write accepted; a write that the daemon refuses at once is not counted.
    private mutating func write(
        _ effect: String,
        on target: EntryID,
        _ fixture: EngineFixture,
        _ scope: Scope,
        creating mark: String? = nil,
        _ request: ModifierCommand.Request? = nil
    ) async throws {
        let changes = [ModifierCommand.Change(target: target, effect: try Effect.json(effect))]
        guard let request = request ?? ModifierCommand.derivedRequest(for: changes) else { return }
        var command = ModifierCommand(changes: changes, request: request)
        command.id = try ModifierID("w\(count)")
        if random.next() % 8 == 0 { command.hold = .seconds(20) }
        let (ready, key) = (ModifiersCommand(command), fixture.key(scope))
        guard (try? await fixture.engine.modifiers.accept(ready, key)) != nil else { return }
        writes.append(Write(id: try ModifierID("w\(count)"), scope: scope, mark: mark))
    }

    private mutating func create(_ fixture: EngineFixture, _ scope: Scope) async throws {
        let uuid = "00000000-0000-4000-8000-" + String(UInt64(1e11) + UInt64(count))
        let (name, title) = ("tmp:\(uuid)", "title \(count)")
        let body = #"{"title":"\#(title)","done":false,"mark":"\#(count)"}"#
        let todo = #"{"type":"Todo","id":"\#(name)",\#(body.dropFirst())"#
        let request = ModifierCommand.Request(
            method: "POST",
            url: try fixture.url("/todos"),
            body: .bytes(Array(body.utf8))
        )
        todos.append(name)
        try await write(
            #"{"type":"list_add","value":{"/items":[\#(todo)]}}"#,
            on: .url(try fixture.url("/todos")),
            fixture,
            scope,
            creating: "\(count)",
            request
        )
        // A person goes on with what was made just now, while there is no network.
        guard setup.origin.normalize != nil, random.next() % 3 == 0 else { return }
        let todoID = try EntryID.entity("Todo:\(name)")
        for _ in 0..<random.next() % 3 {
            count += 1
            let value = random.pick([#""title":"edit \#(count)""#, #""done":true"#])
            try await write(#"{"type":"merge","value":{\#(value)}}"#, on: todoID, fixture, scope)
        }
        guard random.next() % 3 == 0 else { return }
        count += 1
        try await write(#"{"type":"delete"}"#, on: todoID, fixture, scope)
    }

    private mutating func target(_ fixture: EngineFixture) throws -> EntryID? {
        let known = server.paths.filter { $0.hasPrefix("/todos/") }.map { String($0.dropFirst(7)) }
        let all = todos + known
        guard !all.isEmpty else { return nil }
        let name = random.pick(all)
        guard setup.origin.normalize == nil else { return try .entity("Todo:\(name)") }
        return name.hasPrefix("tmp") ? nil : try .url(fixture.url("/todos/\(name)"))
    }

    private mutating func edit(_ fixture: EngineFixture, _ scope: Scope) async throws {
        guard let target = try target(fixture) else { return }
        let value = random.pick([#""title":"edit \#(count)""#, #""done":true"#])
        try await write(#"{"type":"merge","value":{\#(value)}}"#, on: target, fixture, scope)
    }

    private mutating func delete(_ fixture: EngineFixture, _ scope: Scope) async throws {
        guard let target = try target(fixture) else { return }
        try await write(#"{"type":"delete"}"#, on: target, fixture, scope)
    }

    private mutating func writeNote(_ fixture: EngineFixture, _ scope: Scope) async throws {
        let note = try EntryID.url(fixture.url("/note"))
        guard random.next() % 2 == 0 else {
            let text = #"{"type":"merge","value":{"text":"note \#(count)"}}"#
            return try await write(text, on: note, fixture, scope)
        }
        let request = ModifierCommand.Request(method: "POST", url: try fixture.url("/note/count"))
        let add = #"{"type":"add","value":{"/count":1}}"#
        try await write(add, on: note, fixture, scope, request)
    }

    private mutating func read(_ fixture: EngineFixture, _ scope: Scope) async {
        guard let url = try? fixture.url(random.pick(server.paths)) else { return }
        _ = fixture.start(url, random.pick(FetchPolicy.allCases), as: scope)
    }

    private func logIn(_ fixture: EngineFixture, _ scope: Scope) async throws {
        let command = CredentialCommand(value: server.state.withLock { $0.token })
        _ = try await fixture.engine.credentials.set(command, at: origin, fixture.key(scope))
    }

    /// A person decides about what waits for one, or at random about anything.
    private mutating func decide(_ fixture: EngineFixture, isEnding: Bool) async throws {
        for place in writes.indices where isEnding || random.next() % 4 == 0 {
            let (id, key) = (writes[place].id, fixture.key(writes[place].scope))
            let state = try await fixture.engine.modifiers.modifier(id, key).state
            guard !isEnding || [.unknown, .conflict].contains(state) else { continue }
            if random.next() % 2 == 0, !state.isSettled || state == .failed {
                guard (try? await fixture.engine.modifiers.retry(id, key)) != nil else { continue }
                writes[place].isRetried = true
            } else if !state.isSettled {
                _ = try? await fixture.engine.modifiers.remove(id, key, discarding: isEnding)
            }
        }
    }

    // MARK: The end

    private mutating func end(_ fixture: EngineFixture) async throws {
        for _ in 0..<3_000 {
            let open = try await open(fixture)
            guard !open.isEmpty else { return }
            if open.contains("auth_wait") {
                for scope in scopes { try await logIn(fixture, scope) }
            }
            try await decide(fixture, isEnding: true)
            await pass(.seconds(5), fixture)
        }
        let reports = try await reports(fixture)
        throw Complaint(description: "these never end: \(reports)")
    }

    private func reports(_ fixture: EngineFixture) async throws -> [String] {
        var texts: [String] = []
        for write in writes {
            let report = try await fixture.engine.modifiers.modifier(
                write.id,
                fixture.key(write.scope)
            )
            let request = "\(report.request.method) \(report.request.url)"
            let wait = report.waitingFor?.reason ?? "nothing"
            texts.append("\(write.id) \(report.state) \(request), waits for \(wait)")
        }
        return texts
    }

    private func open(_ fixture: EngineFixture) async throws -> [String] {
        var open: [String] = []
        for write in writes {
            let key = fixture.key(write.scope)
            let state = try await fixture.engine.modifiers.modifier(write.id, key).state
            if !state.isSettled { open.append(state.rawValue) }
        }
        return open
    }

    private func compare(_ fixture: EngineFixture) async throws {
        for scope in scopes {
            try await logIn(fixture, scope)
            for path in server.paths {
                let url = try fixture.url(path)
                try await fixture.fetch(url, .networkOnly, as: scope)
                let shown = try await fixture.cached(url, as: scope).lastShown?.text ?? "nothing"
                let value = try? JSONValue(parsing: Array(shown.utf8))
                let expected = server.document(path)
                guard let value, let expected, value.isSame(as: expected) else {
                    let text = expected.map { String(decoding: $0.bytes, as: UTF8.self) }
                    throw Complaint(
                        description: """
                            \(path) of \(scope) is \(shown), and at the server \
                            \(text ?? "nothing"); \(try await reports(fixture))
                            """
                    )
                }
            }
        }
        try await compareCreated(fixture)
    }

    /// Under honoured keys nothing is created twice, and what was confirmed is created.
    private func compareCreated(_ fixture: EngineFixture) async throws {
        guard setup.origin.modifiers.idempotency.isHonoured else { return }
        for write in writes where !write.isRetried {
            guard let mark = write.mark else { continue }
            let created = server.state.withLock { $0.created[mark] ?? 0 }
            let report = try await fixture.engine.modifiers.modifier(
                write.id,
                fixture.key(write.scope)
            )
            guard created <= 1, report.state != .confirmed || created == 1 else {
                throw Complaint(
                    description: "\(mark) was created \(created) times and is \(report.state)"
                )
            }
        }
    }
}
