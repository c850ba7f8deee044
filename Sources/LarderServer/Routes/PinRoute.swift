import LarderModel
import LarderWire
import NIOHTTP1

/// What can be asked under `/v1/pins`.
enum PinRoute: Equatable {
    case list
    case pin(EntryID)
    case unpin(EntryID)

    static let patterns = [
        RoutePattern("/v1/pins", [(.GET, { _ in .pins(.list) })]),
        RoutePattern(
            "/v1/pins/{id}",
            [(.PUT, of { .pin($0) }), (.DELETE, of { .unpin($0) })]
        ),
    ]

    private static func of(
        _ route: @escaping @Sendable (EntryID) -> PinRoute
    ) -> RoutePattern.Make {
        { (id) throws(Problem) in .pins(route(try PercentCoding.id(inPath: id))) }
    }
}
