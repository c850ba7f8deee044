import LarderModel
import LarderWire
import Testing

@Suite("A fetch command")
struct FetchCommandTests {
    private func refusal(query: String) -> Problem? {
        #expect(throws: Problem.self) { try FetchCommand(query: query[...]) }
    }

    private func refusal(json: String) -> Problem? {
        #expect(throws: Problem.self) { try FetchCommand(json: bytes(json)) }
    }

    @Test("A GET gives its parameters")
    func query() throws {
        let command = try FetchCommand(
            query:
                "url=https%3A%2F%2FA.example%2Fx%3Fa%3D1%262&policy=network-first&network_wait=0s"
                + "&timeout=1h&account=work&follow=true&normalize=false&partial=true"
        )
        var expected = FetchCommand(url: try WebURL("https://a.example/x?a=1&2"))
        expected.policy = .networkFirst
        expected.networkWait = .zero
        expected.timeout = .seconds(3_600)
        expected.account = try AccountName("work")
        expected.follows = true
        expected.normalizes = false
        expected.isPartial = true
        #expect(command == expected)
        #expect(try FetchCommand(query: "url=http://a/") == FetchCommand(url: WebURL("http://a/")))
    }

    @Test("The body of a POST is written in order and reads back")
    func roundTrip() throws {
        var command = FetchCommand(url: try WebURL("https://a.example/x"))
        #expect(text(command.encodedJSON()) == #"{"url":"https://a.example/x"}"#)
        #expect(try FetchCommand(json: command.encodedJSON()) == command)
        command.policy = .cacheOnly
        command.networkWait = .milliseconds(300)
        command.timeout = .seconds(10)
        command.account = try AccountName("work")
        command.normalizes = true
        command.isPartial = true
        command.follows = true
        command.headers.append("Accept", "application/json")
        command.headers.append("X-Note", "a\tb")
        #expect(
            text(command.encodedJSON())
                == #"{"url":"https://a.example/x","policy":"cache-only","network_wait":"300ms","#
                + #""timeout":"10s","account":"work","normalize":true,"partial":true,"follow":true,"#
                + #""headers":{"Accept":"application/json","X-Note":"a\tb"}}"#
        )
        #expect(try FetchCommand(json: command.encodedJSON()) == command)
    }

    @Test("A member that is null counts as not given")
    func null() throws {
        let command = try FetchCommand(json: bytes(#"{"url":"http://a/","policy":null}"#))
        #expect(command == FetchCommand(url: try WebURL("http://a/")))
    }

    @Test("A URL that was not encoded is refused by the parameter that its tail looks like")
    func notEncoded() {
        let problem = refusal(query: "url=https://a/x?b=1&page=2")
        #expect(problem?.kind == .unknownParameter)
        #expect(problem?.detail.hasPrefix("unknown query parameter 'page', ") == true)
        #expect(problem?.hint.contains("curl -G --data-urlencode url=") == true)
    }

    @Test(
        "A GET is refused by the name of what is wrong",
        arguments: [
            ("", ProblemKind.badRequest, "url"), ("policy=cache-only", .badRequest, "url"),
            ("url=", .badURL, "URL"), ("url=ftp://a/", .badURL, "ftp"),
            ("url=//a", .badURL, "scheme"), ("url=http://u:p@a/", .badURL, "user name"),
            ("url=http://a/&policy=cache-last", .badRequest, "policy: 'cache-last'"),
            ("url=http://a/&network_wait=5", .badRequest, "network_wait"),
            ("url=http://a/&network_wait=2h", .badRequest, "network_wait: '2h'"),
            ("url=http://a/&timeout=0s", .badRequest, "timeout: '0s'"),
            ("url=http://a/&timeout=61m", .badRequest, "timeout: '61m'"),
            ("url=http://a/&timeout=soon", .badRequest, "timeout"),
            ("url=http://a/&account=a%20b", .badRequest, "account"),
            ("url=http://a/&headers=x", .unknownParameter, "'headers'"),
            ("url=http://a/&follow=yes", .badRequest, "follow: 'yes' is neither true nor false"),
            ("url=http://a/&follow=", .badRequest, "follow: ''"),
            ("url=http://a/&follow=true&follow=true", .badRequest, "'follow' is given twice"),
            ("url=http://a/&normalize=yes", .badRequest, "normalize: 'yes'"),
            ("url=http://a/&partial=1", .badRequest, "partial: '1'"),
            ("url=http://a/&url=http://b/", .badRequest, "'url' is given twice"),
            ("url=http://a/%2", .badRequest, "'url'"),
        ]
    )
    func queryRefusals(query: String, kind: ProblemKind, named: String) {
        let problem = refusal(query: query)
        #expect(problem?.kind == kind)
        #expect(problem?.detail.contains(named) == true, "\(problem?.detail ?? "")")
    }

    @Test(
        "A POST is refused by the name of what is wrong",
        arguments: [
            ("", ProblemKind.badRequest, "ends too early"), ("[]", .badRequest, "an array"),
            ("{}", .badRequest, "url is missing"),
            (#"{"url":1}"#, .badRequest, "'url' is a number"),
            (#"{"url":"x"}"#, .badURL, "'x'"),
            (#"{"url":"http://a/","colour":1}"#, .unknownMember, "'colour'"),
            (#"{"url":"http://a/","normalize":"yes"}"#, .badRequest, "'normalize' is a string"),
            (#"{"url":"http://a/","partial":1}"#, .badRequest, "'partial' is a number"),
            (#"{"url":"http://a/","follow":"true"}"#, .badRequest, "'follow' is a string"),
            (#"{"url":"http://a/","follow":1}"#, .badRequest, "'follow' is a number"),
            (#"{"url":"http://a/","url":"http://b/"}"#, .badRequest, "'url' is given twice"),
            (#"{"url":"http://a/","policy":[]}"#, .badRequest, "'policy' is an array"),
            (#"{"url":"http://a/","policy":"x"}"#, .badRequest, "policy: 'x'"),
            (#"{"url":"http://a/","timeout":10}"#, .badRequest, "'timeout' is a number"),
            (#"{"url":"http://a/","timeout":"0ms"}"#, .badRequest, "timeout: '0ms'"),
            (#"{"url":"http://a/","network_wait":"-1s"}"#, .badRequest, "network_wait"),
            (#"{"url":"http://a/","account":true}"#, .badRequest, "'account' is a boolean"),
            (#"{"url":"http://a/","headers":"x"}"#, .badRequest, "'headers' is a string"),
        ]
    )
    func bodyRefusals(json: String, kind: ProblemKind, named: String) {
        let problem = refusal(json: json)
        #expect(problem?.kind == kind)
        #expect(problem?.detail.contains(named) == true, "\(problem?.detail ?? "")")
    }

    @Test(
        "A header that a client may not give is refused by name",
        arguments: [
            "Host", "connection", "Content-Length", "Transfer-Encoding", "TE", "Upgrade", "Trailer",
            "Keep-Alive", "Proxy-Connection", "Proxy-Authorization", "If-None-Match",
            "If-Modified-Since", "If-Match", "If-Unmodified-Since", "If-Range", "Range", "Expect",
            "Accept-Encoding", "", "a b", "a:b", "é", "a\\n",
        ]
    )
    func refusedHeaders(name: String) {
        let problem = refusal(json: #"{"url":"http://a/","headers":{"\#(name)":"1"}}"#)
        #expect(problem?.kind == .badRequest)
        let shown = name == "a\\n" ? "'a\n'" : "'\(name)'"
        #expect(problem?.detail.contains(shown) == true, "\(problem?.detail ?? "")")
    }

    @Test(
        "A header's value is a string on one line",
        arguments: ["1", "null", "[]", #""a\r\nB: c""#, #""a\u0000""#, #""\u007f""#]
    )
    func headerValues(value: String) {
        let problem = refusal(json: #"{"url":"http://a/","headers":{"X":\#(value)}}"#)
        #expect(problem?.kind == .badRequest)
        #expect(problem?.detail.contains("'X'") == true)
    }

    @Test("Headers are limited in number and bytes, and none comes twice")
    func headerLimits() throws {
        func headers(_ count: Int, _ length: Int) -> String {
            let value = String(repeating: "v", count: length)
            let members = (0..<count).map { "\"H\($0)\":\"\(value)\"" }
            return #"{"url":"http://a/","headers":{\#(members.joined(separator: ","))}}"#
        }
        let most = try FetchCommand(json: bytes(headers(Limits.requestHeadersMax, 1)))
        #expect(most.headers.fields.count == Limits.requestHeadersMax)
        let tooMany = refusal(json: headers(Limits.requestHeadersMax + 1, 1))
        #expect(tooMany?.detail.contains("at most \(Limits.requestHeadersMax)") == true)
        let tooLong = refusal(json: headers(1, Limits.requestHeaderBytesMax))
        #expect(tooLong?.detail.contains("\(Limits.requestHeaderBytesMax) bytes") == true)
        let twice = refusal(json: #"{"url":"http://a/","headers":{"A":"1","a":"2"}}"#)
        #expect(twice?.detail == "headers: 'a' is given twice")
    }
}
