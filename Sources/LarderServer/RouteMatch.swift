import CSchema
import LarderAPI
import LarderEngine
import LarderModel
import LarderWire
import NIOHTTP1

/// The route of a request, found by its method and path.
struct RouteMatch: Equatable {
    let name: RouteName
    /// The part of the path in the place of the route's parameters.
    let parameter: Substring

    static let patterns: [RoutePattern] = {
        var paths: [String] = []
        for route in Route.table where !paths.contains(route.path) { paths.append(route.path) }
        return paths.map { path in RoutePattern(path, Route.table.filter { $0.path == path }) }
    }()

    private static let raw = patterns.first { $0.parameter(of: "/o/") != nil }

    /// A fixed path leaves the methods that it does not take to a pattern after it: `batch` is an
    /// id like any other.
    init(_ method: HTTPMethod, path: Substring) throws(RouteError) {
        var allowed: [HTTPMethod] = []
        if path.utf8.first != UInt8(ascii: "/"), RawCommand.isAbsolute(path), let raw = Self.raw {
            guard let name = raw.name(method) else {
                throw .notAllowed(raw.methods.map(\.method))
            }
            (self.name, parameter) = (name, path)
            return
        }
        for pattern in Self.patterns {
            guard let parameter = pattern.parameter(of: path) else { continue }
            if let name = pattern.name(method) {
                (self.name, self.parameter) = (name, parameter)
                return
            }
            allowed += pattern.methods.map(\.method)
            guard pattern.isFixed else { break }
        }
        throw allowed.isEmpty ? .notFound : .notAllowed(allowed)
    }

    /// The checks before the handler of a route; copying the row of the table takes longer.
    struct Checks {
        let refusesParameters: Bool
        let isForAdministrators: Bool
    }

    private static let checksByName = Route.byName.map { route in
        Checks(
            refusesParameters: route.query == nil && !route.passesQuery,
            isForAdministrators: route.access == .administrators
        )
    }

    var checks: Checks { Self.checksByName[name.rawValue] }
    var family: RouteFamily { RouteFamily.byName[name.rawValue] }

    var id: EntryID { get throws(Problem) { try PercentCoding.id(inPath: parameter) } }
    var origin: OriginName { get throws(Problem) { try OriginName(command: try text) } }

    var lane: Lane {
        get throws(Problem) { try Problem.reading(nil, try text, Lane.init(given:)) }
    }

    var modifier: ModifierID {
        get throws(Problem) { try Problem.reading(nil, try text, ModifierID.init(_:)) }
    }

    var set: PrefetchName {
        get throws(Problem) { try Problem.reading("name", try text, PrefetchName.init(_:)) }
    }

    private var text: String {
        get throws(Problem) {
            guard let name = PercentCoding.decoded(parameter.utf8) else {
                let detail = "'\(parameter)' in the path is not percent-encoded UTF-8"
                throw Problem(.badRequest, detail)
            }
            return name
        }
    }
}

enum RouteError: Error, Equatable {
    case notFound
    case notAllowed([HTTPMethod])
    case problem(Problem)
}

/// A path of the API with the methods that it takes.
struct RoutePattern: Sendable {
    let methods: [(method: HTTPMethod, name: RouteName)]
    private let prefix: String
    /// Nil for a path without a parameter.
    private let suffix: String?
    private let isOfOrigin: Bool

    /// Takes the routes of a path.
    ///
    /// The parameter of a path such as `/v1/entries/{id}/explain` may be empty and may contain
    /// slashes. Of a path with two, `/o/{origin}/{path}`, all from the first one's place on is the
    /// parameter.
    init(_ path: String, _ routes: [Route]) {
        methods = routes.flatMap { route -> [(method: HTTPMethod, name: RouteName)] in
            let method = HTTPMethod(rawValue: route.method)
            return (route.takesHead ? [method, .HEAD] : [method]).map { ($0, route.name) }
        }
        isOfOrigin = routes.contains { $0.name == .rawPost }
        prefix = String(path.prefix { $0 != "{" })
        suffix = path.firstIndex(of: "}").map { end in
            let rest = path[end...].dropFirst()
            return rest.contains("{") ? "" : String(rest)
        }
    }

    var isFixed: Bool { suffix == nil }

    /// The text in the place of the parameter; nil for a path that is another's.
    func parameter(of path: Substring) -> Substring? {
        // By bytes: each request takes this way, and characters cost ten times as much.
        let path = path.utf8
        guard path.starts(with: prefix.utf8) else { return nil }
        let rest = path.dropFirst(prefix.utf8.count)
        guard let suffix else { return rest.isEmpty ? Substring(rest) : nil }
        guard !suffix.isEmpty else { return Substring(rest) }
        guard rest.count > suffix.utf8.count,
            rest.suffix(suffix.utf8.count).elementsEqual(suffix.utf8)
        else { return nil }
        return Substring(rest.dropLast(suffix.utf8.count))
    }

    /// A path of an origin takes every method that passes a body on, also those of WebDAV, where it
    /// takes a POST.
    func name(_ method: HTTPMethod) -> RouteName? {
        if let name = methods.first(where: { $0.method == method })?.name { return name }
        guard isOfOrigin, method != .TRACE, method != .CONNECT else { return nil }
        return .rawPost
    }
}

/// Routes that are counted together.
enum RouteFamily: Int, CaseIterable {
    case read
    case put
    /// The other routes of entries.
    case entries
    case fetch
    case modifiers
    case watch
    case pins
    case origins
    case raw
    case administration
    /// There is no such route, or the request could not be read.
    case none

    var name: String { "\(self)" }

    static let byName: [RouteFamily] = Route.byName.map { route in
        switch route.name {
        case .readEntry: .read
        case .putEntry: .put
        default: allCases.first { $0.name == route.tag.rawValue } ?? .none
        }
    }
}

extension RouteMatch {
    func answer(_ exchange: Exchange, _ loop: LoopReader) async throws(Problem) {
        if checks.refusesParameters { try exchange.refuseParameters() }
        if checks.isForAdministrators { try exchange.requireAdministrator() }
        var entries: EntryRoutes { EntryRoutes(exchange: exchange, loop: loop) }
        var modifiers: ModifierRoutes { ModifierRoutes(exchange: exchange) }
        var pins: PinRoutes { PinRoutes(exchange: exchange) }
        var prefetches: PrefetchRoutes { PrefetchRoutes(exchange: exchange) }
        var origins: OriginRoutes { OriginRoutes(exchange: exchange) }
        var credentials: CredentialRoutes { CredentialRoutes(exchange: exchange) }
        var raw: RawRoutes { RawRoutes(exchange: exchange, loop: loop) }
        var administration: AdministrationRoutes {
            AdministrationRoutes(exchange: exchange, loop: loop)
        }
        switch name {
        case .readBatch: try await entries.batch()
        case .explainEntry: try await entries.explain(try id)
        case .readEntry: try await entries.read(try id)
        case .putEntry: try await entries.put(try id)
        case .removeEntry: try await entries.remove(try id)
        case .listEntries: try await entries.list()
        case .fetchByQuery, .fetchByBody:
            try await FetchRoutes(exchange: exchange, loop: loop)
                .answer(byQuery: name == .fetchByQuery)
        case .watchByQuery, .watchByBody:
            try await WatchRoutes(exchange: exchange).answer(byQuery: name == .watchByQuery)
        case .listModifiers: try await modifiers.list()
        case .acceptModifiers: try await modifiers.accept()
        case .actOnModifiers: try await modifiers.act()
        case .showModifier: try await modifiers.show(try modifier)
        case .editModifier: try await modifiers.edit(try modifier)
        case .removeModifier: try await modifiers.remove(try modifier)
        case .listLanes: try await modifiers.listLanes()
        case .setLane: try await modifiers.setLane(try lane)
        case .listPins: try await pins.list()
        case .pin: try await pins.pin(try id)
        case .unpin: try await pins.unpin(try id)
        case .listPrefetches: try await prefetches.list()
        case .showPrefetch: try await prefetches.show(try set)
        case .putPrefetch: try await prefetches.put(try set)
        case .removePrefetch: try await prefetches.remove(try set)
        case .listOrigins: try await origins.list()
        case .showOrigin: try await origins.show(try origin)
        case .changeOrigin: try await origins.change(try origin)
        case .checkOrigin: try await origins.check(try origin)
        case .putOrigin: try await origins.put(try origin)
        case .removeOrigin: try await origins.remove(try origin)
        case .showCredential: try await credentials.show(try origin)
        case .putCredential: try await credentials.put(try origin)
        case .removeCredential: try await credentials.remove(try origin)
        case .renewCredential: try await credentials.renew(try origin)
        case .evict: try await administration.evict()
        case .status: try await administration.status()
        case .stats: try await exchange.respond(with: exchange.stats())
        case .usage: try await administration.usage()
        case .check: try await administration.check()
        case .reload: try await administration.reload()
        case .purge: try await administration.purge()
        case .health: try await administration.health()
        case .version:
            let version = exchange.engine.monitor.version
            try await exchange.respond(with: VersionReport(version: version))
        case .document: await exchange.respond(APIDocument.bytes)
        case .get: try await raw.get()
        case .raw: try await raw.readOrPass()
        case .rawPost, .rawPut, .rawPatch, .rawDelete, .rawOptions: try await raw.write()
        }
    }
}

/// The OpenAPI 3.1 document of the API, as `schema/openapi.json` has it.
///
/// `scripts/generate-openapi` writes the file from the tables of routes and problems and the types of
/// `LarderAPI`. `CSchema` embeds it.
enum APIDocument {
    static let bytes: [UInt8] = {
        let document = larder_api_document()
        return Array(UnsafeRawBufferPointer(start: document.bytes, count: document.count))
    }()
}
