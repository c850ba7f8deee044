import LarderJSON
import LarderModel
import LarderStore
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

@Suite("Conflicts with other devices", .timeLimit(.minutes(5)), .engine)
struct ConflictTests {
    private let fixture = EngineFixture.running
    private let url = EngineFixture.firstURL

    private static let wait = Duration.seconds(3_600)
    private static let titled = #"{"type":"merge","value":{"title":"mine"}}"#

    private func json(_ title: String, _ done: Bool = false, etag: String) -> ScriptedAnswer {
        .json(#"{"title":"\#(title)","done":\#(done)}"#, etag: "\"\(etag)\"")
    }

    /// A merge patch of the target that waits until ``release()``.
    private func writeLater(
        _ effect: String = ConflictTests.titled,
        id: String = "w",
        _ adjust: (inout ModifierCommand) throws -> Void = { _ in }
    ) async throws -> ModifierID {
        let lane = Lane.name(try LaneName("phone"))
        try await fixture.engine.modifiers.setLane(lane, fixture.scope, isPaused: true)
        return try await fixture.write(.url(url), .json(effect), id: id) {
            $0.lane = try LaneName("phone")
            try adjust(&$0)
        }
    }

    private func release() async throws {
        let lane = Lane.name(try LaneName("phone"))
        try await fixture.engine.modifiers.setLane(lane, fixture.scope, isPaused: false)
    }

    private func read(_ answer: ScriptedAnswer) async throws {
        fixture.upstream.answer(url, with: answer)
        try await fixture.fetch(url) { $0.policy = .networkOnly }
    }

    private var writes: [UpstreamRequest] {
        fixture.upstream.asked.all.filter { $0.method != "GET" }
    }

    private var keys: [String?] { writes.map { $0.headers["Idempotency-Key"] } }
    private var matches: [String?] { writes.map { $0.headers["If-Match"] } }

    /// The frame with which the write gets into a conflict.
    private func conflict(_ watch: Watch, frames: Int = 3) async throws -> ModifierFrame {
        let last = try await watch.frames(upTo: frames).last
        guard case .modifier(let frame)? = last else { throw CancellationError() }
        #expect(frame.state == .conflict)
        return frame
    }

    @Test("An edit that a read brought is not overwritten: a person decides (case 19)")
    func readBefore() async throws {
        try await fixture.cache(url, json("old", etag: "1"))
        let watch = try await Watch(fixture) { $0.types = [.modifier] }
        let id = try await writeLater()
        try await read(json("theirs", etag: "2"))
        try await release()
        let frame = try await conflict(watch)
        let told = try #require(frame.conflict?.first)
        #expect(told.base?.bytes == Array(#"{"/title":"old"}"#.utf8))
        #expect(told.mine?.bytes == Array(#"{"/title":"mine"}"#.utf8))
        #expect(told.theirs?.bytes == Array(#"{"/title":"theirs"}"#.utf8))
        #expect(writes.isEmpty, "the rule applies without sending")
        let report = try await fixture.engine.modifiers.modifier(id, fixture.scope)
        #expect(report.conflict == frame.conflict)
        #expect(report.waitingFor?.reason == "decision")
        #expect(fixture.engine.store.modifiers.totals.waitingForPerson[1_000] == [.conflict: 1])

        fixture.upstream.answer(url, with: .reply(status: 204))
        _ = try await fixture.engine.modifiers.retry(id, fixture.scope)
        #expect(try await fixture.settled(id, wait: Self.wait).state == .confirmed)
        #expect(matches == ["\"2\""], "mine goes over theirs, and over nothing newer")
        #expect(keys == ["w.2"])
    }

    @Test("To cancel a conflict takes theirs (cases 18 and 19)")
    func cancelled() async throws {
        try await fixture.cache(url, json("old", etag: "1"))
        let watch = try await Watch(fixture) { $0.types = [.modifier] }
        _ = try await writeLater()
        try await read(json("theirs", etag: "2"))
        try await release()
        _ = try await conflict(watch)
        try await fixture.cancel("w")
        let shown = try await fixture.cached(url).lastShown
        #expect(shown?.text == #"{"title":"theirs","done":false}"#)
        #expect(writes.isEmpty)
    }

    @Test("A write that was edited while it waited is compared, too (cases 18 and 19)")
    func edited() async throws {
        try await fixture.cache(url, json("old", etag: "1"))
        let watch = try await Watch(fixture) { $0.types = [.modifier] }
        let id = try await writeLater()
        let edit = """
            {"changes":[{"target":{"id":"\(url.text)"},"effect":{"type":"merge",\
            "value":{"title":"mine too"}}}]}
            """
        _ = try await fixture.engine.modifierActions.edit(
            id,
            to: ModifierCommand(editing: Array(edit.utf8)),
            fixture.scope,
            client: nil
        )
        try await read(json("theirs", etag: "2"))
        try await release()
        let frame = try await conflict(watch, frames: 4)
        #expect(frame.conflict?.first?.base?.bytes == Array(#"{"/title":"old"}"#.utf8))
        #expect(writes.isEmpty)
        fixture.upstream.answer(url, with: .reply(status: 204))
        _ = try await fixture.engine.modifiers.retry(id, fixture.scope)
        #expect(try await fixture.settled(id, wait: Self.wait).state == .confirmed)
        #expect(matches == ["\"2\""])
    }

    @Test("An edit of other members is kept: the write is sent over it (case 19)")
    func otherMembers() async throws {
        try await fixture.cache(url, json("old", etag: "1"))
        let id = try await writeLater()
        try await read(json("old", true, etag: "2"))
        fixture.upstream.answer(url, with: .reply(status: 204))
        try await release()
        #expect(try await fixture.settled(id, wait: Self.wait).state == .confirmed)
        #expect(matches == ["\"2\""])
        #expect(keys == ["w"])
    }

    @Test(
        "After 409, 412 or 428 the write is sent again if its members are as they were (case 19)",
        arguments: [409, 412, 428]
    )
    func rebased(status: Int) async throws {
        try await fixture.cache(url, json("old", etag: "1"))
        fixture.upstream.answer(
            url,
            with: .reply("no", status: status),
            json("old", true, etag: "2"),
            .reply(status: 204)
        )
        let id = try await fixture.write(.url(url), .json(Self.titled), id: "w")
        #expect(try await fixture.settled(id, wait: Self.wait).state == .confirmed)
        #expect(matches == ["\"1\"", "\"2\""])
        #expect(keys == ["w", "w.2"])
        let shown = try await fixture.cached(url).lastShown
        #expect(shown?.text == #"{"title":"mine","done":true}"#)
    }

    @Test("After a 412 a person decides if the members have changed (case 19)")
    func changedMeanwhile() async throws {
        try await fixture.cache(url, json("old", etag: "1"))
        let watch = try await Watch(fixture) { $0.types = [.modifier] }
        fixture.upstream.answer(
            url,
            with: .reply("no", status: 412),
            json("theirs", etag: "2"),
            .reply(status: 204)
        )
        let id = try await fixture.write(.url(url), .json(Self.titled), id: "w")
        let frame = try await conflict(watch)
        #expect(frame.conflict?.first?.theirs?.bytes == Array(#"{"/title":"theirs"}"#.utf8))
        _ = try await fixture.engine.modifiers.retry(id, fixture.scope)
        #expect(try await fixture.settled(id, wait: Self.wait).state == .confirmed)
        #expect(matches == ["\"1\"", "\"2\""])
    }

    @Test("A 409 after which the target is the same is a refusal (case 19)")
    func sameBase() async throws {
        try await fixture.cache(url, json("old", etag: "1"))
        let same = json("old", etag: "1")
        fixture.upstream.answer(url, with: .reply("taken", status: 409), same, same)
        let id = try await fixture.write(.url(url), .json(Self.titled), id: "w")
        let report = try await fixture.settled(id, wait: Self.wait)
        #expect(report.state == .failed && report.reason == .refused)
        #expect(keys == ["w"])
    }

    @Test("After three rounds the write fails, with both values (case 19)")
    func rounds() async throws {
        try await fixture.cache(url, json("old", etag: "1"))
        let no = ScriptedAnswer.reply("no", status: 412)
        fixture.upstream.answer(
            url,
            with: no,
            json("old", etag: "2"),
            no,
            json("old", etag: "3"),
            no,
            json("old", etag: "4"),
            json("old", etag: "4")
        )
        let id = try await fixture.write(.url(url), .json(Self.titled), id: "w")
        let report = try await fixture.settled(id, wait: Self.wait)
        #expect(report.state == .failed && report.reason == .conflict)
        #expect(keys == ["w", "w.2", "w.3"])
        #expect(matches == ["\"1\"", "\"2\"", "\"3\""])
        let told = try #require(report.conflict?.first)
        #expect(told.base?.bytes == Array(#"{"/title":"old"}"#.utf8))
        #expect(told.theirs?.bytes == Array(#"{"/title":"old"}"#.utf8))
    }

    @Test("`server` fails, `client` is sent over theirs (case 19)")
    func rules() async throws {
        try await fixture.cache(url, json("old", etag: "1"))
        let lost = try await writeLater(id: "s") { $0.onConflict = .server }
        let kept = try await writeLater(id: "c") { $0.onConflict = .client }
        try await read(json("theirs", etag: "2"))
        fixture.upstream.answerOthers { request in
            request.method == "GET" ? .json("{}") : .reply(status: 204)
        }
        try await release()
        let report = try await fixture.settled(lost, wait: Self.wait)
        #expect(report.state == .failed && report.reason == .conflict)
        #expect(try await fixture.settled(kept, wait: Self.wait).state == .confirmed)
        #expect(keys == ["c"])
    }

    @Test("`none` neither sends If-Match nor compares (case 19)")
    func unprotected() async throws {
        try await fixture.cache(url, json("old", etag: "1"))
        let id = try await writeLater { $0.ifMatch = ModifierRules.MatchRule.none }
        try await read(json("theirs", etag: "2"))
        fixture.upstream.answer(url, with: .reply(status: 204))
        try await release()
        #expect(try await fixture.settled(id, wait: Self.wait).state == .confirmed)
        #expect(matches == [nil])
    }

    @Test("`strict` reads the target for its ETag before it sends (case 19)")
    func strict() async throws {
        try await fixture.cache(url, .json(#"{"title":"old"}"#))
        fixture.upstream.answer(url, with: json("old", etag: "5"), .reply(status: 204))
        let id = try await fixture.write(.url(url), .json(Self.titled), id: "w") {
            $0.ifMatch = .strict
        }
        #expect(try await fixture.settled(id, wait: Self.wait).state == .confirmed)
        #expect(matches == ["\"5\""])
    }

    @Test("A 401 to the read before the sending makes the write wait for a credential (19, 23)")
    func strictRefused() async throws {
        try await fixture.cache(url, .json(#"{"title":"old"}"#))
        fixture.upstream.answer(url, with: .reply(status: 401))
        let id = try await fixture.write(.url(url), .json(Self.titled), id: "w") {
            $0.ifMatch = .strict
        }
        try await until {
            try await fixture.engine.modifiers.modifier(id, fixture.scope).state == .authWait
        }
        #expect(keys.isEmpty)
    }

    @Test("A weak ETag makes no If-Match (case 19)")
    func weak() async throws {
        try await fixture.cache(url, .json(#"{"title":"old"}"#, etag: "W/\"1\""))
        fixture.upstream.answer(url, with: .reply(status: 204))
        let id = try await fixture.write(.url(url), .json(Self.titled))
        #expect(try await fixture.settled(id, wait: Self.wait).state == .confirmed)
        #expect(matches == [nil])
    }

    @Test("The user's own earlier write is no other device's (case 19)")
    func ownWrites() async throws {
        try await fixture.cache(url, json("old", etag: "1"))
        _ = try await writeLater(id: "a")
        let effect = #"{"type":"merge","value":{"title":"again"}}"#
        let last = try await writeLater(effect, id: "b")
        fixture.upstream.answerOthers { request in
            request.method == "GET" ? .json(#"{"title":"mine"}"#) : .reply(status: 204)
        }
        try await release()
        #expect(try await fixture.settled(last, wait: Self.wait).state == .confirmed)
        #expect(keys == ["a", "b"])
    }

    @Test("An own write that a read shows before its answer comes is no other device's (case 19)")
    func shownEarly() async throws {
        try await fixture.cache(url, .json(#"{"title":"old"}"#))
        let gate = Gate()
        fixture.upstream.answerOthers { request in
            guard request.method != "GET" else { return .json(#"{"title":"two"}"#) }
            let isSecond = request.headers["Idempotency-Key"] == "two"
            return isSecond ? .reply(status: 204).held(by: gate) : .reply(status: 204)
        }
        var last: ModifierID?
        for title in ["one", "two", "three"] {
            last = try await writeLater(
                #"{"type":"merge","value":{"title":"\#(title)"}}"#,
                id: title
            )
        }
        try await release()
        while keys.count < 2 { await Task.yield() }
        try await fixture.fetch(url) { $0.policy = .networkOnly }
        gate.open()
        let report = try await fixture.settled(#require(last), wait: Self.wait)
        #expect(report.state == .confirmed)
    }

    @Test("An own write that finds its value in place makes it the user's own (case 19)")
    func foundInPlace() async throws {
        try await fixture.cache(url, .json(#"{"title":"old"}"#))
        var last: ModifierID?
        for title in ["one", "two", "three"] {
            let effect = #"{"type":"merge","value":{"title":"\#(title)"}}"#
            last = try await writeLater(effect, id: title)
        }
        try await read(.json(#"{"title":"one"}"#))
        fixture.upstream.answerOthers { _ in .reply(status: 204) }
        try await fixture.cancel("two")
        try await release()
        let report = try await fixture.settled(#require(last), wait: Self.wait)
        #expect(report.state == .confirmed)
        #expect(keys == ["one", "three"])
    }

    @Test("The server's result of an own write is no other device's edit (case 19)")
    func ownResult() async throws {
        try await fixture.cache(url, json("old", etag: "1"))
        let lane = Lane.name(try LaneName("phone"))
        try await fixture.engine.modifiers.setLane(lane, fixture.scope, isPaused: true)
        var last: ModifierID?
        for (id, title) in [("a", "one"), ("b", "two")] {
            let effect = try Effect.json(#"{"type":"put","value":{"title":"\#(title)"}}"#)
            last = try await fixture.write(.url(url), effect, id: id) {
                $0.lane = try LaneName("phone")
            }
        }
        fixture.upstream.answerOthers { [url] request in
            guard request.method == "PUT" else { return nil }
            let body = #"{"title":"ONE","updated":2}"#
            return .json(body, headers: ["Content-Location": url.text, "ETag": "\"2\""])
        }
        try await release()
        let report = try await fixture.settled(try #require(last), wait: Self.wait)
        #expect(report.state == .confirmed)
        #expect(keys == ["a", "b"])
        #expect(matches == ["\"1\"", "\"2\""])
    }

    @Test("A large merge does not hide another device's edit of other members (case 19)")
    func largeMerge() async throws {
        try await fixture.cache(url, .json(#"{"title":"old"}"#))
        // The long name is part of more places than the daemon lists.
        let name = String(repeating: "x", count: 10_000)
        let members = (0..<500).map { #""\#($0)":1"# }
        let large = #"{"\#(name)":{\#(members.joined(separator: ","))}}"#
        _ = try await writeLater(#"{"type":"merge","value":\#(large)}"#, id: "large")
        let id = try await writeLater()
        fixture.upstream.answerOthers { [url] _ in
            .json(#"{"title":"theirs"}"#, headers: ["Content-Location": url.text])
        }
        try await release()
        try await until {
            let report = try await fixture.engine.modifiers.modifier(id, fixture.scope)
            return report.state == .conflict || report.state == .confirmed
        }
        #expect(keys == ["large"])
    }

    @Test("An addition keeps what others added, and is not compared (case 19)")
    func commuting() async throws {
        try await fixture.cache(url, .json(#"{"n":1}"#))
        let lane = Lane.name(try LaneName("phone"))
        try await fixture.engine.modifiers.setLane(lane, fixture.scope, isPaused: true)
        let effect = try Effect.json(#"{"type":"add","value":{"/n":1}}"#)
        let place = try fixture.url("/w")
        let id = try await fixture.write(.url(url), effect, "POST", to: place) {
            $0.lane = try LaneName("phone")
        }
        try await read(.json(#"{"n":7}"#))
        fixture.upstream.answer(place, with: .reply(status: 204))
        try await release()
        #expect(try await fixture.settled(id, wait: Self.wait).state == .confirmed)
    }

    @Test("A program's own If-Match is sent as it is, and a 412 waits for a person (case 19)")
    func ownCondition() async throws {
        try await fixture.cache(url, json("old", etag: "1"))
        let watch = try await Watch(fixture) { $0.types = [.modifier] }
        fixture.upstream.answer(url, with: .reply("no", status: 412), json("old", true, etag: "2"))
        _ = try await fixture.write(.url(url), .json(Self.titled), id: "w") {
            $0.request.headers.append("If-Match", "\"0\"")
        }
        _ = try await conflict(watch)
        #expect(matches == ["\"0\""])
    }

    @Test("A repeat has the If-Match and the key of its round (cases 19 and 22)")
    func repeated() async throws {
        try await fixture.cache(url, json("old", etag: "1"))
        let watch = try await Watch(fixture) { $0.types = [.modifier] }
        fixture.upstream.answer(url, with: .reply("no", status: 502), .reply(status: 204))
        let id = try await fixture.write(.url(url), .json(Self.titled), id: "w")
        #expect(try await watch.frames(upTo: 3).last?.name == "modifier unknown")
        _ = try await fixture.engine.modifiers.retry(id, fixture.scope)
        #expect(try await fixture.settled(id, wait: Self.wait).state == .confirmed)
        #expect(matches == ["\"1\"", "\"1\""])
        #expect(keys == ["w", "w"])
    }

    @Test("After an own write without an ETag in its answer, the old one is not sent (case 19)")
    func ownETag() async throws {
        try await fixture.cache(url, json("old", etag: "1"))
        fixture.upstream.answerOthers { request in
            request.method == "GET" ? .reply(status: 500) : .reply(status: 204)
        }
        for (id, effect) in [("a", #"{"type":"none"}"#), ("b", Self.titled)] {
            let id = try await fixture.write(.url(url), .json(effect), "PUT", id: id)
            #expect(try await fixture.settled(id, wait: Self.wait).state == .confirmed)
        }
        #expect(matches == ["\"1\"", nil])
    }

    @Test("`strict` puts the write off as long as the origin puts off the read (cases 10 and 19)")
    func strictPutOff() async throws {
        try await fixture.cache(url, .json(#"{"title":"old"}"#))
        fixture.upstream.answer(url, with: .reply(status: 500))
        let id = try await fixture.write(.url(url), .json(Self.titled), id: "w") {
            $0.ifMatch = .strict
        }
        try await until {
            try await fixture.engine.modifiers.modifier(id, fixture.scope).state == .retryWait
        }
        let report = try await fixture.engine.modifiers.modifier(id, fixture.scope)
        #expect(report.attempts == 1, "the backoff grows with the attempts")
        #expect(keys.isEmpty)
    }

    @Test("A read that shows the first of two own writes makes no conflict (cases 7 and 19)")
    func shownInPart() async throws {
        try await fixture.cache(url, .json(#"{"title":"old"}"#))
        fixture.upstream.answerOthers { request in
            switch request.headers["Idempotency-Key"] {
            case nil: .json(#"{"title":"one"}"#)
            case "last": .reply(status: 204)
            case _: .reply(status: 202)
            }
        }
        for title in ["one", "two"] {
            let effect = #"{"type":"merge","value":{"title":"\#(title)"}}"#
            let id = try await fixture.write(.url(url), .json(effect), id: title)
            while try await fixture.engine.modifiers.modifier(id, fixture.scope).state != .accepted
            {
                await Task.yield()
            }
        }
        let last = try await writeLater(id: "last")
        try await fixture.fetch(url) { $0.policy = .networkOnly }
        let first = try await fixture.settled(ModifierID("one"), wait: Self.wait)
        #expect(first.state == .confirmed)
        try await release()
        #expect(try await fixture.settled(last, wait: Self.wait).state == .confirmed)
    }
}
