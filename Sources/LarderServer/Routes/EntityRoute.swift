import LarderModel
import LarderWire
import NIOHTTP1

/// What can be asked under `/v1/entities`.
enum EntityRoute: Equatable {
    case list
    case read(EntityKey)
    case put(EntityKey)
    case remove(EntityKey)
    case explain(EntityKey)

    /// A key has no slash that is not encoded, so a slash of its own begins something about it.
    static let patterns = [
        RoutePattern("/v1/entities/{key}/explain", [(.GET, of { .explain($0) })]),
        RoutePattern(
            "/v1/entities/{key}",
            [
                (.GET, of { .read($0) }), (.PUT, of { .put($0) }), (.DELETE, of { .remove($0) }),
            ]
        ),
        RoutePattern("/v1/entities", [(.GET, { _ in .entities(.list) })]),
    ]

    private static func of(
        _ route: @escaping @Sendable (EntityKey) -> EntityRoute
    ) -> RoutePattern.Make {
        { (key) throws(Problem) in .entities(route(try PercentCoding.key(inPath: key))) }
    }
}
