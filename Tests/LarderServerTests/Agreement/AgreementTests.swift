import LarderModel
import LarderStore
import LarderTestSupport
import LarderWire
import Testing

/// Every route is a printer of one view: GET, HEAD, fetch and follow from the cache, the raw route,
/// batch, watch and explain tell the same of an id at one moment.
@Suite("Every route tells the same", .timeLimit(.minutes(10)))
struct AgreementTests {
    private static let merge = #"{"type":"merge","value":{"m":2}}"#
    private static let put = #"{"type":"put","value":[2]}"#
    private static let renamed = #"{"type":"merge","value":{"name":"Bea"}}"#
    private static let delete = #"{"type":"delete"}"#

    static func user(_ id: Int, _ name: String) -> String {
        #"{"type":"User","id":\#(id),"name":"\#(name)"}"#
    }

    static func list(_ name: String) -> String { "[\(user(7, name)),\(user(8, "Bob"))]" }

    /// What was done before all routes are asked, and what they then say of the ids.
    struct Case: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let ids: [String]
        let content: String
        let prepare: @Sendable (ScriptedLife) async throws -> Void

        init(
            _ name: String,
            _ ids: String...,
            is content: String = "shown",
            _ prepare: @escaping @Sendable (ScriptedLife) async throws -> Void
        ) {
            (testDescription, self.ids, self.content) = (name, ids, content)
            self.prepare = prepare
        }
    }

    static let cases = [
        Case("uncached", "/a", "User:7", "/users/7", is: "miss") { _ in },
        Case("a row", "/a") { try await $0.cache("/a", #"{"n":1}"#) },
        Case("a stale row", "/a") { life in
            try await life.cache("/a", #"{"n":1}"#)
            life.server.clock.advance(by: .seconds(90))
        },
        Case("a tombstone", "/a", is: "deleted") { try await $0.cache("/a", nil) },
        Case("deleted by a write that waits", "/a", is: "deleted") { life in
            try await life.cache("/a", #"{"n":1}"#)
            try await life.accept("/a", delete)
        },
        Case("deleted by a write, of which nothing is known", "/a", is: "miss") { life in
            try await life.accept("/a", delete)
        },
        Case("made by a write", "/a") { try await $0.accept("/a", put) },
        Case("a part, made by a write", "/a") { try await $0.accept("/a", merge) },
        Case("made by a write on a tombstone", "/a") { life in
            try await life.cache("/a", nil)
            try await life.accept("/a", put)
        },
        Case("made by a write on no URL", "draft") { try await $0.accept("draft", put) },
        Case("made by a write on an entity's URL", "/users/7", "User:7") { life in
            try await life.accept("/users/7", #"{"type":"put","value":\#(user(7, "Ann"))}"#)
        },
        Case("made by a write on an entity's key", "/users/7", "User:7") { life in
            try await life.accept("User:7", #"{"type":"put","value":\#(user(7, "Ann"))}"#)
        },
        Case("made by a write on an entity whose URL was gone", "/users/7", "User:7") { life in
            try await life.cache("/users/7", nil)
            try await life.accept("User:7", #"{"type":"put","value":\#(user(7, "Ann"))}"#)
        },
        Case("merged by a write", "/a") { life in
            try await life.cache("/a", #"{"n":1}"#)
            try await life.accept("/a", merge)
        },
        Case("patched by a write", "/a") { life in
            try await life.cache("/a", #"{"n":1}"#)
            try await life.accept(
                "/a",
                #"{"type":"patch","value":[{"op":"add","path":"/m","value":2}]}"#
            )
        },
        Case("a write that does not fit", "/a") { life in
            try await life.cache("/a", #"{"n":1}"#)
            try await life.accept(
                "/a",
                #"{"type":"patch","value":[{"op":"test","path":"/n","value":2}]}"#
            )
        },
        Case("two writes of different lanes", "/a") { life in
            try await life.cache("/a", #"{"n":1}"#)
            try await life.accept("/a", merge, lane: "x")
            try await life.accept("/a", #"{"type":"add","value":{"/n":1}}"#, lane: "y")
        },
        Case("a dead letter", "/a") { life in
            try await life.cache("/a", #"{"n":1}"#)
            try await life.accept("/a", merge)
            try await life.settle(403)
        },
        Case("a dead letter and a write that waits", "/a") { life in
            try await life.cache("/a", #"{"n":1}"#)
            try await life.accept("/a", merge)
            try await life.accept("/a", merge)
            try await life.settle(403)
        },
        Case("cancelled", "/a") { life in
            try await life.cache("/a", #"{"n":1}"#)
            try await life.cancel(try await life.accept("/a", merge))
        },
        Case("pinned", "/a") { life in
            try await life.cache("/a", #"{"n":1}"#)
            try await life.pin("/a")
        },
        Case("pinned and gone", "/a") { life in
            try await life.cache("/a", #"{"n":1}"#)
            try await life.pin("/a")
            try await life.cache("/a", nil)
        },
        Case("pinned, gone, and a write that waits", "/a", is: "deleted") { life in
            try await life.cache("/a", #"{"n":1}"#)
            try await life.pin("/a")
            try await life.cache("/a", nil)
            try await life.accept("/a", merge)
        },
        Case("a pin of an answer of entities", "/list", "User:7") { life in
            try await life.cache("/list", list("Ann"))
            try await life.pin("/list")
            try await life.accept("User:7", renamed)
        },
        Case("an entity and its URL", "/users/7", "User:7") { life in
            try await life.cache("/users/7", user(7, "Ann"))
            try await life.accept("User:7", renamed)
        },
        Case("an entity that its own URL's write deletes", "/users/7", "User:7", is: "deleted") {
            life in
            try await life.cache("/users/7", user(7, "Ann"))
            try await life.accept("/users/7", delete)
        },
        Case("an answer with an entity that a write changes", "/list", "User:7", "User:8") { life in
            try await life.cache("/list", list("Ann"))
            try await life.accept("User:7", renamed)
        },
        Case("an answer with an entity that a write failed on", "/list", "User:7") { life in
            // A write that was refused has its target asked for again.
            life.serve("/users/7", user(7, "Ann"))
            try await life.cache("/list", list("Ann"))
            try await life.accept("User:7", renamed)
            try await life.settle(403)
        },
        Case("an answer with a write of its own and one of an entity", "/list") { life in
            try await life.cache("/list", #"{"all":\#(list("Ann"))}"#)
            try await life.accept("User:7", renamed)
            try await life.accept("/list", merge)
        },
        Case("an answer of which an entity was evicted", "/list", "User:8", is: "miss") { life in
            try await life.cache("/list", list("Ann"))
            try await life.evict(#""ids":["entity:example/User:8"]"#)
        },
        Case("an answer with a child that a write deletes", "/list", "User:7") { life in
            try await life.cache("/list", list("Ann"))
            try await life.accept("User:8", delete)
        },
        Case("an answer with a child that is gone", "/list", "User:7") { life in
            try await life.cache("/list", list("Ann"))
            try await life.cache("/users/8", nil)
        },
        Case("a whole row under an entity's URL", "/users/7") { life in
            try await life.cache("/users/7", user(7, "Ann"), normalize: false)
        },
        Case("a write of the entity whose URL has a whole row", "/users/7", "User:7") { life in
            try await life.cache("/users/7", user(7, "Ann"), normalize: false)
            try await life.accept("/users/7", renamed)
        },
        Case("a whole answer, and a write of what it holds", "/list") { life in
            try await life.cache("/list", list("Ann"), normalize: false)
            try await life.accept("User:7", renamed)
        },
        Case("a large row", "/big") { try await $0.cache("/big", large) },
        Case("a large base and a write", "/big") { life in
            try await life.cache("/big", large)
            try await life.accept("/big", merge)
        },
        Case("a write that makes a large body", "/big") { life in
            try await life.accept("/big", #"{"type":"put","value":\#(large)}"#)
        },
        Case("a blob", "note") { life in
            _ = try await life.round.client.ask("PUT", "/v1/entries/note", body: Array("x".utf8))
        },
    ]

    private static let large = #"{"n":"\#(String(repeating: "0123456789", count: 12_000))"}"#

    static let rules = NormalizeRules(
        byType: .standard,
        types: [TypeRule(type: "User", url: "/users/{id}")]
    )

    private static func shareWithRules(_ origin: inout OriginSettings) {
        origin.isShared = true
        origin.normalize = rules
    }

    @Test("At one moment", arguments: cases)
    func agreement(of place: Case) async throws {
        let adjust = { (origin: inout OriginSettings) in origin.normalize = Self.rules }
        try await ServerFixture.run(adjusting: adjust) { server in
            let life = try await ScriptedLife(server)
            try await place.prepare(life)
            let ids = try place.ids.map(ScriptedLife.idOrKey)
            for (id, telling) in try await life.agree(ids) {
                #expect(telling[.content] == place.content, "\(id)")
            }
            try await life.maintain()
            try await life.agree(ids, "after a while,")
        }
    }

    @Test("Routes agree on a shared row, with one account's write and without")
    func shared() async throws {
        try await ServerFixture.run(adjusting: Self.shareWithRules) { server in
            let life = try await ScriptedLife(server)
            let other = try await ScriptedLife(server, AccountName("work"), beside: life)
            let ids = try ["/a", "/list", "User:7", "/users/7"].map(ScriptedLife.idOrKey)
            for life in [life, other] {
                try await life.cache("/a", #"{"n":1}"#)
                try await life.cache("/list", Self.list("Ann"))
                try await life.cache("/users/7", Self.user(7, "Ann"))
            }
            try await life.accept("/a", Self.merge)
            try await life.accept("User:7", Self.renamed)
            let own = try await life.agree(ids)
            let others = try await other.agree(ids)
            #expect(own.values.allSatisfy { $0[.ids, else: "m"].hasPrefix("m") })
            #expect(others.values.allSatisfy { $0[.ids, else: ""].isEmpty })
            try await life.settle(403)
            try await life.settle(204)
            for life in [life, other] { try await life.agree(ids, "settled,") }
            try await life.maintain()
            for life in [life, other] { try await life.agree(ids, "after a while,") }
        }
    }

    @Test("Routes agree on a shared row whose entity was evicted and is written again")
    func evictedEntity() async throws {
        try await ServerFixture.run(adjusting: Self.shareWithRules) { server in
            let life = try await ScriptedLife(server)
            try await life.cache("/users/8", Self.user(8, "Bea"))
            let ids = #""ids":["entity:example/User:8"]"#
            try await life.evict(ids, shared: true)
            let user = Self.user(8, "Dora")
            try await life.accept("User:8", #"{"type":"put","value":\#(user)}"#)
            let told = try await life.agree([try ScriptedLife.idOrKey("/users/8")])
            #expect(told.values.allSatisfy { $0[.content] == "shown" })
        }
    }

    @Test("explain marks a write that the origin has accepted while its effect still shows")
    func acceptedWithoutAnswer() async throws {
        try await ServerFixture.run(adjusting: Self.shareWithRules) { server in
            let life = try await ScriptedLife(server)
            try await life.cache("/users/7", Self.user(7, "Ann"))
            try await life.accept("User:7", Self.renamed)
            life.failReads()
            try await life.settle(204)
            let path = PercentCoding.entryPath(try ScriptedLife.entity("User:7"))
            let answer = try await life.round.client.ask("GET", path + "/explain")
            let told = try answer.value(EntryExplanation.self).pending
            #expect(told.pending == 0)
            #expect(told.modifiers.map(\.answered) == [true])
            let shown = try await life.round.client.ask("GET", path)
            #expect(shown.text.contains("Bea"))
            #expect(shown.headers["Larder-Pending"] == "0")
        }
    }

    @Test("The row that shows after a copy goes has no older revision than the copy (case 29)")
    func revisionBehindCopy() async throws {
        let adjust = { (origin: inout OriginSettings) in origin.isShared = true }
        try await ServerFixture.run(adjusting: adjust) { server in
            let life = try await ScriptedLife(server)
            let id = try ScriptedLife.id("/a")
            try await life.cache("/a", #"{"n":1}"#)
            try await life.accept("/a", Self.merge)
            let pending = try await life.revision(of: id)
            try await life.settle(403)
            let dead = try await life.revision(of: id)
            // The daemon's own maintenance may have come first.
            let isThere = server.store.isDurable(life.round.scope, id)
            try await life.maintain()
            let behind = try await life.revision(of: id)
            #expect(pending < dead)
            #expect(isThere ? dead < behind : dead <= behind)
            #expect(!server.store.isDurable(life.round.scope, id))
        }
    }

    @Test("A pin that is gone beneath a write shows something else, of a later revision")
    func revisionOfPin() async throws {
        try await ServerFixture.run { server in
            let life = try await ScriptedLife(server)
            let id = try ScriptedLife.id("/a")
            try await life.cache("/a", #"{"n":1}"#)
            try await life.pin("/a")
            try await life.accept("/a", Self.merge)
            let pending = try await life.revision(of: id)
            try await life.cache("/a", nil)
            #expect(try await life.agree([id])[id]?[.content] == "deleted")
            #expect(try await life.revision(of: id) > pending)
        }
    }

    @Test(
        "A URL that was gone shows its entity when a list holds it again, with writes and without"
    )
    func backInList() async throws {
        let adjust = { (origin: inout OriginSettings) in origin.normalize = Self.rules }
        try await ServerFixture.run(adjusting: adjust) { server in
            let life = try await ScriptedLife(server)
            let id = try ScriptedLife.id("/users/7")
            try await life.cache("/users/7", nil)
            let gone = try await life.revision(of: id)
            try await life.cache("/list", Self.list("Ann"))
            #expect(try await life.agree([id])[id]?[.body] == Self.user(7, "Ann"))
            let back = try await life.revision(of: id)
            let write = try await life.accept("User:7", Self.renamed)
            #expect(try await life.agree([id])[id]?[.body] == Self.user(7, "Bea"))
            let pending = try await life.revision(of: id)
            try await life.cancel(write)
            #expect(try await life.agree([id])[id]?[.body] == Self.user(7, "Ann"))
            let reverted = try await life.revision(of: id)
            #expect([gone, back, pending, reverted] == [gone, back, pending, reverted].sorted())
            #expect(Set([gone, back, pending, reverted]).count == 4)
        }
    }
}

extension ScriptedLife {
    static func idOrKey(_ text: String) throws -> EntryID {
        text.contains(":") ? try entity(text) : try id(text)
    }

    /// The revision that all routes tell of an id.
    func revision(of id: EntryID) async throws -> Int64 {
        let told = try await agree([id])[id]?[.rev]
        return try #require(told.flatMap { Int64($0) })
    }
}
