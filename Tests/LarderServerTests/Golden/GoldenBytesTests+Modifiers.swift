import LarderEngine
import LarderModel
import LarderServer
import LarderStore
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

extension GoldenBytesTests {
    private static let lane = "/v1/lanes/name%3Acart"

    private static func body(
        _ id: String,
        _ path: String = "/42",
        effect: String = #"{"type":"merge","value":{"liked":true}}"#,
        more: String = #","lane":"cart""#
    ) -> String {
        let target = #"{"id":"\#(ServerFixture.baseURL)\#(path)"}"#
        return #"{"id":"\#(id)","changes":[{"target":\#(target),"effect":\#(effect)}]\#(more)}"#
    }

    @Test("Modifiers and lanes")
    func modifiers() async throws {
        try await Transcript.check("modifiers.http", rules: .standard) { said in
            let gate = Gate()
            let upstream = said.server.upstream
            upstream.answerOthers { Self.answer($0, gate) }
            try await Self.queue(said)
            try await Self.send(said)
            try await Self.refuse(said)
            gate.open()
        }
    }

    /// Merges `m1`, refuses `m2`, and takes what is put.
    ///
    /// Reads that the daemon makes after that, and what is held, wait for the gate: they would end
    /// between any two requests.
    private static func answer(_ request: UpstreamRequest, _ gate: Gate) -> ScriptedAnswer {
        switch (request.method, request.headers["Idempotency-Key"]) {
        case ("PATCH", "m1"): .json(#"{"type":"Post","id":42,"n":1,"liked":true}"#)
        case ("PATCH", _): .json(#"{"why":"no"}"#, status: 422)
        case ("PUT", "m4"): .reply(status: 204)
        default: ScriptedAnswer.reply(status: 204).held(by: gate)
        }
    }

    private static let paused = #"{"paused":true}"#
    private static let resumed = #"{"paused":false}"#

    /// A paused lane keeps modifiers in the queue.
    private static func queue(_ said: Transcript) async throws {
        let url = try ServerFixture.url("/42")
        said.server.upstream.answer(url, with: .json(#"{"type":"Post","id":42,"n":1}"#))
        let target = PercentCoding.encode(url.text)
        try await said.ask("A base is fetched", "GET", "/v1/fetch?url=\(target)")
        try await said.ask("A lane is paused", "PUT", lane, body: paused)
        try await said.ask("A modifier is accepted", "POST", "/v1/modifiers", body: body("m1"))
        try await said.ask("A modifier is the same", "POST", "/v1/modifiers", body: body("m1"))
        let list =
            #"{"modifiers":[\#(body("m2")),\#(body("m3", "/43", effect: #"{"type":"delete"}"#))]}"#
        try await said.ask("Several are accepted", "POST", "/v1/modifiers", body: list)
        try await said.ask("A modifier is shown", "GET", "/v1/modifiers/m1")
        try await said.ask("The head of a modifier", "HEAD", "/v1/modifiers/m1")
        try await said.ask("Modifiers are listed", "GET", "/v1/modifiers")
        try await said.ask("A page of modifiers", "GET", "/v1/modifiers?limit=1&scope=all")
        try await said.ask("The head of the list", "HEAD", "/v1/modifiers")
        try await said.ask(
            "An entry with modifiers",
            "GET",
            try PercentCoding.entryPath(EntryID(url))
        )
        try await said.ask(
            "An entry with modifiers is explained",
            "GET",
            try PercentCoding.entryPath(EntryID(url)) + "/explain"
        )
        try await said.ask(
            "A batch with modifiers",
            "POST",
            "/v1/entries/batch",
            body: #"{"ids":["\#(url.text)","\#(ServerFixture.baseURL)/43"]}"#
        )
        try await said.ask(
            "A fetch with modifiers",
            "GET",
            "/v1/fetch?policy=cache-only&url=\(target)"
        )
        try await said.ask("A modifier is cancelled", "DELETE", "/v1/modifiers/m3")
        try await said.ask("A modifier is not cancelled twice", "DELETE", "/v1/modifiers/m3")
    }

    private static func send(_ said: Transcript) async throws {
        try await said.ask("Lanes are listed", "GET", "/v1/lanes")
        try await said.ask("The head of the lanes", "HEAD", "/v1/lanes")
        try await said.ask("A lane is resumed", "PUT", lane, body: resumed)
        try await said.server.engine.settle(["m1", "m2"], in: said.server.scope)
        try await reads(2, of: "/42", said)
        try await said.ask("A modifier is confirmed", "GET", "/v1/modifiers/m1?wait=10s")
        try await said.ask("A modifier has failed", "GET", "/v1/modifiers/m2?wait=10s")
        try await said.ask(
            "A failed modifier is accepted",
            "POST",
            "/v1/modifiers",
            body: body("m2")
        )
        try await said.ask("Settled ones are listed", "GET", "/v1/modifiers?state=settled")
        try await said.ask("A lane is paused again", "PUT", lane, body: paused)
        try await said.ask(
            "A failed modifier is tried again",
            "POST",
            "/v1/modifiers/actions",
            body: #"{"action":"retry","ids":["m2"]}"#
        )
        try await said.ask(
            "A confirmed one is not",
            "POST",
            "/v1/modifiers/actions",
            body: #"{"action":"retry","ids":["m1"]}"#
        )
        try await said.ask("It is cancelled", "DELETE", "/v1/modifiers/m2")
        try await said.ask(
            "A modifier is waited for",
            "POST",
            "/v1/modifiers?wait=10s",
            body: body("m4", "/44", effect: #"{"type":"put","value":{"n":1}}"#, more: "")
        )
        try await reads(1, of: "/44", said)
        try await said.ask(
            "A modifier is sent",
            "POST",
            "/v1/modifiers",
            body: body("m5", "/45", effect: #"{"type":"put","value":{"n":1}}"#, more: "")
        )
        let upstream = said.server.upstream
        while !upstream.asked.all.contains(where: { $0.url.path == "/45" }) { await Task.yield() }
        try await said.ask("A modifier is under way", "GET", "/v1/modifiers/m5")
        try await said.ask("A modifier under way stays", "DELETE", "/v1/modifiers/m5")
    }

    /// Waits for reads of a path: the read after a write takes a revision when it starts.
    private static func reads(_ count: Int, of path: String, _ said: Transcript) async throws {
        let (url, asked) = (try ServerFixture.url(path), said.server.upstream.asked)
        while asked.all.count(where: { $0.method == "GET" && $0.url == url }) < count {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    private static func refuse(_ said: Transcript) async throws {
        try await said.ask("An unknown modifier", "GET", "/v1/modifiers/none")
        try await said.ask(
            "Another modifier of the id",
            "POST",
            "/v1/modifiers",
            body: body("m1", "/46")
        )
        let note = #"{"id":"note"}"#
        let merge = #"{"type":"merge","value":{}}"#
        try await said.ask(
            "A modifier without a request",
            "POST",
            "/v1/modifiers",
            body: #"{"changes":[{"target":\#(note),"effect":\#(merge)}]}"#
        )
        try await said.ask(
            "A rule that is not there",
            "POST",
            "/v1/modifiers",
            body: body("m6", more: #","on_success":"fail""#)
        )
        try await said.ask(
            "A raw write of a part",
            "PUT",
            "/o/example/46",
            ["Prefer: respond-async", "Content-Range: bytes 0-0/2"],
            body: "1"
        )
        try await said.ask("An unknown member", "POST", "/v1/modifiers", body: #"{"change":[]}"#)
        try await said.ask(
            "A targeted entry stays",
            "DELETE",
            "/v1/entries/\(PercentCoding.encode("\(ServerFixture.baseURL)/45"))"
        )
        try await said.ask("A lane that is none", "PUT", "/v1/lanes/cart", body: paused)
        try await edit(said)
    }

    private static func edit(_ said: Transcript) async throws {
        let held = body("m7", "/47", more: #","hold":"1h""#)
        try await said.ask("A held modifier", "POST", "/v1/modifiers", body: held)
        let target = #"{"id":"\#(ServerFixture.baseURL)/47"}"#
        let edit = #"{"changes":[{"target":\#(target),"effect":{"type":"delete"}}]}"#
        try await said.ask("A modifier is edited", "PATCH", "/v1/modifiers/m7", body: edit)
        try await said.ask("A sent modifier is not", "PATCH", "/v1/modifiers/m1", body: edit)
    }
}

extension Engine {
    /// Returns once all of these are settled.
    fileprivate func settle(_ ids: [String], in scope: ScopeKey) async throws {
        for id in ids {
            _ = try await modifiers.modifier(ModifierID(id), scope, wait: .seconds(3_600))
        }
    }
}
