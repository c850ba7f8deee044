import LarderJSON
import LarderModel
import LarderStore
import LarderStrategy
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

@Suite("Reads that confirm or refuse a write", .timeLimit(.minutes(5)), .engine)
struct ModifierReadTests {
    private let fixture = EngineFixture.running
    private let url = EngineFixture.firstURL

    private static let wait = Duration.seconds(3_600)

    /// A write of `/a` by a request to `/w`, so that reads and writes are scripted apart.
    ///
    /// All of them are in one lane.
    private func accept(
        _ name: String,
        _ effect: String,
        target: String = "/a",
        hold: Duration? = nil
    ) async throws -> ModifierID {
        let (url, effect) = (try fixture.url("/w"), try Effect.json(effect))
        let target = try EntryID(fixture.url(target))
        return try await fixture.write(target, effect, "PUT", to: url, id: name, hold: hold) {
            $0.lane = try LaneName("one")
        }
    }

    /// Returns once all that was accepted so far is answered: another one is sent after it.
    private func answered() async throws {
        fixture.upstream.answer(try fixture.url("/w"), with: .reply(status: 204))
        fixture.upstream.answer(try fixture.url("/other"), with: .json("{}"))
        let last = try await accept("last", #"{"type":"none"}"#, target: "/other")
        #expect(try await fixture.settled(last, wait: Self.wait).state == .confirmed)
    }

    private func reads() -> [UpstreamRequest] {
        fixture.upstream.asked.all.filter { $0.method == "GET" }
    }

    @Test("A read that shows the effect of a write answered 202 confirms that write only (case 7)")
    func accepted() async throws {
        let writes = try fixture.url("/w")
        fixture.upstream.answer(
            writes,
            with: .reply(status: 202),
            .reply(status: 202),
            .reply(status: 204)
        )
        try await fixture.cache(url, .json(#"{"liked":false,"n":1}"#))
        fixture.upstream.answer(
            url,
            with: .json(#"{"liked":true,"n":1}"#),
            .json(#"{"n":9,"liked":true}"#)
        )
        let liked = try await accept("m-1", #"{"type":"merge","value":{"liked":true}}"#)
        let nine = try await accept("m-2", #"{"type":"merge","value":{"n":9}}"#)
        // It is sent when the others are out of its lane, and its target is asked again then.
        let last = try await accept("m-3", #"{"type":"none"}"#)
        #expect(try await fixture.settled(last, wait: Self.wait).state == .confirmed)
        #expect(try await fixture.settled(liked, wait: Self.wait).state == .confirmed)
        #expect(try await fixture.engine.modifiers.modifier(nine, fixture.scope).state == .accepted)
        // With a header it is a request of its own, whatever is under way.
        try await fixture.fetch(url) { $0.headers.append("X-Own", "1") }
        #expect(try await fixture.settled(nine, wait: Self.wait).state == .confirmed)
        #expect(fixture.clock.monotonic() == .zero)
        // What was read is what it is: nobody asks again.
        #expect(reads().count == 3)
        let shown = try await fixture.cached(url).frames.first?.shown
        #expect(shown?.entry.content == .json(Array(#"{"n":9,"liked":true}"#.utf8)))
        #expect(shown?.pending == 0)
    }

    @Test("A 304 and a deletion confirm, as reads do (case 7)")
    func othersThanBodies() async throws {
        let writes = try fixture.url("/w")
        fixture.upstream.answer(writes, with: .reply(status: 202), .reply(status: 202))
        try await fixture.cache(url, .json(#"{"liked":true}"#, etag: "\"v1\""))
        fixture.upstream.answer(url, with: .notModified, .reply("no", status: 404))
        let liked = try await accept("m-1", #"{"type":"merge","value":{"liked":true}}"#)
        let away = try await accept("m-2", #"{"type":"delete"}"#)
        try await answered()
        try await fixture.fetch(url)
        #expect(try await fixture.settled(liked, wait: Self.wait).state == .confirmed)
        #expect(try await fixture.engine.modifiers.modifier(away, fixture.scope).state == .accepted)
        try await fixture.fetch(url)
        #expect(try await fixture.settled(away, wait: Self.wait).state == .confirmed)
    }

    @Test("A write that a later one undid is confirmed with the later one (case 7)")
    func undone() async throws {
        let writes = try fixture.url("/w")
        fixture.upstream.answer(writes, with: .reply(status: 202), .reply(status: 202))
        try await fixture.cache(url, .json(#"{"liked":false,"n":1}"#))
        fixture.upstream.answer(url, with: .json(#"{"liked":false,"n":2}"#))
        let like = try await accept("m-1", #"{"type":"merge","value":{"liked":true}}"#)
        let unlike = try await accept("m-2", #"{"type":"merge","value":{"liked":false}}"#)
        try await answered()
        try await fixture.fetch(url)
        #expect(try await fixture.settled(like, wait: Self.wait).state == .confirmed)
        #expect(try await fixture.settled(unlike, wait: Self.wait).state == .confirmed)
        let shown = try await fixture.cached(url).frames.first?.shown
        #expect(shown?.entry.content == .json(Array(#"{"liked":false,"n":2}"#.utf8)))
    }

    @Test("A network answer counts the entry's failed writes, with none pending")
    func failed() async throws {
        fixture.upstream.answer(try fixture.url("/w"), with: .reply("no", status: 403))
        fixture.upstream.answer(url, with: .json("[1]"), .json("[2]"))
        let id = try await accept("m-1", #"{"type":"put","value":[3]}"#)
        #expect(try await fixture.settled(id, wait: Self.wait).state == .failed)
        let got = try await fixture.fetch(url) { $0.policy = .networkOnly }
        #expect(got.lastShown?.source == .network)
        #expect(got.lastShown?.failed == 1)
        #expect(got.lastShown?.pending == 0)
    }

    @Test(
        "After a 412 to a repeated attempt a GET shows whether the effect is there (case 22)",
        arguments: [
            (ScriptedAnswer.json(#"{"liked":true}"#), ModifierVerdict.confirmed(.none)),
            (.json(#"{"liked":false}"#), .conflict(.look)),
            (.reply("no", status: 404), .conflict(.look)),
            (.reply("no", status: 403), .unclear(.refusedRepeat)),
            (.reply("words"), .unclear(.refusedRepeat)),
            (.reply("who?", status: 401), .unclear(.lost)),
            (.reply("portal", status: 511), .unclear(.lost)),
            (.reply("later", status: 503), .unclear(.lost)),
            (.failure(.timedOut(.head)), .unclear(.lost)),
        ]
    )
    func precondition(answer: ScriptedAnswer, verdict: ModifierVerdict) async throws {
        try await fixture.cache(url, .json(#"{"liked":true}"#))
        let effect = #"{"type":"merge","value":{"liked":true}}"#
        let id = try await accept("m-1", effect, hold: Self.wait)
        let store = fixture.engine.store
        let number = try #require(try await store.modifiers.number(id, of: fixture.scope))
        let whole = try #require(try await store.modifiers.whole(number))
        fixture.upstream.answer(url, with: answer)
        let check = EffectCheck(context: fixture.engine.context, group: [whole], bases: [:])
        #expect(await check.verdict() == verdict)
        #expect(reads().last?.purpose == .write)
    }

    @Test(
        "After a 412 to a repeat, nothing shows that what adds was not done (case 22)",
        arguments: [
            (#"{"type":"add","value":{"/n":1}}"#, ModifierVerdict.unclear(.refusedRepeat)),
            (#"{"type":"list_add","value":{"/l":[{"a":1}]}}"#, .unclear(.refusedRepeat)),
            (#"{"type":"list_add","value":{"/l":[1]}}"#, .conflict(.look)),
            (
                #"{"type":"list_add","value":{"/l":{"by":"a","values":[{"a":1}]}}}"#,
                .conflict(.look)
            ),
            (
                #"{"type":"list_add","value":{"/l":{"by":"a","values":[{"a":2}]}}}"#,
                .confirmed(.none)
            ),
        ]
    )
    func adding(effect: String, verdict: ModifierVerdict) async throws {
        try await fixture.cache(url, .json(#"{"n":1}"#))
        let id = try await accept("m-1", effect, hold: Self.wait)
        let store = fixture.engine.store
        let number = try #require(try await store.modifiers.number(id, of: fixture.scope))
        let whole = try #require(try await store.modifiers.whole(number))
        fixture.upstream.answer(url, with: .json(#"{"n":2,"l":[{"a":2}]}"#))
        let check = EffectCheck(context: fixture.engine.context, group: [whole], bases: [:])
        #expect(await check.verdict() == verdict)
    }

    @Test("A 412 to the first attempt begins another round, whatever is there (cases 19 and 22)")
    func firstPrecondition() async throws {
        let writes = try fixture.url("/w")
        try await fixture.cache(url, .json(#"{"liked":false}"#))
        fixture.upstream.answer(writes, with: .reply("no", status: 412), .reply(status: 204))
        fixture.upstream.answer(url, with: .json(#"{"liked":true}"#))
        let effect = #"{"type":"merge","value":{"liked":true}}"#
        let id = try await accept("m-1", effect)
        let report = try await fixture.settled(id, wait: Self.wait)
        #expect(report.state == .confirmed)
        #expect(report.request.idempotencyKey == "m-1.2")
        #expect(reads().allSatisfy { $0.purpose == .read })
    }

    // MARK: Answers that are not kept

    @Test("A view of an answer that is not kept has that answer below its modifiers (P-04)")
    func notClaimed() async throws {
        let noStore = ["Cache-Control": "no-store"]
        let like = #"{"type":"merge","value":{"liked":true}}"#
        _ = try await accept("m-1", like, hold: Self.wait)
        fixture.upstream.answer(
            url,
            with: .json(#"{"n":1}"#, headers: noStore),
            .json(#"{"n":2}"#),
            .json(#"{"n":3}"#, headers: noStore),
            .json(#"{"n":2}"#, headers: noStore)
        )
        let first = try await fixture.fetch(url)
        #expect(first.shape == ["modifier", "network", "end network"])
        #expect(first.lastShown?.entry.content == .json(Array(#"{"n":1,"liked":true}"#.utf8)))
        #expect(first.lastShown?.pendingIDs == ["m-1"])
        // Nothing is known of the target later.
        let later = try await fixture.cached(url).lastShown
        #expect(later?.entry.content == .json(Array(#"{"liked":true}"#.utf8)))
        #expect(later?.complete == false)
        _ = try await fixture.fetch(url)
        let third = try await fixture.fetch(url)
        #expect(third.lastShown?.source == .network)
        #expect(third.lastShown?.entry.content == .json(Array(#"{"n":3,"liked":true}"#.utf8)))
        #expect(third.lastShown?.pending == 1)
        let fourth = try await fixture.fetch(url)
        #expect(fourth.shape == ["cache", "unchanged 200", "end unchanged"])
        #expect(fourth.lastShown?.entry.content == .json(Array(#"{"n":2,"liked":true}"#.utf8)))
    }

    @Test("A view that only modifiers make is as old as the last of them")
    func age() async throws {
        let put = #"{"type":"put","value":{"n":1}}"#
        let like = #"{"type":"merge","value":{"liked":true}}"#
        fixture.clock.advance(by: .seconds(60))
        _ = try await accept("m-1", put, hold: Self.wait)
        fixture.clock.advance(by: .seconds(60))
        _ = try await accept("m-2", like, hold: Self.wait)
        fixture.clock.advance(by: .seconds(60))
        let shown = try await fixture.cached(try fixture.url("/a")).lastShown
        #expect(shown?.ageMs == 60_000)
        #expect(shown?.stale == true)
    }

    @Test("A client that deleted the target sees an answer that is not kept as deleted (P-04)")
    func notKeptAndDeleted() async throws {
        _ = try await accept("m-1", #"{"type":"delete"}"#, hold: Self.wait)
        fixture.upstream.answer(url, with: .json("{}", headers: ["Cache-Control": "no-store"]))
        let result = try await fixture.fetch(url)
        #expect(result.shape == ["deleted 410", "end deleted"])
    }
}
