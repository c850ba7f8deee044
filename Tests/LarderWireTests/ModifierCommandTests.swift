import LarderJSON
import LarderModel
import LarderWire
import Testing

@Suite("POST /v1/modifiers")
struct ModifierCommandTests {
    private static let url = "https://api.example.com/articles/42"

    private static func command(_ json: String) throws(Problem) -> ModifierCommand {
        let command = try ModifiersCommand(json: Array(json.utf8))
        return command.modifiers[0]
    }

    private static func change(_ effect: String, _ rest: String = "") -> String {
        #"{"changes":[{"target":{"id":"\#(url)"},"effect":\#(effect)}]\#(rest)}"#
    }

    @Test(
        "A single change of put, merge, patch or delete has a request of its own",
        arguments: [
            (#"{"type":"put","value":{"a":1.50}}"#, "PUT", "application/json", #"{"a":1.50}"#),
            (
                #"{"type":"merge","value":{"liked":true}}"#, "PATCH",
                "application/merge-patch+json", #"{"liked":true}"#
            ),
            (
                #"{"type":"patch","value":[{"op":"remove","path":"/a"}]}"#, "PATCH",
                "application/json-patch+json", #"[{"op":"remove","path":"/a"}]"#
            ),
            (#"{"type":"delete"}"#, "DELETE", nil, nil),
        ] as [(String, String, String?, String?)]
    )
    func derived(effect: String, method: String, type: String?, body: String?) throws {
        let request = try Self.command(Self.change(effect)).request
        #expect(request.method == method)
        #expect(request.url?.text == Self.url)
        #expect(request.headers["Content-Type"] == type)
        #expect(request.body == (body.map { .bytes(Array($0.utf8)) } ?? .none))
    }

    @Test(
        "A modifier without a request to send is refused with that reason",
        arguments: [
            #"{}"#, change(#"{"type":"set","value":{"set":{"/a":1}}}"#),
            change(#"{"type":"none"}"#),
            #"{"changes":[{"target":{"id":"notes/1"},"effect":{"type":"delete"}}]}"#,
        ]
    )
    func noRequest(json: String) {
        #expect(throws: Problem.self) { try Self.command(json) }
        do throws(Problem) {
            _ = try Self.command(json)
        } catch {
            #expect(error.kind == .noRequest)
            #expect(error.status == 422)
        }
    }

    @Test("Every member is read, and what is written is read back")
    func whole() throws {
        let json = """
            {"id":"like-42","changes":[{"target":{"id":"HTTPS://API.example.com:443/articles/42"},\
            "effect":{"type":"add","value":{"/likes":1}}}],"request":{"method":"POST",\
            "url":"\(Self.url)/likes","headers":{"X-From":"phone"},"body":{"n":1}},\
            "account":"work","lane":"cart","depends_on":["a","b"],"hold":"10s","expires":"7d",\
            "max_attempts":3,"after_unknown":"resend","if_match":"strict","on_conflict":"client"}
            """
        let command = try Self.command(json)
        #expect(command.id?.text == "like-42")
        #expect(command.changes.map(\.target) == [try EntryID(Self.url)])
        #expect(command.request.headers["X-From"] == "phone")
        #expect(command.request.headers["Content-Type"] == "application/json")
        #expect(command.account.text == "work")
        #expect(command.lane?.text == "cart")
        #expect(command.dependsOn.map(\.text) == ["a", "b"])
        #expect(command.hold == .seconds(10))
        #expect(command.expires == .seconds(7 * 86_400))
        #expect(command.attemptsMax == 3)
        #expect(command.afterUnknown == .resend)
        #expect(command.ifMatch == .strict)
        #expect(command.onConflict == .client)
        #expect(try ModifiersCommand(json: command.encodedJSON()) == ModifiersCommand(command))
    }

    @Test(
        "A body is JSON, a text, bytes, or those of an entry, each with its type",
        arguments: [
            (#""body":null"#, "application/json", .bytes(Array("null".utf8))),
            (#""body_text":"ü""#, "text/plain; charset=utf-8", .bytes(Array("ü".utf8))),
            (#""body_b64":"AAE=""#, "application/octet-stream", .bytes([0, 1])),
            (#""body_entry":"photos/1""#, nil, .entry(try! EntryID("photos/1"))),
        ] as [(String, String?, ModifierCommand.Request.Body)]
    )
    func bodies(member: String, type: String?, body: ModifierCommand.Request.Body) throws {
        let json = #"{"request":{"method":"POST","url":"https://a.example/","# + member + "}}"
        let request = try Self.command(json).request
        #expect(request.body == body)
        #expect(request.headers["Content-Type"] == type)
    }

    @Test(
        "A request that says no body takes that which follows from the change, if it is sent alike",
        arguments: [
            ("PATCH", "", "application/merge-patch+json", #"{"a":1}"#),
            (
                "PATCH", #","headers":{"Content-Type":"application/x-own"}"#, "application/x-own",
                #"{"a":1}"#
            ),
            ("PATCH", #","body_text":"""#, "text/plain; charset=utf-8", ""),
            ("POST", "", nil, nil),
        ] as [(String, String, String?, String?)]
    )
    func requestWithoutBody(method: String, rest: String, type: String?, body: String?) throws {
        let request = #","request":{"method":"\#(method)","url":"https://a.example/x"\#(rest)}"#
        let command = try Self.command(
            Self.change(#"{"type":"merge","value":{"a":1}}"#, request)
        )
        #expect(command.request.url?.text == "https://a.example/x")
        #expect(command.request.headers["Content-Type"] == type)
        #expect(command.request.body == (body.map { .bytes(Array($0.utf8)) } ?? .none))
    }

    @Test(
        "Bad input is refused by name and place",
        arguments: [
            (#"[]"#, .badRequest, "the body is"),
            (#"{"chages":[]}"#, .unknownMember, "unknown member 'chages', did you mean 'changes'?"),
            (
                #"{"change":[],"request":{"method":"FLY"}}"#, .unknownMember,
                "unknown member 'change', did you mean 'changes'?"
            ),
            (
                #"{"changes":[{"target":{"uri":"a"},"efect":{}}]}"#, .unknownMember,
                "unknown member 'efect' in 'changes[0]', did you mean 'effect'?"
            ),
            (
                #"{"changes":[{"target":{"kye":"a"},"effect":{}}]}"#, .unknownMember,
                "unknown member 'kye' in 'changes[0].target', there are: id"
            ),
            (
                #"{"request":{"methd":"PUT"}}"#, .unknownMember,
                "unknown member 'methd' in 'request', did you mean 'method'?"
            ),
            (
                #"{"modifiers":[{}],"lane":"a"}"#, .unknownMember,
                "'modifiers' is given with other members"
            ),
            (#"{"lane":"a","lane":"a"}"#, .badRequest, "the member 'lane' is given twice"),
            (
                change(#"{"type":"delete"}"#, #","after_unknown":"auot""#), .badRequest,
                "did you mean 'auto'?"
            ),
            (
                change(#"{"type":"set","value":{"/a":1}}"#), .badRequest,
                #"write: {"set": {"/a": …}}"#
            ),
            (change(#"{"type":"delete"}"#, #","lanes":"a""#), .unknownMember, "lanes"),
            (change(#"{"type":"rename"}"#), .badRequest, "rename"),
            (change(#"{"type":"replace"}"#), .badRequest, "replace"),
            (change(#"{"type":"add","value":{"/a":"1"}}"#), .badRequest, "changes[0]"),
            (
                #"{"changes":[{"target":{},"effect":{}}]}"#, .badRequest,
                "the member 'id' in 'changes[0].target' is missing"
            ),
            (#"{"changes":[{"target":{"id":""},"effect":{}}]}"#, .badID, "target"),
            (change(#"{"type":"delete"}"#, #","coalesce":"net""#), .unknownMember, "coalesce"),
            (change(#"{"type":"delete"}"#, #","max_attempts":0"#), .badRequest, "max_attempts"),
            (change(#"{"type":"delete"}"#, #","hold":"soon""#), .badRequest, "hold"),
            (change(#"{"type":"delete"}"#, #","hold":"25h""#), .badRequest, "1d"),
            (change(#"{"type":"delete"}"#, #","expires":"367d""#), .badRequest, "366d"),
            (change(#"{"type":"delete"}"#, #","id":"a b""#), .badRequest, "id"),
            (change(#"{"type":"delete"}"#, #","depends_on":["a b"]"#), .badRequest, "depends_on"),
            (#"{"request":{"method":"GET","url":"https://a.example/"}}"#, .badRequest, "GET"),
            (#"{"request":{"method":"PUT"}}"#, .badRequest, "url"),
            (
                #"{"request":{"method":"PUT","url":"https://a.example/","body_b64":"A"}}"#,
                .badRequest, "request: body_b64: it is not base64"
            ),
            (#"{"request":{"method":"PUT","url":"ftp://a"}}"#, .badURL, "ftp"),
            (
                #"{"request":{"method":"PUT","url":"https://a.example/","body":1,"body_text":""}}"#,
                .badRequest, "body and body_text"
            ),
            (
                #"{"request":{"method":"PUT","url":"https://a.example/","headers":{"Cookie":"a"}}}"#,
                .badRequest, "Cookie"
            ),
            (#"{"modifiers":[]}"#, .badRequest, "modifiers"),
            (#"{"modifiers":[1]}"#, .badRequest, "modifiers[0]"),
            (
                #"{"modifiers":["# + change(#"{"type":"delete"}"#) + ","
                    + change(#"{"type":"delete"}"#, #","account":"b""#) + "]}",
                .badRequest, "accounts"
            ),
        ] as [(String, ProblemKind, String)]
    )
    func badInput(json: String, kind: ProblemKind, part: String) {
        do throws(Problem) {
            _ = try Self.command(json)
            Issue.record("it was taken")
        } catch {
            #expect(error.kind == kind)
            #expect(part.isEmpty || error.detail.contains(part), "\(error.detail)")
        }
    }

    @Test("A target in two changes is refused")
    func twice() {
        let part = #"{"target":{"id":"a"},"effect":{"type":"delete"}}"#
        let request = #"{"method":"PUT","url":"https://a.example/"}"#
        let json = #"{"changes":[\#(part),\#(part)],"request":\#(request)}"#
        do throws(Problem) {
            _ = try Self.command(json)
            Issue.record("it was taken")
        } catch {
            #expect(error.kind == .badRequest)
            #expect(error.detail.contains("twice"))
        }
    }
}
