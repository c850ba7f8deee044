import LarderAPI
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

    /// A fixed path leaves the methods that it does not take to a pattern after it: `batch` is an
    /// id like any other.
    init(_ method: HTTPMethod, path: Substring) throws(RouteError) {
        var allowed: [HTTPMethod] = []
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
    var lane: Lane { get throws(Problem) { try PercentCoding.lane(inPath: parameter) } }

    var modifier: ModifierID {
        get throws(Problem) { try PercentCoding.modifierID(inPath: parameter) }
    }

    var origin: OriginName {
        get throws(Problem) {
            guard let name = PercentCoding.decoded(parameter.utf8) else {
                throw Problem(.badRequest, "the name in the path is not percent-encoded UTF-8")
            }
            return try OriginName(command: name)
        }
    }
}

/// Why a request has no route.
enum RouteError: Error, Equatable {
    case notFound
    case notAllowed([HTTPMethod])
    case problem(Problem)
}
