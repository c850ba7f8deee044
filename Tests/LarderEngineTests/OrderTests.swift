import LarderAPI
import LarderEngine
import LarderModel
import LarderWire
import Testing

/// Commands as they come, and their checked values.
@Suite("Values of commands")
struct OrderTests {
    private func command<Value: Decodable>(_ json: String) throws -> Value {
        try APIDecoder(.strict).decode(from: Array(json.utf8))
    }

    private func fetch(_ json: String) throws -> FetchOrder {
        try FetchOrder(command(json) as FetchCommand)
    }

    private func watch(query: String) throws -> WatchOrder {
        let query: WatchQuery = try APIDecoder(.strict).decode(query: query[...])
        return try WatchOrder(WatchCommand(query))
    }

    private func evict(_ json: String) throws -> EvictOrder {
        try EvictOrder(command(json) as EvictCommand)
    }

    @Test("A fetch has the values of its command")
    func fetchValues() throws {
        let order = try fetch(
            #"{"url":"https://A.example/x","policy":"cache-only","network_wait":"300ms","#
                + #""timeout":"1h","account":"work","normalize":true,"partial":true,"#
                + #""follow":true,"heartbeat":"5s","headers":{"Accept":"a/b","X-Note":"a\tb"}}"#
        )
        var expected = FetchOrder(url: try WebURL("https://a.example/x"))
        expected.policy = .cacheOnly
        expected.networkWait = .milliseconds(300)
        expected.timeout = .seconds(3_600)
        expected.account = try AccountName("work")
        expected.normalizes = true
        expected.isPartial = true
        expected.follows = true
        expected.heartbeat = .seconds(5)
        expected.headers.append("Accept", "a/b")
        expected.headers.append("X-Note", "a\tb")
        #expect(order == expected)
        #expect(try fetch(#"{"url":"http://a/"}"#) == FetchOrder(url: WebURL("http://a/")))
    }

    @Test(
        "A fetch is refused by the name of what is wrong",
        arguments: [
            (#"{"url":"x"}"#, ProblemKind.badURL, "'x'"), (#"{"url":"ftp://a/"}"#, .badURL, "ftp"),
            (#"{"url":"http://u:p@a/"}"#, .badURL, "user name"),
            (#"{"url":"http://a/","timeout":"0ms"}"#, .badRequest, "timeout: '0ms'"),
            (#"{"url":"http://a/","timeout":"61m"}"#, .badRequest, "timeout: '61m'"),
            (#"{"url":"http://a/","network_wait":"2h"}"#, .badRequest, "network_wait: '2h'"),
            (#"{"url":"http://a/","heartbeat":"0s"}"#, .badRequest, "heartbeat: '0ms'"),
            (#"{"url":"http://a/","account":"a b"}"#, .badRequest, "account"),
        ]
    )
    func fetchRefusals(json: String, kind: ProblemKind, named: String) {
        let problem = #expect(throws: Problem.self) { try fetch(json) }
        #expect(problem?.kind == kind)
        #expect(problem?.detail.contains(named) == true, "\(problem?.detail ?? "")")
    }

    @Test(
        "A header that a client may not give is refused by name",
        arguments: [
            "Host", "connection", "Content-Length", "Transfer-Encoding", "TE", "Upgrade", "Trailer",
            "Keep-Alive", "Proxy-Connection", "Proxy-Authorization", "If-None-Match",
            "If-Modified-Since", "If-Match", "If-Unmodified-Since", "If-Range", "Range", "Expect",
            "Accept-Encoding", "", "a b", "a:b", "é", "a\n",
        ]
    )
    func refusedHeaders(name: String) {
        var command = FetchCommand(url: "http://a/")
        command.options.headers = NamedValues([.init(name, "1")])
        let problem = #expect(throws: Problem.self) { try FetchOrder(command) }
        #expect(problem?.kind == .badRequest)
        #expect(problem?.detail.contains("'\(name)'") == true, "\(problem?.detail ?? "")")
    }

    @Test("Headers are limited in number and bytes, have one line each, and none comes twice")
    func headerLimits() throws {
        func order(_ headers: [NamedValues<String>.Member]) throws -> FetchOrder {
            var command = FetchCommand(url: "http://a/")
            command.options.headers = NamedValues(headers)
            return try FetchOrder(command)
        }
        let names = (0...Limits.requestHeadersMax).map { "H\($0)" }
        let most = try order(names.dropLast().map { .init($0, "1") })
        #expect(most.headers.fields.count == Limits.requestHeadersMax)
        let long = String(repeating: "v", count: Limits.requestHeaderBytesMax)
        for headers in [
            names.map { .init($0, "1") }, [.init("H", long)], [.init("A", "1"), .init("a", "2")],
            [.init("X", "a\r\nB: c")], [.init("X", "a\u{0}")], [.init("X", "\u{7f}")],
        ] as [[NamedValues<String>.Member]] {
            let problem = #expect(throws: Problem.self) { try order(headers) }
            #expect(problem?.detail.hasPrefix("headers: ") == true)
        }
    }

    @Test("A watch has the values of its parameters, ids and prefixes as often as there are any")
    func watchValues() throws {
        var order = try watch(
            query: "since=8413&id=a&id=HTTPS%3A%2F%2FA%3A443%2Fb&prefix=p%2F&types=put,evict"
                + "&initial=1&id=entity%3Aexample%2FA%3Aa%252Fb&prefix=entity%3Aexample%2F&heartbeat=5s"
                + "&timeout=30s&account=work"
        )
        var expected = WatchOrder()
        expected.since = Revision(8_413)
        expected.ids = [try EntryID("a"), try EntryID("https://a/b"), try .entity("A:a%2Fb")]
        expected.prefixes = ["p/", EntryID.entityPrefix(try OriginName("example"))]
        expected.types = [.put, .evict]
        expected.listsFirst = true
        expected.heartbeat = .seconds(5)
        expected.timeout = .seconds(30)
        expected.account = try AccountName("work")
        #expect(order == expected)
        #expect(try watch(query: "") == WatchOrder())
        try order.takeLastEventID("7")
        #expect(order.since == Revision(7))
        #expect(throws: Problem.self) { try order.takeLastEventID("x") }
    }

    @Test(
        "A watch is refused by the name of what is wrong",
        arguments: [
            ("since=-1", "since"), ("id=", "empty"), ("heartbeat=0s", "heartbeat"),
            ("timeout=2h", "timeout"), ("id=entity:A", "entity:ORIGIN/TYPE:KEY"),
            ("id=entity:a%2520b%2FA:1", "entity:ORIGIN/TYPE:KEY"),
        ]
    )
    func watchRefusals(query: String, word: String) {
        let problem = #expect(throws: Problem.self) { try watch(query: query) }
        #expect(problem?.status == 400)
        #expect(problem?.detail.contains(word) == true)
    }

    @Test("Too many ids of a watch are refused")
    func tooMany() throws {
        var command = WatchCommand()
        command.ids = (0...Limits.watchedIDsMax).map(String.init)
        #expect(throws: Problem.self) { try WatchOrder(command) }
        command.ids?.removeLast()
        #expect(try WatchOrder(command).ids.count == Limits.watchedIDsMax)
    }

    @Test("An eviction has the selection of its command")
    func selections() throws {
        let cases: [(EvictOrder.Selection, String)] = [
            (.ids([try EntryID("a"), try EntryID("b/c")]), #"{"ids":["a","b/c"]}"#),
            (.ids([try .entity("User:7")]), #"{"ids":["entity:example/User:7"]}"#),
            (.prefix("\u{1}example/User:"), #"{"prefix":"entity:example/User:"}"#),
            (.prefix("https://a/"), #"{"prefix":"https://a/"}"#),
            (.origin(try OriginName("example")), #"{"origin":"example"}"#),
            (.olderThan(.seconds(604_800)), #"{"older_than":"7d"}"#),
            (.toBytes(ByteSize(bytes: 524_288_000)), #"{"to_bytes":524288000}"#),
            (.toBytes(ByteSize(bytes: 500 << 20)), #"{"to_bytes":"500MiB","dry_run":false}"#),
            (.all, #"{"all":true}"#),
        ]
        for (selection, json) in cases { #expect(try evict(json) == EvictOrder(selection)) }
        let order = try evict(#"{"all":true,"dry_run":true,"include_pinned":true}"#)
        #expect(order.isDryRun && order.includesPinned)
    }

    @Test(
        "An eviction is refused by the name of what is wrong",
        arguments: [
            ("{}", ProblemKind.badRequest, "nothing is selected"),
            (#"{"dry_run":true}"#, .badRequest, "nothing is selected"),
            (#"{"all":true,"prefix":"a"}"#, .badRequest, "more than one"),
            (#"{"origin":"a","ids":["a"]}"#, .badRequest, "more than one"),
            (#"{"all":false}"#, .badRequest, "all: false"),
            (#"{"ids":["entity:a"]}"#, .badID, "entity:ORIGIN/TYPE:KEY"),
            (#"{"ids":[]}"#, .badRequest, "ids: 0 are given"), (#"{"ids":[""]}"#, .badID, "ids"),
            (#"{"prefix":""}"#, .badRequest, "prefix"),
            (#"{"origin":"a/b"}"#, .badRequest, "origin"),
            (#"{"to_bytes":-1}"#, .badRequest, "to_bytes: -1"),
            (#"{"to_bytes":1.5}"#, .badRequest, "'to_bytes' is a number"),
            (#"{"to_bytes":"1MB"}"#, .badRequest, "to_bytes"),
            (#"{"to_bytes":[]}"#, .badRequest, "'to_bytes' is an array"),
        ]
    )
    func evictRefusals(json: String, kind: ProblemKind, named: String) {
        let problem = #expect(throws: Problem.self) { try evict(json) }
        #expect(problem?.kind == kind)
        #expect(problem?.detail.contains(named) == true, "\(problem?.detail ?? "")")
    }
}
