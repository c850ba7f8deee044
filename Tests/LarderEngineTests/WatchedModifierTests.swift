import LarderModel
import LarderStore
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

/// What watchers and followers see of writes.
@Suite("Watching what is written", .timeLimit(.minutes(10)), .engine)
struct WatchedModifierTests {
    private let fixture = EngineFixture.running

    @Test("A watch reports a write, and after a refusal its revert and the reason (P-12)")
    func refused() async throws {
        let (url, sent) = (try fixture.url("/likes"), Gate())
        fixture.upstream.answer(url, with: .reply("no", status: 422).held(by: sent))
        let phone = ClientTag(uid: 1_000, name: "phone")
        let watch = try await Watch(fixture, client: phone) { $0.types = [.put, .modifier] }
        let other = try await Watch(fixture) { $0.types = [.modifier] }
        // Each put is heard before the next one, which would stand for it.
        try await fixture.putBlob("note", #"{"liked":false}"#)
        _ = try await watch.frames(upTo: 2)
        try await fixture.like("note", to: url, id: "m1", client: phone)
        _ = try await watch.frames(upTo: 4)
        sent.open()
        let frames = try await watch.frames(upTo: 6)
        #expect(
            frames.map(\.name) == [
                "bookmark", "put note", "put note", "modifier queued", "put note",
                "modifier failed",
            ]
        )
        guard case .put(let put) = frames[2], case .modifier(let dead) = frames[5] else { return }
        #expect(put.source == "modifier" && put.cause == "modifier:m1" && put.isOwn == true)
        #expect(put.more == true, "it is one step with the modifier")
        #expect(dead.reverted == [.init(id: "note")])
        #expect(dead.reason == .refused && dead.isOwn == true && dead.more == nil)
        let problem = try Problem(decoding: dead.problem?.bytes ?? [])
        #expect(problem.kind == .originStatus && problem.originStatus == 422)
        #expect(problem.quotedBody == Array("no".utf8))
        let told = try await other.frames(upTo: 3)
        #expect(told.map(\.name) == ["bookmark", "modifier queued", "modifier failed"])
        #expect(!told[2].encodedText.contains("self"))
    }

    @Test("Each watcher that comes back is told the results of writes since then (P-12)")
    func since() async throws {
        let url = try fixture.url("/likes")
        fixture.upstream.answer(url, with: .reply(status: 204))
        let first = try await fixture.putBlob("note", #"{"liked":false}"#)
        let live = try await Watch(fixture) { $0.types = [.modifier] }
        try await fixture.like("note", to: url, id: "m1")
        let names = ["modifier queued", "modifier confirmed"]
        #expect(try await live.frames(upTo: 3).map(\.name) == ["bookmark"] + names)
        for _ in 0..<2 {
            let back = try await Watch(fixture) { $0.since = first }
            let frames = try await back.frames(upTo: 4)
            #expect(frames.map(\.name) == ["put note"] + names + ["bookmark"])
        }
    }

    @Test("A watch reports that a user must give a credential, and that writes go on (case 23)")
    func credential() async throws {
        let url = try fixture.url("/likes")
        fixture.upstream.answer(url, with: .reply(status: 401), .reply(status: 204))
        let watch = try await Watch(fixture) { $0.types = [.auth, .modifier] }
        let stranger = try await Watch(fixture) { command in
            command.types = [.auth, .put]
            command.account = (try? AccountName("work")) ?? .default
        }
        try await fixture.like("note", to: url, id: "m1")
        let refused = try await watch.frames(upTo: 4)
        #expect(
            refused.map(\.name).sorted() == [
                "auth needed", "bookmark", "modifier auth_wait", "modifier queued",
            ]
        )
        let auth = #""origin":"example","account":"default","state":"needed""#
        #expect(refused.contains { $0.encodedText.contains(auth) })
        _ = try await fixture.engine.modifiers.retry(ModifierID("m1"), fixture.scope)
        let goesOn = try await watch.frames(upTo: 7).dropFirst(4)
        #expect(
            goesOn.map(\.name).sorted() == [
                "auth resumed", "modifier confirmed", "modifier queued",
            ]
        )
        try await fixture.putBlob("after", "1", as: stranger.scope)
        #expect(try await stranger.frames(upTo: 2).map(\.name) == ["bookmark", "put after"])
    }

    @Test("A write that is refused for now repeatedly is reported as stalled, once (case 10)")
    func stalled() async throws {
        let setup = try EngineSetup.with { $0.origin.modifiers.stalledAfter = 2 }
        try await EngineFixture.run(setup) { fixture in
            let url = try fixture.url("/likes")
            let busy = ScriptedAnswer.reply(status: 503, headers: ["Retry-After": "100"])
            fixture.upstream.answer(url, with: busy, busy, busy, .reply(status: 204))
            let watch = try await Watch(fixture) { command in
                command.types = [.modifier]
                command.heartbeat = .seconds(3_600)
            }
            try await fixture.like("note", to: url, id: "m1")
            for turn in 1...3 {
                try await fixture.clock.sleepers(until: .seconds(100 * turn))
                fixture.clock.advance(by: .seconds(100))
            }
            let frames = try await watch.frames(upTo: 4)
            #expect(
                frames.map(\.name) == [
                    "bookmark", "modifier queued", "modifier retry_wait", "modifier confirmed",
                ]
            )
            #expect(frames[2].encodedText.contains(#""stalled":true"#))
        }
    }

    @Test("A watch reports a held write and its cancellation (case 18)")
    func cancelled() async throws {
        let watch = try await Watch(fixture)
        let url = try fixture.url("/likes")
        try await fixture.like("note", to: url, id: "m1", more: #","hold":"10s""#)
        _ = try await watch.frames(upTo: 3)
        try await fixture.cancel("m1")
        let frames = try await watch.frames(upTo: 5)
        #expect(
            frames.map(\.name) == [
                "bookmark", "put note", "modifier held", "delete note", "modifier cancelled",
            ]
        )
        #expect(frames[4].encodedText.contains(#""reverted":[{"id":"note"}]"#))
    }

    @Test("A first list shows views: with rows that writes made, without those they deleted")
    func initial() async throws {
        let url = try fixture.url("/likes")
        for id in ["a", "b", "c"] { try await fixture.putBlob(id, "{}") }
        try await fixture.like("b", to: url, id: "m1", more: #","hold":"1h""#)
        try await fixture.like("new", to: url, id: "m2", more: #","hold":"1h""#)
        let delete = """
            {"request":{"method":"PUT","url":"\(url)"},"hold":"1h",\
            "changes":[{"target":{"id":"c"},"effect":{"type":"delete"}}]}
            """
        let command = try ModifiersCommand(json: Array(delete.utf8))
        _ = try await fixture.engine.modifiers.accept(command, fixture.scope)
        let watch = try await Watch(fixture) { $0.listsFirst = true }
        let names = ["put a", "put b", "put new", "bookmark"]
        #expect(try await watch.frames(upTo: 4).map(\.name) == names)
        let named = try await Watch(fixture) { command in
            command.listsFirst = true
            command.ids = ["c", "new"].compactMap { try? EntryID($0) }
        }
        #expect(try await named.frames(upTo: 2).map(\.name) == ["put new", "bookmark"])
    }

    @Test("A follower sees what a write makes of the row, and what a revert leaves")
    func followed() async throws {
        let url = try fixture.url("/a")
        let gate = Gate()
        try await fixture.cache(url, .json(#"{"liked":false}"#))
        fixture.upstream.answer(url, with: .reply(status: 422).held(by: gate))
        let shown = Recorder<String>()
        _ = fixture.start(url, .cacheOnly) { command in
            command.follows = true
        } reading: { frame in
            if case .snapshot(let view) = frame, case .json(let bytes) = view.entry.content {
                shown.record("\(String(decoding: bytes, as: UTF8.self)) \(view.pending)")
            }
            return true
        }
        _ = try await shown.element(0)
        try await fixture.like(url.text, to: url, id: "m1")
        _ = try await shown.element(1)
        gate.open()
        _ = try await shown.element(2)
        #expect(shown.all == [#"{"liked":false} 0"#, #"{"liked":true} 1"#, #"{"liked":false} 0"#])
    }
}

extension EngineFixture {
    /// Accepts a modifier that likes a thing; `more` is further members of it.
    fileprivate func like(
        _ target: String,
        to url: WebURL,
        id: String,
        more: String = "",
        client: ClientTag? = nil
    ) async throws {
        let json = """
            {"id":"\(id)","request":{"method":"PUT","url":"\(url)"},"changes":[{"target":\
            {"id":"\(target)"},"effect":{"type":"merge","value":{"liked":true}}}]\(more)}
            """
        let command = try ModifiersCommand(json: Array(json.utf8))
        _ = try await engine.modifiers.accept(command, scope, client: client)
    }
}
