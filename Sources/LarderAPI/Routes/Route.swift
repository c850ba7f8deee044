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

    package enum Body: Sendable {
        case none
        /// A value of any of several types.
        case json([Wire], example: String, isRequired: Bool = true)
        case bytes(String, example: String? = nil)
    }

    package let name: RouteName
    /// `GET`, `PUT`, `POST`, `PATCH`, `DELETE` or `OPTIONS`.
    package let method: String
    /// For example `/v1/entries/{id}/explain`.
    package let path: String
    package let tag: RouteTag
    /// Nil for a route without parameters.
    package let query: Wire?
    package let headers: [HeaderName]
    package let body: Body
    package let access: Access
    package let replies: [Reply]
    /// The kinds of problems that belong to this route, apart from those of every route.
    package let problems: [ProblemKind]
    /// The first sentence is the summary.
    package let text: String

    init(
        _ name: RouteName,
        _ methodAndPath: String,
        query: Wire? = nil,
        headers: [HeaderName] = [],
        body: Body = .none,
        access: Access = .anyone,
        _ replies: [Reply],
        problems: [ProblemKind] = [],
        _ text: String
    ) {
        self.name = name
        let words = methodAndPath.split(separator: " ")
        method = String(words[0])
        path = String(words[1])
        tag = RouteTag(path: words[1])
        self.query = query
        self.headers = headers
        self.body = body
        self.access = access
        self.replies = replies
        self.problems = problems
        self.text = text
    }

    /// Whether the query goes to the origin, so that any is taken.
    package var passesQuery: Bool { tag == .raw }

    /// Whether HEAD is taken too: an answer in frames has no length before it is made.
    package var takesHead: Bool {
        method == "GET"
            && !replies.contains { if case .frames = $0.content { true } else { false } }
    }

    /// All routes, by the numbers of their names.
    package static let byName: [Route] = table.sorted { $0.name.rawValue < $1.name.rawValue }
}

/// An answer of a route that is not a problem.
package struct Reply: Sendable {
    package enum Content: Sendable {
        case nothing
        case bytes
        /// A value of any of several types.
        case json([Route.Wire])
        /// Frames of a type; with `application/json` a document of another, or an array of frames.
        case frames(Route.Wire, document: Route.Wire?)
    }

    package let status: Int
    package let content: Content
    package let headers: [HeaderName]

    static func json(
        _ status: Int,
        _ types: Route.Wire...,
        headers: [HeaderName] = []
    ) -> Reply {
        Reply(status: status, content: .json(types), headers: headers)
    }

    static func json(_ type: Route.Wire) -> Reply { json(200, type) }

    static func frames(_ type: Route.Wire, document: Route.Wire? = nil) -> Reply {
        Reply(status: 200, content: .frames(type, document: document), headers: [])
    }

    static func bytes(_ status: Int = 200, headers: [HeaderName]) -> Reply {
        Reply(status: status, content: .bytes, headers: headers)
    }

    static func empty(_ status: Int, headers: [HeaderName] = []) -> Reply {
        Reply(status: status, content: .nothing, headers: headers)
    }
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

/// A header field of requests or answers that the API gives a meaning.
package struct HeaderName: Sendable {
    package let name: String
    package let text: String
    package let example: String?

    private init(_ name: String, _ text: String, example: String? = nil) {
        self.name = name
        self.text = text
        self.example = example
    }

    static let ifMatch = HeaderName(
        "If-Match",
        "Reads or writes only if a GET would give one of these strong tags; `*`: any."
    )
    static let ifNoneMatch = HeaderName(
        "If-None-Match",
        "Tags that the client has, or `*`: 304 for a GET, 412 for a write."
    )
    static let ifModifiedSince = HeaderName("If-Modified-Since", "Counts without If-None-Match.")
    static let range = HeaderName(
        "Range",
        "Part of the body in bytes, as `bytes=0-499`: 206. Several parts: 200 with the whole body."
    )
    static let ifRange = HeaderName(
        "If-Range",
        "Range counts only if the body has this strong tag, or the origin gave this date for it."
    )
    static let acceptRanges = HeaderName("Accept-Ranges", "Always `bytes`.")
    static let contentRange = HeaderName(
        "Content-Range",
        "First and last byte of the part, and the length of the body."
    )
    static let larderClient = HeaderName(
        "Larder-Client",
        "Name of the client; its watchers are told `self`."
    )
    static let larderAccount = HeaderName(
        "Larder-Account",
        "Name of the account; without it, the default one."
    )
    static let larderPolicy = HeaderName(
        "Larder-Policy",
        "Policy of the read; without it, the one of the origin's settings."
    )
    static let lastEventID = HeaderName(
        "Last-Event-ID",
        "Id of the event that a browser saw last: a revision, which counts before `since`, or `end`, which is answered 204."
    )
    static let cacheControl = HeaderName("Cache-Control", "As RFC 9111 has it for requests.")
    static let etag = HeaderName("ETag", "The origin's tag of its own bytes, else a digest.")
    static let age = HeaderName("Age", "Seconds since the entry was stored or confirmed.")
    static let lastModified = HeaderName(
        "Last-Modified",
        "As the origin said, else when it was stored."
    )
    static let cacheStatus = HeaderName("Cache-Status", "As RFC 9211 has it, of `larder`.")
    static let larderRev = HeaderName("Larder-Rev", "Revision of the entry.")
    static let larderPending = HeaderName(
        "Larder-Pending",
        "Number of unsettled modifiers of the entry."
    )
    static let location = HeaderName("Location", "Path of the new resource.")
    static let preferenceApplied = HeaderName("Preference-Applied", "Always `respond-async`.")
    static let prefer = HeaderName(
        "Prefer",
        "`respond-async` (RFC 7240) makes the request a modifier, as `respond_async` of the origin does."
    )
}

/// A parameter in the path of a route.
package struct PathParameter: Sendable {
    package let name: String
    package let text: String
    package let example: String

    private init(_ name: String, _ example: String, _ text: String) {
        self.name = name
        self.text = text
        self.example = example
    }

    package static let all = [
        PathParameter(
            "id",
            "notes/1",
            "The id, percent-encoded: a URL, `entity:ORIGIN/TYPE:KEY` or a client's own name."
        ),
        PathParameter("name", "files", "Name of the origin."),
        PathParameter("set", "tonight", "Name of the set: 1 to 64 letters, digits, `.`, `_`, `-`."),
        PathParameter("modifier", "01JD2Q4W6Z0000000000000000", "Id of the modifier."),
        PathParameter("lane", "name:cart", "The lane: `id:ID`, `name:NAME`."),
        PathParameter("origin", "example", "Name of the origin."),
        PathParameter("path", "articles/42", "Path after the base URL, with its slashes."),
    ]
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
