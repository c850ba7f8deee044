import LarderJSON
import LarderModel
import LarderNormalize
import LarderStore
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

/// Writes that the server has confirmed, and that wait until an answer shows the shared row (case 29).
@Suite("Confirmed writes of shared rows", .timeLimit(.minutes(2)))
struct AnsweredWriteTests {
    private let alice = EngineFixture.scope
    private let bob = Scope.own(uid: 2_000, account: .default)
    private static let renamed = #"{"type":"merge","value":{"name":"Bea"}}"#

    private func setup(_ rules: NormalizeRules? = nil) throws -> EngineSetup {
        try EngineSetup.with { setup in
            setup.origin.isShared = true
            setup.origin.fetch.ttl = .seconds(3_600)
            if let rules { setup.origin.normalize = rules }
        }
    }

    /// A like that is confirmed; the read of the row after it is refused, which says nothing.
    private func answered(_ fixture: EngineFixture, _ url: WebURL) async throws -> ModifierID {
        try await fixture.cache(url, .json(#"{"liked":false}"#), as: bob)
        fixture.clock.advance(by: .seconds(1))
        fixture.upstream.answer(url, with: .reply(status: 204), .reply("who?", status: 401))
        let id = try await fixture.like(url, alice)
        let key = fixture.key(alice)
        _ = try await fixture.engine.modifiers.modifier(id, key, wait: .seconds(60))
        _ = try await fixture.upstream.asked.element(2)
        #expect(try fixture.view(url, alice) == #"{"liked":true}"#)
        return id
    }

    private func end(_ fixture: EngineFixture, of id: ModifierID) async throws {
        let (modifiers, key) = (fixture.engine.modifiers, fixture.key(alice))
        try await until {
            // A flight that has failed pauses.
            fixture.clock.advance(by: .seconds(1))
            return try await modifiers.modifier(id, key).state == .confirmed
        }
    }

    @Test("A start reads the row again for which a confirmed write waits")
    func started() async throws {
        var left: TemporaryStore?
        var id: ModifierID?
        try await EngineFixture.run(setup()) { fixture in
            id = try await answered(fixture, try fixture.url("/a"))
            left = fixture.temporary
        }
        try left?.open()
        try await EngineFixture.run(setup(), on: left) { fixture in
            let url = try fixture.url("/a")
            // No client asks for it.
            let request = try await fixture.upstream.asked.element(0)
            #expect(request.url == url)
            #expect(try fixture.view(url, alice) == #"{"liked":true}"#)
            fixture.upstream.answer(url, with: .json(#"{"liked":true,"by":1}"#))
            try await end(fixture, of: #require(id))
            #expect(try fixture.view(url, alice) == #"{"liked":true,"by":1}"#)
        }
    }

    @Test("A list that waits for the end of writes is empty, and one that does not wait has it")
    func waitedFor() async throws {
        try await EngineFixture.run(setup()) { fixture in
            let id = try await answered(fixture, try fixture.url("/a"))
            let (modifiers, key) = (fixture.engine.modifiers, fixture.key(alice))
            var command = ModifierListCommand()
            command.selection = .unsettled
            let all = try await modifiers.list(command, .one(key))
            #expect(all.items.map(\.id) == [id.text])
            command.wait = .seconds(60)
            let left = try await modifiers.list(command, .one(key))
            #expect(left.items.isEmpty)
        }
    }

    @Test("The row is read again once its origin answers again")
    func originBack() async throws {
        try await EngineFixture.run(setup()) { fixture in
            let url = try fixture.url("/a")
            let id = try await answered(fixture, url)
            // Nothing is scripted for it.
            _ = fixture.start(try fixture.url("/away"), as: bob)
            let name = try OriginName("example")
            try await until { fixture.engine.context.originStates.isDown(name) }
            // The pause after the refusal ends, and no read follows.
            fixture.clock.advance(by: Limits.pinRetryBase)
            fixture.upstream.answer(url, with: .json(#"{"liked":true,"by":1}"#))
            let other = try fixture.url("/b")
            try await fixture.cache(other, .json("[1]"), as: bob)
            try await end(fixture, of: id)
            let asked = fixture.upstream.asked.all.map(\.url)
            #expect(asked.filter { $0 == url }.count == 4)
            #expect(asked.lastIndex(of: url) ?? 0 > asked.firstIndex(of: other) ?? .max)
            #expect(try fixture.view(url, alice) == #"{"liked":true,"by":1}"#)
        }
    }

    @Test("A read that fails is repeated, with pauses that grow", arguments: [401, 429, 500])
    func repeated(status: Int) async throws {
        try await EngineFixture.run(setup()) { fixture in
            let (url, key) = (try fixture.url("/a"), fixture.key(alice))
            try await fixture.cache(url, .json(#"{"liked":false}"#), as: bob)
            let failure = ScriptedAnswer.reply("later", status: status)
            let read = ScriptedAnswer.json(#"{"liked":true,"by":1}"#)
            fixture.upstream.answer(
                url,
                with: .reply(status: 204),
                failure,
                failure,
                failure,
                read
            )
            let id = try await fixture.like(url, alice)
            var due = Duration.zero
            for pause in [1, 2, 4].map({ Limits.pinRetryBase * $0 }) {
                due += pause
                try await fixture.clock.sleepers(until: due)
                fixture.clock.advance(by: pause)
            }
            try await until {
                try await fixture.engine.modifiers.modifier(id, key).state == .confirmed
            }
            #expect(try fixture.view(url, alice) == #"{"liked":true,"by":1}"#)
            #expect(fixture.upstream.asked.all.count == 6)
        }
    }

    @Test("An addition that was sent before a mix was stored shows until an answer has it (case 8)")
    func additionBeforeMix() async throws {
        try await EngineFixture.run(setup()) { fixture in
            let (url, writes, key) = (
                try fixture.url("/a"), try fixture.url("/w"), fixture.key(alice)
            )
            try await fixture.cache(url, .json(#"{"n":5,"m":0}"#), as: bob)
            let (answer, last, later) = (Gate(), Gate(), Gate())
            let refusal = ScriptedAnswer.reply("later", status: 500).held(by: later)
            let old = ScriptedAnswer.json(#"{"n":5,"m":1}"#).held(by: answer)
            fixture.upstream.answer(url, with: old, refusal, refusal)
            let done = ScriptedAnswer.reply(status: 204)
            fixture.upstream.answer(writes, with: done, done.held(by: last))
            let fetch = fixture.start(url, .networkOnly, as: bob)
            _ = try await fixture.upstream.asked.element(1)
            let add = try Effect.json(#"{"type":"add","value":{"/n":1}}"#)
            let first = try await fixture.write(.url(url), add, "POST", to: writes, as: alice)
            _ = try await fixture.settled(first, key)
            // The write, and the read after it.
            _ = try await fixture.upstream.asked.element(3)
            let second = try await fixture.write(.url(url), add, "POST", to: writes, as: alice)
            _ = try await fixture.upstream.asked.element(4)
            answer.open()
            _ = try await fetch.result()
            #expect(try fixture.view(url, alice) == #"{"n":7,"m":1}"#)
            last.open()
            _ = try await fixture.settled(second, key)
            #expect(try fixture.view(url, alice) == #"{"n":7,"m":1}"#)
            later.open()
        }
    }

    @Test("An older variant of the URL is a miss for its user, and for others as it was")
    func variants() async throws {
        try await EngineFixture.run(setup()) { fixture in
            let url = try fixture.url("/a")
            func german(_ scope: Scope) async throws -> String? {
                try await fixture.fetch(url, .cacheOnly, as: scope) { command in
                    command.headers.append("Accept-Language", "de")
                }.lastShown?.text
            }
            fixture.upstream.answer(
                url,
                with: .json(#"{"liked":false}"#, headers: ["Vary": "Accept-Language"])
            )
            try await fixture.fetch(url, as: bob) { $0.headers.append("Accept-Language", "de") }
            #expect(try await german(alice) == #"{"liked":false}"#)
            try await fixture.cache(url, .json(#"{"liked":false}"#), as: bob)
            fixture.upstream.answer(
                url,
                with: .reply(status: 204),
                .json(#"{"liked":true,"by":1}"#)
            )
            let id = try await fixture.like(url, alice)
            #expect(try await german(alice) == #"{"liked":true}"#)
            try await end(fixture, of: id)
            #expect(try fixture.view(url, alice) == #"{"liked":true,"by":1}"#)
            #expect(try await german(alice) == nil, "it would be without the like")
            #expect(try await german(bob) == #"{"liked":false}"#)
            fixture.upstream.answer(
                url,
                with: .json(#"{"liked":true,"by":2}"#, headers: ["Vary": "Accept-Language"])
            )
            try await fixture.fetch(url, as: alice) { $0.headers.append("Accept-Language", "de") }
            for scope in [alice, bob] {
                #expect(try await german(scope) == #"{"liked":true,"by":2}"#)
            }
        }
    }

    private static let userRules = NormalizeRules(
        byType: .standard,
        types: [TypeRule(type: "User", url: "/users/{id}")]
    )

    /// Accepts a write that gives the user 7 another name.
    private func acceptRename(_ fixture: EngineFixture) async throws -> ModifierID {
        let effect = try Effect(parsing: Array(Self.renamed.utf8))
        let changes = [ModifierCommand.Change(target: try .entity("User:7"), effect: effect)]
        let request = try #require(ModifierCommand.derivedRequest(for: changes))
        let command = ModifiersCommand(ModifierCommand(changes: changes, request: request))
        let receipt = try await fixture.engine.modifiers.accept(command, fixture.key(alice))[0]
        return try ModifierID(receipt.id)
    }

    /// The own row moves back to `cache.db` once maintenance has run.
    @Test(
        "A list shows the own row that a write has left until a shared answer is later",
        arguments: [false, true]
    )
    func leftOwnRow(isMovedBack: Bool) async throws {
        func entity(_ name: String) -> String { #"{"type":"User","id":7,"name":"\#(name)"}"# }
        func list(_ name: String) -> String { #"{"items":[\#(entity(name))]}"# }
        try await EngineFixture.run(setup(Self.userRules)) { fixture in
            let (users, user) = (try fixture.url("/users"), try fixture.url("/users/7"))
            let (modifiers, key) = (fixture.engine.modifiers, fixture.key(alice))
            try await fixture.cache(users, .json(list("Ann")), as: bob)
            fixture.clock.advance(by: .seconds(1))
            let isPrivate = ["Cache-Control": "private"]
            fixture.upstream.answer(user, with: .json(entity("Ann"), headers: isPrivate))
            try await fixture.fetch(user, .networkOnly, as: alice)
            fixture.clock.advance(by: .seconds(1))
            fixture.upstream.answer(
                user,
                with: .reply(status: 204),
                .json(entity("Bea"), headers: isPrivate)
            )
            let id = try await acceptRename(fixture)
            try await until { try await modifiers.modifier(id, key).state == .confirmed }
            _ = try await fixture.upstream.asked.element(3)
            let store = fixture.engine.store
            if isMovedBack { try await store.maintain() }
            var last = Revision(0)
            func check(_ name: String, _ shown: SnapshotFrame?) throws {
                let shown = try #require(shown)
                #expect(shown.text == list(name))
                #expect(shown.revision >= last)
                last = shown.revision
            }
            try check("Bea", try await fixture.cached(users, as: alice).lastShown)
            for name in ["Bea", "Cleo", "Dan"] {
                fixture.clock.advance(by: .seconds(1))
                fixture.upstream.answer(users, with: .json(list(name)))
                try check(name, try await fixture.fetch(users, .networkOnly, as: alice).lastShown)
                try check(name, try await fixture.cached(users, as: alice).lastShown)
                if isMovedBack { try await store.maintain() }
                try check(name, try await fixture.cached(users, as: alice).lastShown)
            }
        }
    }

    @Test("A write of an entity waits for an answer that has it, under whichever URL")
    func entity() async throws {
        try await EngineFixture.run(setup(Self.userRules)) { fixture in
            let (article, user) = (try fixture.url("/articles/1"), try fixture.url("/users/7"))
            try await fixture.cache(article, .json(NormalizedTests.article(1, "Ann")), as: bob)
            fixture.clock.advance(by: .seconds(1))
            fixture.upstream.answer(user, with: .reply(status: 204), .reply("who?", status: 401))
            let (modifiers, key) = (fixture.engine.modifiers, fixture.key(alice))
            let id = try await acceptRename(fixture)
            _ = try await modifiers.modifier(id, key, wait: .seconds(60))
            _ = try await fixture.upstream.asked.element(2)
            // What its own URL says has no entity.
            try await fixture.cache(user, .json(#"[{"error":"later"}]"#), as: bob)
            #expect(try await modifiers.modifier(id, key).marks == [.answered])
            #expect(try fixture.view(article, alice) == NormalizedTests.article(1, "Bea"))
            try await fixture.cache(article, .json(NormalizedTests.article(1, "Cleo")), as: bob)
            #expect(try await modifiers.modifier(id, key).state == .confirmed)
            #expect(try fixture.view(article, alice) == NormalizedTests.article(1, "Cleo"))
        }
    }

    @Test("An edit of an object that a confirmed write has put into a list shows all of it")
    func editOfAddedObject() async throws {
        try await EngineFixture.run(setup(Self.userRules)) { fixture in
            func list(_ rows: String...) -> String {
                #"{"items":[\#(rows.joined(separator: ","))]}"#
            }
            func user(_ id: Int, _ name: String) -> String {
                #"{"type":"User","id":\#(id),"name":"\#(name)"}"#
            }
            let url = try fixture.url("/users")
            try await fixture.cache(url, .json(list(user(7, "Ann"))), as: bob)
            fixture.clock.advance(by: .seconds(1))
            fixture.upstream.answer(url, with: .reply(status: 204), .reply("who?", status: 401))
            let effect = #"{"type":"list_add","value":{"/items":[\#(user(8, "Bea"))]}}"#
            let id = try await fixture.write(.url(url), .json(effect), "POST", id: "add", as: alice)
            _ = try await fixture.settled(id, fixture.key(alice))
            _ = try await fixture.upstream.asked.element(2)
            let rename = try Effect.json(#"{"type":"merge","value":{"name":"Cleo"}}"#)
            let hold = Duration.seconds(3_600)
            try await fixture.write(.entity("User:8"), rename, id: "edit", hold: hold, as: alice)
            #expect(try fixture.view(url, alice) == list(user(7, "Ann"), user(8, "Cleo")))
            #expect(try fixture.view(url, bob) == list(user(7, "Ann")))
            // An answer for the list ends the wait, also if the object is not in it any more.
            fixture.upstream.answer(url, with: .json(list(user(7, "Dan"))))
            try await end(fixture, of: id)
            for scope in [alice, bob] {
                #expect(try fixture.view(url, scope) == list(user(7, "Dan")))
            }
        }
    }
}
