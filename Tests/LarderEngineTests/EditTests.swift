import LarderAPI
import LarderJSON
import LarderModel
import LarderStore
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

/// Writes that get other changes and another request before they are applied.
@Suite(
    "Edited writes (case 18)",
    .timeLimit(.minutes(5)),
    .engine { setup in
        setup.origin.normalize = NormalizeRules(
            byType: .standard,
            types: [TypeRule(type: "Todo", url: "/todos/{id}")]
        )
    }
)
struct EditTests {
    private let fixture = EngineFixture.running
    private static let name = "tmp:6f1c0a52-0000-4000-8000-0123456789ab"
    private static let note = #"{"text":"a","n":1}"#

    init() {
        // A read after a write is refused, so that each view is what the writes have made.
        fixture.upstream.answerOthers { .reply(status: $0.method == "GET" ? 403 : 204) }
    }

    private func url() async throws -> WebURL {
        let url = try fixture.url("/note")
        try await fixture.cache(url, .json(Self.note))
        return url
    }

    private func effect(_ text: String) throws -> Effect { try .json(text) }

    private func merge(_ text: String) throws -> Effect {
        try effect(#"{"type":"merge","value":{"text":"\#(text)"}}"#)
    }

    /// The body of an edit with a change of one target; without `more` its request follows.
    private func json(_ target: EntryID, _ effect: Effect, _ more: String = "") -> String {
        let effect = String(decoding: effect.bytes, as: UTF8.self)
        return #"{"changes":[{"target":{"id":"\#(target)"},"effect":\#(effect)}]\#(more)}"#
    }

    @discardableResult
    private func edit(
        _ id: String,
        _ json: String,
        client: ClientTag? = nil,
        as key: ScopeKey? = nil
    ) async throws -> LarderAPI.ModifierReceipt {
        try await fixture.engine.modifierActions.edit(
            ModifierID(id),
            to: ModifierCommand(editing: Array(json.utf8)),
            key ?? fixture.scope,
            client: client
        )
    }

    private func refusal(_ id: String, _ json: String, as key: ScopeKey? = nil) async -> Problem? {
        do {
            try await edit(id, json, as: key)
            return nil
        } catch { return error as? Problem }
    }

    private func report(_ id: String) async throws -> ModifierReport {
        try await fixture.engine.modifiers.modifier(ModifierID(id), fixture.scope)
    }

    /// Returns once a write has come to a state.
    private func comes(_ id: ModifierID, to state: LarderAPI.ModifierState) async throws {
        let context = fixture.engine.context
        _ = try await context.wait(
            upTo: .seconds(3_600),
            ClientCancellation(),
            on: context.modifiers.commits
        ) { () async throws(Problem) -> Void? in
            let report = try await fixture.engine.modifiers.modifier(id, fixture.scope)
            return report.state == state && report.waitingFor != nil ? () : nil
        }
    }

    private func text(_ url: WebURL) async throws -> String? {
        try await fixture.cached(url).lastShown?.text
    }

    private func writes() -> [String] {
        fixture.upstream.asked.all.filter { $0.method != "GET" }.map { request in
            let body = String(decoding: request.body ?? [], as: UTF8.self)
            return "\(request.method) \(request.url.pathAndQuery) \(body)"
        }
    }

    @Test("An edit shows immediately, and the write is sent as it is then, in its place")
    func shown() async throws {
        let url = try await url()
        let target = try EntryID(url)
        let number = try await fixture.write(target, merge("b"), id: "one", hold: .seconds(60))
        let add = try effect(#"{"type":"add","value":{"/n":1}}"#)
        try await fixture.write(target, add, "POST", id: "two")
        let before = try await report("one")
        let receipt = try await edit("one", json(target, merge("c")))
        #expect(receipt.state == .held && receipt.rev > before.rev)
        #expect(try await text(url) == #"{"text":"c","n":2}"#)
        let after = try await report("one")
        #expect(after.acceptedAt == before.acceptedAt)
        #expect(after.request.idempotencyKey == "one")
        #expect(after.request.body?.text == #"{"text":"c"}"#)
        #expect(try await report("two").waitingFor?.reason == "lane")
        fixture.clock.advance(by: .seconds(60))
        #expect(try await fixture.settled(number).state == .confirmed)
        #expect(try await fixture.settled(ModifierID("two")).state == .confirmed)
        #expect(writes().map { String($0.prefix(11)) } == ["PATCH /note", "POST /note "])
        #expect(writes().first == #"PATCH /note {"text":"c"}"#)
    }

    @Test("A target that an edit drops shows as before, and one that it adds shows the write")
    func targets() async throws {
        let (one, two) = (try await url(), try fixture.url("/other"))
        try await fixture.cache(two, .json(Self.note))
        try await fixture.write(try EntryID(one), merge("b"), id: "one", hold: .seconds(60))
        let shown = Recorder<String>()
        for url in [one, two] {
            _ = fixture.start(url, .cacheOnly) {
                $0.follows = true
            } reading: { frame in
                if case .snapshot(let view) = frame, case .json(let bytes) = view.entry.content {
                    let text = String(decoding: bytes, as: UTF8.self)
                    shown.record("\(url.pathAndQuery) \(text) \(view.pending)")
                }
                return true
            }
        }
        _ = try await shown.element(1)
        let phone = ClientTag(uid: 1_000, name: "phone")
        let watch = try await Watch(fixture, client: phone) { $0.types = [.put, .modifier] }
        try await edit("one", json(try EntryID(two), merge("c")), client: phone)
        _ = try await shown.element(3)
        #expect(
            Set(shown.all.suffix(2)) == [
                #"/note {"text":"a","n":1} 0"#, #"/other {"text":"c","n":1} 1"#,
            ]
        )
        let frames = try await watch.frames(upTo: 4)
        #expect(Set(frames[1...2].map(\.name)) == ["put \(one)", "put \(two)"])
        guard case .modifier(let told) = frames[3] else { return #expect(Bool(false)) }
        #expect(told.state == .held && told.edited == true && told.isOwn == true)
        #expect(told.targets == [.init(id: two.text)])
        watch.hangUp()
    }

    @Test("After an attempt the next key is used, and the same edit again changes nothing")
    func nextKey() async throws {
        let url = try await url()
        let target = try EntryID(url)
        fixture.upstream.answer(url, with: .reply(status: 429, headers: ["Retry-After": "5"]))
        let id = try await fixture.write(target, merge("b"), id: "one")
        try await comes(id, to: .retryWait)
        let receipt = try await edit("one", json(target, merge("c")))
        #expect(receipt.state == .retryWait)
        #expect(try await report("one").request.idempotencyKey == "one.2")
        let again = try await edit("one", json(target, merge("c")))
        #expect(again.rev == receipt.rev)
        #expect(try await report("one").request.idempotencyKey == "one.2")
        fixture.upstream.answer(url, with: .reply(status: 204))
        fixture.clock.advance(by: .seconds(10))
        #expect(try await fixture.settled(id).state == .confirmed)
        #expect(writes().last == #"PATCH /note {"text":"c"}"#)
        // A repeated edit of what is confirmed was made, another one comes too late.
        #expect(try await edit("one", json(target, merge("c"))).state == .confirmed)
        #expect(try await refusal("one", json(target, merge("d")))?.kind == .alreadySent)
    }

    @Test("A write that is being sent, or was perhaps applied, is not edited")
    func tooLate() async throws {
        let (url, gate) = (try await url(), Gate())
        let target = try EntryID(url)
        fixture.upstream.answer(url, with: ScriptedAnswer.reply(status: 502).held(by: gate))
        try await fixture.write(target, merge("b"), id: "one") { $0.afterUnknown = .hold }
        _ = try await fixture.upstream.asked.element(1)
        let edit = json(target, try merge("c"))
        #expect(await refusal("one", edit)?.kind == .alreadySent)
        gate.open()
        try await fixture.write(target, merge("x"), id: "two", hold: .seconds(60))
        try await comes(ModifierID("one"), to: .unknown)
        #expect(await refusal("one", edit)?.kind == .alreadySent)
        #expect(try await text(url) == #"{"text":"x","n":1}"#)
        #expect(await refusal("none", edit)?.kind == .noSuchModifier)
        let other = fixture.engine.store.key(for: .own(uid: 1_001, account: .default))
        #expect(await refusal("two", edit, as: other)?.kind == .noSuchModifier)
    }

    @Test("A dead letter is edited with what its report has, and retried")
    func deadLetter() async throws {
        let url = try fixture.url("/todos")
        let listed = #"{"items":[{"type":"Todo","id":1}]}"#
        try await fixture.cache(url, .json(listed))
        fixture.upstream.answer(url, with: .reply(status: 403))
        let adds = try fixture.url("/adds")
        fixture.upstream.answer(adds, with: .reply(status: 422), .reply(status: 204))
        func add(_ title: String) throws -> Effect {
            let object = #"{"type":"Todo","id":9,"title":"\#(title)"}"#
            return try effect(#"{"type":"list_add","value":{"/items":[\#(object)]}}"#)
        }
        let body = #"{"title":"eggs"}"#
        try await fixture.write(.url(url), add("eggs"), "POST", to: adds, id: "one") { command in
            command.request.body = .bytes(Array(body.utf8))
        }
        #expect(try await fixture.settled(ModifierID("one")).state == .failed)
        let failed = try await fixture.engine.modifiers.list(
            ModifierListCommand(),
            .one(fixture.scope)
        ).items
        let told = try #require(failed.first)
        #expect(told.request.body?.text == body && told.request.bodyBytes == body.utf8.count)
        let change = try #require(told.changes?.first)
        #expect(told.changes?.count == 1 && told.moreChanges == nil)
        #expect(change.target.id == url.text && change.effect?.text.contains("eggs") == true)
        let watch = try await Watch(fixture) { $0.types = [.modifier] }
        let request = #","request":{"method":"POST","url":"\#(adds)","body":{"title":"six eggs"}}"#
        let receipt = try await edit("one", json(.url(url), add("six eggs"), request))
        #expect(receipt.state == .failed)
        guard case .modifier(let frame) = try await watch.frames(upTo: 2)[1] else { return }
        #expect(frame.edited == true && frame.reverted == nil && frame.reason == .refused)
        let shown = try await fixture.cached(url).lastShown
        #expect(shown?.text == listed)
        #expect(shown?.failedRows?.first?.value.text.contains("six eggs") == true)
        let report = try await report("one")
        #expect(report.state == .failed && report.reason == .refused)
        #expect(report.answer?.status == 422 && report.request.idempotencyKey == "one")
        _ = try await fixture.engine.modifiers.retry(ModifierID("one"), fixture.scope)
        let settled = try await fixture.settled(ModifierID("one"))
        #expect(settled.state == .confirmed && settled.request.idempotencyKey == "one.2")
        #expect(writes().last == #"POST /adds {"title":"six eggs"}"#)
        #expect(try await text(url)?.contains("six eggs") == true)
        watch.hangUp()
    }

    @Test("An object that an edit puts into a list is a target of the write (case 28)")
    func placed() async throws {
        let url = try fixture.url("/todos")
        try await fixture.cache(url, .json(#"{"items":[]}"#))
        func add(_ key: Int) throws -> Effect {
            try effect(
                #"{"type":"list_add","value":{"/items":[{"type":"Todo","id":\#(key),"n":1}]}}"#
            )
        }
        try await fixture.write(.url(url), add(1), "POST", to: url, id: "one", hold: .seconds(60))
        let request = #","request":{"method":"POST","url":"\#(url)"}"#
        try await edit("one", json(.url(url), add(2), request))
        let report = try await report("one")
        #expect(report.targets.map(\.id) == [url.text, try EntryID.entity("Todo:2").description])
        #expect(report.lanes.contains("id:\(try EntryID.entity("Todo:2"))"))
        let merge = try effect(#"{"type":"merge","value":{"n":2}}"#)
        try await fixture.write(.entity("Todo:2"), merge, id: "two")
        let shown = try await fixture.cached(url).lastShown
        #expect(shown?.text == #"{"items":[{"type":"Todo","id":2,"n":2}]}"#)
        #expect(shown?.rows?.first?.pending == ["one", "two"])
        #expect(try await fixture.read(.example("Todo:1")) == nil)
        try await fixture.cancel("one")
        #expect(try await text(url) == #"{"items":[]}"#)
    }

    @Test("An edit is validated as a new write is")
    func validated() async throws {
        let url = try await url()
        let target = try EntryID(url)
        try await fixture.write(target, merge("b"), id: "one", hold: .seconds(60))
        let set = try effect(#"{"type":"set","value":{"set":{"/a":1}}}"#)
        let list: [(String, ProblemKind)] = [
            (#"{"id":"two","changes":[]}"#, .unknownMember),
            (json(target, try merge("c"), #","lane":"x""#), .unknownMember),
            ("{}", .noRequest),
            (json(target, set), .noRequest),
            (json(target, set, #","request":{"method":"GET","url":"\#(url)"}"#), .badRequest),
            (
                json(target, set, #","request":{"method":"PUT","url":"http://x.test/"}"#),
                .unknownOrigin
            ),
            (
                json(
                    target,
                    set,
                    #","request":{"method":"PUT","url":"\#(url)","headers":{"Cookie":"a"}}"#
                ), .badRequest
            ),
            (json(try EntryID("tmp:\(Self.name.dropFirst(4))"), try merge("c")), .noRequest),
        ]
        let before = try await report("one")
        for (json, kind) in list {
            do {
                try await edit("one", json)
                Issue.record("\(json) is taken")
            } catch let problem as Problem {
                #expect(problem.kind == kind || problem.status == 422, "\(json): \(problem)")
            }
        }
        #expect(try await report("one").rev == before.rev)
        #expect(try await text(url) == #"{"text":"b","n":1}"#)
        // The write goes on.
        fixture.clock.advance(by: .seconds(60))
        #expect(try await fixture.settled(ModifierID("one")).state == .confirmed)
    }

    @Test("Another body under the id of an edited write is refused, the edit is known")
    func digest() async throws {
        let target = try EntryID(try await url())
        try await fixture.write(target, merge("b"), id: "one", hold: .seconds(60))
        try await edit("one", json(target, merge("c")))
        await #expect(throws: Problem.self) {
            try await fixture.write(target, merge("b"), id: "one", hold: .seconds(60))
        }
        let command = try ModifiersCommand(
            json: Array(json(target, merge("c"), #","id":"one""#).utf8)
        )
        let receipt = try await fixture.engine.modifiers.accept(command, fixture.scope)[0]
        #expect(receipt.state == .held)
    }

    @Test("A store that fails leaves the write as it was, and it is sent")
    func failing() async throws {
        let url = try await url()
        let target = try EntryID(url)
        try await fixture.write(target, merge("b"), id: "one", hold: .seconds(60))
        fixture.faults.arm(1, of: "DELETE FROM change WHERE modifier", .forGood)
        #expect(await refusal("one", json(target, try merge("c"))) != nil)
        fixture.faults.disarm()
        #expect(try await text(url) == #"{"text":"b","n":1}"#)
        fixture.clock.advance(by: .seconds(60))
        #expect(try await fixture.settled(ModifierID("one")).state == .confirmed)
        #expect(writes() == [#"PATCH /note {"text":"b"}"#])
    }

    @Test("An edited create keeps its temporary id, and another write the id of its own (case 16)")
    func temporaryIDs() async throws {
        let list = try fixture.url("/todos")
        let target = try EntryID.entity("Todo:\(Self.name)")
        func put(_ title: String) throws -> Effect {
            try effect(
                #"{"type":"put","value":{"type":"Todo","id":"\#(Self.name)","title":"\#(title)"}}"#
            )
        }
        let request = #","request":{"method":"POST","url":"\#(list)","body":{"title":"six eggs"}}"#
        fixture.upstream.answer(list, with: .json(#"{"type":"Todo","id":42}"#, status: 201))
        let hold = Duration.seconds(60)
        try await fixture.write(target, put("eggs"), "POST", to: list, id: "one", hold: hold)
        try await fixture.write(target, merge("b"), id: "two")
        try await edit("one", json(target, put("six eggs"), request))
        try await edit("two", json(target, merge("c")))
        // Another write names the thing.
        #expect(try await refusal("one", json(.url(list), .none, request))?.status == 422)
        #expect(try await report("one").dependants == ["two"])
        fixture.clock.advance(by: .seconds(60))
        #expect(try await fixture.settled(ModifierID("two")).state == .confirmed)
        #expect(
            writes() == [
                #"POST /todos {"title":"six eggs"}"#, #"PATCH /todos/42 {"text":"c"}"#,
            ]
        )
    }
}
