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

/// Writes that wait for the network, and what is sent once it is there.
private struct Offline {
    let fixture = EngineFixture.running
    static let name = "tmp:6f1c0a52-0000-4000-8000-0123456789ab"
    static let note = #"{"text":"a","n":1,"liked":false}"#
    static let wait = Duration.seconds(36_000)
    private static let lane = "phone"

    init() {
        // A read after a write is refused, so that each view is what the writes have made.
        fixture.upstream.answerOthers { .reply(status: $0.method == "GET" ? 403 : 204) }
    }

    func setPaused(_ isPaused: Bool) async throws {
        let lane = Lane.name(try LaneName(Self.lane))
        try await fixture.engine.modifiers.setLane(lane, fixture.scope, isPaused: isPaused)
    }

    /// The URL of a note that is in the cache; writes in the lane wait from then on.
    func url(_ etag: String? = nil) async throws -> WebURL {
        let url = try fixture.url("/note")
        let headers = etag.map { ["ETag": "\"\($0)\""] } ?? [:]
        try await fixture.cache(url, .json(Self.note, headers: headers))
        try await setPaused(true)
        return url
    }

    @discardableResult
    func write(
        _ id: String,
        _ effect: String,
        on target: EntryID,
        _ adjust: (inout LarderWire.ModifierCommand) throws -> Void = { _ in }
    ) async throws -> ModifierID {
        try await fixture.write(target, .json(effect), id: id) {
            $0.lane = try LaneName(Self.lane)
            try adjust(&$0)
        }
    }

    func merges(_ values: String..., on url: WebURL) async throws {
        for (number, value) in values.enumerated() {
            let effect = #"{"type":"merge","value":\#(value)}"#
            try await write("w\(number)", effect, on: EntryID(url))
        }
    }

    var todo: EntryID { get throws { try .entity("Todo:\(Self.name)") } }

    func create() async throws {
        let object = #"{"type":"Todo","id":"\#(Self.name)","title":"eggs","done":false}"#
        let list = try fixture.url("/todos")
        try await fixture.write(
            .url(list),
            .json(#"{"type":"list_add","value":{"/items":[\#(object)]}}"#),
            "POST",
            to: list,
            id: "create"
        ) {
            $0.lane = try LaneName(Self.lane)
            $0.request.headers.append("Content-Type", "application/json")
            $0.request.body = .bytes(Array(#"{"title":"eggs"}"#.utf8))
        }
    }

    func report(_ id: String) async throws -> ModifierReport {
        try await fixture.engine.modifiers.modifier(ModifierID(id), fixture.scope)
    }

    /// The reports of writes once they are settled.
    ///
    /// With `later`, a pause ends before each of them.
    func ends(_ ids: String..., later isLater: Bool = false) async throws -> [ModifierReport] {
        var reports: [ModifierReport] = []
        for id in ids {
            if isLater { fixture.clock.advance(by: .seconds(120)) }
            reports.append(try await fixture.settled(ModifierID(id), wait: Self.wait))
        }
        return reports
    }

    /// Returns once a write has come to a state, and waits in it.
    func comes(_ id: String, to state: LarderAPI.ModifierState) async throws {
        let modifiers = fixture.engine.context.modifiers
        _ = try await fixture.engine.context.wait(
            upTo: Self.wait,
            ClientCancellation(),
            on: modifiers.commits
        ) { () async throws(Problem) -> Void? in
            let report = try await fixture.engine.modifiers.modifier(
                Problem.checking { () throws(ModelError) in try ModifierID(id) },
                fixture.scope
            )
            return report.state == state && report.waitingFor != nil ? () : nil
        }
    }

    var asked: [String] {
        fixture.upstream.asked.all.map { "\($0.method) \($0.url.pathAndQuery)" }
    }

    var sent: [String] {
        fixture.upstream.asked.all.filter { $0.method != "GET" }.map { request in
            let body = String(decoding: request.body ?? [], as: UTF8.self)
            return "\(request.method) \(request.url.pathAndQuery) \(body)"
        }
    }

    var keys: [String?] {
        fixture.upstream.asked.all.filter { $0.method != "GET" }
            .map { $0.headers["Idempotency-Key"] }
    }

    func shown(_ url: WebURL) async throws -> String? {
        try await fixture.cached(url).lastShown?.text
    }
}

private func setUp(_ rule: ModifierRules.CoalesceRule) -> @Sendable (inout EngineSetup) -> Void {
    { setup in
        setup.origin.modifiers.coalesce = rule
        setup.origin.modifiers.empty = [EmptyForm(path: "/todos", form: #"{"items":[]}"#)]
        setup.origin.normalize = NormalizeRules(
            byType: .standard,
            types: [TypeRule(type: "Todo", url: "/todos/{id}")]
        )
    }
}

@Suite("Joined writes (case 17)", .timeLimit(.minutes(5)), .engine(setUp(.writes)))
struct CoalescingTests {
    private let offline = Offline()
    private var fixture: EngineFixture { offline.fixture }

    @Test("Edits of one target are one request; the others end with the first and its answer")
    func edits() async throws {
        let url = try await offline.url()
        try await offline.merges(#"{"text":"b"}"#, #"{"n":2}"#, #"{"text":"c"}"#, on: url)
        let before = try await offline.shown(url)
        try await offline.setPaused(false)
        let reports = try await offline.ends("w0", "w1", "w2")
        #expect(offline.sent == [#"PATCH /note {"text":"c","n":2}"#])
        #expect(offline.keys == ["w0"])
        #expect(reports.map(\.state) == [.confirmed, .confirmed, .confirmed])
        #expect(reports.map(\.answer?.status) == [204, 204, 204])
        #expect(reports.map(\.joinedInto) == [nil, "w0", "w0"])
        #expect(before == #"{"text":"c","n":2,"liked":false}"#)
        #expect(try await offline.shown(url) == before)
        #expect(fixture.engine.store.modifiers.totals.count == 0)
    }

    @Test("A joined write shows as its own while the request is under way, and cannot be edited")
    func underWay() async throws {
        let url = try await offline.url()
        let gate = Gate()
        fixture.upstream.answer(url, with: .reply(status: 204).held(by: gate))
        try await offline.merges(#"{"text":"b"}"#, #"{"n":2}"#, on: url)
        let before = try await offline.shown(url)
        let asked = fixture.upstream.asked.all.count
        try await offline.setPaused(false)
        _ = try await fixture.upstream.asked.element(asked)
        #expect(try await offline.shown(url) == before)
        let reports = [try await offline.report("w0"), try await offline.report("w1")]
        #expect(reports.map(\.state) == [.inFlight, .queued])
        #expect(reports[0].request.body?.bytes == Array(#"{"text":"b","n":2}"#.utf8))
        #expect(reports[1].request.body?.bytes == Array(#"{"n":2}"#.utf8))
        #expect(reports[1].waitingFor?.reason == "lane" && reports[1].joinedInto == "w0")
        await #expect(throws: Problem.self) { try await fixture.cancel("w1") }
        gate.open()
        #expect(try await offline.ends("w0", "w1").map(\.state) == [.confirmed, .confirmed])
    }

    @Test("An update and a delete are a delete; a put and a merge are a put")
    func others() async throws {
        let url = try await offline.url()
        let target = try EntryID(url)
        try await offline.write("a", #"{"type":"put","value":{"text":"x","n":1}}"#, on: target)
        try await offline.write("b", #"{"type":"merge","value":{"n":2}}"#, on: target)
        try await offline.setPaused(false)
        _ = try await offline.ends("a", "b")
        try await offline.setPaused(true)
        try await offline.write("c", #"{"type":"merge","value":{"n":3}}"#, on: target)
        try await offline.write("d", #"{"type":"delete"}"#, on: target)
        try await offline.setPaused(false)
        let ended = try await offline.ends("c", "d")
        #expect(ended.map(\.state) == [.confirmed, .confirmed])
        #expect(offline.sent == [#"PUT /note {"text":"x","n":2}"#, "DELETE /note "])
    }

    @Test("A create and its edits are one POST with the members that the create sends")
    func create() async throws {
        try await offline.setPaused(true)
        try await offline.create()
        let list = try fixture.url("/todos")
        fixture.upstream.answer(
            list,
            with: .json(#"{"type":"Todo","id":7,"title":"six eggs","done":true}"#, status: 201)
        )
        let todo = try offline.todo
        try await offline.write("e1", #"{"type":"merge","value":{"title":"six eggs"}}"#, on: todo)
        try await offline.write("e2", #"{"type":"merge","value":{"done":true}}"#, on: todo)
        try await offline.setPaused(false)
        let reports = try await offline.ends("create", "e1", "e2")
        #expect(reports.map(\.state) == [.confirmed, .confirmed, .confirmed])
        #expect(reports[2].joinedInto == "create")
        #expect(offline.sent == [#"POST /todos {"title":"six eggs","done":true}"#])
        let text = try await offline.shown(list)
        #expect(text == #"{"items":[{"type":"Todo","id":7,"title":"six eggs","done":true}]}"#)
    }

    @Test("A create, edits and the delete are nothing: no request, and no read")
    func nothing() async throws {
        try await offline.setPaused(true)
        try await offline.create()
        for number in 1...3 {
            let edit = #"{"type":"merge","value":{"title":"\#(number) eggs"}}"#
            try await offline.write("e\(number)", edit, on: offline.todo)
        }
        try await offline.write("gone", #"{"type":"delete"}"#, on: offline.todo)
        try await offline.setPaused(false)
        let reports = try await offline.ends("create", "e1", "e2", "e3", "gone")
        #expect(reports.allSatisfy { $0.state == .cancelled })
        #expect(offline.asked == [])
        #expect(fixture.engine.store.modifiers.totals.count == 0)
    }

    @Test("Writes that are not alike stay requests of their own")
    func unalike() async throws {
        let url = try await offline.url()
        let target = try EntryID(url)
        let merge = #"{"type":"merge","value":{"n":2}}"#
        let test = #"{"type":"patch","value":[{"op":"test","path":"/n","value":1}]}"#
        let rows: [(String, (inout LarderWire.ModifierCommand) throws -> Void)] = [
            (merge, { $0.request.headers.append("If-Match", "\"1\"") }),
            (merge, { $0.request.headers.append("X-Trace", "1") }),
            (merge, { $0.attemptsMax = 3 }),
            (merge, { $0.ifMatch = ModifierRules.MatchRule.none }),
            (merge, { $0.request.url = try fixture.url("/rpc") }),
            (merge, { $0.request.body = .bytes(Array(#"{"n":3}"#.utf8)) }),
            (test, { _ in }),
        ]
        for (number, (effect, adjust)) in rows.enumerated() {
            try await offline.setPaused(true)
            let earlier = offline.sent.count
            try await offline.write("a\(number)", merge, on: target)
            try await offline.write("b\(number)", effect, on: target, adjust)
            try await offline.setPaused(false)
            _ = try await offline.ends("a\(number)", "b\(number)")
            #expect(offline.sent.count == earlier + 2, "row \(number)")
        }
    }

    @Test("If the request is refused, each write is a dead letter with its own changes")
    func refused() async throws {
        let url = try await offline.url()
        fixture.upstream.answer(url, with: .reply("no", status: 422))
        try await offline.merges(#"{"text":"b"}"#, #"{"n":2}"#, on: url)
        try await offline.setPaused(false)
        let reports = try await offline.ends("w0", "w1")
        #expect(reports.map(\.state) == [.failed, .failed])
        #expect(reports.map(\.reason) == [.refused, .refused])
        #expect(reports.map(\.answer?.status) == [422, 422])
        let bodies = reports.map {
            $0.request.body.map { String(decoding: $0.bytes, as: UTF8.self) }
        }
        #expect(bodies == [#"{"text":"b"}"#, #"{"n":2}"#])
        #expect(try await offline.shown(url) == Offline.note)
        fixture.upstream.answer(url, with: .reply(status: 204))
        _ = try await fixture.engine.modifiers.retry(ModifierID("w1"), fixture.scope)
        let retried = try await offline.ends("w1")[0]
        #expect(retried.state == .confirmed && retried.joinedInto == nil)
        #expect(offline.sent.last == #"PATCH /note {"n":2}"#)
    }

    @Test("A lost answer is followed by the same request under the same key")
    func repeated() async throws {
        let url = try await offline.url()
        fixture.upstream.answer(
            url,
            with: .failure(.brokenOff(reason: "lost")),
            .reply(status: 204)
        )
        try await offline.merges(#"{"text":"b"}"#, #"{"n":2}"#, on: url)
        try await offline.setPaused(false)
        try await offline.comes("w0", to: .unknown)
        try await offline.merges(#"{"text":"b"}"#, #"{"n":2}"#, #"{"n":3}"#, on: url)
        #expect(
            try await offline.ends("w0", "w1", "w2", later: true).allSatisfy {
                $0.state == .confirmed
            }
        )
        let joined = #"PATCH /note {"text":"b","n":2}"#
        #expect(offline.sent == [joined, joined, #"PATCH /note {"n":3}"#])
        #expect(offline.keys == ["w0", "w0", "w2"])
    }

    @Test("After a 500 all members are compared: a conflict takes the group apart (case 19)")
    func comparedAgain() async throws {
        let url = try await offline.url("1")
        fixture.upstream.answer(url, with: .reply("broken", status: 500))
        try await offline.merges(#"{"text":"b"}"#, #"{"n":2}"#, on: url)
        try await offline.setPaused(false)
        try await offline.comes("w0", to: .retryWait)
        let theirs = #"{"text":"a","n":9,"liked":false}"#
        fixture.upstream.answer(url, with: .json(theirs, headers: ["ETag": "\"2\""]))
        try await fixture.fetch(url) { $0.policy = .networkOnly }
        fixture.upstream.answer(url, with: .reply(status: 204))
        #expect(try await offline.ends("w0", later: true)[0].state == .confirmed)
        try await offline.comes("w1", to: .conflict)
        #expect(offline.sent == [#"PATCH /note {"text":"b","n":2}"#, #"PATCH /note {"text":"b"}"#])
        #expect(offline.keys == ["w0", "w0.2"])
        let matches = fixture.upstream.asked.all.compactMap { $0.headers["If-Match"] }
        #expect(matches == ["\"1\"", "\"2\""])
        #expect(try await offline.report("w1").joinedInto == nil)
    }

    @Test("A write that another device's edit forbids is not joined (case 19)")
    func compared() async throws {
        let url = try await offline.url("1")
        try await offline.merges(#"{"text":"b"}"#, #"{"liked":true}"#, #"{"n":2}"#, on: url)
        let theirs = #"{"text":"a","n":9,"liked":false}"#
        fixture.upstream.answer(url, with: .json(theirs, headers: ["ETag": "\"2\""]))
        try await fixture.fetch(url) { $0.policy = .networkOnly }
        fixture.upstream.answer(url, with: .reply(status: 204))
        try await offline.setPaused(false)
        try await offline.comes("w2", to: .conflict)
        #expect(offline.sent == [#"PATCH /note {"text":"b","liked":true}"#])
    }

    @Test("After a 412 each write is sent alone, the first under the next key (case 19)")
    func otherVersion() async throws {
        let url = try await offline.url("1")
        fixture.upstream.answer(url, with: .reply(status: 412), .json(Offline.note))
        try await offline.merges(#"{"text":"b"}"#, #"{"n":2}"#, #"{"n":3}"#, on: url)
        try await offline.setPaused(false)
        #expect(try await offline.ends("w0", "w1", "w2").allSatisfy { $0.state == .confirmed })
        #expect(offline.keys == ["w0", "w0.2", "w1"])
        #expect(
            offline.sent.dropFirst() == [#"PATCH /note {"text":"b"}"#, #"PATCH /note {"n":3}"#]
        )
    }

    @Test("To cancel a joined write after a 429 takes the group apart (case 18)")
    func cancelled() async throws {
        let url = try await offline.url()
        fixture.upstream.answer(
            url,
            with: .reply(status: 429, headers: ["Retry-After": "60"]),
            .reply(status: 204)
        )
        try await offline.merges(#"{"text":"b"}"#, #"{"n":2}"#, #"{"liked":true}"#, on: url)
        let size = fixture.engine.store.modifiers.totals.bytes
        try await offline.setPaused(false)
        try await offline.comes("w0", to: .retryWait)
        #expect(try await offline.report("w1").joinedInto == "w0")
        try await fixture.cancel("w1")
        let text = #"{"text":"b","n":1,"liked":true}"#
        #expect(try await offline.shown(url) == text)
        #expect(try await offline.report("w2").joinedInto == nil)
        #expect(fixture.engine.store.modifiers.totals.bytes < size)
        #expect(
            try await offline.ends("w0", "w2", later: true).allSatisfy { $0.state == .confirmed }
        )
        #expect(
            offline.sent == [
                #"PATCH /note {"text":"b","n":2,"liked":true}"#, #"PATCH /note {"text":"b"}"#,
                #"PATCH /note {"liked":true}"#,
            ]
        )
        #expect(offline.keys == ["w0", "w0.2", "w2"])
        #expect(try await offline.shown(url) == text)
    }

    @Test("An edit of the first after a 429 is sent under the next key, and the others alone")
    func edited() async throws {
        let url = try await offline.url()
        fixture.upstream.answer(
            url,
            with: .reply(status: 429, headers: ["Retry-After": "60"]),
            .reply(status: 204)
        )
        try await offline.merges(#"{"text":"b"}"#, #"{"n":2}"#, on: url)
        try await offline.setPaused(false)
        try await offline.comes("w0", to: .retryWait)
        let edit = """
            {"changes":[{"target":{"id":"\(url.text)"},"effect":{"type":"merge",\
            "value":{"text":"z"}}}]}
            """
        _ = try await fixture.engine.modifierActions.edit(
            ModifierID("w0"),
            to: ModifierCommand(editing: Array(edit.utf8)),
            fixture.scope
        )
        #expect(
            try await offline.ends("w0", "w1", later: true).allSatisfy { $0.state == .confirmed }
        )
        #expect(
            offline.sent.dropFirst() == [#"PATCH /note {"text":"z"}"#, #"PATCH /note {"n":2}"#]
        )
        #expect(offline.keys == ["w0", "w0.2", "w1"])
    }

    @Test("After a 202 all are accepted, and a read that shows them confirms them (case 7)")
    func accepted() async throws {
        let url = try await offline.url()
        fixture.upstream.answer(url, with: .reply(status: 202))
        try await offline.merges(#"{"text":"b"}"#, #"{"n":2}"#, on: url)
        let before = try await offline.shown(url)
        try await offline.setPaused(false)
        try await offline.comes("w0", to: .accepted)
        try await offline.comes("w1", to: .accepted)
        #expect(try await offline.report("w1").answer?.status == 202)
        #expect(try await offline.shown(url) == before)
        fixture.upstream.answer(url, with: .json(#"{"text":"b","n":2,"liked":true}"#))
        try await fixture.fetch(url) { $0.policy = .networkOnly }
        #expect(try await offline.ends("w0", "w1").allSatisfy { $0.state == .confirmed })
        #expect(offline.sent.count == 1)
    }

    @Test("An attempt of which no byte left does not keep later writes from being joined")
    func joinedAgain() async throws {
        let url = try await offline.url()
        fixture.upstream.answer(url, with: .unreachable, .reply(status: 204))
        try await offline.merges(#"{"text":"b"}"#, #"{"n":2}"#, on: url)
        let asked = fixture.upstream.asked.all.count
        try await offline.setPaused(false)
        _ = try await fixture.upstream.asked.element(asked)
        try await offline.comes("w0", to: .queued)
        #expect(try await offline.report("w1").joinedInto == nil)
        try await offline.merges(#"{"text":"b"}"#, #"{"n":2}"#, #"{"n":3}"#, on: url)
        #expect(
            try await offline.ends("w0", "w1", "w2", later: true).allSatisfy {
                $0.state == .confirmed
            }
        )
        let first = #"PATCH /note {"text":"b","n":2}"#
        #expect(offline.sent == [first, #"PATCH /note {"text":"b","n":3}"#])
        #expect(offline.keys == ["w0", "w0"])
    }

    @Test("Patches of a list are joined in their order, and none shows twice")
    func patches() async throws {
        let url = try fixture.url("/list")
        try await fixture.cache(url, .json(#"{"l":[]}"#))
        try await offline.setPaused(true)
        for number in 1...3 {
            let add = #"[{"op":"add","path":"/l/-","value":\#(number)}]"#
            let target = try EntryID(url)
            try await offline.write("p\(number)", #"{"type":"patch","value":\#(add)}"#, on: target)
        }
        try await offline.setPaused(false)
        _ = try await offline.ends("p1", "p2", "p3")
        #expect(offline.sent.count == 1)
        #expect(try await offline.shown(url) == #"{"l":[1,2,3]}"#)
    }
}

@Suite("Writes without a net effect (case 17)", .timeLimit(.minutes(5)), .engine(setUp(.net)))
struct NetEffectTests {
    private let offline = Offline()

    @Test("A like and its undoing are not sent, as long as base is as it was")
    func unliked() async throws {
        let url = try await offline.url()
        try await offline.merges(#"{"liked":true}"#, #"{"liked":false}"#, on: url)
        try await offline.setPaused(false)
        let reports = try await offline.ends("w0", "w1")
        #expect(reports.allSatisfy { $0.state == .cancelled })
        #expect(offline.sent == [])
        #expect(try await offline.shown(url) == Offline.note)
    }

    @Test("If another device has liked meanwhile, the undoing is sent")
    func likedElsewhere() async throws {
        let url = try await offline.url()
        try await offline.merges(#"{"liked":true}"#, #"{"liked":false}"#, on: url)
        let fixture = offline.fixture
        fixture.upstream.answer(url, with: .json(#"{"text":"a","n":1,"liked":true}"#))
        try await fixture.fetch(url) { $0.policy = .networkOnly }
        fixture.upstream.answer(url, with: .reply(status: 204))
        try await offline.setPaused(false)
        let reports = try await offline.ends("w0", "w1")
        #expect(reports.allSatisfy { $0.state == .confirmed })
        #expect(offline.sent == [#"PATCH /note {"liked":false}"#])
    }

    @Test("A single write is sent although base has its change (case 4)")
    func single() async throws {
        let url = try await offline.url()
        try await offline.merges(#"{"liked":false}"#, on: url)
        try await offline.setPaused(false)
        #expect(try await offline.ends("w0")[0].state == .confirmed)
        #expect(offline.sent == [#"PATCH /note {"liked":false}"#])
    }
}

@Suite("Writes without coalescing (case 17)", .timeLimit(.minutes(5)), .engine(setUp(.none)))
struct UnjoinedTests {
    private let offline = Offline()

    @Test("A create, edits and a delete are a request each")
    func whole() async throws {
        try await offline.setPaused(true)
        try await offline.create()
        let fixture = offline.fixture
        let created = #"{"type":"Todo","id":7,"title":"eggs"}"#
        fixture.upstream.answer(try fixture.url("/todos"), with: .json(created, status: 201))
        for number in 1...3 {
            let edit = #"{"type":"merge","value":{"title":"\#(number) eggs"}}"#
            try await offline.write("e\(number)", edit, on: offline.todo)
        }
        try await offline.write("gone", #"{"type":"delete"}"#, on: offline.todo)
        try await offline.setPaused(false)
        let reports = try await offline.ends("create", "e1", "e2", "e3", "gone")
        #expect(reports.allSatisfy { $0.state == .confirmed && $0.joinedInto == nil })
        #expect(offline.sent.count == 5)
    }
}
