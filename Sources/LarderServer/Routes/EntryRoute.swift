import LarderModel
import LarderWire
import NIOHTTP1

/// What can be asked under `/v1/entries`.
enum EntryRoute: Equatable {
    case list
    case read(EntryID)
    case put(EntryID)
    case remove(EntryID)
    case explain(EntryID)
    case batch

    /// `/` in an id is `%2F`, so a slash of its own begins something about the entry; an id that
    /// was not encoded is taken all the same.
    static let patterns = [
        RoutePattern("/v1/entries/batch", [(.POST, { _ in .entries(.batch) })]),
        RoutePattern("/v1/entries/{id}/explain", [(.GET, of { .explain($0) })]),
        RoutePattern(
            "/v1/entries/{id}",
            [
                (.GET, of { .read($0) }), (.PUT, of { .put($0) }), (.DELETE, of { .remove($0) }),
            ]
        ),
        RoutePattern("/v1/entries", [(.GET, { _ in .entries(.list) })]),
    ]

    private static func of(
        _ route: @escaping @Sendable (EntryID) -> EntryRoute
    ) -> RoutePattern.Make {
        { (id) throws(Problem) in .entries(route(try PercentCoding.id(inPath: id))) }
    }
}
