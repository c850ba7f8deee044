import LarderAPI
import LarderModel
import LarderWire
import NIOHTTP1
import Testing

@testable import LarderServer

@Suite("The table of routes")
struct RouteTests {
    static let methods: [HTTPMethod] = [
        .GET, .HEAD, .PUT, .POST, .DELETE, .PATCH, .OPTIONS, .TRACE, .CONNECT,
        .RAW(value: "PROPFIND"),
    ]

    private func route(_ method: HTTPMethod, _ path: String) throws(RouteError) -> RouteMatch {
        try RouteMatch(method, path: path[...])
    }

    @Test("Each route is found by its method and path, and has the name of one row")
    func table() throws {
        #expect(Route.byName.map(\.name) == RouteName.allCases)
        for row in Route.table {
            let path = row.path.replacing(/\{[a-z]+\}/, with: "x")
            #expect(try route(HTTPMethod(rawValue: row.method), path).name == row.name)
        }
    }

    @Test("GET routes take HEAD too, except those that stream")
    func heads() {
        for route in Route.table where route.method == "GET" {
            let isStream = ["/v1/fetch", "/v1/watch"].contains(route.path)
            #expect(route.takesHead != isStream, "\(route.path)")
        }
    }

    private static let raw: [HTTPMethod] = [
        .GET, .HEAD, .POST, .PUT, .PATCH, .DELETE, .OPTIONS,
    ]
    static let allowed: [(path: String, methods: [HTTPMethod])] = [
        ("/v1/fetch", [.GET, .POST]), ("/v1/entries", [.GET, .HEAD]), ("/v1/evict", [.POST]),
        ("/v1/health", [.GET, .HEAD]), ("/v1/openapi.json", [.GET, .HEAD]),
        ("/v1/entries/a", [.GET, .HEAD, .PUT, .DELETE]),
        ("/v1/entries/a/explain", [.GET, .HEAD]), ("/v1/pins/a", [.PUT, .DELETE]),
        ("/o/a", raw), ("/o/a/b//c%2F", raw), ("https://a.example/b", raw), ("HTTP://a", raw),
    ]

    @Test("Each path takes its methods, and names them to every other", arguments: allowed)
    func methods(path: String, methods: [HTTPMethod]) throws {
        let isOfOrigin = methods == Self.raw
        for method in Self.methods {
            if methods.contains(method) || isOfOrigin && method.rawValue == "PROPFIND" {
                _ = try route(method, path)
            } else {
                #expect(throws: RouteError.notAllowed(methods), "\(method) \(path)") {
                    try route(method, path)
                }
            }
        }
    }

    @Test(
        "No other path is a route",
        arguments: [
            "", "/", "*", "/v1", "/v1/", "/v1/fetch/", "/v1//fetch", "//v1/fetch", "/V1/fetch",
            "/v1/entries%2Fa", "/v1/entriesa", "/v2/fetch", "/v1/health/live", "/v1/health/",
            "/v1/watched", "/o", "/O/a", "/oa", "/v1/fetch%20", "/v1/%66etch", "v1/fetch",
            "/v1/fetch#", "/v1/status\0",
        ]
    )
    func unknownPaths(path: String) {
        for method in Self.methods {
            #expect(throws: RouteError.notFound) { try route(method, path) }
        }
    }

    @Test(
        "An id is what its percent-encoding says, byte for byte",
        arguments: [
            ("a", "a"),
            ("https:%2F%2Fapi.example.com%2F42%3Fa=b%26c", "https://api.example.com/42?a=b&c"),
            ("https://api.example.com/42", "https://api.example.com/42"),
            ("a%20b", "a b"),
            ("a+b", "a+b"),
            ("%F0%9F%A6%8A", "🦊"),
            ("e%CC%81", "e\u{301}"),
            ("%C3%A9", "\u{E9}"),
            ("a%2Fexplain", "a/explain"),
            ("%2Fexplain", "/explain"),
            ("/explain", "/explain"),
            ("explain", "explain"),
            ("a/explained", "a/explained"),
            ("a/explain/b", "a/explain/b"),
            ("..", ".."),
            ("%2e%2E", ".."),
            ("a%25", "a%"),
        ]
    )
    func ids(encoded: String, id: String) throws {
        let read = try route(.GET, "/v1/entries/\(encoded)")
        #expect(read.name == .readEntry)
        #expect(try read.id == EntryID(id))
        let explain = try route(.GET, "/v1/entries/\(encoded)/explain")
        #expect(explain.name == .explainEntry)
        #expect(try explain.id == EntryID(id))
        let put = try route(.PUT, PercentCoding.entryPath(try EntryID(id)))
        #expect(put.name == .putEntry)
        #expect(try put.id == EntryID(id))
    }

    @Test(
        "An invalid id is refused as bad-id, whatever the method",
        arguments: [
            "", "%", "%4", "%G1", "a%2", "a%00", "%0A", "a%0Db", "%1F", "%7F", "%09", "%FF",
            "%C3", "%C0%AF", "%ED%A0%80",
        ]
    )
    func badIDs(encoded: String) {
        for method: HTTPMethod in [.GET, .HEAD, .PUT, .DELETE] {
            let error = #expect(throws: Problem.self) {
                try route(method, "/v1/entries/\(encoded)").id
            }
            #expect(error?.kind == .badID)
        }
    }

    @Test("An id can have 8,192 decoded bytes, and no more")
    func longIDs() throws {
        let longest = String(repeating: "x", count: Limits.idBytesMax)
        #expect(try route(.GET, "/v1/entries/\(longest)").id == EntryID(longest))
        let foxes = String(repeating: "%F0%9F%A6%8A", count: Limits.idBytesMax / 4)
        let foxID = try EntryID(String(repeating: "🦊", count: Limits.idBytesMax / 4))
        #expect(try route(.GET, "/v1/entries/\(foxes)").id == foxID)
        for tooLong in [longest + "x", foxes + "x", String(repeating: "x", count: 65_536)] {
            let error = #expect(throws: Problem.self) {
                try route(.GET, "/v1/entries/\(tooLong)").id
            }
            #expect(error?.kind == .badID)
            // The problem does not send the id back in its length.
            #expect(try #require(error).detail.utf8.count < 1_000)
        }
    }
}
