import LarderJSON
import LarderModel
import LarderWire
import Testing

@Suite("A write on the raw routes")
struct RawWriteCommandTests {
    private func command(
        _ method: String,
        _ headers: [(String, String)] = []
    ) throws(Problem) -> RawWriteCommand {
        let fields = headers.map { HeaderFields.Field(name: $0.0, value: $0.1) }
        return try RawWriteCommand(method: method, uri: "/o/a/x", headers: HeaderFields(fields))
    }

    private func modifier(
        _ method: String,
        _ headers: [(String, String)] = [],
        _ body: String = ""
    ) throws -> ModifierCommand {
        try command(method, headers).modifier(
            to: try WebURL("https://a.example/x"),
            keyHeader: "Idempotency-Key",
            body: Array(body.utf8)
        )
    }

    private func problem(
        _ method: String,
        _ headers: [(String, String)] = [],
        _ body: String = ""
    ) throws -> Problem {
        try #require(throws: Problem.self) { try modifier(method, headers, body) }
    }

    @Test(
        "respond-async is one of the preferences, whatever its letters and what follows it",
        arguments: [
            ("respond-async", true), ("Respond-Async", true), ("respond-async, wait=10", true),
            ("return=minimal , respond-async;a=b", true), ("respond-async=1", true),
            ("wait=10", false), ("respond-asynchronously", false), ("return=respond-async", false),
            ("", false),
        ]
    )
    func preference(value: String, isNamed: Bool) throws {
        #expect(try command("PUT", [("Prefer", value)]).prefersAsync == isNamed)
        #expect(try !command("PUT").prefersAsync)
        let twice = try command("PUT", [("Prefer", value), ("Prefer", "wait=1")])
        #expect(twice.prefersAsync == isNamed)
    }

    @Test(
        "The effect is that of the method and the type",
        arguments: [
            ("PUT", "application/json", #"{"a":1}"#, Effect.put(.object([.a1]))),
            ("PUT", "application/vnd.api+json; v=1", #"{"a":1}"#, .put(.object([.a1]))),
            ("PUT", "text/plain", #"{"a":1}"#, .replace),
            ("PUT", "", "bytes", .replace),
            ("PUT", "", "", .replace),
            ("PATCH", "application/merge-patch+json", #"{"a":1}"#, .merge(.object([.a1]))),
            ("PATCH", "Application/JSON;charset=utf-8", #"{"a":1}"#, .merge(.object([.a1]))),
            ("PATCH", "application/vnd.api+json", #"{"a":1}"#, Effect.none),
            ("PATCH", "text/plain", "diff", Effect.none),
            ("PATCH", "", "diff", Effect.none),
            ("POST", "application/json", #"{"a":"#, Effect.none),
            ("POST", "", "", Effect.none),
            ("DELETE", "", "", .delete),
            ("DELETE", "text/plain", "why", .delete),
        ]
    )
    func effects(method: String, type: String, body: String, effect: Effect) throws {
        let headers = type.isEmpty ? [] : [("Content-Type", type)]
        let modifier = try modifier(method, headers, body)
        #expect(modifier.changes.map(\.effect) == [effect])
        #expect(modifier.changes.map(\.target) == [try EntryID("https://a.example/x")])
        #expect(modifier.request.method == method)
        #expect(modifier.request.url?.text == "https://a.example/x")
        let isNone = type.isEmpty && body.isEmpty
        #expect(modifier.request.body == (isNone ? .none : .bytes(Array(body.utf8))))
        #expect(modifier.request.headers["Content-Type"] == (type.isEmpty ? nil : type))
        #expect(modifier.id == nil)
    }

    @Test("A JSON Patch is one, tests included")
    func patch() throws {
        let type = [("Content-Type", "application/json-patch+json")]
        let body = #"[{"op":"test","path":"/a","value":1},{"op":"remove","path":"/a"}]"#
        let expected = try Effect(parsing: Array(#"{"type":"patch","value":\#(body)}"#.utf8))
        #expect(try modifier("PATCH", type, body).changes.map(\.effect) == [expected])
        for bad in ["{}", #"[{"op":"burn","path":"/a"}]"#, #"[{"op":"add","path":"a"}]"#] {
            let problem = try problem("PATCH", type, bad)
            #expect(problem.kind == .badRequest)
            #expect(problem.detail.contains("JSON Patch"))
        }
    }

    @Test(
        "A body that is not what its type says is refused",
        arguments: [
            ("PUT", "application/json", #"{"a":"#), ("PUT", "application/json", ""),
            ("PUT", "application/x+json", "1 2"), ("PATCH", "application/json", "nope"),
            ("PATCH", "application/merge-patch+json", ""),
            ("PATCH", "application/json-patch+json", "["),
        ]
    )
    func malformed(method: String, type: String, body: String) throws {
        let problem = try problem(method, [("Content-Type", type)], body)
        #expect(problem.kind == .badRequest)
        #expect(problem.detail.contains(type))
        #expect(problem.hint.contains("Content-Type"))
    }

    @Test("JSON that is too large to be worked on is shown as bytes, and has to be JSON")
    func largeJSON() throws {
        let type = [("Content-Type", "application/json")]
        let text = "\"" + String(repeating: "x", count: Limits.inlineJSONBytesMax) + "\""
        #expect(try modifier("PUT", type, text).changes.map(\.effect) == [.replace])
        #expect(try problem("PUT", type, String(text.dropLast())).kind == .badRequest)
        #expect(try command("PUT").bodyBytesMax == Limits.modifierBodyBytesMax)
        #expect(try command("POST").bodyBytesMax == Limits.modifierBodyBytesMax)
        #expect(try command("PATCH").bodyBytesMax == Limits.commandBodyBytesMax)
    }

    @Test("Header fields are sent, except for those of the connection and for the daemon")
    func headers() throws {
        let given = [
            ("Host", "larder"), ("User-Agent", "curl/8"), ("Accept", "*/*"),
            ("Content-Type", "text/plain"), ("Content-Length", "1"), ("X-Own", "1"),
            ("X-Own", "2"), ("Prefer", "respond-async"), ("Connection", "x-hop, close"),
            ("X-Hop", "1"), ("Larder-Account", "work"), ("Larder-Client", "c"), ("TE", "trailers"),
            ("If-Match", "\"a\""), ("If-None-Match", "*"), ("Expect", "100-continue"),
            ("Transfer-Encoding", "chunked"), ("Accept-Encoding", "gzip"),
            ("Cache-Control", "no-cache"), ("Range", "bytes=0-1"),
        ]
        let modifier = try modifier("PUT", given, "1")
        let sent = modifier.request.headers.fields.map { "\($0.name): \($0.value)" }
        #expect(
            sent == [
                "User-Agent: curl/8", "Accept: */*", "Content-Type: text/plain", "X-Own: 1",
                "X-Own: 2", "If-Match: \"a\"", "If-None-Match: *", "Cache-Control: no-cache",
            ]
        )
        #expect(modifier.account.text == "work")
    }

    @Test(
        "A header field that no modifier can have is refused",
        arguments: [
            ("Authorization", "Bearer x", ProblemKind.badRequest),
            ("cookie", "a=b", .badRequest),
            ("Idempotency-Key", "no spaces", .badRequest),
            ("Idempotency-Key", "\"\"", .badRequest),
            ("Content-Encoding", "gzip", .unsupported),
            ("Content-Range", "bytes 0-1/2", .unsupported),
            ("If-Match", "\"a\", \"larder-00\"", .unsupported),
            ("Larder-Account", "no/account", .badRequest),
            ("X-Long", String(repeating: "x", count: Limits.requestHeaderBytesMax), .headTooLarge),
        ]
    )
    func refusedHeaders(name: String, value: String, kind: ProblemKind) throws {
        let problem = try problem("PUT", [(name, value)], "1")
        #expect(problem.kind == kind)
        #expect(kind == .headTooLarge || problem.detail.lowercased().contains(name.lowercased()))
    }

    @Test("A key of the client's is the modifier's id, under the name that the origin has for it")
    func keys() throws {
        for text in ["k-1", "\"k-1\""] {
            let modifier = try modifier("POST", [("idempotency-key", text)], "1")
            #expect(modifier.id?.text == "k-1")
            #expect(modifier.request.headers.fields.isEmpty)
        }
        let headers = [("X-Key", "k-2"), ("Idempotency-Key", "other")]
        let other = try command("POST", headers).modifier(
            to: try WebURL("https://a.example/x"),
            keyHeader: "X-Key",
            body: []
        )
        #expect(other.id?.text == "k-2")
        #expect(other.request.headers.fields.map(\.name) == ["Idempotency-Key"])
    }
}

extension JSONMember {
    fileprivate static var a1: JSONMember {
        JSONMember(name: "a", value: .number(JSONNumber(1)))
    }
}
