import LarderAPI
import LarderJSON
import LarderModel
import LarderStore
import LarderTestSupport
import LarderWire
import Testing

@testable import LarderEngine

@Suite("Explanations of unsettled writes", .timeLimit(.minutes(5)), .engine)
struct ExplanationTests {
    private let fixture = EngineFixture.running

    private static let hold = Duration.seconds(3_600)

    private func accept(
        _ name: String,
        _ path: String,
        _ effect: String,
        body: String? = nil
    ) async throws {
        let (url, effect) = (try fixture.url(path), try Effect.json(effect))
        try await fixture.write(.url(url), effect, "POST", id: name, hold: Self.hold) { command in
            if let body { command.request.body = .bytes(Array(body.utf8)) }
        }
    }

    private func explain(_ path: String) async throws -> EntryExplanation? {
        try await fixture.engine.entries.explain(try EntryID(try fixture.url(path)), fixture.scope)
    }

    private func json(_ text: String, isComplete: Bool = true) -> ViewReport {
        .json(Array(text.utf8), isComplete: isComplete)
    }

    @Test("An explanation has base, the view after each write, and the view without each (P-04)")
    func steps() async throws {
        try await fixture.cache(fixture.url("/a"), .json(#"{"n":1,"m":1}"#))
        #expect(try await explain("/a")?.pending.base == nil)
        try await accept("m-1", "/a", #"{"type":"merge","value":{"n":2}}"#)
        try await accept(
            "m-2",
            "/a",
            #"{"type":"patch","value":[{"op":"test","path":"/n","value":1}]}"#
        )
        try await accept("m-3", "/a", #"{"type":"add","value":{"/n":5}}"#)
        let explanation = try #require(try await explain("/a"))
        #expect(explanation.protectedBy == ["targeted"])
        #expect(explanation.item.bodyBytes == 13)
        let pending = explanation.pending
        #expect(pending.pending == 3)
        #expect(pending.base == json(#"{"n":1,"m":1}"#))
        #expect(pending.view == json(#"{"n":7,"m":1}"#))
        #expect(!pending.truncated)
        let steps = pending.modifiers
        #expect(steps.map(\.id) == ["m-1", "m-2", "m-3"])
        #expect(steps.map(\.effect) == ["merge", "patch", "add"])
        #expect(steps.map(\.state) == [.held, .held, .held])
        #expect(
            steps.map(\.after) == [
                json(#"{"n":2,"m":1}"#), json(#"{"n":2,"m":1}"#), json(#"{"n":7,"m":1}"#),
            ]
        )
        #expect(
            steps.map(\.without) == [
                json(#"{"n":6,"m":1}"#), json(#"{"n":7,"m":1}"#), json(#"{"n":2,"m":1}"#),
            ]
        )
        #expect(steps[0].inapplicable == nil)
        #expect(steps[1].inapplicable?.contains("'/n'") == true)
        #expect(steps[2].inapplicable == nil)
    }

    @Test("A view without a base is explained, and is a miss if nothing shows (case 1)")
    func unknownBase() async throws {
        try await accept("m-1", "/a", #"{"type":"merge","value":{"n":2}}"#)
        let pending = try #require(try await explain("/a")?.pending)
        #expect(pending.base == .unknown)
        #expect(pending.view == json(#"{"n":2}"#, isComplete: false))
        #expect(pending.modifiers.map(\.without) == [.unknown])
        try await accept("m-2", "/b", #"{"type":"add","value":{"/n":1}}"#)
        #expect(try await explain("/b") == nil)
    }

    @Test("A deletion, and a body that is no JSON, are told as what they are")
    func otherViews() async throws {
        try await fixture.cache(fixture.url("/a"), .json("[1]"))
        try await accept("m-1", "/a", #"{"type":"replace"}"#, body: "words")
        try await accept("m-2", "/a", #"{"type":"delete"}"#)
        let pending = try #require(try await explain("/a")?.pending)
        #expect(pending.base == json("[1]"))
        #expect(pending.view == .deleted)
        #expect(pending.modifiers.map(\.after) == [.bytes(5), .deleted])
        #expect(pending.modifiers.map(\.without) == [.deleted, .bytes(5)])
    }

    @Test("Of many, the first hundred are told; of large views, what fits")
    func bounds() async throws {
        for number in 1...101 {
            try await accept("m-\(number)", "/a", #"{"type":"put","value":1}"#)
        }
        let many = try #require(try await explain("/a")?.pending)
        #expect(many.pending == 101)
        #expect(many.modifiers.count == 100)
        #expect(many.truncated)
        #expect(many.modifiers.allSatisfy { $0.after == json("1") && $0.without == nil })
        let text = "\"" + String(repeating: "x", count: 900_000) + "\""
        for number in 1...5 {
            let effect = "{\"type\":\"put\",\"value\":\(text)}"
            try await accept("l-\(number)", "/l", effect)
        }
        let large = try #require(try await explain("/l")?.pending)
        #expect(large.modifiers.count == 5)
        #expect(large.truncated)
        #expect(large.modifiers.first?.after == json(text))
        #expect(large.modifiers.last?.after == nil)
        let told = large.modifiers.flatMap { [$0.after, $0.without] }.compactMap(\.self)
        #expect(told.count < 6)
    }

    @Test("Views without each write are limited to the work of one view")
    func work() async throws {
        try await fixture.cache(fixture.url("/a"), .json(#"{"n":1}"#))
        // Each takes a 24th of a view's steps, and leaves nothing behind.
        let text = String(repeating: "x", count: 500_000)
        let moves = (0..<11).map { _ in
            #"{"op":"move","from":"/t","path":"/u"},{"op":"move","from":"/u","path":"/t"}"#
        }
        let patch =
            #"{"type":"patch","value":[{"op":"add","path":"/t","value":"\#(text)"},"#
            + moves.joined(separator: ",") + #",{"op":"remove","path":"/t"}]}"#
        for number in 1...12 { try await accept("m-\(number)", "/a", patch) }
        let pending = try #require(try await explain("/a")?.pending)
        #expect(pending.modifiers.map(\.after) == Array(repeating: json(#"{"n":1}"#), count: 12))
        #expect(
            pending.modifiers.map { $0.without != nil } == [true]
                + .init(repeating: false, count: 11)
        )
        #expect(pending.truncated)
    }

    @Test("For a client that has gone nothing more is worked out")
    func clientGone() async throws {
        let id = try EntryID(try fixture.url("/a"))
        try await fixture.cache(fixture.url("/a"), .json(#"{"n":1}"#))
        try await accept("m-1", "/a", #"{"type":"merge","value":{"n":2}}"#)
        let cancellation = ClientCancellation()
        cancellation.giveUp()
        let scope = fixture.scope
        #expect(
            try await fixture.engine.entries.explain(id, scope, cancellation: cancellation) == nil
        )
        // One that goes while its explanation is being worked out.
        let pending = try await fixture.engine.store.read { reader throws(StoreError) in
            try reader.targets.target(scope, id).map { target throws(StoreError) in
                try PendingExplanation(of: target, on: target.base, id, nil, reader, cancellation)
            }
        }
        #expect(pending?.modifiers == [])
        #expect(pending?.truncated == true)
    }

    @Test("An effect that does not fit is marked wherever its modifier is told, while it does not")
    func marks() async throws {
        let url = try fixture.url("/a")
        try await fixture.cache(url, .json(#"{"n":1}"#))
        let patch = #"{"type":"patch","value":[{"op":"test","path":"/n","value":2}]}"#
        try await accept("m-1", "/a", patch)
        try await accept("m-2", "/a", #"{"type":"merge","value":{"m":2}}"#)
        func marked() async throws -> [[String]] {
            var alone: [String] = []
            for name in ["m-1", "m-2"] {
                let id = try ModifierID(name)
                let report = try await fixture.engine.modifiers.modifier(id, fixture.scope)
                if report.marks.contains(.inapplicable) { alone.append(name) }
            }
            let page = try await fixture.engine.modifiers.list(
                ModifierListCommand(),
                .one(fixture.scope)
            )
            let listed = page.items.filter { $0.marks.contains(.inapplicable) }
            return [alone, listed.map(\.id)]
        }
        #expect(try await marked() == [["m-1"], ["m-1"]])
        fixture.upstream.answer(url, with: .json(#"{"n":2}"#))
        try await fixture.fetch(url)
        #expect(try await marked() == [[], []])
        fixture.upstream.answer(url, with: .json("[]"))
        try await fixture.fetch(url)
        #expect(try await marked() == [["m-1"], ["m-1"]])
    }
}
