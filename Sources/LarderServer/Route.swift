import LarderModel
import LarderWire
import NIOHTTP1

/// What a request is about, told from its method and path: one case a family.
enum Route: Equatable {
    case entries(EntryRoute)
    case entities(EntityRoute)
    case fetch(FetchRoute)
    case watch(WatchRoute)
    case pins(PinRoute)
    case modifiers(ModifierRoute)
    case origins(OriginRoute)
    case administration(AdministrationRoute)
    case raw(RawRoute)

    /// Every path that there is; the first that fits counts, and the busiest stand first.
    static let patterns =
        EntryRoute.patterns + EntityRoute.patterns + FetchRoute.patterns + ModifierRoute.patterns
        + WatchRoute.patterns
        + PinRoute.patterns
        + OriginRoute.patterns + AdministrationRoute.patterns + RawRoutes.patterns

    /// Finds the route, or says what is wrong with method or path.
    ///
    /// A fixed path leaves the methods that it does not take to a pattern behind it: `batch` is
    /// an id like any other.
    init(_ method: HTTPMethod, path: Substring) throws(RouteError) {
        var allowed: [HTTPMethod] = []
        for pattern in Self.patterns {
            guard let parameter = pattern.parameter(of: path) else { continue }
            guard let make = pattern.make(method) else {
                allowed += pattern.methods.map(\.method)
                if pattern.isFixed { continue }
                break
            }
            do throws(Problem) {
                self = try make(parameter)
                return
            } catch {
                throw .problem(error)
            }
        }
        throw allowed.isEmpty ? .notFound : .notAllowed(allowed)
    }
}

/// Why a request has no route.
enum RouteError: Error, Equatable {
    case notFound
    case notAllowed([HTTPMethod])
    case problem(Problem)
}
