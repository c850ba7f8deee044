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

    static let fixed: [(path: String, routes: [(HTTPMethod, Route)])] = [
        ("/v1/fetch", [(.GET, .fetch(.byQuery)), (.POST, .fetch(.byBody))]),
        ("/v1/entries", reads(.entries(.list))),
        ("/v1/pins", reads(.pins(.list))),
        ("/v1/evict", [(.POST, .administration(.evict))]),
        ("/v1/status", reads(.administration(.status))),
        ("/v1/stats", reads(.administration(.stats))),
        ("/v1/reload", [(.POST, .administration(.reload))]),
        ("/v1/purge", [(.POST, .administration(.purge))]),
        ("/v1/health/live", reads(.administration(.live))),
        ("/v1/health/ready", reads(.administration(.ready))),
        ("/v1/openapi.json", reads(.administration(.document))),
    ]

    private static func reads(_ route: Route) -> [(HTTPMethod, Route)] {
        [(.GET, route), (.HEAD, route)]
    }

    @Test("Whatever is read takes HEAD too, but what streams")
    func heads() {
        for pattern in Route.patterns where pattern.methods.contains(where: { $0.method == .GET }) {
            let isStream = ["/v1/fetch", "/v1/watch"].contains(pattern.template)
            let hasHead = pattern.methods.contains { $0.method == .HEAD }
            #expect(hasHead != isStream, "\(pattern.template)")
        }
    }

    static let raw: [(HTTPMethod, Route)] = [
        (.GET, .raw(.read)), (.HEAD, .raw(.read)), (.POST, .raw(.write)), (.PUT, .raw(.write)),
        (.PATCH, .raw(.write)), (.DELETE, .raw(.write)),
    ]

    private func route(_ method: HTTPMethod, _ path: String) throws(RouteError) -> Route {
        try Route(method, path: path[...])
    }

    @Test("Each path takes its methods, and names them to every other")
    func methods() throws {
        let entry = try EntryID("a")
        let all =
            Self.fixed + [
                (
                    "/v1/entries/a",
                    [
                        (.GET, .entries(.read(entry))), (.HEAD, .entries(.read(entry))),
                        (.PUT, .entries(.put(entry))), (.DELETE, .entries(.remove(entry))),
                    ]
                ),
                ("/v1/entries/a/explain", Self.reads(.entries(.explain(entry)))),
                ("/v1/pins/a", [(.PUT, .pins(.pin(entry))), (.DELETE, .pins(.unpin(entry)))]),
                ("/o/a", Self.raw), ("/o/a/b//c%2F", Self.raw),
            ]
        for (path, routes) in all {
            for method in Self.methods {
                if let known = routes.first(where: { $0.0 == method }) {
                    #expect(try route(method, path) == known.1)
                } else {
                    #expect(throws: RouteError.notAllowed(routes.map(\.0)), "\(method) \(path)") {
                        try route(method, path)
                    }
                }
            }
        }
    }

    @Test(
        "No other path is a route",
        arguments: [
            "", "/", "*", "/v1", "/v1/", "/v1/fetch/", "/v1//fetch", "//v1/fetch", "/V1/fetch",
            "/v1/entries%2Fa", "/v1/entriesa", "/v2/fetch", "/v1/health", "/v1/health/",
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
        #expect(try route(.GET, "/v1/entries/\(encoded)") == .entries(.read(try EntryID(id))))
        let explain = Route.entries(.explain(try EntryID(id)))
        #expect(try route(.GET, "/v1/entries/\(encoded)/explain") == explain)
        let encodedAnew = PercentCoding.entryPath(try EntryID(id))
        #expect(try route(.PUT, encodedAnew) == .entries(.put(try EntryID(id))))
    }

    @Test(
        "What is no id is refused as one, whatever the method",
        arguments: [
            "", "%", "%4", "%G1", "a%2", "a%00", "%0A", "a%0Db", "%1F", "%7F", "%09", "%FF",
            "%C3", "%C0%AF", "%ED%A0%80",
        ]
    )
    func badIDs(encoded: String) {
        for method: HTTPMethod in [.GET, .HEAD, .PUT, .DELETE] {
            let error = #expect(throws: RouteError.self) {
                try route(method, "/v1/entries/\(encoded)")
            }
            guard case .problem(let problem) = error else {
                Issue.record("\(encoded): \(String(describing: error))")
                continue
            }
            #expect(problem.kind == .badID)
        }
    }

    @Test("An id may have 8,192 bytes behind its encoding, and no more")
    func longIDs() throws {
        let longest = String(repeating: "x", count: Limits.idBytesMax)
        #expect(try route(.GET, "/v1/entries/\(longest)") == .entries(.read(try EntryID(longest))))
        let foxes = String(repeating: "%F0%9F%A6%8A", count: Limits.idBytesMax / 4)
        let foxID = try EntryID(String(repeating: "🦊", count: Limits.idBytesMax / 4))
        #expect(try route(.GET, "/v1/entries/\(foxes)") == .entries(.read(foxID)))
        for tooLong in [longest + "x", foxes + "x", String(repeating: "x", count: 65_536)] {
            let error = #expect(throws: RouteError.self) {
                try route(.GET, "/v1/entries/\(tooLong)")
            }
            guard case .problem(let problem) = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(problem.kind == .badID)
            // What is refused for its length is not sent back in its length.
            #expect(problem.detail.utf8.count < 1_000)
        }
    }
}
