import LarderJSON
import LarderModel
import LarderStore
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

@Suite("If-Match of writes to entities", .timeLimit(.minutes(5)), .userEngine)
struct EntityConflictTests {
    private let fixture = EngineFixture.running
    private let own: WebURL
    private let list: WebURL

    init() throws {
        own = try fixture.url("/users/7")
        list = try fixture.url("/users")
    }

    private static func user(_ name: String) -> String {
        #"{"type":"User","id":7,"name":"\#(name)"}"#
    }

    private func cacheOwn() async throws {
        try await fixture.cache(own, .json(Self.user("Ann"), etag: "\"1\""))
    }

    private func cacheList(_ name: String) async throws {
        try await fixture.cache(list, .json("[\(Self.user(name))]"))
    }

    /// Writes another member than the name, and waits for the end.
    private func write(
        _ effect: String = #"{"type":"merge","value":{"age":9}}"#,
        _ rule: ModifierRules.MatchRule = .auto,
        id: String = "w"
    ) async throws -> ModifierReport {
        let id = try await fixture.write(.entity("User:7"), .json(effect), id: id) {
            $0.ifMatch = rule
        }
        return try await fixture.settled(id, wait: .seconds(3_600))
    }

    private func answerWrites() {
        fixture.upstream.answerOthers { request in
            request.method == "GET" ? .reply(status: 500) : .reply(status: 204)
        }
    }

    private var matches: [String?] {
        fixture.upstream.asked.all.filter { $0.method != "GET" }.map { $0.headers["If-Match"] }
    }

    @Test("A write to an entity carries the ETag that the entity's own URL gave (case 19)")
    func ownURL() async throws {
        try await cacheOwn()
        try await cacheList("Ann")
        answerWrites()
        #expect(try await write().state == .confirmed)
        #expect(matches == ["\"1\""])
    }

    @Test("A write carries no If-Match once another answer has changed the entity (case 19)")
    func changedElsewhere() async throws {
        try await cacheOwn()
        try await cacheList("Bea")
        answerWrites()
        #expect(try await write().state == .confirmed)
        #expect(matches == [nil])
    }

    @Test("`strict` asks the entity's own URL first, and sends the ETag of that answer (case 19)")
    func strict() async throws {
        try await cacheList("Ann")
        let asked = fixture.upstream.asked.all.count
        fixture.upstream.answer(
            own,
            with: .json(Self.user("Ann"), etag: "\"5\""),
            .reply(status: 204)
        )
        let merge = #"{"type":"merge","value":{"age":9}}"#
        #expect(try await write(merge, .strict).state == .confirmed)
        let requests = fixture.upstream.asked.all.dropFirst(asked)
        #expect(requests.prefix(2).map(\.method) == ["GET", "PATCH"])
        #expect(matches == ["\"5\""])
    }

    @Test("After an own write without an ETag in its answer, the old one is not sent (case 19)")
    func ownWrite() async throws {
        try await cacheOwn()
        answerWrites()
        // The entity stays as it was, so that only the ETag of the server is another one.
        let same = #"{"type":"merge","value":{"name":"Ann"}}"#
        #expect(try await write(same, id: "a").state == .confirmed)
        #expect(try await write(id: "b").state == .confirmed)
        #expect(matches == ["\"1\"", nil])
        // A read brings the next; the reads after the writes get the same.
        fixture.upstream.answerOthers { request in
            request.method == "GET"
                ? .json(Self.user("Ann"), etag: "\"3\"") : .reply(status: 204)
        }
        // The first one may join a read that started before the last write was confirmed.
        for _ in 0..<2 { try await fixture.fetch(own, .networkOnly) }
        #expect(try await write(id: "c").state == .confirmed)
        #expect(matches.last == "\"3\"")
    }

    // MARK: Known from a list only

    /// Renames the user in a lane that can be paused.
    private func rename(_ fixture: EngineFixture) async throws -> ModifierID {
        let effect = try Effect.json(#"{"type":"merge","value":{"name":"Eve"}}"#)
        return try await fixture.write(.entity("User:7"), effect, id: "w") {
            $0.lane = try LaneName("phone")
        }
    }

    private func setPaused(_ isPaused: Bool, _ fixture: EngineFixture) async throws {
        let lane = Lane.name(try LaneName("phone"))
        try await fixture.engine.modifiers.setLane(lane, fixture.scope, isPaused: isPaused)
    }

    private func readList(_ name: String, _ fixture: EngineFixture) async throws {
        fixture.upstream.answer(list, with: .json("[\(Self.user(name))]"))
        try await fixture.fetch(list, .networkOnly)
    }

    /// Lets time pass until the write has met the other device's name, and was not sent over it.
    private func meetsConflict(_ id: ModifierID, sent: Int, _ fixture: EngineFixture) async throws {
        var report = try await fixture.engine.modifiers.modifier(id, fixture.scope)
        while report.state != .conflict {
            try Task.checkCancellation()
            fixture.clock.advance(by: .milliseconds(100))
            for _ in 0..<50 { await Task.yield() }
            report = try await fixture.engine.modifiers.modifier(id, fixture.scope)
        }
        #expect(report.conflict?.first?.base?.bytes == Array(#"{"/name":"Ann"}"#.utf8))
        #expect(report.conflict?.first?.theirs?.bytes == Array(#"{"/name":"Bea"}"#.utf8))
        #expect(fixture.upstream.asked.all.count { $0.method != "GET" } == sent)
    }

    @Test("Without an ETag, an edit that a read of the list brought is not overwritten (case 19)")
    func readBefore() async throws {
        try await readList("Ann", fixture)
        try await setPaused(true, fixture)
        let id = try await rename(fixture)
        try await readList("Bea", fixture)
        try await setPaused(false, fixture)
        try await meetsConflict(id, sent: 0, fixture)
    }

    @Test("Nor is an edit that came between two attempts of the write (cases 10 and 19)")
    func readBetween() async throws {
        try await readList("Ann", fixture)
        fixture.upstream.answer(own, with: .reply("busy", status: 429))
        let id = try await rename(fixture)
        try await until {
            try await fixture.engine.modifiers.modifier(id, fixture.scope).state == .retryWait
        }
        try await readList("Bea", fixture)
        try await meetsConflict(id, sent: 1, fixture)
    }

    @Test("Nor is an edit that a read brought after a restart (case 19)")
    func readAfterRestart() async throws {
        var left: TemporaryStore?
        let setup = try EngineSetup.with { $0.origin.normalize = userRules }
        try await EngineFixture.run(setup) { fixture in
            try await readList("Ann", fixture)
            try await setPaused(true, fixture)
            _ = try await rename(fixture)
            left = fixture.temporary
        }
        try left?.open()
        try await EngineFixture.run(setup, on: left) { fixture in
            try await readList("Bea", fixture)
            try await setPaused(false, fixture)
            try await meetsConflict(try ModifierID("w"), sent: 0, fixture)
        }
    }
}
