import LarderAPI
import LarderModel
import LarderNormalize
import LarderStore
import LarderTestSupport
import LarderWire
import Testing

@testable import LarderEngine

/// What only modifiers have made, in lists and to watchers: on a blob's id, on a URL, and on an entity
/// that has a URL of its own.
@Suite("Rows that only writes have made", .timeLimit(.minutes(5)), .userEngine)
struct MadeRowTests {
    private let fixture = EngineFixture.running

    private static let base = "https://api.example.com"
    private static let user = "\(base)/users/9"

    /// Rows as they lie, what writes make without one, and a write that makes nothing of its target.
    private func fill() async throws {
        try await fixture.putBlob("a", "[1,2,3,4,5,6]")
        try await fixture.hold("m1", #"{"id":"made"}"#, #"{"type":"put","value":[1]}"#)
        fixture.clock.advance(by: .seconds(1))
        try await fixture.cache(try fixture.url("/articles/1"), .json(#"{"n":1}"#))
        try await fixture.hold("m2", #"{"id":"\#(Self.user)"}"#, Self.named("Ada"))
        fixture.clock.advance(by: .seconds(1))
        try await fixture.hold(
            "m3",
            #"{"id":"entity:example/User:10"}"#,
            Self.named("Bea"),
            to: Self.user
        )
        try await fixture.hold("m4", #"{"id":"\#(Self.base)/plain"}"#, #"{"type":"put","value":2}"#)
        fixture.clock.advance(by: .seconds(1))
        try await fixture.putBlob("z", "[]")
        try await fixture.hold("m5", #"{"id":"nothing"}"#, #"{"type":"delete"}"#)
        try await fixture.hold("m6", #"{"id":"a"}"#, #"{"type":"delete"}"#)
    }

    private static func named(_ name: String) -> String {
        #"{"type":"merge","value":{"name":"\#(name)"}}"#
    }

    private static let shown: [String: AnswerSource] = [
        "a": .modifier, "made": .modifier, "z": .cache, "\(base)/articles/1": .cache,
        "\(base)/plain": .modifier, user: .modifier, "\(base)/users/10": .modifier,
    ]

    private func pages(
        _ sort: EntryOrder = .id,
        limit: Int = 100,
        _ scopes: RowScopes? = nil,
        _ adjust: (inout EntryListQuery) -> Void = { _ in }
    ) async throws -> [EntryItem] {
        var command = EntryListQuery()
        (command.sort, command.page.limit) = (sort, limit)
        adjust(&command)
        var items: [EntryItem] = []
        repeat {
            let page = try await fixture.engine.entries.list(command, scopes ?? .one(fixture.scope))
            #expect(page.items.count <= limit)
            items += page.items
            command.page.cursor = page.next
        } while command.page.cursor != nil
        return items
    }

    @Test("Lists have them in every order, each once, in pages", arguments: EntryOrder.known)
    func orders(sort: EntryOrder) async throws {
        try await fill()
        let order = try await pages(sort, limit: 100).map(\.id)
        for limit in [1, 2, 3, 100] {
            let items = try await pages(sort, limit: limit)
            #expect(items.map(\.id) == order)
            let sources = items.map { ($0.id, AnswerSource(rawValue: $0.source.rawValue)) }
            #expect(Dictionary(sources) { first, _ in first } == Self.shown)
            #expect(items.count == Self.shown.count, "\(limit)")
            for (item, next) in zip(items, items.dropFirst()) {
                let isOrdered =
                    switch sort {
                    case .id: item.id < next.id
                    case .size: item.accountedBytes >= next.accountedBytes
                    case .age: item.storedAt <= next.storedAt
                    // The clock of uses is the store's own.
                    default: true
                    }
                #expect(isOrdered, "\(item.id) before \(next.id)")
            }
        }
        let deleted = try await pages().first { $0.id == "a" }
        #expect(deleted?.kind == .tombstone && deleted?.status == 410)
    }

    @Test("A prefix and an origin narrow them, and administrators see whose they are")
    func filters() async throws {
        try await fill()
        let users = ["\(Self.base)/users/10", Self.user]
        for limit in [1, 100] {
            let found = try await pages(limit: limit) { $0.prefix = "\(Self.base)/u" }
            #expect(found.map(\.id) == users)
            let ofOrigin = try await pages(limit: limit) { command in
                command.origin = "example"
            }
            let rest = ["\(Self.base)/articles/1", "\(Self.base)/plain"]
            #expect(ofOrigin.map(\.id) == rest + users)
            #expect(ofOrigin.allSatisfy { $0.origin == "example" })
            for scopes in [RowScopes.all, .user(1_000)] {
                let all = try await pages(limit: limit, scopes)
                #expect(Set(all.map(\.id)) == Set(Self.shown.keys))
                #expect(all.count == Self.shown.count)
            }
            #expect(try await pages(limit: limit, .user(7)).isEmpty)
        }
    }

    @Test("Entities are listed by their keys, and explained")
    func entities() async throws {
        try await fill()
        var command = EntryListQuery()
        (command.prefix, command.page.limit) = ("entity:", 1)
        var items: [EntryItem] = []
        repeat {
            let page = try await fixture.engine.entries.list(command, .one(fixture.scope))
            items += page.items
            command.page.cursor = page.next
        } while command.page.cursor != nil
        #expect(items.map(\.id) == ["entity:example/User:10", "entity:example/User:9"])
        #expect(items.map(\.source) == [.modifier, .modifier])
        #expect(items.map(\.kind) == [.entity, .entity])
        let name = try EntityName.example("User:9")
        let explained = try await fixture.engine.entries.explain(EntryID(name), fixture.scope)
        #expect(explained?.item.source == .modifier)
        #expect(explained?.pending.pending == 1)
    }

    @Test("A report's views of an answer have its entities as they are shown now")
    func report() async throws {
        let feed = try fixture.url("/feed")
        let author = #"{"type":"User","id":9,"name":"Ann"}"#
        try await fixture.cache(feed, .json(#"{"by":\#(author)}"#))
        try await fixture.hold("m1", #"{"id":"\#(feed)"}"#, #"{"type":"merge","value":{"n":2}}"#)
        try await fixture.hold("m2", #"{"id":"entity:example/User:9"}"#, Self.named("Bea"))
        let report = try await fixture.engine.modifiers.modifier(ModifierID("m1"), fixture.scope)
        let shown = author.replacing("Ann", with: "Bea")
        #expect(report.targets.map(\.before?.text) == [#"{"by":\#(shown)}"#])
        #expect(report.targets.map(\.after?.text) == [#"{"by":\#(shown),"n":2}"#])
    }

    @Test("A dead letter on an entity that is deleted is told of the tombstone")
    func tombstone() async throws {
        try await fixture.cache(try WebURL(Self.user), .reply(status: 404))
        fixture.upstream.answer(try fixture.url("/w"), with: .reply(status: 403))
        try await fixture.hold(
            "m1",
            #"{"id":"entity:example/User:9"}"#,
            Self.named("Ada"),
            for: "0s"
        )
        let id = try ModifierID("m1")
        let wait = Duration.seconds(3_600)
        let report = try await fixture.engine.modifiers.modifier(id, fixture.scope, wait: wait)
        #expect(report.state == .failed)
        let name = try EntityName.example("User:9")
        let shown = try await fixture.read(name, fixture.scope)
        #expect(shown?.isDeleted == true && shown?.source == .cache)
        #expect(shown?.overlay.failed == 1)
    }

    // MARK: Watching

    enum Named: CaseIterable {
        case url
        case key
        case prefix
        case everything
    }

    private func watch(
        _ named: Named,
        _ adjust: (inout WatchOrder) -> Void = { _ in }
    ) async throws -> Watch {
        let (user, key) = (try EntryID(Self.user), try EntryID.entity("User:9"))
        return try await Watch(fixture) { command in
            command.types = [.put, .delete]
            switch named {
            case .url: command.ids = [user]
            case .key: command.ids = [key]
            case .prefix: command.prefixes = ["\(Self.base)/users/"]
            case .everything: break
            }
            adjust(&command)
        }
    }

    private func told(_ event: String, _ named: Named) throws -> [String] {
        let key =
            "\(event) \(EntryID(EntityName(try EntityKey("User:9"), of: try OriginName("example"))))"
        let url = "\(event) \(Self.user)"
        return switch named {
        case .url, .prefix: [url]
        case .key: [key]
        case .everything: [key, url]
        }
    }

    @Test("A live watch reports these rows and their removal", arguments: Named.allCases)
    func live(named: Named) async throws {
        let watch = try await watch(named)
        let (puts, deletes) = (try told("put", named), try told("delete", named))
        try await fixture.hold("m1", #"{"id":"\#(Self.user)"}"#, Self.named("Ada"))
        _ = try await watch.frames(upTo: 1 + puts.count)
        try await fixture.cancel("m1")
        let frames = try await watch.frames(upTo: 1 + puts.count + deletes.count)
        #expect(frames.map(\.name) == ["bookmark"] + puts + deletes)
        guard case .put(let put) = frames[1] else { return }
        #expect(put.source == "modifier" && put.cause == "modifier:m1")
    }

    @Test(
        "A watch that comes back is told of these rows and their removal",
        arguments: Named.allCases
    )
    func since(named: Named) async throws {
        let first = try await fixture.putBlob("a", "1")
        try await fixture.hold("m1", #"{"id":"\#(Self.user)"}"#, Self.named("Ada"))
        try await fixture.cancel("m1")
        let watch = try await watch(named) { $0.since = first }
        let expected = try told("put", named) + told("delete", named) + ["bookmark"]
        let frames = try await watch.frames(upTo: expected.count)
        #expect(frames.map(\.name) == expected)
    }

    @Test("A watch tells them among what there is at first", arguments: Named.allCases)
    func initial(named: Named) async throws {
        try await fixture.hold("m1", #"{"id":"\#(Self.user)"}"#, Self.named("Ada"))
        let watch = try await watch(named) { $0.listsFirst = true }
        let expected = try told("put", named) + ["bookmark"]
        let frames = try await watch.frames(upTo: expected.count)
        #expect(frames.map(\.name) == expected)
        for case .put(let event) in frames { #expect(event.source == "modifier") }
    }

    @Test("An answer under the URL shows for itself from then on, and is told once")
    func answered() async throws {
        try await fixture.hold("m1", #"{"id":"\#(Self.user)"}"#, Self.named("Ada"))
        try await fixture.cache(
            try WebURL(Self.user),
            .json(#"{"type":"User","id":9,"name":"Cy","n":1}"#)
        )
        let items = try await pages()
        #expect(items.map(\.id) == [Self.user])
        let watch = try await watch(.url)
        var revisions: [Revision] = []
        for (count, name) in ["Di", "Eve"].enumerated() {
            let target = #"{"id":"\#(Self.user)"}"#
            try await fixture.hold("m\(count + 2)", target, Self.named(name))
            guard case .put(let put)? = try await watch.frames(upTo: count + 2).last else {
                Issue.record("no put of \(name)")
                return
            }
            revisions.append(put.revision)
        }
        #expect(Set(revisions).count == 2, "one put a step")
    }
}

extension EngineFixture {
    /// Accepts a modifier that is not sent for a while.
    fileprivate func hold(
        _ id: String,
        _ target: String,
        _ effect: String,
        to url: String = "https://api.example.com/w",
        for time: String = "1h"
    ) async throws {
        let json = """
            {"id":"\(id)","hold":"\(time)","request":{"method":"PUT","url":"\(url)"},\
            "changes":[{"target":\(target),"effect":\(effect)}]}
            """
        _ = try await engine.modifiers.accept(ModifiersCommand(json: Array(json.utf8)), scope)
    }
}

extension ViewReport {
    fileprivate var text: String? { body?.text }
}
