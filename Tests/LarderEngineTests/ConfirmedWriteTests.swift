import LarderJSON
import LarderModel
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

@Suite("A confirmed write", .timeLimit(.minutes(5)), .engine)
struct ConfirmedWriteTests {
    private let fixture = EngineFixture.running

    @Test(
        "A target stays deleted after a confirmed DELETE, whatever body the answer has",
        .userEngine,
        arguments: [200, 404, 410]
    )
    func deleted(status: Int) async throws {
        let user = #"{"type":"User","id":7,"name":"Ann"}"#
        let (list, own) = (try fixture.url("/users"), try fixture.url("/users/7"))
        try await fixture.cache(list, .json("[\(user)]"))
        fixture.upstream.answer(own, with: .json(user, status: status), .unreachable)
        let id = try await fixture.write(.entity("User:7"), .delete)
        #expect(try await fixture.settled(id).state == .confirmed)
        #expect(try await fixture.cached(list).lastShown?.text == "[]")
    }

    @Test("A read that follows the sending of a write does not get its addition twice (case 6)")
    func added() async throws {
        let (url, writes) = (try fixture.url("/a"), try fixture.url("/w"))
        try await fixture.cache(url, .json(#"{"n":5}"#))
        let gate = Gate()
        fixture.upstream.answer(writes, with: ScriptedAnswer.reply(status: 204).held(by: gate))
        fixture.upstream.answer(url, with: .json(#"{"n":6}"#), .unreachable)
        let effect = try Effect.json(#"{"type":"add","value":{"/n":1}}"#)
        let id = try await fixture.write(.url(url), effect, "POST", to: writes)
        _ = try await fixture.upstream.asked.element(1)
        try await fixture.fetch(url) { $0.policy = .networkOnly }
        gate.open()
        #expect(try await fixture.settled(id).state == .confirmed)
        let shown = try await fixture.cached(url).lastShown
        #expect(shown?.text == #"{"n":6}"#)
    }

    @Test("A 304 to a request that preceded a confirmed write confirms nothing (P-06)")
    func overtakenConfirmation() async throws {
        let (url, writes) = (try fixture.url("/a"), try fixture.url("/w"))
        try await fixture.cache(url, .json(#"{"n":1}"#, etag: "\"1\""))
        let gate = Gate()
        fixture.upstream.answer(
            url,
            with: ScriptedAnswer.notModified.held(by: gate),
            .json(#"{"n":2}"#, etag: "\"2\"")
        )
        fixture.upstream.answer(writes, with: .reply(status: 204))
        let fetch = fixture.start(url, .networkFirst)
        _ = try await fixture.upstream.asked.element(1)
        // What it changes is there already: nothing is known of what the origin made of it.
        let effect = try Effect.json(#"{"type":"merge","value":{"n":1}}"#)
        let id = try await fixture.write(.url(url), effect, "POST", to: writes)
        #expect(try await fixture.settled(id).state == .confirmed)
        gate.open()
        _ = try await fetch.result()
        #expect(try await fixture.cached(url).lastShown?.text == #"{"n":2}"#)
    }
}
