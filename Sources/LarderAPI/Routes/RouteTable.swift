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

extension Route {
    /// All routes, the busiest first: of two paths that fit a request, the first counts.
    package static let table: [Route] = [
        Route(.readBatch, "POST /v1/entries/batch"),
        Route(
            .explainEntry,
            "GET /v1/entries/{id}/explain",
            query: ScopeQuery.self,
            access: .owner
        ),
        Route(.readEntry, "GET /v1/entries/{id}", query: EntryQuery.self),
        Route(.putEntry, "PUT /v1/entries/{id}", query: PutQuery.self),
        Route(.removeEntry, "DELETE /v1/entries/{id}", query: ScopeQuery.self, access: .owner),
        Route(.listEntries, "GET /v1/entries", query: EntryListQuery.self, access: .owner),

        Route(.get, "GET /v1/get", query: FetchCommand.self),
        Route(.fetchByQuery, "GET /v1/fetch", query: FetchCommand.self, isStream: true),
        Route(.fetchByBody, "POST /v1/fetch"),
        Route(.watchByQuery, "GET /v1/watch", query: WatchQuery.self, isStream: true),
        Route(.watchByBody, "POST /v1/watch"),

        Route(.listModifiers, "GET /v1/modifiers", query: ModifierListQuery.self, access: .owner),
        Route(.acceptModifiers, "POST /v1/modifiers", query: WaitQuery.self),
        Route(.actOnModifiers, "POST /v1/modifiers/actions", access: .owner),
        Route(
            .showModifier,
            "GET /v1/modifiers/{modifier}",
            query: ModifierQuery.self,
            access: .owner
        ),
        Route(
            .editModifier,
            "PATCH /v1/modifiers/{modifier}",
            query: ScopeQuery.self,
            access: .owner
        ),
        Route(
            .removeModifier,
            "DELETE /v1/modifiers/{modifier}",
            query: ScopeQuery.self,
            access: .owner
        ),
        Route(.listLanes, "GET /v1/lanes", query: ScopeQuery.self, access: .owner),
        Route(.setLane, "PUT /v1/lanes/{lane}", query: ScopeQuery.self, access: .owner),

        Route(.listPins, "GET /v1/pins", query: PinListQuery.self),
        Route(.pin, "PUT /v1/pins/{id}", query: PinQuery.self),
        Route(.unpin, "DELETE /v1/pins/{id}", query: AccountQuery.self),
        Route(.listPrefetches, "GET /v1/prefetch", query: AccountQuery.self),
        Route(.showPrefetch, "GET /v1/prefetch/{set}", query: AccountQuery.self),
        Route(.putPrefetch, "PUT /v1/prefetch/{set}", query: PrefetchQuery.self),
        Route(.removePrefetch, "DELETE /v1/prefetch/{set}", query: AccountQuery.self),

        Route(.listOrigins, "GET /v1/origins"),
        Route(.checkOrigin, "POST /v1/origins/{name}/check", access: .administrators),
        Route(.showCredential, "GET /v1/origins/{name}/credential", query: AccountQuery.self),
        Route(.putCredential, "PUT /v1/origins/{name}/credential"),
        Route(.removeCredential, "DELETE /v1/origins/{name}/credential", query: AccountQuery.self),
        Route(
            .renewCredential,
            "POST /v1/origins/{name}/credential/renewal",
            query: RenewalQuery.self
        ),
        Route(.showOrigin, "GET /v1/origins/{name}"),
        Route(.changeOrigin, "PATCH /v1/origins/{name}", access: .administrators),
        Route(.putOrigin, "PUT /v1/origins/{name}", access: .administrators),
        Route(.removeOrigin, "DELETE /v1/origins/{name}", access: .administrators),

        Route(.evict, "POST /v1/evict", access: .owner),
        Route(.status, "GET /v1/status"),
        Route(.stats, "GET /v1/stats"),
        Route(.usage, "GET /v1/usage", query: ScopeQuery.self, access: .owner),
        Route(.check, "POST /v1/check", access: .administrators),
        Route(.reload, "POST /v1/reload", access: .administrators),
        Route(.purge, "POST /v1/purge", query: PurgeQuery.self, access: .administrators),
        Route(.health, "GET /v1/health"),
        Route(.version, "GET /v1/version"),
        Route(.document, "GET /v1/openapi.json"),

        Route(.raw, "GET /o/{origin}/{path}"),
        Route(.rawPost, "POST /o/{origin}/{path}"),
        Route(.rawPut, "PUT /o/{origin}/{path}"),
        Route(.rawPatch, "PATCH /o/{origin}/{path}"),
        Route(.rawDelete, "DELETE /o/{origin}/{path}"),
        Route(.rawOptions, "OPTIONS /o/{origin}/{path}"),
    ]
}
