import LarderModel
import LarderWire
import NIOHTTP1

/// What can be asked of the table of origins.
enum OriginRoute: Equatable {
    case list
    case add
    case replace(OriginName)
    case remove(OriginName)
    case setOffline(OriginName)
    case setOnline(OriginName)
    case check(OriginName)

    static let patterns = [
        RoutePattern(
            "/v1/origins",
            [(.GET, { _ in .origins(.list) }), (.POST, { _ in .origins(.add) })]
        ),
        RoutePattern("/v1/origins/{name}/offline", [(.POST, of { .setOffline($0) })]),
        RoutePattern("/v1/origins/{name}/online", [(.POST, of { .setOnline($0) })]),
        RoutePattern("/v1/origins/{name}/check", [(.POST, of { .check($0) })]),
        RoutePattern(
            "/v1/origins/{name}",
            [(.PUT, of { .replace($0) }), (.DELETE, of { .remove($0) })]
        ),
    ]

    private static func of(
        _ route: @escaping @Sendable (OriginName) -> OriginRoute
    ) -> RoutePattern.Make {
        { (text) throws(Problem) in .origins(route(try name(text))) }
    }

    private static func name(_ text: Substring) throws(Problem) -> OriginName {
        guard let decoded = PercentCoding.decoded(text.utf8) else {
            throw Problem(.badRequest, "the name in the path is not percent-encoded UTF-8")
        }
        return try OriginName(command: decoded)
    }
}
