import LarderAPI
import LarderJSON
import LarderModel
import LarderNormalize
import LarderStore
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

/// Things that a program creates before the origin has given them an id.
@Suite(
    "Writes with temporary ids (case 16)",
    .timeLimit(.minutes(5)),
    .engine { setup in
        setup.origin.normalize = NormalizeRules(
            byType: .standard,
            types: [TypeRule(type: "Todo", url: "/todos/{id}")]
        )
    }
)
struct TemporaryIDTests {
    private let fixture = EngineFixture.running
    private let gate = Gate()
    private static let uuid = "6f1c0a52-0000-4000-8000-0123456789ab"
    private static let name = "tmp:\(uuid)"

    init() {
        // A read after a write is refused, so that each view is what the writes have made.
        fixture.upstream.answerOthers { .reply(status: $0.method == "GET" ? 403 : 204) }
    }

    private var target: EntryID { get throws { try .entity("Todo:\(Self.name)") } }
    private var real: EntryID { get throws { try .entity("Todo:42") } }

    private func json(_ text: String) throws -> JSONValue {
        try JSONValue(parsing: Array(text.utf8))
    }

    @discardableResult
    private func create(
        _ id: String = "create",
        _ answer: ScriptedAnswer = .json(
            #"{"type":"Todo","id":42,"title":"eggs","by":"s"}"#,
            status: 201
        )
    ) async throws -> ModifierID {
        fixture.upstream.answer(try fixture.url("/todos"), with: answer.held(by: gate))
        let value = #"{"type":"Todo","id":"\#(Self.name)","title":"eggs"}"#
        return try await fixture.write(
            target,
            .put(json(value)),
            "POST",
            to: fixture.url("/todos"),
            id: id
        ) { $0.request.body = .bytes(Array(#"{"title":"eggs"}"#.utf8)) }
    }

    private func merge(
        _ text: String,
        id: String,
        _ target: EntryID? = nil
    ) async throws -> ModifierID {
        try await fixture.write(target ?? self.target, .merge(json(text)), id: id)
    }

    private func shown(_ id: EntryID) async throws -> String? {
        let name = try #require(id.entity)
        guard let view = try await fixture.read(name), case .made(_, let bytes) = view.content
        else {
            return nil
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private var sent: [String] {
        fixture.upstream.asked.all.filter { $0.method != "GET" }.map {
            "\($0.method) \($0.url.pathAndQuery)"
        }
    }

    private func checkRequests() {
        for request in fixture.upstream.asked.all {
            #expect(TemporaryID.occurrences(in: request.url.text).isEmpty)
            #expect(TemporaryID.occurrences(in: request.body ?? []).isEmpty)
        }
    }

    @Test("Edits and a delete wait for the id, whenever they came, and go to the real URL")
    func whole() async throws {
        try await create()
        let before = try await merge(#"{"done":true}"#, id: "before")
        _ = try await fixture.upstream.asked.element(0)
        let after = try await merge(#"{"count":2}"#, id: "after")
        let gone = try await fixture.write(target, .delete, id: "gone", hold: .seconds(60))
        #expect(try await shown(target) == nil)
        #expect(fixture.upstream.asked.all.count == 1)
        gate.open()
        #expect(try await fixture.settled(before).state == .confirmed)
        #expect(try await fixture.settled(after).state == .confirmed)
        let report = try await fixture.engine.modifiers.modifier(gone, fixture.scope)
        #expect(report.targets.map(\.id) == [try real.description])
        try await fixture.cancel("gone")
        #expect(try await shown(real)?.contains(#""count":2"#) == true)
        #expect(sent == ["POST /todos", "PATCH /todos/42", "PATCH /todos/42"])
        checkRequests()
    }

    @Test("A write to a real id is sent after the earlier ones that waited for this id")
    func orderAtRenaming() async throws {
        let (renaming, look) = (StepHold(), StepHold())
        defer {
            renaming.release()
            look.release()
        }
        let setup = try EngineSetup.with { setup in
            setup.origin.normalize = NormalizeRules(
                byType: .standard,
                types: [TypeRule(type: "Todo", url: "/todos/{id}")]
            )
            setup.store.faults = TwoHolds(first: renaming, second: look)
        }
        try await EngineFixture.run(setup) { fixture in
            fixture.upstream.answerOthers { .reply(status: $0.method == "GET" ? 403 : 204) }
            let list = try fixture.url("/todos")
            let created = ScriptedAnswer.json(#"{"type":"Todo","id":42}"#, status: 201)
            fixture.upstream.answer(list, with: created.held(by: gate))
            let (old, new, scope) = (try target, try real, fixture.scope)
            let value = try json(#"{"type":"Todo","id":"\#(Self.name)"}"#)
            try await fixture.write(old, .put(value), "POST", to: list)
            let first = try await fixture.write(old, .merge(json(#"{"n":1}"#)))
            _ = try await fixture.upstream.asked.element(0)
            renaming.arm("UPDATE temporary_id SET state = 1")
            gate.open()
            _ = try await renaming.reached.element(0)
            // The queue has more to look up before it hears of the real id.
            let (queue, modifiers) = (
                fixture.engine.context.modifiers, fixture.engine.store.modifiers
            )
            look.arm("settled_at IS NULL AND number > :after")
            queue.arrived()
            _ = try await look.reached.element(0)
            queue.arrived()
            renaming.release()
            try await until { modifiers.current(old, in: scope) == new }
            let last = Effect.merge(try json(#"{"n":2}"#))
            async let second = fixture.write(new, last)
            try await until { modifiers.totals.byState[.queued] == 2 }
            look.release()
            let ids = try await [first, second]
            for id in ids {
                #expect(try await fixture.settled(id).state == .confirmed)
            }
            let sent = fixture.upstream.asked.all.filter { $0.method == "PATCH" }
            let bodies = sent.map { String(decoding: $0.body ?? [], as: UTF8.self) }
            #expect(bodies.map { $0.contains(#""n":1"#) } == [true, false])
        }
    }

    @Test("The base is the object with its real id, and the old name leads to it")
    func base() async throws {
        let id = try await create()
        #expect(try await shown(target)?.contains(Self.name) == true)
        gate.open()
        #expect(try await fixture.settled(id).state == .confirmed)
        let text = try await shown(real)
        #expect(text == #"{"type":"Todo","id":42,"title":"eggs","by":"s"}"#)
        #expect(try await shown(target) == text)
        let edit = try await merge(#"{"done":true}"#, id: "late")
        let report = try await fixture.engine.modifiers.modifier(edit, fixture.scope)
        #expect(report.request.url == "https://api.example.com/todos/42")
        #expect(try await shown(real)?.contains(#""done":true"#) == true)
        try await fixture.engine.store.maintain()
        #expect(try await shown(target)?.contains(#""done":true"#) == true)
        checkRequests()
    }

    @Test("A watcher of the old name is told of the real id, and hears of it from then on")
    func watched() async throws {
        let (old, new) = (try target.description, try real.description)
        let watch = try await Watch(fixture) { order in
            order.ids = (try? [target]) ?? []
            order.types = [.put, .delete, .remapped]
        }
        let id = try await create()
        _ = try await watch.frames(upTo: 2)
        gate.open()
        _ = try await fixture.settled(id)
        fixture.upstream.answer(
            try fixture.url("/todos/42"),
            with: .json(#"{"type":"Todo","id":42,"title":"new"}"#)
        )
        try await fixture.fetch(try fixture.url("/todos/42")) { $0.policy = .networkOnly }
        var names: [String] = []
        for count in 4... {
            names = try await watch.frames(upTo: count).map(\.name)
            if names[3...].contains("put \(new)") { break }
        }
        #expect(names[..<3] == ["bookmark", "put \(old)", "remapped \(old) \(new)"])
        #expect(!names.contains { $0.hasPrefix("delete") })
    }

    @Test("A name in a URL and in a body becomes the id, a number where it is alone in a string")
    func placeholders() async throws {
        let url = try WebURL("https://api.example.com/todos/{{id:\(Self.name)}}/notes")
        try await create()
        let note = try await fixture.write(EntryID("note"), .none, "POST", to: url, id: "note") {
            let body = #"{"of":"{{id:\#(Self.name)}}","text":"for {{id:\#(Self.name)}}"}"#
            $0.request.body = .bytes(Array(body.utf8))
            $0.request.headers.append("Content-Type", "application/json")
        }
        gate.open()
        #expect(try await fixture.settled(note).state == .confirmed)
        let body = fixture.upstream.asked.all.last { $0.url.pathAndQuery == "/todos/42/notes" }?
            .body
        #expect(body == Array(#"{"of":42,"text":"for 42"}"#.utf8))
        checkRequests()
    }

    @Test("An object in a list is a create, and its real id shows in the list")
    func list() async throws {
        let list = try fixture.url("/todos")
        try await fixture.cache(list, .json(#"{"items":[]}"#))
        fixture.upstream.answer(
            list,
            with: .json(#"{"type":"Todo","id":42}"#, status: 201).held(by: gate)
        )
        let todo = try json(#"{"type":"Todo","id":"\#(Self.name)","title":"eggs"}"#)
        let add = Effect.listAdd([JSONListChange(try JSONPointer("/items"), values: [todo])])
        let id = try await fixture.write(.url(list), add, "POST", to: list, id: "add")
        let edit = try await merge(#"{"title":"six"}"#, id: "edit")
        let before = try await fixture.cached(list).lastShown
        let members = #""title":"six"}]}"#
        #expect(before?.text == #"{"items":[{"type":"Todo","id":"\#(Self.name)","# + members)
        #expect(before?.rows?.map(\.id) == [try target.description])
        #expect(before?.rows?.first?.pending == ["add", "edit"])
        gate.open()
        #expect(try await fixture.settled(id).state == .confirmed)
        #expect(try await fixture.settled(edit).state == .confirmed)
        try await fixture.engine.store.maintain()
        let after = try await fixture.cached(list).lastShown
        #expect(after?.text == #"{"items":[{"type":"Todo","id":42,"# + members)
        #expect(after?.pending == 0)
        #expect(sent.last == "PATCH /todos/42")
        checkRequests()
    }

    @Test("An object within another one has a temporary id, too")
    func nested() async throws {
        let list = try fixture.url("/todos")
        let both = #"{"todo":{"type":"Todo","id":42},"by":{"type":"User","id":7}}"#
        fixture.upstream.answer(list, with: .json(both, status: 201).held(by: gate))
        let user = "tmp:\(Self.uuid.replacing("6f", with: "7a"))"
        let todo = #"{"type":"Todo","id":"\#(Self.name)","by":{"type":"User","id":"\#(user)"}}"#
        let add = Effect.listAdd([
            JSONListChange(try JSONPointer("/items"), values: [try json(todo)])
        ])
        let id = try await fixture.write(.url(list), add, "POST", to: list, id: "add")
        let other = try await fixture.write(
            .entity("User:\(user)"),
            .merge(json(#"{"name":"Ada"}"#)),
            "POST",
            to: fixture.url("/users/{{id:\(user)}}"),
            id: "name"
        )
        gate.open()
        #expect(try await fixture.settled(id).state == .confirmed)
        #expect(try await fixture.settled(other).state == .confirmed)
        #expect(sent.last == "POST /users/7")
        checkRequests()
    }

    @Test("A list of modifiers may create a thing and change it")
    func batch() async throws {
        fixture.upstream.answer(
            try fixture.url("/todos"),
            with: .json(#"{"type":"Todo","id":42}"#, status: 201)
        )
        var create = ModifierCommand(
            changes: [.init(target: try target, effect: .put(try json("{}")))],
            request: .init(method: "POST", url: try fixture.url("/todos"))
        )
        create.id = try ModifierID("create")
        let changes = [ModifierCommand.Change(target: try target, effect: .delete)]
        var delete = ModifierCommand(
            changes: changes,
            request: try #require(ModifierCommand.derivedRequest(for: changes))
        )
        delete.id = try ModifierID("delete")
        _ = try await fixture.engine.modifiers.accept(
            ModifiersCommand(all: [create, delete]),
            fixture.scope
        )
        #expect(try await fixture.settled(try ModifierID("delete")).state == .confirmed)
        #expect(sent == ["POST /todos", "DELETE /todos/42"])
    }

    @Test("A name that no write creates is 422, and that of a failed create 409")
    func refusals() async throws {
        await #expect(throws: Problem.self) { try await merge("{}", id: "early") }
        let id = try await create("create", .reply(status: 403))
        let child = try await merge(#"{"done":true}"#, id: "child")
        gate.open()
        #expect(try await fixture.settled(id).state == .failed)
        let report = try await fixture.settled(child)
        #expect(report.state == .failed && report.reason == .parentFailed)
        do {
            _ = try await merge("{}", id: "late")
            Issue.record("a name of a failed create is taken")
        } catch let problem as Problem {
            #expect(problem.status == 409)
        }
        do {
            _ = try await fixture.write(target, .put(json("{}")), id: "put")
            Issue.record("a create without a request is taken")
        } catch let problem as Problem {
            #expect([409, 422].contains(problem.status))
        }
        #expect(sent == ["POST /todos"])
    }

    @Test("A create that is sent again gives its name the id")
    func again() async throws {
        let id = try await create("create", .reply(status: 403))
        let child = try await merge(#"{"done":true}"#, id: "child")
        gate.open()
        _ = try await fixture.settled(child)
        await #expect(throws: Problem.self) {
            try await fixture.engine.modifiers.retry(child, fixture.scope)
        }
        let answer = ScriptedAnswer.json(#"{"type":"Todo","id":42}"#, status: 201)
        fixture.upstream.answer(try fixture.url("/todos"), with: answer)
        _ = try await fixture.engine.modifiers.retry(id, fixture.scope)
        #expect(try await fixture.settled(id).state == .confirmed)
        _ = try await fixture.engine.modifiers.retry(child, fixture.scope)
        #expect(try await fixture.settled(child).state == .confirmed)
        #expect(sent == ["POST /todos", "POST /todos", "PATCH /todos/42"])
    }

    /// A create whose answer tells no id, and a write of what it made, which then waits.
    private func createdWithoutID() async throws -> (child: ModifierID, watch: Watch) {
        let id = try await create("create", .reply(status: 204))
        let child = try await merge(#"{"done":true}"#, id: "child")
        let watch = try await Watch(fixture) { $0.types = [.modifier] }
        gate.open()
        #expect(try await fixture.settled(id).state == .confirmed)
        #expect(try await watch.frames(upTo: 3).last?.name == "modifier conflict")
        return (child, watch)
    }

    @Test("Without an id in the answer the create is confirmed, and a person decides on the rest")
    func missing() async throws {
        let (child, watch) = try await createdWithoutID()
        let report = try await fixture.engine.modifiers.modifier(child, fixture.scope)
        #expect(report.waitingFor?.reason == "decision")
        _ = try await fixture.engine.modifiers.retry(child, fixture.scope)
        #expect(try await watch.frames(upTo: 5).last?.name == "modifier conflict")
        try await fixture.cancel("child")
        #expect(try await fixture.settled(child).state == .cancelled)
        await #expect(throws: Problem.self) { try await merge("{}", id: "late") }
        #expect(sent == ["POST /todos"])
        checkRequests()
    }

    @Test("A rule that ends conflicts does not end the wait for an id")
    func ruled() async throws {
        let (child, _) = try await createdWithoutID()
        let url = try fixture.url("/todos")
        var origin = try #require(fixture.engine.context.origins.origin(of: url))
        origin.modifiers.onConflict = .client
        let known = KnownOrigin(origin, from: .file("larder.yaml"))
        _ = try await fixture.engine.origins.reload { (replace) throws(Problem) in
            try replace([known])
        }
        let stored = fixture.engine.context.store.modifiers
        let found = try await stored.number(child, of: fixture.scope)
        let number = try #require(found)
        try await until { await fixture.engine.context.modifiers.isWritten(number) }
        let whole = try await stored.whole(number)
        // Another round would count as an answer that tells of another version.
        #expect(whole?.modifier.state == .conflict && whole?.modifier.conflicts == 0)
    }

    @Test("A write that waits for an id that no answer told is edited to name it, and is sent")
    func edited() async throws {
        let (child, _) = try await createdWithoutID()
        let effect = #"{"type":"merge","value":{"done":true,"count":2}}"#
        func edit(naming id: EntryID) async throws -> LarderAPI.ModifierReceipt {
            let json = #"{"changes":[{"target":{"id":"\#(id)"},"effect":\#(effect)}]}"#
            let command = try ModifierCommand(editing: Array(json.utf8))
            return try await fixture.engine.modifierActions.edit(child, to: command, fixture.scope)
        }
        await #expect(throws: Problem.self) { try await edit(naming: target) }
        let receipt = try await edit(naming: real)
        #expect(receipt.state == .conflict)
        _ = try await fixture.engine.modifiers.retry(child, fixture.scope)
        let settled = try await fixture.settled(child)
        #expect(settled.state == .confirmed)
        #expect(settled.targets.map(\.id) == [try real.description])
        #expect(sent == ["POST /todos", "PATCH /todos/42"])
        checkRequests()
    }

    @Test("A name that is no entity becomes the URL of Location")
    func thing() async throws {
        let things = try fixture.url("/things")
        let headers = ["Location": "/things/9"]
        fixture.upstream.answer(
            things,
            with: .json(#"{"n":1}"#, status: 201, headers: headers).held(by: gate)
        )
        let name = try EntryID(Self.name)
        _ = try await fixture.write(name, .put(json(#"{"n":1}"#)), "POST", to: things, id: "create")
        let changes = [ModifierCommand.Change(target: name, effect: .merge(try json(#"{"n":2}"#)))]
        let command = ModifierCommand(
            changes: changes,
            request: try #require(ModifierCommand.derivedRequest(for: changes))
        )
        let receipt = try await fixture.engine.modifiers.accept(
            ModifiersCommand(command),
            fixture.scope
        )
        gate.open()
        let edit = try await fixture.settled(ModifierID(receipt[0].id))
        #expect(edit.state == .confirmed)
        #expect(sent == ["POST /things", "PATCH /things/9"])
        let shown = try await fixture.cached(try fixture.url("/things/9")).lastShown
        #expect(shown?.text == #"{"n":2}"#)
        checkRequests()
    }

    @Test("A read never asks for a temporary id")
    func reads() async throws {
        try await create()
        let url = try WebURL("https://api.example.com/todos/\(Self.name)")
        let result = try? await fixture.fetch(url, .networkOnly)
        #expect(result?.lastShown?.source == .modifier)
        #expect(!fixture.upstream.asked.all.contains { $0.method == "GET" })
        gate.open()
        checkRequests()
    }
}

/// Holds up the store at a step of each of two plans.
private struct TwoHolds: FaultPlan {
    let first: StepHold
    let second: StepHold

    func failure(before step: String, of path: String) -> Int32? {
        first.failure(before: step, of: path) ?? second.failure(before: step, of: path)
    }
}
