import LarderEngine
import LarderJSON
import LarderModel
import LarderStore
import LarderTestSupport
import LarderUpstream
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
        let change: Change
        /// The to-do that it changes; nil for another document.
        let todo: Todo?
        let request: ModifierCommand.Request
        /// Whether a person has had it sent again, under another key.
        var isRetried = false
        /// Whether a person has had it removed.
        var isRemoved = false
        /// Whether the daemon has refused to remove it.
        var isKept = false

        var isCreate: Bool { if case .creates = change { true } else { false } }
    }

    /// The change of a write, if it can be joined to others.
    enum Change {
        case creates([String: JSONValue])
        case sets([String: JSONValue])
        case deletes
        case other
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
    private let fault: DocumentServer.Fault?
    var writes: [Write] = []
    /// Writes of which no client knows whether a killed daemon has accepted them.
    private var unheard: [(command: ModifiersCommand, writes: [Write])] = []
    /// Groups of joined writes that were confirmed, and such that cancelled each other out.
    var joined = JoinedCounts()
    private var left: TemporaryStore?
    private var elapsed = Duration.zero
    private(set) var todos: [Todo] = []
    private var count = 0
    /// The first version of each document that a user may still be shown.
    var floors: [String: Int] = [:]
    /// After so many rounds with a new credential in each, no credential wakes what waits for one.
    private static let refusedRoundsMax = 100
    /// After so many rounds without an end, the writes never end.
    private let roundsMax: Int

    init(seed: UInt64, _ fault: DocumentServer.Fault? = nil) throws {
        self.fault = fault
        random = SeededRandom(seed: seed)
        let types = [TypeRule(type: "Todo", url: "/todos/{id}")]
        let (hasRules, honours) = (random.next() % 4 != 0, random.next() % 4 != 0)
        let sharesIfSound = random.next() % 4 == 0
        let isShared = fault == nil && sharesIfSound
        let match = random.pick(ModifierRules.MatchRule.allCases)
        let conflict = random.pick(ModifierRules.ConflictRule.allCases)
        let coalesce = random.pick([ModifierRules.CoalesceRule.none, .writes, .net, .net])
        let coalesceWithFault: ModifierRules.CoalesceRule = fault?.joins == true ? .net : .none
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
            setup.origin.modifiers.coalesce = fault == nil ? coalesce : coalesceWithFault
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
            try await after.sendCancelled(fixture)
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
        switch random.next() % 25 {
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
        case 20, 21, 22: try await editRepeatedly(fixture, scope)
        default: await pass(.seconds(Int64(random.next() % 90)), fixture)
        }
        if random.next() % 2 == 0 { await pass(.seconds(1), fixture) }
        if fault?.isOfCancel == true { try await decide(fixture, isEnding: false) }
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
        of todo: Todo? = nil,
        isUnique: Bool = true,
        _ change: Change = .other,
        _ request: ModifierCommand.Request? = nil
    ) async throws {
        guard
            let (command, write) = try draft(
                effect,
                on: target,
                scope,
                of: todo,
                isUnique: isUnique,
                change,
                request
            )
        else { return }
        try await accept(ModifiersCommand(command), [write], fixture)
    }

    /// A write that is still to be accepted; nil if no request follows from its change.
    private mutating func draft(
        _ effect: String,
        on target: EntryID,
        _ scope: Scope,
        of todo: Todo? = nil,
        isUnique: Bool,
        _ change: Change,
        _ request: ModifierCommand.Request? = nil
    ) throws -> (ModifierCommand, Write)? {
        let changes = [ModifierCommand.Change(target: target, effect: try Effect.json(effect))]
        let derived = ModifierCommand.derivedRequest(for: changes)
        guard let request = request ?? derived else { return nil }
        var command = ModifierCommand(changes: changes, request: request)
        let id = try ModifierID("w\(count)")
        command.id = id
        if random.next() % 8 == 0 { command.hold = .seconds(20) }
        let body: [UInt8] = if case .bytes(let bytes) = request.body { bytes } else { [] }
        let draft = DocumentServer.Draft(
            account: account(scope),
            method: request.method,
            body: body,
            todo: todo
        )
        server.state.withLock { $0.drafts[id.text] = draft }
        let write = Write(
            id: id,
            scope: scope,
            isUnique: isUnique,
            isPost: request.method == "POST",
            change: change,
            todo: todo,
            request: request
        )
        return (command, write)
    }

    private mutating func accept(
        _ command: ModifiersCommand,
        _ new: [Write],
        _ fixture: EngineFixture
    ) async throws {
        guard let scope = new.first?.scope else { return }
        let receipts = try? await fixture.engine.modifiers.accept(command, fixture.key(scope))
        if server.plan.hasCopied {
            unheard.append((command, new))
        } else if receipts != nil {
            writes += new
        }
    }

    /// The clients ask again for what they have heard no answer to.
    private mutating func repeatUnheard(_ fixture: EngineFixture) async throws {
        let all = unheard
        unheard = []
        for (command, writes) in all { try await accept(command, writes, fixture) }
    }

    private func post(_ url: WebURL, _ body: String? = nil) -> ModifierCommand.Request {
        guard let body else { return ModifierCommand.Request(method: "POST", url: url) }
        var request = ModifierCommand.Request(method: "POST", url: url)
        request.body = .bytes(Array(body.utf8))
        request.headers.append("Content-Type", "application/json")
        return request
    }

    private mutating func create(_ fixture: EngineFixture, _ scope: Scope) async throws {
        let uuid = "00000000-0000-4000-8000-" + String(UInt64(1e11) + UInt64(count))
        let (name, title) = ("tmp:\(uuid)", "title \(count)")
        let body = #"{"title":"\#(title)","done":false,"mark":"\#(title)"}"#
        let todo = #"{"type":"Todo","id":"\#(name)",\#(body.dropFirst())"#
        let url = try fixture.url("/todos")
        let new = Todo(name: name, mark: title)
        todos.append(new)
        let creates = Change.creates(Self.members(body))
        let made: (ModifierCommand, Write)?
        if setup.origin.normalize != nil, random.next() % 3 == 0 {
            let put = #"{"type":"put","value":\#(todo)}"#
            let target = try EntryID.entity("Todo:\(name)")
            made = try draft(put, on: target, scope, isUnique: true, creates, post(url, body))
        } else {
            let add = #"{"type":"list_add","value":{"/items":[\#(todo)]}}"#
            made = try draft(add, on: .url(url), scope, isUnique: true, creates, post(url, body))
        }
        var drafts = made.map { [$0] } ?? []
        // The fault is about creates that a deletion follows.
        let isAboutNeedless = fault == .needlessIsSent
        if setup.origin.normalize != nil, random.next() % 2 == 0 || isAboutNeedless {
            var values: [String] = []
            for _ in 0..<random.next() % 3 { values.append(randomEdit()) }
            let target = try EntryID.entity("Todo:\(name)")
            let deletes = random.next() % 2 == 0 || isAboutNeedless
            drafts += try edits(of: new, target, values, deletes: deletes, scope)
        }
        try await accept(drafts, fixture)
    }

    /// Has some edits of one to-do accepted together, so that they can be joined to each other.
    private mutating func editRepeatedly(_ fixture: EngineFixture, _ scope: Scope) async throws {
        guard let (todo, target) = try target(fixture) else { return }
        // The last may take the others back.
        let id = todo.mark.flatMap { server.ids(marked: $0).first.map(String.init) }
        let document = server.document("/todos/\(id ?? todo.name)", account(scope))
        let isDone = document?["done"] == .bool(true)
        let values =
            random.next() % 2 == 0
            ? [#"{"done":\#(!isDone)}"#, #"{"done":\#(isDone)}"#]
            : [randomEdit(), randomEdit(), randomEdit()]
        let deletes = random.next() % 6 == 0
        try await accept(edits(of: todo, target, values, deletes: deletes, scope), fixture)
    }

    /// Edits that set members, in their order, and perhaps a deletion.
    private mutating func edits(
        of todo: Todo,
        _ target: EntryID,
        _ values: [String],
        deletes: Bool,
        _ scope: Scope
    ) throws -> [(ModifierCommand, Write)] {
        var drafts: [(ModifierCommand, Write)] = []
        for value in values {
            count += 1
            let merge = #"{"type":"merge","value":\#(value)}"#
            let sets = Change.sets(Self.members(value))
            let made = try draft(merge, on: target, scope, of: todo, isUnique: false, sets)
            if let made { drafts.append(made) }
        }
        guard deletes else { return drafts }
        count += 1
        let delete = #"{"type":"delete"}"#
        let made = try draft(delete, on: target, scope, of: todo, isUnique: false, .deletes)
        return drafts + (made.map { [$0] } ?? [])
    }

    /// Has writes accepted together.
    private mutating func accept(
        _ drafts: [(ModifierCommand, Write)],
        _ fixture: EngineFixture
    ) async throws {
        guard let first = drafts.first else { return }
        let all = drafts.map(\.0)
        let command = all.count == 1 ? ModifiersCommand(first.0) : ModifiersCommand(all: all)
        try await accept(command, drafts.map(\.1), fixture)
    }

    private mutating func randomEdit() -> String {
        count += 1
        return random.pick([#"{"title":"edit \#(count)"}"#, #"{"done":true}"#])
    }

    private static func members(_ text: String) -> [String: JSONValue] {
        let members = (try? JSONValue(parsing: Array(text.utf8)))?.members ?? []
        return Dictionary(members.map { ($0.name, $0.value) }) { $1 }
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
        guard let (todo, target) = try target(fixture) else { return }
        let value = randomEdit()
        let merge = #"{"type":"merge","value":\#(value)}"#
        let sets = Change.sets(Self.members(value))
        let isUnique = value.contains("title")
        try await write(merge, on: target, fixture, scope, of: todo, isUnique: isUnique, sets)
    }

    /// Adds to a list, by a request whose URL has the id.
    private mutating func tag(_ fixture: EngineFixture, _ scope: Scope) async throws {
        guard let (todo, target) = try target(fixture) else { return }
        let id = todo.isTemporary ? "{{id:\(todo.name)}}" : todo.name
        let request = post(try fixture.url("/todos/\(id)/tags"), #"{"tag":"tag \#(count)"}"#)
        let add = #"{"type":"list_add","value":{"/tags":["tag \#(count)"]}}"#
        try await write(add, on: target, fixture, scope, of: todo, .other, request)
    }

    private mutating func delete(_ fixture: EngineFixture, _ scope: Scope) async throws {
        guard let (todo, target) = try target(fixture) else { return }
        let delete = #"{"type":"delete"}"#
        // The deletion by another device is the same.
        try await write(delete, on: target, fixture, scope, of: todo, isUnique: false, .deletes)
    }

    private mutating func writeNote(_ fixture: EngineFixture, _ scope: Scope) async throws {
        let note = try EntryID.url(fixture.url("/note"))
        guard random.next() % 2 == 0 else {
            let text = #"{"type":"merge","value":{"text":"note \#(count)"}}"#
            return try await write(text, on: note, fixture, scope)
        }
        let add = #"{"type":"add","value":{"/count":1}}"#
        try await write(add, on: note, fixture, scope, .other, post(fixture.url("/note/count")))
    }

    /// Writes a note about a to-do that perhaps has no id yet.
    private mutating func writeAbout(_ fixture: EngineFixture, _ scope: Scope) async throws {
        let own = todos.filter { $0.mark != nil }
        guard !own.isEmpty else { return }
        let (todo, text) = (random.pick(own), "about \(count)")
        let about = #""todo":"{{id:\#(todo.name)}}","mark":"\#(todo.mark ?? "")""#
        let request = post(try fixture.url("/note/about"), #"{\#(about),"text":"\#(text)"}"#)
        let merge = #"{"type":"merge","value":{"text":"\#(text)"}}"#
        try await write(merge, on: .url(fixture.url("/note")), fixture, scope, .other, request)
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
                _ = try? await passing(fixture) { try await $0.modifiers.retry(id, key) }
            } else if !state.isSettled {
                writes[place].isRemoved = true
                do {
                    try await passing(fixture) {
                        try await $0.modifiers.remove(id, key, discarding: isEnding)
                    }
                } catch {
                    writes[place].isKept = true
                }
            }
        }
    }

    // MARK: The end

    private mutating func end(_ fixture: EngineFixture) async throws {
        var refusedRounds = 0
        for _ in 0..<roundsMax {
            let open = try await reports(fixture).map(\.state).filter { !$0.isSettled }
            guard !open.isEmpty else { return }
            if open.contains(.authWait) {
                refusedRounds += 1
                guard refusedRounds < Self.refusedRoundsMax else {
                    let texts = try await texts(fixture)
                    throw Complaint(description: "a new credential does not wake these: \(texts)")
                }
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
            var report = try await fixture.engine.modifiers.modifier(write.id, key)
            falsify(&report, of: write)
            reports.append(report)
        }
        return reports
    }

    // MARK: Faults

    /// Makes of a report the one that a daemon with the fault would give.
    private func falsify(_ report: inout ModifierReport, of write: Write) {
        switch fault {
        case .appliedIsCancelled where write.isKept: report.state = .cancelled
        case .joinedIsNeedless:
            let first = report.joinedInto ?? report.id
            let isDropped = server.state.withLock { $0.dropped.contains(first) }
            if isDropped { report.state = .cancelled }
        case .promiseNeverEnds where report.answer?.status == 202: report.state = .accepted
        case _: break
        }
    }

    /// Does what a daemon with the fault would have the server do.
    private mutating func sendCancelled(_ fixture: EngineFixture) async throws {
        guard fault == .cancelledIsSent || fault == .needlessIsSent, !server.plan.hasCopied else {
            return
        }
        for (place, report) in try await reports(fixture).enumerated() {
            let write = writes[place]
            guard report.state == .cancelled, write.isRemoved == (fault == .cancelledIsSent),
                write.isRemoved || write.isCreate,
                let url = write.request.url, case .bytes(let body) = write.request.body,
                server.state.withLock({ $0.done[write.id.text] == nil })
            else { continue }
            var origin = setup.origin
            origin.headers.set("Authorization", server.credential(account(write.scope)))
            var request = UpstreamRequest(
                origin: origin,
                method: write.request.method,
                url: url,
                body: body,
                timeout: .seconds(1),
                purpose: .write,
                isRepeatable: false
            )
            request.headers.set("Idempotency-Key", write.id.text)
            server.perform(request)
        }
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
