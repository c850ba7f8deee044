import LarderJSON
import LarderModel
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

/// Reads that started before the 2xx of a write arrived (P-06, case 8).
@Suite("An overtaken read", .timeLimit(.minutes(5)), .userEngine)
struct OvertakenReadTests {
    private let fixture = EngineFixture.running
    private static let no = ScriptedAnswer.reply("no", status: 403)

    private func url(_ path: String = "/a") throws -> WebURL { try fixture.url(path) }

    /// Writes while a read is in flight, which then gets its answer; returns what it shows.
    ///
    /// Of the other reads only `later` are answered.
    private func read(
        _ url: WebURL,
        _ answer: ScriptedAnswer,
        later: [ScriptedAnswer] = [no],
        during writes: () async throws -> Void
    ) async throws -> String? {
        let gate = Gate()
        for answer in [answer.held(by: gate)] + later {
            fixture.upstream.answer(url, with: answer)
        }
        let asked = fixture.upstream.asked.all.count
        let fetch = fixture.start(url, .networkOnly)
        _ = try await fixture.upstream.asked.element(asked)
        try await writes()
        gate.open()
        let result = try await fetch.result()
        #expect(result.refusal == nil)
        return result.lastShown?.text
    }

    private func confirm(
        _ effect: String,
        of target: EntryID,
        by status: Int = 204
    ) async throws {
        fixture.upstream.answer(try url("/w"), with: .reply(status: status))
        if target.isEntity { fixture.upstream.answer(try url("/users/7"), with: Self.no) }
        let asked = fixture.upstream.asked.all.count
        let id = try await fixture.write(target, Effect.json(effect), "POST", to: url("/w"))
        _ = try await fixture.settled(id)
        // The write, and the read after it.
        _ = try await fixture.upstream.asked.element(asked + 1)
    }

    private var reads: Int { fixture.upstream.asked.all.filter { $0.method == "GET" }.count }

    @Test("The members that the write did not touch are used, without a validator")
    func rest() async throws {
        let url = try url()
        try await fixture.cache(url, .json(#"{"n":0,"m":0,"gone":1}"#, etag: "\"0\""))
        let answer = ScriptedAnswer.json(
            #"{"n":0,"m":1,"k":2}"#,
            headers: ["ETag": "\"1\"", "Cache-Control": "max-age=60"]
        )
        let shown = try await read(url, answer) {
            try await confirm(#"{"type":"merge","value":{"n":1}}"#, of: .url(url))
        }
        #expect(shown == #"{"n":1,"m":1,"k":2}"#)
        #expect(reads == 3, "the origin was not asked again")
        fixture.upstream.answer(url, with: .json(#"{"n":1,"m":1,"k":3}"#))
        let next = try await fixture.fetch(url) { $0.policy = .cacheFirst }
        #expect(next.lastShown?.text == #"{"n":1,"m":1,"k":3}"#, "it was stale")
        #expect(fixture.upstream.asked.all.last?.headers["If-None-Match"] == nil)
    }

    @Test(
        "If no rest can be used, the origin is asked once more, and then the cached value shows",
        arguments: [
            (#"{"type":"put","value":{"n":1}}"#, #"{"n":0,"m":1}"#),
            (#"{"type":"merge","value":{"n":1}}"#, #"{"n":0}"#),
            (#"{"type":"merge","value":{"n":1}}"#, "[0]"),
        ]
    )
    func nothing(effect: String, answer: String) async throws {
        let url = try url()
        try await fixture.cache(url, .json(#"{"n":0}"#))
        let second = Gate()
        let old = ScriptedAnswer.json(answer)
        let gate = Gate()
        fixture.upstream.answer(
            url,
            with: old.held(by: gate),
            Self.no,
            old.held(by: second),
            Self.no
        )
        let fetch = fixture.start(url, .networkOnly)
        _ = try await fixture.upstream.asked.element(1)
        try await confirm(effect, of: .url(url))
        gate.open()
        _ = try await fixture.upstream.asked.element(4)
        try await confirm(effect, of: .url(url))
        second.open()
        let result = try await fetch.result()
        #expect(result.refusal == nil)
        #expect(result.lastShown?.text == #"{"n":1}"#)
    }

    @Test("A refused write keeps nothing of a read")
    func refused() async throws {
        let url = try url()
        try await fixture.cache(url, .json(#"{"n":0,"m":0}"#))
        let answer = ScriptedAnswer.json(#"{"n":5,"m":1}"#, etag: "\"1\"")
        let shown = try await read(url, answer) {
            try await confirm(#"{"type":"merge","value":{"n":1}}"#, of: .url(url), by: 403)
        }
        #expect(shown == #"{"n":5,"m":1}"#)
        fixture.upstream.answer(url, with: .notModified)
        try await fixture.fetch(url) { $0.policy = .networkOnly }
        #expect(fixture.upstream.asked.all.last?.headers["If-None-Match"] == "\"1\"")
    }

    @Test("An addition that is sent while a mix is stored counts once")
    func addition() async throws {
        let (url, writes) = (try url(), try url("/w"))
        try await fixture.cache(url, .json(#"{"n":5,"m":0}"#))
        let add = #"{"type":"add","value":{"/n":1}}"#
        let (answer, last) = (Gate(), Gate())
        fixture.upstream.answer(
            url,
            with: ScriptedAnswer.json(#"{"n":5,"m":1}"#).held(by: answer),
            Self.no,
            Self.no
        )
        let fetch = fixture.start(url, .networkOnly)
        _ = try await fixture.upstream.asked.element(1)
        try await confirm(add, of: .url(url))
        fixture.upstream.answer(writes, with: ScriptedAnswer.reply(status: 204).held(by: last))
        let id = try await fixture.write(.url(url), Effect.json(add), "POST", to: writes)
        _ = try await fixture.upstream.asked.element(4)
        answer.open()
        #expect(try await fetch.result().lastShown?.text == #"{"n":7,"m":1}"#)
        last.open()
        #expect(try await fixture.settled(id).state == .confirmed)
        let shown = try await fixture.cached(url).lastShown
        #expect(shown?.text == #"{"n":7,"m":1}"#)
        #expect(shown?.pending == 0)
    }

    @Test("A write answered 202 that goes beneath the confirmed one is not undone (case 7)")
    func beneath() async throws {
        let url = try url()
        try await fixture.cache(url, .json(#"{"n":0,"m":0,"k":0}"#))
        fixture.upstream.answer(try self.url("/w"), with: .reply(status: 202))
        let merge = try Effect.json(#"{"type":"merge","value":{"m":1}}"#)
        try await fixture.write(.url(url), merge, "POST", to: self.url("/w"))
        let shown = try await read(url, .json(#"{"n":0,"m":0,"k":1}"#)) {
            try await confirm(#"{"type":"merge","value":{"n":1}}"#, of: .url(url))
        }
        #expect(shown == #"{"n":1,"m":1,"k":1}"#)
    }

    @Test("The answer to a write that represents its target is later than all of the read (case 5)")
    func represented() async throws {
        let url = try url()
        try await fixture.cache(url, .json(#"{"n":0,"m":0}"#))
        let last = #"{"n":1,"m":3}"#
        let shown = try await read(url, .json(#"{"n":0,"m":1}"#), later: [Self.no, .json(last)]) {
            let told = ScriptedAnswer.json(
                #"{"n":1,"m":2}"#,
                headers: ["Content-Location": url.text]
            )
            fixture.upstream.answer(try self.url("/w"), with: told)
            let merge = try Effect.json(#"{"type":"merge","value":{"n":1}}"#)
            let id = try await fixture.write(.url(url), merge, "POST", to: self.url("/w"))
            #expect(try await fixture.settled(id).state == .confirmed)
            _ = try await fixture.upstream.asked.element(3)
        }
        #expect(shown == last, "nothing of the first answer was used")
    }

    // MARK: Entities

    private static func list(_ users: String, _ title: String) -> String {
        #"{"items":[\#(users)],"title":"\#(title)"}"#
    }

    private static func user(_ id: Int, _ name: String, _ rest: String = "") -> String {
        #"{"type":"User","id":\#(id),"name":"\#(name)"\#(rest)}"#
    }

    @Test("Of an entity the members are used that the write did not touch")
    func entity() async throws {
        let url = try url("/list")
        let (ann, cid) = (Self.user(7, "Ann", #","n":0"#), Self.user(8, "Cid"))
        try await fixture.cache(url, .json(Self.list(ann, "old")))
        let answer = Self.list(Self.user(7, "Ann", #","n":1"#) + "," + cid, "new")
        let shown = try await read(url, .json(answer), later: []) {
            let effect = #"{"type":"merge","value":{"name":"Bea","n":null}}"#
            try await confirm(effect, of: .entity("User:7"))
        }
        #expect(shown == Self.list(Self.user(7, "Bea") + "," + cid, "new"))
        #expect(try await fixture.cached(url).lastShown?.text == shown)
        let next = Self.list(Self.user(7, "Ann", #","n":2"#), "new")
        let other = try await read(url, .json(next), later: []) {
            try await confirm(
                #"{"type":"set","value":{"set":{"/name":"Eva"}}}"#,
                of: .entity("User:7")
            )
        }
        #expect(other == Self.list(Self.user(7, "Eva", #","n":2"#), "new"))
    }

    @Test("An entity that the answer to the write shows is later than all of the read (case 5)")
    func shownByAnswer() async throws {
        let url = try url("/list")
        try await fixture.cache(url, .json(Self.list(Self.user(7, "Ann"), "old")))
        let last = Self.list(Self.user(7, "Bea", #","n":2"#), "newer")
        let answer = Self.list(Self.user(7, "Ann", #","n":1"#), "new")
        let shown = try await read(url, .json(answer), later: [.json(last)]) {
            fixture.upstream.answer(try self.url("/users/7"), with: Self.no)
            let told = Self.user(7, "Bea", #","n":2"#)
            fixture.upstream.answer(try self.url("/w"), with: .json(told))
            let merge = try Effect.json(#"{"type":"merge","value":{"name":"Bea"}}"#)
            let id = try await fixture.write(.entity("User:7"), merge, "POST", to: self.url("/w"))
            #expect(try await fixture.settled(id).state == .confirmed)
        }
        #expect(shown == last, "nothing of the first answer was used")
    }

    @Test("An entity that the write deleted stays deleted in a list of which the rest is used")
    func deleted() async throws {
        let url = try url("/list")
        let (ann, cid) = (Self.user(7, "Ann"), Self.user(8, "Cid"))
        try await fixture.cache(url, .json(Self.list(ann + "," + cid, "old")))
        let shown = try await read(url, .json(Self.list(ann + "," + cid, "new")), later: []) {
            try await confirm(#"{"type":"delete"}"#, of: .entity("User:7"))
        }
        #expect(shown == Self.list(cid, "new"))
    }

    @Test("A list that the write touched stays, with the newer members of its entities")
    func listed() async throws {
        let url = try url("/list")
        try await fixture.cache(url, .json(Self.list(Self.user(7, "Ann"), "old")))
        let shown = try await read(url, .json(Self.list(Self.user(7, "Bea"), "new"))) {
            let value = #"{"/items":[\#(Self.user(8, "Cid"))]}"#
            try await confirm(#"{"type":"list_add","value":\#(value)}"#, of: .url(url))
        }
        let items = Self.user(7, "Bea") + "," + Self.user(8, "Cid")
        #expect(shown == Self.list(items, "new"))
        #expect(try await fixture.cached(url).lastShown?.text == shown)
    }

    @Test("Where no list is cached, an answer overtaken twice has entities as the writes made them")
    func unknownList() async throws {
        let url = try url("/list")
        try await fixture.cache(self.url("/other"), .json(Self.list(Self.user(7, "Ann"), "old")))
        let came = Self.user(7, "Ann") + "," + Self.user(6, "Eva", #","n":1"#)
        let old = ScriptedAnswer.json(Self.list(came, "new"))
        let (gate, second) = (Gate(), Gate())
        fixture.upstream.answer(
            url,
            with: old.held(by: gate),
            Self.no,
            old.held(by: second),
            Self.no
        )
        // Nothing is known of the entity that this write waits to change.
        try await fixture.write(
            .entity("User:6"),
            Effect.json(#"{"type":"add","value":{"/n":1}}"#),
            "POST",
            to: self.url("/w"),
            hold: .seconds(60)
        )
        let asked = fixture.upstream.asked.all.count
        let fetch = fixture.start(url, .networkOnly)
        _ = try await fixture.upstream.asked.element(asked)
        try await add(8, to: url)
        gate.open()
        // The write, the read after it, and the second read.
        _ = try await fixture.upstream.asked.element(asked + 3)
        try await confirm(#"{"type":"merge","value":{"name":"Bea"}}"#, of: .entity("User:7"))
        try await add(9, to: url)
        second.open()
        let result = try await fetch.result()
        #expect(result.refusal == nil)
        let shown = Self.user(7, "Bea") + "," + Self.user(6, "Eva", #","n":2"#)
        #expect(result.lastShown?.text == Self.list(shown, "new"))
    }

    private func add(_ id: Int, to list: WebURL) async throws {
        let value = #"{"/items":[\#(Self.user(id, "Cid"))]}"#
        try await confirm(#"{"type":"list_add","value":\#(value)}"#, of: .url(list))
    }
}
