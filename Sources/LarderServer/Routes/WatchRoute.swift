import NIOHTTP1

/// How a watch is asked for.
enum WatchRoute: Equatable {
    case byQuery
    case byBody

    static let patterns = [
        RoutePattern(
            "/v1/watch",
            isStream: true,
            [(.GET, { _ in .watch(.byQuery) }), (.POST, { _ in .watch(.byBody) })]
        )
    ]
}
