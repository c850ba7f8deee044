import LarderAPI
import LarderJSON
import LarderModel
import LarderStore
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

/// Objects that effects put into lists, and that are entities (cases 1, 14 and 28).
@Suite("Objects in lists", .timeLimit(.minutes(5)), .todoEngine)
struct ListObjectTests {
    private let fixture = EngineFixture.running
    private let gate = Gate()

    private static let listed =
        #"{"items":[{"type":"Todo","id":1,"title":"bread","done":false}]}"#
    private static let added = #"{"type":"Todo","id":9,"title":"eggs"}"#

    private static func items(_ rows: String...) -> String {
        #"{"items":[\#(rows.joined(separator: ","))]}"#
    }

    private static let bread = #"{"type":"Todo","id":1,"title":"bread","done":false}"#

    private func list(cached: Bool = true) async throws -> WebURL {
        let url = try fixture.url("/todos")
        if cached { try await fixture.cache(url, .json(Self.listed)) }
        return url
    }

    @discardableResult
    private func add(
        _ object: String = Self.added,
        to url: WebURL,
        id: String = "create",
        hold: Bool = true
    ) async throws -> ModifierID {
        let effect = try Effect.json(#"{"type":"list_add","value":{"/items":[\#(object)]}}"#)
        let hold: Duration? = hold ? .seconds(3_600) : nil
        return try await fixture.write(.url(url), effect, "POST", id: id, hold: hold)
    }

    @discardableResult
    private func edit(
        _ key: String,
        _ effect: String,
        id: String,
        hold: Bool = true
    ) async throws -> ModifierID {
        let hold: Duration? = hold ? .seconds(3_600) : nil
        let change = try Effect.json(effect)
        let method = change == .delete ? "DELETE" : "PATCH"
        return try await fixture.write(.entity(key), change, method, id: id, hold: hold)
    }

    private func text(_ url: WebURL) async throws -> String? {
        try await fixture.cached(url).lastShown?.text
    }

    @Test("An added object is the entity: its edit and its deletion show in the list (case 28)")
    func editedAndDeleted() async throws {
        let url = try await list()
        try await add(to: url)
        #expect(try await text(url) == Self.items(Self.bread, Self.added))
        try await edit("Todo:9", #"{"type":"merge","value":{"title":"six eggs"}}"#, id: "edit")
        try await edit("Todo:9", #"{"type":"set","value":{"set":{"/done":true}}}"#, id: "done")
        let edited = #"{"type":"Todo","id":9,"title":"six eggs","done":true}"#
        let shown = try await fixture.cached(url).lastShown
        #expect(shown?.text == Self.items(Self.bread, edited))
        #expect(shown?.pendingIDs == ["create", "edit", "done"])
        #expect(shown?.rows?.map(\.pointer) == ["/items/1"])
        #expect(shown?.rows?.first?.pending == ["create", "edit", "done"])
        try await edit("Todo:9", #"{"type":"delete"}"#, id: "gone")
        #expect(try await text(url) == Self.listed)
        // A deletion that is taken back shows the object in its place again.
        try await fixture.cancel("gone")
        #expect(try await text(url) == Self.items(Self.bread, edited))
    }

    @Test("An answer that is not kept shows the writes that wait on its entities (P-04)")
    func notKept() async throws {
        let url = try await list(cached: false)
        fixture.upstream.answerOthers { _ in
            .json(Self.listed, headers: ["Cache-Control": "no-store"])
        }
        try await edit("Todo:1", #"{"type":"merge","value":{"title":"rye"}}"#, id: "edit")
        let rye = #"{"type":"Todo","id":1,"title":"rye","done":false}"#
        let edited = try await fixture.fetch(url, .networkOnly).lastShown
        #expect(edited?.text == Self.items(rye))
        #expect(edited?.pendingIDs == ["edit"])
        #expect(edited?.rows?.map(\.pointer) == ["/items/0"])
        let own = try await fixture.fetch(fixture.url("/todos/1"), .networkOnly).lastShown
        #expect(own?.pendingIDs == ["edit"])
        try await add(to: url)
        let both = try await fixture.fetch(url, .networkOnly).lastShown
        #expect(both?.text == Self.items(rye, Self.added))
        #expect(both?.pendingIDs == ["create", "edit"])
        try await edit("Todo:1", #"{"type":"delete"}"#, id: "gone")
        let left = try await fixture.fetch(url, .networkOnly).lastShown
        #expect(left?.text == Self.items(Self.added))
    }

    @Test("An entity in an effect is a target and a lane of the write (cases 14 and 28)")
    func lanes() async throws {
        let url = try await list()
        let create = try await add(to: url)
        let edit = try await edit(
            "Todo:9",
            #"{"type":"merge","value":{"title":"x"}}"#,
            id: "edit",
            hold: false
        )
        let lane = "id:\(try EntryID.entity("Todo:9"))"
        let key = fixture.scope
        let report = try await fixture.engine.modifiers.modifier(create, key)
        #expect(report.lanes.contains(lane))
        // The edit waits for the create, which is held.
        let waiting = try await fixture.engine.modifiers.modifier(edit, key)
        #expect(waiting.waitingFor?.reason == "lane")
    }

    @Test(
        "A write that takes an entity out of a list is in the entity's lane (cases 14 and 28)",
        arguments: [#"[{"type":"Todo","id":1}]"#, #"{"by":"id","values":[1]}"#]
    )
    func laneOfRemoval(elements: String) async throws {
        let url = try await list()
        try await edit("Todo:1", #"{"type":"merge","value":{"title":"rye"}}"#, id: "edit")
        let removal = #"{"type":"list_remove","value":{"/items":\#(elements)}}"#
        let id = try await fixture.write(.url(url), .json(removal), "POST", id: "remove")
        let lane = "id:\(try EntryID.entity("Todo:1"))"
        let report = try await fixture.engine.modifiers.modifier(id, fixture.scope)
        #expect(report.lanes.contains(lane))
        // The removal waits for the edit, which is held.
        #expect(report.waitingFor?.reason == "lane")
    }

    @Test("An edited removal stays in the lane of the entity that it takes out (cases 14 and 18)")
    func laneOfEditedRemoval() async throws {
        let url = try await list()
        func removal(_ values: String) -> String {
            #"{"type":"list_remove","value":{"/items":{"by":"id","values":[\#(values)]}}}"#
        }
        let (effect, hold) = (try Effect.json(removal("1")), Duration.seconds(3_600))
        let id = try await fixture.write(.url(url), effect, "POST", id: "remove", hold: hold)
        let change = #"{"target":{"id":"\#(url)"},"effect":\#(removal("1,2"))}"#
        let body = #"{"changes":[\#(change)],"request":{"method":"POST","url":"\#(url)"}}"#
        _ = try await fixture.engine.modifierActions.edit(
            id,
            to: ModifierCommand(editing: Array(body.utf8)),
            fixture.scope
        )
        let lane = "id:\(try EntryID.entity("Todo:1"))"
        let report = try await fixture.engine.modifiers.modifier(id, fixture.scope)
        #expect(report.lanes.contains(lane))
    }

    @Test("For the writes of a command that take entities out of a list, the list is read once")
    func listOfCommand() async throws {
        let url = try await list()
        let id = try EntryID(url)
        let removal = #"{"type":"list_remove","value":{"/items":{"by":"id","values":[1]}}}"#
        let (effect, key) = (try Effect.json(removal), fixture.scope)
        let placed = PlacedChanges(context: fixture.engine.context)
        let first = try await placed.documents([id], [effect], key, known: [:])
        let listed = try JSONValue(parsing: Array(Self.listed.utf8))
        #expect(first[id] == [.json(listed)])
        // The next one is of the same list, and a read of it would fail.
        fixture.faults.arm(1, of: StoreStep.readEntry, .forGood)
        let next = try await placed.documents([id], [effect], key, known: first)
        fixture.faults.disarm()
        #expect(next == first)
        #expect(try await placed.documents([id], [.delete], key, known: first).isEmpty)
    }

    @Test("An entity that a confirmed write takes out of a list keeps its ETag, and is not read")
    func removed() async throws {
        let url = try await list()
        let own = try fixture.url("/todos/1")
        try await fixture.cache(own, .json(Self.bread, headers: ["ETag": "\"v1\""]))
        fixture.upstream.answer(url, with: .reply(status: 204), .json(Self.items()))
        let removal = #"{"type":"list_remove","value":{"/items":[{"type":"Todo","id":1}]}}"#
        let id = try await fixture.write(.url(url), .json(removal), "POST", id: "remove")
        #expect(try await fixture.settled(id).state == .confirmed)
        try await until { try await fixture.engine.store.modifiers.wantedReads().isEmpty }
        fixture.upstream.answer(own, with: .reply(status: 304))
        try await fixture.fetch(own, .networkFirst)
        let asked = fixture.upstream.asked.all.filter { $0.url == own }
        #expect(asked.map { $0.headers["If-None-Match"] } == [nil, "\"v1\""])
    }

    @Test("A refused create leaves the list, which has what was typed (case 28)")
    func refused() async throws {
        let url = try await list()
        fixture.upstream.answer(url, with: .reply(status: 422))
        let id = try await add(to: url, hold: false)
        #expect(try await fixture.settled(id).state == .failed)
        let shown = try await fixture.cached(url).lastShown
        #expect(shown?.text == Self.listed)
        #expect(shown?.rows == nil)
        #expect(shown?.failedRows?.map(\.id) == [try EntryID.entity("Todo:9").description])
        #expect(shown?.failedRows?.first?.modifier == "create")
        #expect(shown?.failedRows?.first?.value.text == Self.added)
    }

    @Test("A list of no objects from the network has what was typed, too (case 28)")
    func refusedInEmptyList() async throws {
        let url = try fixture.url("/todos")
        try await fixture.cache(url, .json(Self.items()))
        // The daemon also reads the list again by itself.
        fixture.upstream.answerOthers { _ in .json(Self.items()) }
        fixture.upstream.answer(url, with: .reply(status: 422))
        let id = try await add(to: url, hold: false)
        #expect(try await fixture.settled(id).state == .failed)
        let shown = try await fixture.fetch(url, .networkOnly).lastShown
        #expect(shown?.source.rawValue == "network" && shown?.text == Self.items())
        #expect(shown?.failed == 1)
        #expect(shown?.failedRows?.map(\.modifier) == ["create"])
        #expect(shown?.failedRows?.first?.value.text == Self.added)
    }

    /// Puts one object more into a list than a snapshot names rows, in as few writes as may be.
    private func addMany(to url: WebURL, hold: Bool) async throws -> [ModifierID] {
        let keys = Array(1_000...(1_000 + Limits.markedRowsMax))
        let step = Limits.placedEntitiesMax
        var ids: [ModifierID] = []
        for start in stride(from: 0, to: keys.count, by: step) {
            let objects = keys[start..<min(start + step, keys.count)].map { key in
                #"{"type":"Todo","id":\#(key)}"#
            }
            let all = objects.joined(separator: ",")
            ids.append(try await add(all, to: url, id: "part-\(ids.count)", hold: hold))
        }
        return ids
    }

    @Test("A snapshot names a limited number of rows, and counts the writes on all of them")
    func manyRows() async throws {
        let url = try await list()
        let ids = try await addMany(to: url, hold: true).map(\.text)
        let last = try await fixture.cached(url).lastShown
        let shown = try #require(last)
        let rows = try #require(shown.rows)
        #expect(rows.count == Limits.markedRowsMax)
        #expect(rows.last?.pointer == "/items/\(Limits.markedRowsMax)")
        // Only the last row, which has no name any more, is of the last write.
        #expect(Set(rows.flatMap(\.pending)) == Set(ids.dropLast()))
        #expect(shown.pending == ids.count)
        #expect(shown.pendingIDs == ids)
    }

    @Test("A snapshot names a limited number of refused rows, and counts all refused writes")
    func manyFailedRows() async throws {
        let url = try await list()
        fixture.upstream.answerOthers { .reply(status: $0.method == "GET" ? 403 : 422) }
        let ids = try await addMany(to: url, hold: false)
        for id in ids { #expect(try await fixture.settled(id).state == .failed) }
        let last = try await fixture.cached(url).lastShown
        let shown = try #require(last)
        let rows = try #require(shown.failedRows)
        #expect(rows.count == Limits.markedRowsMax)
        #expect(Set(rows.map(\.modifier)) == Set(ids.dropLast().map(\.text)))
        #expect(shown.failed == ids.count)
    }

    @Test("A refused deletion brings the row back in its place, with its mark (case 28)")
    func refusedDeletion() async throws {
        let url = try await list()
        try await add(to: url)
        fixture.upstream.answer(
            try fixture.url("/todos/1"),
            with: ScriptedAnswer.reply(status: 403).held(by: gate)
        )
        let id = try await edit("Todo:1", #"{"type":"delete"}"#, id: "gone", hold: false)
        #expect(try await text(url) == Self.items(Self.added))
        gate.open()
        #expect(try await fixture.settled(id).state == .failed)
        let shown = try await fixture.cached(url).lastShown
        #expect(shown?.text == Self.items(Self.bread, Self.added))
        #expect(shown?.rows?.map(\.pointer) == ["/items/0", "/items/1"])
        #expect(shown?.rows?.first?.failed == ["gone"])
    }

    @Test("A known entity shows in another list with that list's members (case 28)")
    func knownElsewhere() async throws {
        let url = try await list()
        let other = try fixture.url("/archive")
        try await fixture.cache(
            other,
            .json(#"{"items":[{"type":"Todo","id":5,"title":"tea","secret":1}]}"#)
        )
        try await add(#"{"type":"Todo","id":5,"title":"tea"}"#, to: url)
        #expect(
            try await text(url) == Self.items(Self.bread, #"{"type":"Todo","id":5,"title":"tea"}"#)
        )
    }

    @Test("A confirmed create stays in the list, and its edits show on it (case 28)")
    func confirmed() async throws {
        let url = try await list()
        fixture.upstream.answer(url, with: .reply(status: 204), .unreachable)
        let id = try await add(to: url, hold: false)
        #expect(try await fixture.settled(id).state == .confirmed)
        #expect(try await text(url) == Self.items(Self.bread, Self.added))
        try await edit("Todo:9", #"{"type":"merge","value":{"title":"six eggs"}}"#, id: "edit")
        let edited = #"{"type":"Todo","id":9,"title":"six eggs"}"#
        #expect(try await text(url) == Self.items(Self.bread, edited))
    }

    @Test(
        "A confirmed edit of a created row stays in the list, also in one that was empty (case 28)",
        arguments: [#"{"items":[]}"#, listed]
    )
    func confirmedEdit(before: String) async throws {
        let url = try fixture.url("/todos")
        try await fixture.cache(url, .json(before))
        fixture.upstream.answerOthers { .reply(status: $0.method == "GET" ? 403 : 204) }
        fixture.upstream.answer(url, with: .reply(status: 204))
        let id = try await add(to: url, hold: false)
        let merge = Effect.merge(try JSONValue(parsing: Array(#"{"title":"six eggs"}"#.utf8)))
        let edit = try await fixture.write(.entity("Todo:9"), merge, id: "edit")
        #expect(try await fixture.settled(id).state == .confirmed)
        #expect(try await fixture.settled(edit).state == .confirmed)
        let edited = #"{"type":"Todo","id":9,"title":"six eggs"}"#
        let expected = before == Self.listed ? [Self.bread, edited] : [edited]
        let rows = #"{"items":[\#(expected.joined(separator: ","))]}"#
        #expect(try await text(url) == rows)
        try await fixture.engine.store.maintain()
        #expect(try await text(url) == rows)
    }

    @Test("A dead letter counts once in a list, however many of its targets are in it")
    func failedOnce() async throws {
        let url = try await list()
        fixture.upstream.answer(url, with: .reply(status: 422))
        let bread = #"{"type":"Todo","id":1,"title":"rye"}"#
        let id = try await add(bread, to: url, hold: false)
        #expect(try await fixture.settled(id).state == .failed)
        #expect(try await fixture.cached(url).lastShown?.failed == 1)
        try await add(bread, to: url, id: "again")
        #expect(try await fixture.cached(url).lastShown?.failed == 1)
    }

    @Test("A list that only confirmed writes have said is not complete (case 1)")
    func partOfList() async throws {
        let url = try await list(cached: false)
        fixture.upstream.answerOthers { .reply(status: $0.method == "GET" ? 403 : 204) }
        let id = try await add(to: url, hold: false)
        #expect(try await fixture.settled(id).state == .confirmed)
        let shown = try await fixture.cached(url).lastShown
        #expect(shown?.text == Self.items(Self.added))
        #expect(shown?.complete == false)
        #expect(shown?.source == .modifier)
    }

    @Test("A confirmed create settles a write of its object that was answered 202 (cases 7, 28)")
    func beneathCreate() async throws {
        let url = try await list()
        fixture.upstream.answerOthers { .reply(status: $0.method == "GET" ? 403 : 204) }
        fixture.upstream.answer(try fixture.url("/todos/1"), with: .reply(status: 202))
        let merge = #"{"type":"merge","value":{"title":"rye"}}"#
        let edit = try await edit("Todo:1", merge, id: "edit", hold: false)
        let spelt = #"{"type":"Todo","id":1,"title":"spelt"}"#
        let id = try await add(spelt, to: url, hold: false)
        #expect(try await fixture.settled(id).state == .confirmed)
        let report = try await fixture.engine.modifiers.modifier(edit, fixture.scope)
        #expect(report.state == .confirmed)
        let row = #"{"type":"Todo","id":1,"title":"spelt","done":false}"#
        #expect(try await text(url) == Self.items(row))
    }

    @Test("A later addition counts on an object whose create was answered 202 (cases 7, 28)")
    func additionAfterCreate() async throws {
        let url = try await list()
        let own = try fixture.url("/todos/9")
        fixture.upstream.answerOthers { .reply(status: $0.method == "GET" ? 403 : 204) }
        fixture.upstream.answer(own, with: .reply(status: 404))
        try await fixture.fetch(own, .networkOnly)
        fixture.upstream.answer(url, with: .reply(status: 202))
        let create = try await add(#"{"type":"Todo","id":9,"n":8}"#, to: url, hold: false)
        try await until {
            try await fixture.engine.modifiers.modifier(create, fixture.scope).state == .accepted
        }
        let effect = #"{"type":"add","value":{"/n":1}}"#
        let edit = try await edit("Todo:9", effect, id: "edit", hold: false)
        #expect(try await fixture.settled(edit).state == .confirmed)
        let row = #"{"type":"Todo","id":9,"n":9}"#
        #expect(try await text(url) == Self.items(Self.bread, row))
    }

    @Test("A watcher of the list hears of an edit of an added object (case 28)")
    func told() async throws {
        let url = try await list()
        try await add(to: url)
        let entry = try EntryID(url)
        let watch = try await Watch(fixture) { command in
            command.ids = [entry]
            command.types = [.put]
        }
        try await edit("Todo:9", #"{"type":"merge","value":{"title":"six eggs"}}"#, id: "edit")
        #expect(try await watch.frames(upTo: 2).last?.name == "put \(url)")
        watch.hangUp()
    }

    @Test("A list that is not cached starts from the empty form, else it is a miss (case 1)")
    func emptyForm() async throws {
        let url = try await list(cached: false)
        try await add(to: url)
        let shown = try await fixture.cached(url).lastShown
        #expect(shown?.text == Self.items(Self.added))
        #expect(shown?.source == .modifier)
        #expect(shown?.complete == false)
        let other = try fixture.url("/other")
        try await add(#"{"type":"Todo","id":8,"title":"jam"}"#, to: other, id: "second")
        #expect(try await fixture.cached(other).lastShown == nil)
        let own = try await fixture.read(.example("Todo:8"))?.made?.text
        #expect(own == #"{"type":"Todo","id":8,"title":"jam"}"#)
    }

    @Test("Objects within each other say no more of their entities than a write may take")
    func nestedObjects() async throws {
        let url = try await list()
        let text = String(repeating: "x", count: 200_000)
        let nested = (0..<100).reduce("\"\(text)\"") { inner, id in
            #"{"type":"Todo","id":\#(id),"in":\#(inner)}"#
        }
        let again = (0..<5_000).map { #"{"type":"Todo","id":1,"m\#($0)":\#($0)}"# }
        for objects in [nested, again.joined(separator: ",")] {
            let json = #"{"type":"list_add","value":{"/items":[\#(objects)]}}"#
            let effect = try Effect.json(json)
            let change = NewChange(id: try EntryID(url), effect: effect.bytes)
            let changes = PlacedChanges(context: fixture.engine.context)
                .adding(to: [change], [effect], [:], fixture.scope)
            #expect(changes.count > 1)
            let placed = changes.dropFirst().reduce(0) { $0 + $1.effect.count }
            #expect(placed > 1_000 && placed <= Limits.placedBytesMax)
        }
    }

    @Test("A write that says too much of its objects is in the lanes of those that it takes out")
    func removedBesideLarge() async throws {
        let text = String(repeating: "x", count: 200_000)
        let nested = (0..<100).reduce("\"\(text)\"") { inner, id in
            #"{"type":"Todo","id":\#(id),"in":\#(inner)}"#
        }
        let effects = [
            try Effect.json(#"{"type":"list_add","value":{"/items":[\#(nested)]}}"#),
            try Effect.json(
                #"{"type":"list_remove","value":{"/items":[{"type":"Todo","id":777}]}}"#
            ),
        ]
        let changes = try zip(["/todos", "/done"], effects).map { path, effect in
            NewChange(id: try EntryID(fixture.url(path)), effect: effect.bytes)
        }
        let all = PlacedChanges(context: fixture.engine.context)
            .adding(to: changes, effects, [:], fixture.scope)
        let removed = try EntryID.entity("Todo:777")
        #expect(all.contains { $0.id == removed && $0.isImplied })
    }

    @Test("A follower gets a snapshot for a write that changes a marker only")
    func markers() async throws {
        let url = try await list()
        let follower = fixture.start(url, .cacheOnly) { $0.follows = true }
        _ = try await follower.frames.element(0)
        let same = #"{"type":"merge","value":{"title":"bread"}}"#
        try await edit("Todo:1", same, id: "same")
        let shown = try await follower.frames.element(1).shown
        #expect(shown?.text == Self.listed)
        #expect(shown?.rows?.map(\.pending) == [["same"]])
        try await fixture.cancel("same")
        let after = try await follower.frames.element(2).shown
        #expect(after?.rows == nil)
        #expect(after?.pending == 0)
        follower.hangUp()
    }
}

extension Trait where Self == RunningEngine {
    fileprivate static var todoEngine: Self {
        .engine { setup in
            setup.origin.normalize = NormalizeRules(
                byType: .standard,
                types: [TypeRule(type: "Todo", url: "/todos/{id}")]
            )
            setup.origin.modifiers.empty = [EmptyForm(path: "/todos", form: #"{"items":[]}"#)]
        }
    }
}
