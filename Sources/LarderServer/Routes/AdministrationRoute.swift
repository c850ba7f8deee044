import NIOHTTP1

/// What can be asked of the daemon itself.
enum AdministrationRoute: Equatable {
    case evict
    case status
    case stats
    case usage
    case check
    case reload
    case purge
    case live
    case ready
    case document

    static let patterns = [
        RoutePattern("/v1/evict", [(.POST, { _ in .administration(.evict) })]),
        RoutePattern("/v1/status", [(.GET, { _ in .administration(.status) })]),
        RoutePattern("/v1/stats", [(.GET, { _ in .administration(.stats) })]),
        RoutePattern("/v1/usage", [(.GET, { _ in .administration(.usage) })]),
        RoutePattern("/v1/check", [(.POST, { _ in .administration(.check) })]),
        RoutePattern("/v1/reload", [(.POST, { _ in .administration(.reload) })]),
        RoutePattern("/v1/purge", [(.POST, { _ in .administration(.purge) })]),
        RoutePattern("/v1/health/live", [(.GET, { _ in .administration(.live) })]),
        RoutePattern("/v1/health/ready", [(.GET, { _ in .administration(.ready) })]),
        RoutePattern("/v1/openapi.json", [(.GET, { _ in .administration(.document) })]),
    ]
}
