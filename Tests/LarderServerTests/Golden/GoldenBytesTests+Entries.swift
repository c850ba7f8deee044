import LarderModel
import LarderServer
import LarderTestSupport
import LarderWire
import Testing

extension GoldenBytesTests {
    @Test("Entries")
    func entries() async throws {
        try await Transcript.check("entries.http", maxEntryBytes: 4_096) { said in
            try await Self.changeEntries(said)
            try await Self.readEntries(said)
            try await Self.refuseEntries(said)
        }
    }

    private static func changeEntries(_ said: Transcript) async throws {
        let type = "Content-Type: application/json"
        let path = "/v1/entries/notes%2F1"
        let put = try await said.ask("An entry is stored", "PUT", path, [type], body: #"{"n":1}"#)
        let tag = try #require(put.headers["ETag"])
        try await said.ask("An entry is replaced", "PUT", path, [type], body: #"{"n":2}"#)
        try await said.ask(
            "An entry is not as expected",
            "PUT",
            path,
            ["If-Match: \(tag)"],
            body: "3"
        )
        try await said.ask(
            "An entry with a lifetime",
            "PUT",
            "/v1/entries/notes%2F2?ttl=1h",
            body: "two"
        )
        try await said.ask("An entry is deleted", "DELETE", "/v1/entries/notes%2F2")
        try await said.ask("A missing entry", "GET", "/v1/entries/notes%2F2")
    }

    private static func readEntries(_ said: Transcript) async throws {
        let path = "/v1/entries/notes%2F1"
        said.server.clock.advance(by: .seconds(5))
        let read = try await said.ask("An entry is read", "GET", path)
        try await said.ask("The head of an entry", "HEAD", path)
        let tag = try #require(read.headers["ETag"])
        try await said.ask("An entry is the same", "GET", path, ["If-None-Match: \(tag)"])
        let part = ["Range: bytes=1-3", "If-Range: \(tag)"]
        try await said.ask("A part of an entry", "GET", path, part)
        try await said.ask("A part after the end", "GET", path, ["Range: bytes=7-"])
        let url = try ServerFixture.url("/42")
        said.server.upstream.answer(
            url,
            with: .json(
                #"{"n":42}"#,
                headers: ["ETag": "\"a1\"", "Cache-Control": "max-age=60"]
            )
        )
        let target = PercentCoding.encode(url.text)
        try await said.ask("An answer is fetched", "GET", "/v1/fetch?url=\(target)")
        try await said.ask(
            "A fetched entry is read",
            "GET",
            try PercentCoding.entryPath(EntryID(url))
        )
        try await said.ask(
            "A fetched entry is explained",
            "GET",
            try PercentCoding.entryPath(EntryID(url)) + "/explain"
        )
        try await said.ask("An entry is explained", "GET", path + "/explain")
        try await said.ask("The head of an explanation", "HEAD", path + "/explain")
        try await said.ask("Entries are listed", "GET", "/v1/entries")
        try await said.ask("A page of entries", "GET", "/v1/entries?limit=1")
        try await said.ask("The head of the list", "HEAD", "/v1/entries")
        try await said.ask("All users' entries", "GET", "/v1/entries?scope=all")
        _ = try await said.server.store(
            "raw",
            [0xFF, 0x00],
            kind: .blob
        )
        let batch = #"{"ids":["notes/1","none","raw","\#(url.text)"]}"#
        for (title, type) in [
            ("A batch as JSON Lines", "application/jsonl"),
            ("A batch as one document", "application/json"),
            ("A batch as events", "text/event-stream"),
        ] {
            try await said.ask(
                title,
                "POST",
                "/v1/entries/batch",
                ["Accept: \(type)"],
                body: batch
            )
        }
    }

    private static func refuseEntries(_ said: Transcript) async throws {
        try await said.ask("An id that is none", "GET", "/v1/entries/%00")
        try await said.ask(
            "An id of an origin",
            "PUT",
            try PercentCoding.entryPath(EntryID(try ServerFixture.url("/x"))),
            body: "1"
        )
        try await said.ask(
            "A body is too large for an entry",
            "PUT",
            "/v1/entries/large",
            body: String(repeating: "x", count: 4_097),
            shown: "<4097 bytes>"
        )
    }

    @Test("Raw answers")
    func raw() async throws {
        try await Transcript.check("raw.http", timeout: .milliseconds(1)) { said in
            let url = try ServerFixture.url("/a")
            let page = ScriptedAnswer.json(#"{"n":1}"#, headers: ["ETag": "\"a1\""])
            said.server.upstream.answer(url, with: page, .reply(status: 304), page)
            try await said.ask("An answer is read", "GET", "/o/example/a")
            try await said.ask("An answer is confirmed", "GET", "/o/example/a")
            try await said.ask("The head of an answer", "HEAD", "/o/example/a")
            try await said.ask(
                "An answer is the same",
                "GET",
                "/o/example/a",
                ["If-None-Match: \"a1\"", "Cache-Control: only-if-cached"]
            )
            said.server.upstream.answer(
                try ServerFixture.url("/no"),
                with: .json(#"{"why":"no"}"#, status: 403)
            )
            try await said.ask("The origin refuses", "GET", "/o/example/no")
            try await said.ask("The origin is not reached", "GET", "/o/example/away")
            try await said.ask("An unknown origin", "GET", "/o/none/a")
            said.server.upstream.answer(url, with: .json(#"{"n":3}"#), .reply(status: 204))
            try await said.ask("A write is passed on", "PUT", "/o/example/a", body: "{}")
            try await said.ask("Options of the origin", "OPTIONS", "/o/example/a")
            // No write leaves, so that none of them changes between two answers.
            let gate = Gate()
            said.server.upstream.answerOthers { _ in .reply(status: 204).held(by: gate) }
            for (method, type) in [
                ("PUT", "application/json"), ("PATCH", "application/merge-patch+json"),
                ("POST", "application/json"), ("DELETE", "application/json"),
            ] {
                try await said.ask(
                    "A \(method) is queued",
                    method,
                    "/o/example/b",
                    [
                        "Prefer: respond-async", "Content-Type: \(type)",
                        "Idempotency-Key: \"\(method.lowercased())-1\"",
                    ],
                    body: method == "DELETE" ? "" : #"{"n":2}"#
                )
            }
            gate.open()
        }
    }
}
