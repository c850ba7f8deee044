import LarderModel
import LarderWire
import NIOHTTP1

/// What can be asked under `/v1/modifiers` and `/v1/lanes`.
enum ModifierRoute: Equatable {
    case accept
    case list
    case show(ModifierID)
    /// Cancels it, gives it up, or drops a dead letter.
    case remove(ModifierID)
    case retry(ModifierID)
    case pause(Lane)
    case resume(Lane)

    static let patterns = [
        RoutePattern(
            "/v1/modifiers",
            [(.GET, { _ in .modifiers(.list) }), (.POST, { _ in .modifiers(.accept) })]
        ),
        RoutePattern("/v1/modifiers/{modifier}/retry", [(.POST, of { .retry($0) })]),
        RoutePattern(
            "/v1/modifiers/{modifier}",
            [(.GET, of { .show($0) }), (.DELETE, of { .remove($0) })]
        ),
        RoutePattern("/v1/lanes/{lane}/pause", [(.POST, ofLane { .pause($0) })]),
        RoutePattern("/v1/lanes/{lane}/resume", [(.POST, ofLane { .resume($0) })]),
    ]

    private static func of(
        _ route: @escaping @Sendable (ModifierID) -> ModifierRoute
    ) -> RoutePattern.Make {
        { (id) throws(Problem) in .modifiers(route(try PercentCoding.modifierID(inPath: id))) }
    }

    private static func ofLane(
        _ route: @escaping @Sendable (Lane) -> ModifierRoute
    ) -> RoutePattern.Make {
        { (lane) throws(Problem) in .modifiers(route(try PercentCoding.lane(inPath: lane))) }
    }
}
