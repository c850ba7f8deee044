/// A route of the API without its handler.
///
/// The server's router, HEAD, 405 with `Allow`, what only administrators may do, and the document
/// of the API come from it.
package struct Route: Sendable {
    package typealias Wire = any (Codable & Sendable).Type

    /// Callers that may use a route.
    package enum Access: Sendable {
        case anyone
        /// Each client for its own rows; other users' rows are for administrators.
        case owner
        case administrators
    }

    package let name: RouteName
    /// `GET`, `PUT`, `POST`, `PATCH`, `DELETE` or `OPTIONS`.
    package let method: String
    /// For example `/v1/entries/{id}/explain`.
    package let path: String
    package let tag: RouteTag
    /// Nil for a route without parameters.
    package let query: Wire?
    package let access: Access
    /// Whether HEAD is taken too: an answer in frames has no length before it is made.
    package let takesHead: Bool

    init(
        _ name: RouteName,
        _ methodAndPath: String,
        query: Wire? = nil,
        access: Access = .anyone,
        isStream: Bool = false
    ) {
        self.name = name
        let words = methodAndPath.split(separator: " ")
        method = String(words[0])
        path = String(words[1])
        tag = RouteTag(path: words[1])
        self.query = query
        self.access = access
        takesHead = method == "GET" && !isStream
    }

    /// Whether the query goes to the origin, so that any is taken.
    package var passesQuery: Bool { tag == .raw }

    /// All routes, by the numbers of their names.
    package static let byName: [Route] = table.sorted { $0.name.rawValue < $1.name.rawValue }
}

/// Routes that the document shows together and the daemon counts together.
package enum RouteTag: String, Sendable, CaseIterable {
    case entries, fetch, modifiers, watch, pins, origins, raw, administration

    /// By the first word after the version.
    fileprivate init(path: Substring) {
        let words = path.split { "/.".contains($0) }
        self =
            switch words[1] {
            case "lanes": .modifiers
            case "prefetch": .pins
            case "get": .fetch
            case _ where words[0] == "o": .raw
            case let word: RouteTag(rawValue: String(word)) ?? .administration
            }
    }
}

/// A name for each route, by which the server finds its handler; `operationId` in the document.
package enum RouteName: Int, Sendable, CaseIterable {
    case readBatch, explainEntry, readEntry, putEntry, removeEntry, listEntries
    case get, fetchByQuery, fetchByBody
    case listModifiers, acceptModifiers, actOnModifiers, showModifier, editModifier, removeModifier
    case listLanes, setLane
    case watchByQuery, watchByBody
    case listPins, pin, unpin
    case listPrefetches, showPrefetch, putPrefetch, removePrefetch
    case listOrigins, showOrigin, changeOrigin, checkOrigin, putOrigin, removeOrigin
    case showCredential, putCredential, removeCredential, renewCredential
    case evict, status, stats, usage, check, reload, purge, health, version, document
    case raw, rawPost, rawPut, rawPatch, rawDelete, rawOptions
}
