/// A fetch: the parameters of a GET, the body of a POST.
public struct FetchCommand: Codable, Equatable, Sendable {
    /// The URL, which belongs to an origin.
    ///
    /// - Example: https://api.example.com/articles/42
    public var url: String
    /// How it is fetched.
    @Flattened public var options: FetchOptions

    /// A fetch, without options by the origin's settings.
    public init(url: String, options: FetchOptions = FetchOptions()) {
        self.url = url
        self.options = options
    }
}

/// How a URL is fetched; what has no value is as the origin's settings say.
public struct FetchOptions: Codable, Equatable, Sendable {
    /// When the network is asked; without it, as the origin's settings say.
    @OmittedWhenNil public var policy: FetchPolicy?
    /// Time for which the cached answer is held back.
    ///
    /// - Range: 0ms...1h
    @OmittedWhenNil public var networkWait: Duration?
    /// Time limit of the fetch.
    ///
    /// - Range: 1ms...1h
    @OmittedWhenNil public var timeout: Duration?
    /// Name of the account; without it, the default one.
    @OmittedWhenNil public var account: String?
    /// Whether the answer's entities are shared with other answers; without it, by the origin's rules.
    @OmittedWhenNil public var normalize: Bool?
    /// Whether a cached answer is shown without the entities that were evicted of it.
    ///
    /// - Default: false
    @OmittedWhenNil public var partial: Bool?
    /// Whether the stream stays open and tells each further view.
    ///
    /// - Default: false
    @OmittedWhenNil public var follow: Bool?
    /// Time between two heartbeats.
    ///
    /// - Range: 1s...1h
    /// - Default: 15s
    @OmittedWhenNil public var heartbeat: Duration?
    /// Interval at which the daemon asks the origin again; only with `follow`.
    ///
    /// The origin's `min_refresh` is the shortest one, 5s by default, and 30d the longest.
    @OmittedWhenNil public var refresh: Duration?
    /// Header fields of the request to the origin; in a body only.
    ///
    /// They are at most 64 with 16,384 bytes.
    @OmittedWhenNil public var headers: NamedValues<String>?

    /// `POST` or `QUERY` for a read with a body (RFC 10008); without it a GET.
    ///
    /// A POST is a read only on a path that the origin's `post_reads` names.
    @OmittedWhenNil public var method: String?
    /// The body of the request, if it is JSON; at most 131,072 bytes; in a body only.
    @OmittedWhenNil public var body: RawJSON?
    /// The body of the request, if it is a text.
    @OmittedWhenNil public var bodyText: String?
    /// The body of the request in Base64.
    @OmittedWhenNil public var bodyB64: String?
    /// Media type of the body; without it `application/json`, `text/plain` or
    /// `application/octet-stream`.
    @OmittedWhenNil public var contentType: String?

    /// Options that leave all but the policy to the origin's settings.
    public init(policy: FetchPolicy? = nil) { self.policy = policy }
}

/// A watch: the body of a POST.
public struct WatchCommand: Codable, Equatable, Sendable {
    /// Revision after which changes are told; without it, the present one.
    @OmittedWhenNil public var since: Int64?
    /// Ids of entries and entities, at most 1,000, whether they exist or not.
    @OmittedWhenNil public var ids: [String]?
    /// Beginnings of ids, at most 64.
    @OmittedWhenNil public var prefixes: [String]?
    /// How the stream is.
    @Flattened public var options = WatchOptions()

    /// A watch of all entries.
    public init() {}
}

/// A watch: the parameters of a GET.
public struct WatchQuery: Codable, Equatable, Sendable {
    /// Revision after which changes are told; without it, the present one.
    @OmittedWhenNil public var since: Int64?
    /// Ids of entries and entities, at most 1,000, whether they exist or not.
    @OmittedWhenNil public var id: [String]?
    /// Beginnings of ids, at most 64.
    @OmittedWhenNil public var prefix: [String]?
    /// How the stream is.
    @Flattened public var options = WatchOptions()

    /// A watch of all entries.
    public init() {}
}

extension WatchCommand {
    package init(_ query: WatchQuery) {
        since = query.since
        (ids, prefixes) = (query.id, query.prefix)
        options = query.options
    }
}

/// How a watch's stream is.
public struct WatchOptions: Codable, Equatable, Sendable {
    /// Kinds of frames; without it, all.
    @OmittedWhenNil public var types: [WatchKind]?
    /// Whether the entries that there are come first.
    ///
    /// - Default: false
    @OmittedWhenNil public var initial: Bool?
    /// Time between two heartbeats.
    ///
    /// - Range: 1s...1h
    /// - Default: 15s
    @OmittedWhenNil public var heartbeat: Duration?
    /// Time limit of the watch; of one that is not a stream, until the first change.
    ///
    /// - Range: 0ms...1h
    @OmittedWhenNil public var timeout: Duration?
    /// Name of the account; without it, the default one.
    @OmittedWhenNil public var account: String?

    /// A stream with every default.
    public init() {}
}

/// A kind of frames that a watch can ask for.
public struct WatchKind: WireEnum {
    /// New values.
    public static let put = WatchKind(rawValue: "put")
    /// Deletions.
    public static let delete = WatchKind(rawValue: "delete")
    /// Evictions.
    public static let evict = WatchKind(rawValue: "evict")
    /// States of modifiers.
    public static let modifier = WatchKind(rawValue: "modifier")
    /// Temporary ids that became real.
    public static let remapped = WatchKind(rawValue: "remapped")
    /// Credentials.
    public static let auth = WatchKind(rawValue: "auth")
    /// States of origins.
    public static let origin = WatchKind(rawValue: "origin")
    /// States of sets that are fetched in advance.
    public static let prefetch = WatchKind(rawValue: "prefetch")

    /// Every value that this version knows.
    public static let known: [WatchKind] = [
        .put, .delete, .evict, .modifier, .remapped, .auth, .origin, .prefetch,
    ]
    /// The value as it travels.
    public let rawValue: String

    /// A value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// A batch: several entries in one answer.
public struct BatchCommand: Codable, Equatable, Sendable {
    /// Ids of the entries, 1 to 1,000, each once; the answer has their order.
    public var ids: [String]
    /// Name of the account; without it, the default one.
    @OmittedWhenNil public var account: String?

    /// A batch of the default account.
    public init(ids: [String]) { self.ids = ids }
}
