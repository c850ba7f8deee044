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

@Suite("Joined writes (case 17)", .timeLimit(.minutes(5)), .engine(joining(.writes)))
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

    @Test("A write is not joined if a write depends on it that cannot be joined")
    func dependedOn() async throws {
        let url = try await offline.url()
        try await offline.merges(#"{"text":"b"}"#, #"{"n":2}"#, on: url)
        let merge = #"{"type":"merge","value":{"n":3}}"#
        try await offline.write("w2", merge, on: EntryID(url)) {
            $0.attemptsMax = 3
            $0.dependsOn = [try ModifierID("w0")]
        }
        try await offline.setPaused(false)
        _ = try await offline.ends("w0", "w1", "w2")
        #expect(offline.keys == ["w0", "w1", "w2"])
    }

    @Test("A patch with a test is sent alone, also before other writes")
    func tested() async throws {
        let url = try await offline.url()
        let target = try EntryID(url)
        let test = #"{"type":"patch","value":[{"op":"test","path":"/n","value":1}]}"#
        try await offline.write("w0", test, on: target)
        try await offline.write("w1", #"{"type":"put","value":{"n":2}}"#, on: target)
        try await offline.setPaused(false)
        _ = try await offline.ends("w0", "w1")
        #expect(offline.keys == ["w0", "w1"])
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

    @Test("A lost answer to a PUT is followed by the same PUT, also if its first write is a patch")
    func repeatedPut() async throws {
        let url = try await offline.url()
        let target = try EntryID(url)
        fixture.upstream.answer(
            url,
            with: .failure(.brokenOff(reason: "lost")),
            .reply(status: 204)
        )
        let add = #"{"type":"patch","value":[{"op":"add","path":"/n","value":2}]}"#
        try await offline.write("w0", add, on: target)
        try await offline.write("w1", #"{"type":"put","value":{"n":3}}"#, on: target)
        try await offline.setPaused(false)
        try await offline.comes("w0", to: .unknown)
        try #require(try await offline.report("w0").waitingFor?.reason == "backoff")
        let reports = try await offline.ends("w0", "w1", later: true)
        #expect(reports.allSatisfy { $0.state == .confirmed })
        #expect(offline.sent == [#"PUT /note {"n":3}"#, #"PUT /note {"n":3}"#])
    }

    @Test("A 412 to the repeat of a joined delete is confirmed if the target is gone (case 22)")
    func repeatedDelete() async throws {
        let url = try await offline.url()
        let target = try EntryID(url)
        fixture.upstream.answer(
            url,
            with: .failure(.brokenOff(reason: "lost")),
            .reply(status: 412),
            .reply(status: 404)
        )
        try await offline.merges(#"{"n":2}"#, on: url)
        try await offline.write("w1", #"{"type":"delete"}"#, on: target)
        try await offline.setPaused(false)
        try await offline.comes("w0", to: .unknown)
        let reports = try await offline.ends("w0", "w1", later: true)
        #expect(reports.map(\.state) == [.confirmed, .confirmed])
        #expect(offline.keys == ["w0", "w0"])
    }

    @Test("Joined patches change the base that the send step after a 401 has met (case 6)")
    func patchesAfterRefusal() async throws {
        let url = try fixture.url("/list")
        try await fixture.cache(url, .json(#"{"l":[]}"#))
        try await offline.setPaused(true)
        for number in 1...2 {
            let add = #"[{"op":"add","path":"/l/-","value":\#(number)}]"#
            let target = try EntryID(url)
            try await offline.write("p\(number)", #"{"type":"patch","value":\#(add)}"#, on: target)
            {
                // Another device's change of the list is no conflict then.
                $0.ifMatch = ModifierRules.MatchRule.none
            }
        }
        fixture.upstream.answer(url, with: .reply(status: 401), .json(#"{"l":[9]}"#))
        try await offline.setPaused(false)
        try await offline.comes("p1", to: .authWait)
        try await fixture.fetch(url) { $0.policy = .networkOnly }
        fixture.upstream.answer(url, with: .reply(status: 204), .reply(status: 403))
        _ = try await fixture.engine.modifiers.retry(ModifierID("p1"), fixture.scope)
        _ = try await offline.ends("p1", "p2")
        #expect(try await offline.shown(url) == #"{"l":[9,1,2]}"#)
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

@Suite("Writes without a net effect (case 17)", .timeLimit(.minutes(5)), .engine(joining(.net)))
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

    @Test("A put of the members that base has is sent if base is only a part of the target")
    func part() async throws {
        try await offline.setPaused(true)
        let url = try offline.fixture.url("/note")
        try await offline.write("first", #"{"type":"merge","value":{"n":1}}"#, on: .url(url))
        try await offline.setPaused(false)
        _ = try await offline.ends("first")
        try await offline.setPaused(true)
        try await offline.write("a", #"{"type":"put","value":{"n":2}}"#, on: .url(url))
        try await offline.write("b", #"{"type":"merge","value":{"n":1}}"#, on: .url(url))
        try await offline.setPaused(false)
        let reports = try await offline.ends("a", "b")
        #expect(reports.allSatisfy { $0.state == .confirmed })
        #expect(offline.sent == [#"PATCH /note {"n":1}"#, #"PUT /note {"n":1}"#])
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

@Suite("Writes without coalescing (case 17)", .timeLimit(.minutes(5)), .engine(joining(.none)))
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
