import LarderModel
import LarderWire
import NIOHTTP1

/// What a request is about, told from its method and path.
enum Route: Equatable {
    case fetch
    case fetchByBody
    case entries
    case readEntry(EntryID)
    case putEntry(EntryID)
    case removeEntry(EntryID)
    case explainEntry(EntryID)
    case evict
    case status
    case live
    case ready

    /// Finds the route, or says what is wrong with method or path.
    init(_ method: HTTPMethod, path: Substring) throws(RouteError) {
        if path.hasPrefix(Self.entryPrefix) {
            self = try Self.entry(method, rest: path.dropFirst(Self.entryPrefix.count))
            return
        }
        guard let methods = Self.fixed[String(path)] else { throw .notFound }
        guard let route = methods.first(where: { $0.method == method })?.route else {
            throw .notAllowed(methods.map(\.method))
        }
        self = route
    }

    private static let entryPrefix = "/v1/entries/"
    private static let explainSuffix = "/explain"

    private static let fixed: [String: [(method: HTTPMethod, route: Route)]] = [
        "/v1/fetch": [(.GET, .fetch), (.POST, .fetchByBody)],
        "/v1/entries": [(.GET, .entries)],
        "/v1/evict": [(.POST, .evict)],
        "/v1/status": [(.GET, .status)],
        "/v1/health/live": [(.GET, .live)],
        "/v1/health/ready": [(.GET, .ready)],
    ]

    /// `/` in an id is `%2F`, so a slash of its own begins something about the entry; an id that
    /// was not encoded is taken all the same.
    private static func entry(_ method: HTTPMethod, rest: Substring) throws(RouteError) -> Route {
        if rest.hasSuffix(explainSuffix), rest.count > explainSuffix.count {
            guard method == .GET else { throw .notAllowed([.GET]) }
            return .explainEntry(try id(rest.dropLast(explainSuffix.count)))
        }
        switch method {
        case .GET, .HEAD: return .readEntry(try id(rest))
        case .PUT: return .putEntry(try id(rest))
        case .DELETE: return .removeEntry(try id(rest))
        default: throw .notAllowed([.GET, .HEAD, .PUT, .DELETE])
        }
    }

    private static func id(_ text: Substring) throws(RouteError) -> EntryID {
        do throws(Problem) {
            return try PercentCoding.id(inPath: text)
        } catch {
            throw .problem(error)
        }
    }
}

/// Why a request has no route.
enum RouteError: Error, Equatable {
    case notFound
    case notAllowed([HTTPMethod])
    case problem(Problem)
}
