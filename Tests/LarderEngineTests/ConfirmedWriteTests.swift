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

    @Test("A write that may be applied makes the URL of its request stale", arguments: [202, 502])
    func staleURL(status: Int) async throws {
        let (list, thing) = (try fixture.url("/list"), try fixture.url("/thing"))
        try await fixture.cache(list, .json("[]", headers: ["Cache-Control": "max-age=600"]))
        #expect(try await fixture.cached(list).lastShown?.stale == false)
        fixture.upstream.answer(list, with: .reply(status: status))
        let id = try await fixture.write(.url(thing), .put(.null), "POST", to: list)
        try await until {
            let report = try await fixture.engine.modifiers.modifier(id, fixture.scope)
            return report.state == (status == 202 ? .accepted : .unknown)
        }
        #expect(try await fixture.cached(list).lastShown?.stale == true)
    }

    @Test(
        "A create makes the cached answer of its Location stale (RFC 9111 4.4)",
        arguments: [201, 202]
    )
    func staleLocation(status: Int) async throws {
        let (list, place) = (try fixture.url("/list"), try fixture.url("/list/1"))
        try await fixture.cache(place, .json("[]", headers: ["Cache-Control": "max-age=600"]))
        #expect(try await fixture.cached(place).lastShown?.stale == false)
        let location = ["Location": "/list/1"]
        fixture.upstream.answer(list, with: .reply(status: status, headers: location))
        try await fixture.write(.url(fixture.url("/thing")), .put(.null), "POST", to: list)
        try await until { try await fixture.cached(place).lastShown?.stale == true }
    }

    @Test("A read of the Location of a create that left before the answer is stored")
    func readOfLocation() async throws {
        let (list, place) = (try fixture.url("/list"), try fixture.url("/list/1"))
        let gate = Gate()
        fixture.upstream.answer(place, with: ScriptedAnswer.json("[1]").held(by: gate))
        let location = ["Location": "/list/1"]
        fixture.upstream.answer(list, with: .reply(status: 201, headers: location))
        let fetch = fixture.start(place, .networkOnly)
        _ = try await fixture.upstream.asked.element(0)
        let thing = try fixture.url("/thing")
        let id = try await fixture.write(.url(thing), .put(.null), "POST", to: list)
        #expect(try await fixture.settled(id).state == .confirmed)
        gate.open()
        let result = try await fetch.result()
        #expect(result.lastShown?.text == "[1]")
        #expect(try await fixture.cached(place).lastShown?.text == "[1]")
    }

    @Test(
        "An empty 201, or one with a word, does not replace what the write has put (cases 5 and 6)",
        arguments: ["", "Created"]
    )
    func wordOfAnswer(body: String) async throws {
        let url = try fixture.url("/a")
        let answer = ScriptedAnswer.reply(body, status: 201, headers: ["Location": url.text])
        fixture.upstream.answer(url, with: answer, .unreachable)
        let effect = try Effect.json(#"{"type":"put","value":{"n":1}}"#)
        let id = try await fixture.write(.url(url), effect)
        #expect(try await fixture.settled(id).state == .confirmed)
        #expect(try await fixture.cached(url).lastShown?.text == #"{"n":1}"#)
    }

    @Test("The answer to a write with no-store does not become the row (cases 5 and 6)")
    func notStored() async throws {
        let (url, writes) = (try fixture.url("/a"), try fixture.url("/w"))
        try await fixture.cache(url, .json(#"{"n":5,"m":1}"#))
        let headers = ["Content-Location": url.text, "Cache-Control": "no-store"]
        fixture.upstream.answer(writes, with: .json(#"{"n":6,"own":1}"#, headers: headers))
        fixture.upstream.answer(url, with: .reply("no", status: 403))
        let effect = try Effect.json(#"{"type":"merge","value":{"n":6}}"#)
        let id = try await fixture.write(.url(url), effect, "POST", to: writes)
        let report = try await fixture.settled(id)
        #expect(report.state == .confirmed)
        #expect(report.answer?.status == 200)
        #expect(try await fixture.cached(url).lastShown?.text == #"{"n":6,"m":1}"#)
    }

    @Test("A repeat does not add what a read has brought already (case 6)", .honouring)
    func addedByRepeat() async throws {
        let (url, writes) = (try fixture.url("/a"), try fixture.url("/w"))
        try await fixture.cache(url, .json(#"{"n":5}"#))
        let gate = Gate()
        fixture.upstream.answer(
            writes,
            with: .reply(status: 502),
            ScriptedAnswer.reply(status: 204).held(by: gate)
        )
        fixture.upstream.answer(url, with: .json(#"{"n":6}"#), .unreachable)
        let id = try await fixture.write(.url(url), Self.add(1), "POST", to: writes)
        _ = try await fixture.upstream.asked.element(1)
        try await fixture.fetch(url) { $0.policy = .networkOnly }
        gate.open()
        while try await fixture.engine.modifiers.modifier(id, fixture.scope).state != .confirmed {
            try Task.checkCancellation()
            fixture.clock.advance(by: .seconds(1))
            await Task.yield()
        }
        #expect(try await fixture.cached(url).lastShown?.text == #"{"n":6}"#)
    }

    @Test("Additions without a read between them all count (case 6)", .honouring)
    func addedTogether() async throws {
        let (url, writes) = (try fixture.url("/a"), try fixture.url("/w"))
        try await fixture.cache(url, .json(#"{"n":5,"m":{"a":1,"b":2}}"#))
        let no = ScriptedAnswer.reply("no", status: 403)
        fixture.upstream.answer(url, with: no, no, no)
        fixture.upstream.answer(
            writes,
            with: .reply(status: 204),
            .reply(status: 202),
            .reply(status: 204)
        )
        var ids: [ModifierID] = []
        for number in 1...3 {
            ids.append(try await fixture.write(.url(url), Self.add(number), "POST", to: writes))
        }
        for id in ids { #expect(try await fixture.settled(id).state == .confirmed) }
        let shown = try await fixture.cached(url).lastShown
        #expect(shown?.text == #"{"n":11,"m":{"a":1,"b":2}}"#)
        #expect(shown?.pending == 0)
    }

    @Test("A write answered 202 goes beneath a later one of its target, and ends with it (case 7)")
    func beneath() async throws {
        let (url, writes) = (try fixture.url("/a"), try fixture.url("/w"))
        let other = try fixture.url("/b")
        for url in [url, other] {
            try await fixture.cache(url, .json(#"{"n":0,"m":0}"#))
            fixture.upstream.answer(url, with: .reply("no", status: 403))
        }
        fixture.upstream.answer(
            writes,
            with: .reply(status: 202),
            .reply(status: 202),
            .reply(status: 204)
        )
        let first = try Effect.json(#"{"type":"merge","value":{"n":1,"m":1}}"#)
        let second = try Effect.json(#"{"type":"merge","value":{"n":2}}"#)
        let third = try Effect.json(#"{"type":"merge","value":{"n":3}}"#)
        // The second takes the first along, with which it shares a target.
        let ids = [
            try await fixture.write(.url(other), first, "POST", to: writes),
            try await fixture.write(.url(url), first, "POST", to: writes) { command in
                command.changes.append(.init(target: try .url(other), effect: second))
            },
            try await fixture.write(.url(url), third, "POST", to: writes),
        ]
        for id in ids { #expect(try await fixture.settled(id).state == .confirmed) }
        #expect(try await fixture.cached(url).lastShown?.text == #"{"n":3,"m":1}"#)
        let shown = try await fixture.cached(other).lastShown
        #expect(shown?.text == #"{"n":2,"m":1}"#)
        #expect(shown?.pending == 0)
        #expect(fixture.clock.monotonic() == .zero, "no limit has ended them")
    }

    @Test("A write answered 202 that changes nothing ends with a later one of its target (case 7)")
    func beneathRequest() async throws {
        let (url, writes) = (try fixture.url("/a"), try fixture.url("/w"))
        try await fixture.cache(url, .json(#"{"n":0}"#))
        fixture.upstream.answer(url, with: .reply("no", status: 403))
        fixture.upstream.answer(writes, with: .reply(status: 202), .reply(status: 204))
        let merge = try Effect.json(#"{"type":"merge","value":{"n":1}}"#)
        let ids = [
            try await fixture.write(.url(url), Effect.none, "POST", to: writes),
            try await fixture.write(.url(url), merge, "POST", to: writes),
        ]
        for id in ids { #expect(try await fixture.settled(id).state == .confirmed) }
        #expect(try await fixture.cached(url).lastShown?.text == #"{"n":1}"#)
        #expect(fixture.clock.monotonic() == .zero, "no limit has ended it")
    }

    @Test("A body with the target is its base over a write answered 202 before (cases 5, 7)")
    func representedOverAccepted() async throws {
        let (url, writes) = (try fixture.url("/a"), try fixture.url("/w"))
        try await fixture.cache(url, .json(#"{"n":0,"m":0}"#))
        fixture.upstream.answer(url, with: .reply("no", status: 403))
        fixture.upstream.answer(
            writes,
            with: .reply(status: 202),
            .json(#"{"n":5,"m":7}"#, headers: ["Content-Location": url.text])
        )
        let merge = try Effect.json(#"{"type":"merge","value":{"n":1}}"#)
        let ids = [
            try await fixture.write(.url(url), merge, "POST", to: writes),
            try await fixture.write(.url(url), merge, "POST", to: writes),
        ]
        for id in ids { #expect(try await fixture.settled(id).state == .confirmed) }
        #expect(try await fixture.cached(url).lastShown?.text == #"{"n":5,"m":7}"#)
    }

    @Test("A 304 to a request that preceded a confirmed write confirms nothing (P-06)")
    func overtakenConfirmation() async throws {
        let (url, writes) = (try fixture.url("/a"), try fixture.url("/w"))
        try await fixture.cache(url, .json(#"{"n":1}"#, etag: "\"1\""))
        let gate = Gate()
        fixture.upstream.answer(
            url,
            with: ScriptedAnswer.notModified.held(by: gate),
            // The read after the write, and the one in place of the overtaken answer.
            .json(#"{"n":2}"#, etag: "\"2\""),
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

    private static func add(_ number: Int) throws -> Effect {
        try Effect.json(#"{"type":"add","value":{"/n":\#(number)}}"#)
    }
}

extension Trait where Self == RunningEngine {
    /// An engine whose origin does once what carries one key.
    fileprivate static var honouring: Self {
        .engine { $0.origin.modifiers.idempotency.isHonoured = true }
    }
}
