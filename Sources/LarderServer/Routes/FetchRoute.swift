import NIOHTTP1

/// How a fetch is asked for.
enum FetchRoute: Equatable {
    case byQuery
    case byBody

    static let patterns = [
        RoutePattern(
            "/v1/fetch",
            isStream: true,
            [(.GET, { _ in .fetch(.byQuery) }), (.POST, { _ in .fetch(.byBody) })]
        )
    ]
}
