import LarderAPI

/// A route with what only the document says of it.
struct DocumentedRoute: Sendable {
    enum Body: Sendable {
        case none
        /// A value of any of several types.
        case json([Route.Wire], example: String, isRequired: Bool = true)
        case bytes(String, example: String? = nil)
    }

    let route: Route
    let headers: [HeaderName]
    let body: Body
    let replies: [Reply]
    /// The kinds of problems that belong to this route, apart from those of every route.
    let problems: [ProblemKind]
    /// The first sentence is the summary.
    let text: String

    init(
        _ name: RouteName,
        headers: [HeaderName] = [],
        body: Body = .none,
        _ replies: [Reply],
        problems: [ProblemKind] = [],
        _ text: String
    ) {
        route = Route.byName[name.rawValue]
        self.headers = headers
        self.body = body
        self.replies = replies
        self.problems = problems
        self.text = text
    }
}

/// An answer of a route that is not a problem.
struct Reply: Sendable {
    enum Content: Sendable {
        case nothing
        case bytes
        /// A value of any of several types.
        case json([Route.Wire])
        /// Frames of a type; with `application/json` a document of another, or an array of frames.
        case frames(Route.Wire, document: Route.Wire?)
    }

    let status: Int
    let content: Content
    let headers: [HeaderName]

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

/// A header field of requests or answers that the API gives a meaning.
struct HeaderName: Sendable {
    let name: String
    let text: String
    let example: String?
    /// Whether answers may lack it.
    let isOptional: Bool

    private init(
        _ name: String,
        _ text: String,
        example: String? = nil,
        isOptional: Bool = false
    ) {
        self.name = name
        self.text = text
        self.example = example
        self.isOptional = isOptional
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
    /// Headers of an entry's answer if writes wait or failed, or a part is missing.
    static let ofModifiers = [
        HeaderName(
            "Larder-Pending-Ids",
            "Ids of up to 100 unsettled modifiers; absent if none waits or failed and no part is missing.",
            isOptional: true
        ),
        HeaderName(
            "Larder-Failed",
            "Number of failed modifiers of the entry; absent as `Larder-Pending-Ids` is.",
            isOptional: true
        ),
        HeaderName(
            "Larder-Complete",
            "`false` if a part of the entry is not here; absent as `Larder-Pending-Ids` is.",
            isOptional: true
        ),
    ]
    static let larderSource = HeaderName(
        "Larder-Source",
        "URL that gave the body; absent without redirects.",
        isOptional: true
    )
    static let location = HeaderName("Location", "Path of the new resource.")
    static let preferenceApplied = HeaderName("Preference-Applied", "Always `respond-async`.")
    static let prefer = HeaderName(
        "Prefer",
        "`respond-async` (RFC 7240) makes the request a modifier, as `respond_async` of the origin does."
    )
}

/// A parameter in the path of a route.
struct PathParameter: Sendable {
    let name: String
    let text: String
    let example: String

    private init(_ name: String, _ example: String, _ text: String) {
        self.name = name
        self.text = text
        self.example = example
    }

    static let all = [
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
