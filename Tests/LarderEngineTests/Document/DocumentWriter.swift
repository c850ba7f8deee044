import LarderEngine
import LarderJSON
import LarderModel
import LarderStore
import LarderTestSupport
import LarderWire
import Synchronization

import struct LarderAPI.CredentialCommand
import struct LarderAPI.ModifierReport

/// Clients of a ``DocumentServer`` behind a daemon, over some lives of it.
struct DocumentWriter {
    struct Complaint: Error, CustomStringConvertible {
        let description: String
    }

    /// A write, and what the judge checks of it.
    struct Write {
        let id: ModifierID
        let scope: Scope
        /// Whether no other write has the same effect.
        let isUnique: Bool
        /// Whether it adds something, so that the server does it twice if it is asked twice.
        let isPost: Bool
        /// Whether a person has had it sent again, under another key.
        var isRetried = false
    }

    /// A to-do under the name that it has in the daemon.
    struct Todo {
        let name: String
        /// The mark under which a client created it; nil for one from elsewhere.
        var mark: String?

        var isTemporary: Bool { name.hasPrefix("tmp") }
    }

    let server: DocumentServer
    let setup: EngineSetup
    let scopes: [Scope]
    var random: SeededRandom
    private(set) var writes: [Write] = []
    /// Writes of which no client knows whether a killed daemon has accepted them.
    private var unheard: [(command: ModifiersCommand, write: Write)] = []
    private var left: TemporaryStore?
    private var elapsed = Duration.zero
    private var todos: [Todo] = []
    private var count = 0
    /// The first version of each document that a user may still be shown.
    var floors: [String: Int] = [:]
    /// After so many rounds without an end, the writes never end.
    private let roundsMax: Int

    init(seed: UInt64, _ fault: DocumentServer.Fault? = nil) throws {
        random = SeededRandom(seed: seed)
        let types = [TypeRule(type: "Todo", url: "/todos/{id}")]
        let (hasRules, honours) = (random.next() % 4 != 0, random.next() % 4 != 0)
        let sharesIfSound = random.next() % 4 == 0
        let isShared = fault == nil && sharesIfSound
        let match = random.pick(ModifierRules.MatchRule.allCases)
        let conflict = random.pick(ModifierRules.ConflictRule.allCases)
        let coalesce = random.pick(ModifierRules.CoalesceRule.allCases)
        var setup = try EngineSetup.with { setup in
            if hasRules {
                setup.origin.normalize = NormalizeRules(byType: .standard, types: types)
            }
            setup.origin.isShared = isShared
            if isShared { setup.origin.headers.append("Authorization", "all 0") }
            setup.origin.modifiers.empty = [EmptyForm(path: "/todos", form: #"{"items":[]}"#)]
            setup.origin.modifiers.createdID = "/id"
            setup.origin.modifiers.idempotency.isHonoured = honours || fault != nil
            setup.origin.modifiers.ifMatch = match
            setup.origin.modifiers.onConflict = conflict
            setup.origin.modifiers.coalesce = fault == nil ? coalesce : .none
        }
        let other: Scope =
            isShared
            ? .own(uid: 2_000, account: .default)
            : .own(uid: 1_000, account: try AccountName("work"))
        scopes = [EngineFixture.scope, other]
        roundsMax = fault == nil ? 3_000 : 300
        let honoured = setup.origin.modifiers.idempotency.isHonoured
        server = DocumentServer(
            seed: ~seed,
            DocumentServer.Rules(fault: fault, honoursKeys: honoured, isShared: isShared),
            accounts: isShared ? ["all"] : scopes.map(\.account.text)
        )
        setup.store.faults = server.plan
        self.setup = setup
    }

    /// The account of the server that a user's requests are of.
    func account(_ scope: Scope) -> String {
        setup.origin.isShared ? "all" : scope.account.text
    }

    /// Some lives of the daemon; at the end of the last one, all is compared.
    mutating func live() async throws {
        for life in 0..<3 { try await live(isLast: life == 2) }
    }

    /// From a start of the daemon to its end, or until it is killed.
    private mutating func live(isLast: Bool) async throws {
        if let copy = try server.plan.takeCopy() { try left?.open(copy) } else { try left?.open() }
        var (after, store) = (self, left)
        try await EngineFixture.run(setup, on: left) { fixture in
            store = fixture.temporary
            fixture.clock.advance(by: after.elapsed)
            fixture.upstream.answerOthers { [server] in server.answer($0) }
            try await after.repeatUnheard(fixture)
            after.armKill(fixture, isLast: isLast)
            for _ in 0..<14 where !server.plan.hasCopied { try await after.act(fixture) }
            if isLast {
                server.recover()
                try await after.end(fixture)
                try await after.compare(fixture)
            }
            if !server.plan.hasCopied { try await after.checkOutcomes(fixture) }
            after.elapsed = fixture.clock.monotonic()
        }
        self = after
        left = store
    }

    private mutating func armKill(_ fixture: EngineFixture, isLast: Bool) {
        guard !isLast, random.next() % 2 == 0 else { return }
        let n = Int(1 + random.next() % 30)
        let step = random.pick([DiskPlan.Step.stateCommit, .cacheCommit])
        server.plan.armCrash(n, of: step, in: fixture.temporary.directory)
    }

    // MARK: What is done

    private mutating func act(_ fixture: EngineFixture) async throws {
        count += 1
        let scope = random.pick(scopes)
        switch random.next() % 22 {
        case 0, 1, 2: try await create(fixture, scope)
        case 3, 4, 5: try await edit(fixture, scope)
        case 6: try await delete(fixture, scope)
        case 7, 8: try await writeNote(fixture, scope)
        case 9, 10: server.writeElsewhere("other \(count)")
        case 11, 12: await read(fixture, scope)
        case 13: try await logIn(fixture, scope)
        case 14: try await decide(fixture, isEnding: false)
        case 15: try await tag(fixture, scope)
        case 16: try await writeAbout(fixture, scope)
        case 17, 18: try await look(fixture, scope)
        case 19: server.deliver()
        default: await pass(.seconds(Int64(random.next() % 90)), fixture)
        }
        if random.next() % 2 == 0 { await pass(.seconds(1), fixture) }
    }

    func pass(_ time: Duration, _ fixture: EngineFixture) async {
        fixture.clock.advance(by: time)
        for _ in 0..<100 { await Task.yield() }
    }

    /// Has a write accepted; a write that the daemon refuses at once is not counted.
    private mutating func write(
        _ effect: String,
        on target: EntryID,
        _ fixture: EngineFixture,
        _ scope: Scope,
        isUnique: Bool = true,
        _ request: ModifierCommand.Request? = nil
    ) async throws {
        let changes = [ModifierCommand.Change(target: target, effect: try Effect.json(effect))]
        let derived = ModifierCommand.derivedRequest(for: changes)
        guard let request = request ?? derived else { return }
        var command = ModifierCommand(changes: changes, request: request)
        let id = try ModifierID("w\(count)")
        command.id = id
        if random.next() % 8 == 0 { command.hold = .seconds(20) }
        let account = account(scope)
        server.state.withLock { $0.owners[id.text] = account }
        let write = Write(
            id: id,
            scope: scope,
            isUnique: isUnique,
            isPost: request.method == "POST"
        )
        try await accept(ModifiersCommand(command), write, fixture)
    }

    private mutating func accept(
        _ command: ModifiersCommand,
        _ write: Write,
        _ fixture: EngineFixture
    ) async throws {
        let key = fixture.key(write.scope)
        let receipts = try? await fixture.engine.modifiers.accept(command, key)
        if server.plan.hasCopied {
            unheard.append((command, write))
        } else if receipts != nil {
            writes.append(write)
        }
    }

    /// The clients ask again for what they have heard no answer to.
    private mutating func repeatUnheard(_ fixture: EngineFixture) async throws {
        let all = unheard
        unheard = []
        for (command, write) in all { try await accept(command, write, fixture) }
    }

    private func post(_ url: WebURL, _ body: String? = nil) -> ModifierCommand.Request {
        guard let body else { return ModifierCommand.Request(method: "POST", url: url) }
        return ModifierCommand.Request(method: "POST", url: url, body: .bytes(Array(body.utf8)))
    }

    private mutating func create(_ fixture: EngineFixture, _ scope: Scope) async throws {
        let uuid = "00000000-0000-4000-8000-" + String(UInt64(1e11) + UInt64(count))
        let (name, title) = ("tmp:\(uuid)", "title \(count)")
        let body = #"{"title":"\#(title)","done":false,"mark":"\#(title)"}"#
        let todo = #"{"type":"Todo","id":"\#(name)",\#(body.dropFirst())"#
        let url = try fixture.url("/todos")
        todos.append(Todo(name: name, mark: title))
        guard setup.origin.normalize == nil || random.next() % 3 != 0 else {
            let put = #"{"type":"put","value":\#(todo)}"#
            let target = try EntryID.entity("Todo:\(name)")
            return try await write(put, on: target, fixture, scope, post(url, body))
        }
        let add = #"{"type":"list_add","value":{"/items":[\#(todo)]}}"#
        try await write(add, on: .url(url), fixture, scope, post(url, body))
        guard setup.origin.normalize != nil, random.next() % 3 == 0 else { return }
        try await changeSoon(try .entity("Todo:\(name)"), fixture, scope)
    }

    /// Writes that follow a create immediately, so that they can be joined to it.
    private mutating func changeSoon(
        _ todo: EntryID,
        _ fixture: EngineFixture,
        _ scope: Scope
    ) async throws {
        for _ in 0..<random.next() % 3 {
            count += 1
            let value = random.pick([#""title":"edit \#(count)""#, #""done":true"#])
            let merge = #"{"type":"merge","value":{\#(value)}}"#
            try await write(merge, on: todo, fixture, scope, isUnique: false)
        }
        guard random.next() % 3 == 0 else { return }
        count += 1
        try await write(#"{"type":"delete"}"#, on: todo, fixture, scope)
    }

    /// A to-do and its target; nil if no write can have it as a target.
    private mutating func target(_ fixture: EngineFixture) throws -> (Todo, EntryID)? {
        let known = server.paths.filter { $0.hasPrefix("/todos/") }
            .map { Todo(name: String($0.dropFirst(7))) }
        let all = todos + known
        guard !all.isEmpty else { return nil }
        let todo = random.pick(all)
        guard setup.origin.normalize == nil else { return (todo, try .entity("Todo:\(todo.name)")) }
        return todo.isTemporary ? nil : (todo, try .url(fixture.url("/todos/\(todo.name)")))
    }

    private mutating func edit(_ fixture: EngineFixture, _ scope: Scope) async throws {
        guard let (_, target) = try target(fixture) else { return }
        let isTitle = random.next() % 2 == 0
        let value = isTitle ? #""title":"edit \#(count)""# : #""done":true"#
        let merge = #"{"type":"merge","value":{\#(value)}}"#
        try await write(merge, on: target, fixture, scope, isUnique: isTitle)
    }

    /// Adds to a list, by a request whose URL has the id.
    private mutating func tag(_ fixture: EngineFixture, _ scope: Scope) async throws {
        guard let (todo, target) = try target(fixture) else { return }
        let id = todo.isTemporary ? "{{id:\(todo.name)}}" : todo.name
        let request = post(try fixture.url("/todos/\(id)/tags"), #"{"tag":"tag \#(count)"}"#)
        let add = #"{"type":"list_add","value":{"/tags":["tag \#(count)"]}}"#
        try await write(add, on: target, fixture, scope, request)
    }

    private mutating func delete(_ fixture: EngineFixture, _ scope: Scope) async throws {
        guard let (_, target) = try target(fixture) else { return }
        // The deletion by another device is the same.
        try await write(#"{"type":"delete"}"#, on: target, fixture, scope, isUnique: false)
    }

    private mutating func writeNote(_ fixture: EngineFixture, _ scope: Scope) async throws {
        let note = try EntryID.url(fixture.url("/note"))
        guard random.next() % 2 == 0 else {
            let text = #"{"type":"merge","value":{"text":"note \#(count)"}}"#
            return try await write(text, on: note, fixture, scope)
        }
        let add = #"{"type":"add","value":{"/count":1}}"#
        try await write(add, on: note, fixture, scope, post(try fixture.url("/note/count")))
    }

    /// Writes a note about a to-do that perhaps has no id yet.
    private mutating func writeAbout(_ fixture: EngineFixture, _ scope: Scope) async throws {
        let own = todos.filter { $0.mark != nil }
        guard !own.isEmpty else { return }
        let (todo, text) = (random.pick(own), "about \(count)")
        let about = #""todo":"{{id:\#(todo.name)}}","mark":"\#(todo.mark ?? "")""#
        let request = post(try fixture.url("/note/about"), #"{\#(about),"text":"\#(text)"}"#)
        let merge = #"{"type":"merge","value":{"text":"\#(text)"}}"#
        try await write(merge, on: .url(fixture.url("/note")), fixture, scope, request)
    }

    private mutating func read(_ fixture: EngineFixture, _ scope: Scope) async {
        guard let url = try? fixture.url(random.pick(server.paths)) else { return }
        _ = fixture.start(url, random.pick(FetchPolicy.allCases), as: scope)
    }

    func logIn(_ fixture: EngineFixture, _ scope: Scope) async throws {
        guard !setup.origin.isShared else { return }
        let command = CredentialCommand(value: server.credential(account(scope)))
        let name = setup.origin.name
        _ = try await fixture.engine.credentials.set(command, at: name, fixture.key(scope))
    }

    /// A person decides about what waits for one, or at random about anything.
    private mutating func decide(_ fixture: EngineFixture, isEnding: Bool) async throws {
        for place in writes.indices where isEnding || random.next() % 4 == 0 {
            let (id, key) = (writes[place].id, fixture.key(writes[place].scope))
            let state = try await fixture.engine.modifiers.modifier(id, key).state
            guard !isEnding || [.unknown, .conflict].contains(state) else { continue }
            if random.next() % 2 == 0, !state.isSettled || state == .failed {
                // Heard or not, a retry of these may start a round with another key.
                if [.failed, .conflict].contains(state) { writes[place].isRetried = true }
                _ = try? await fixture.engine.modifiers.retry(id, key)
            } else if !state.isSettled {
                _ = try? await fixture.engine.modifiers.remove(id, key, discarding: isEnding)
            }
        }
    }

    // MARK: The end

    private mutating func end(_ fixture: EngineFixture) async throws {
        for _ in 0..<roundsMax {
            let open = try await reports(fixture).map(\.state).filter { !$0.isSettled }
            guard !open.isEmpty else { return }
            if open.contains(.authWait) {
                for scope in scopes { try await logIn(fixture, scope) }
                if setup.origin.isShared { try await retryRefused(fixture) }
            }
            try await decide(fixture, isEnding: true)
            await pass(.seconds(5), fixture)
        }
        throw Complaint(description: "these never end: \(try await texts(fixture))")
    }

    private func retryRefused(_ fixture: EngineFixture) async throws {
        for (write, report) in zip(writes, try await reports(fixture))
        where report.state == .authWait {
            _ = try? await fixture.engine.modifiers.retry(write.id, fixture.key(write.scope))
        }
    }

    /// The reports of all writes; throws if the daemon does not know one that it has accepted.
    func reports(_ fixture: EngineFixture) async throws -> [ModifierReport] {
        var reports: [ModifierReport] = []
        for write in writes {
            let key = fixture.key(write.scope)
            reports.append(try await fixture.engine.modifiers.modifier(write.id, key))
        }
        return reports
    }

    func texts(_ fixture: EngineFixture) async throws -> [String] {
        try await reports(fixture).map { report in
            let request = "\(report.request.method) \(report.request.url)"
            let wait = report.waitingFor?.reason ?? "nothing"
            let reason = report.reason.map { " (\($0.rawValue))" } ?? ""
            return "\(report.id) \(report.state)\(reason) \(request), waits for \(wait)"
        }
    }
}
