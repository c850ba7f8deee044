import LarderJSON
package import LarderModel

/// The keys of an origin, as the configuration has them.
///
/// A request needs only ``baseURL``.
public struct OriginDefinition: Codable, Equatable, Sendable {
    /// Scheme, host, and if needed port and path.
    public var baseURL: String
    /// Whether the origin may have a loopback or private address.
    public var allowPrivate: Bool?
    /// Hosts that redirects may lead to, each with its port if it is not the scheme's.
    public var redirectHosts: [String]?
    /// Whether all users share its answers to clients that used no credential of their own.
    public var shared: Bool?
    /// Proxy of its connections: `http://user:password@proxy.example.com:3128`.
    public var proxy: String?
    /// Files for its TLS connections.
    public var tls: OriginTLS?
    /// Header fields of each request.
    public var headers: NamedValues<String>?
    /// Credential of some users; of the configuration only.
    public var credential: OriginCredentialFile?
    /// How its answers are fetched and kept.
    public var fetch: OriginFetch?
    /// Which objects in its answers are entities; null: answers are stored whole.
    public var normalize: OriginNormalize?
    /// How its modifiers are sent.
    public var modifiers: OriginModifiers?

    /// An origin with every default.
    public init(baseURL: String) { self.baseURL = baseURL }
}

/// A credential that some users have at an origin, without its value.
public struct OriginCredentialFile: Codable, Equatable, Sendable {
    /// Name of the header field.
    public var header: String
    /// Absolute path of the file that has the value, where the daemon runs.
    public var file: String
    /// Names or numbers of the users.
    public var users: [String]
}

/// Absolute paths of PEM files where the daemon runs.
public struct OriginTLS: Codable, Equatable, Sendable {
    /// Roots that are trusted in place of the system's.
    public var caFile: String?
    /// Certificate of the daemon.
    public var clientCert: String?
    /// Key of ``clientCert``.
    public var clientKey: String?

    /// Every default.
    public init() {}
}

/// How an origin's answers are fetched and kept.
public struct OriginFetch: Codable, Equatable, Sendable {
    /// Policy of requests that give none.
    public var policy: FetchPolicy?
    /// Time for which the cached answer is held back.
    public var networkWait: Duration?
    /// Time limit of a request.
    public var timeout: Duration?
    /// Time limit of a connection.
    public var connectTimeout: Duration?
    /// Time for which each answer is fresh; null leaves it to the answer's headers.
    public var ttl: Duration?
    /// Whether answers with `Cache-Control: no-store` are stored.
    public var storeNoStore: Bool?
    /// Paths after the base URL where a POST is a read, such as `/graphql`; `*` is any segment; at
    /// most 100.
    public var postReads: [String]?
    /// Names of request headers by which answers differ although no `Vary` says so; at most 16.
    public var vary: [String]?
    /// Rules by which a 2xx with a JSON body is a refusal, which replaces no answer; at most 16.
    public var refusedIf: [OriginRefusalRule]?
    /// Shortest interval of `refresh`.
    ///
    /// - Range: 1s...30d
    public var minRefresh: Duration?
    /// Whether the origin may compress its answers.
    public var compression: Bool?

    /// Every default.
    public init() {}
}

/// When a fetch asks the network, and when it shows the cached answer.
public struct FetchPolicy: WireEnum {
    /// The cached answer first, then the network's.
    public static let cacheThenNetwork = FetchPolicy(rawValue: "cache-then-network")
    /// The cached answer while it is fresh, else the network's.
    public static let cacheFirst = FetchPolicy(rawValue: "cache-first")
    /// The network's answer, and the cached one if the network fails or is slow.
    public static let networkFirst = FetchPolicy(rawValue: "network-first")
    /// The cached answer, which is fetched in the background if it is stale.
    public static let staleWhileRevalidate = FetchPolicy(rawValue: "stale-while-revalidate")
    /// The cached answer only.
    public static let cacheOnly = FetchPolicy(rawValue: "cache-only")
    /// The network's answer only.
    public static let networkOnly = FetchPolicy(rawValue: "network-only")
    /// Every value that this version knows.
    public static let known = LarderModel.FetchPolicy.allCases.map { Self(rawValue: $0.rawValue) }
    /// The value as it travels.
    public let rawValue: String

    /// A value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// How an origin's modifiers are sent, and what its answers mean.
public struct OriginModifiers: Codable, Equatable, Sendable {
    /// Whether a write under `/o/{origin}/{path}` is a modifier unless its request says otherwise.
    public var respondAsync: Bool?
    /// How a request says that it repeats another.
    public var idempotency: OriginIdempotency?
    /// The meaning of the body of a 2xx.
    public var answer: AnswerRule?
    /// Which 2xx is the origin's, instead of a captive portal's; null: one that is not an
    /// unexpected page.
    public var expect: ExpectRule?
    /// The next step of a modifier that may have reached the origin without a clear answer.
    public var afterUnknown: UnknownRule?
    /// Whether an If-Match protects what others wrote.
    public var ifMatch: MatchRule?
    /// The next step of a modifier if another device has changed the same.
    public var onConflict: ConflictRule?
    /// Whether modifiers of the same targets that wait are sent as one request.
    public var coalesce: CoalesceRule?
    /// Time for which a modifier shows that the origin answered with 202.
    public var acceptedLimit: Duration?
    /// Number of failed attempts after which a modifier is marked as stalled.
    ///
    /// - Range: 1...1000000
    public var stalledAfter: Int?
    /// Rules by which a 2xx with a JSON body is a refusal; at most 16.
    public var refusedIf: [OriginRefusalRule]?
    /// Names of header fields that are kept of an answer, besides `Content-Type`, `Location`, `ETag`
    /// and `Date`; at most 16.
    public var keepHeaders: [String]?
    /// The value that effects start from on a target that is not cached, by its path, such
    /// as `{"/todos": {"items": []}}`; `*` is any segment.
    public var empty: NamedValues<RawJSON>?
    /// Place of a created thing's id in the answer: a JSON pointer, such as `/id`; null: where the
    /// rules of `normalize` find it, or in `Location`.
    public var createdId: String?

    /// Every default.
    public init() {}
}

/// How a request says that it repeats another.
public struct OriginIdempotency: Codable, Equatable, Sendable {
    /// The header field that has a modifier's key.
    public var header: String?
    /// Whether the origin promises to do requests with the same key only once.
    public var honoured: Bool?

    /// Every default.
    public init() {}
}

/// The meaning of the body of a 2xx to a modifier.
public struct AnswerRule: WireEnum {
    /// The changed object, if the answer says so.
    public static let auto = AnswerRule(rawValue: "auto")
    /// The changed object, always.
    public static let representation = AnswerRule(rawValue: "representation")
    /// Every value that this version knows.
    public static let known: [AnswerRule] = [.auto, .representation]
    /// The value as it travels.
    public let rawValue: String

    /// A value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// Which 2xx is an origin's.
public struct ExpectRule: WireEnum {
    /// A 2xx with JSON, or without a body.
    public static let json = ExpectRule(rawValue: "json")
    /// Each 2xx.
    public static let any = ExpectRule(rawValue: "any")
    /// Every value that this version knows.
    public static let known: [ExpectRule] = [.json, .any]
    /// The value as it travels.
    public let rawValue: String

    /// A value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// The next step of a modifier that may have reached its origin.
public struct UnknownRule: WireEnum {
    /// The modifier is sent again if that cannot apply it twice; else a person decides.
    public static let auto = UnknownRule(rawValue: "auto")
    /// The modifier is sent again with the same key.
    public static let resend = UnknownRule(rawValue: "resend")
    /// A person decides.
    public static let hold = UnknownRule(rawValue: "hold")
    /// Every value that this version knows.
    public static let known: [UnknownRule] = [.auto, .resend, .hold]
    /// The value as it travels.
    public let rawValue: String

    /// A value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// Whether an If-Match protects what other devices wrote.
public struct MatchRule: WireEnum {
    /// An If-Match is sent if the target's own URL gave a strong ETag.
    public static let auto = MatchRule(rawValue: "auto")
    /// As `auto`; if no ETag is known, the target is read first.
    public static let strict = MatchRule(rawValue: "strict")
    /// No If-Match is sent, and the target is not compared.
    public static let none = MatchRule(rawValue: "none")
    /// Every value that this version knows.
    public static let known: [MatchRule] = [.auto, .strict, .none]
    /// The value as it travels.
    public let rawValue: String

    /// A value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// The next step of a modifier if another device has changed the same.
public struct ConflictRule: WireEnum {
    /// The modifier is sent again if what it changes is as it was; else a person decides.
    public static let rebase = ConflictRule(rawValue: "rebase")
    /// The modifier fails, and the value of the origin stays.
    public static let server = ConflictRule(rawValue: "server")
    /// The modifier is sent again over the value of the origin.
    public static let client = ConflictRule(rawValue: "client")
    /// A person decides.
    public static let manual = ConflictRule(rawValue: "manual")
    /// Every value that this version knows.
    public static let known: [ConflictRule] = [.rebase, .server, .client, .manual]
    /// The value as it travels.
    public let rawValue: String

    /// A value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// Whether modifiers of the same targets that wait are sent as one request.
public struct CoalesceRule: WireEnum {
    /// Each modifier is a request.
    public static let none = CoalesceRule(rawValue: "none")
    /// Modifiers of the same targets are one request.
    public static let writes = CoalesceRule(rawValue: "writes")
    /// As `writes`; those that leave the targets as the origin has them are not sent.
    public static let net = CoalesceRule(rawValue: "net")
    /// Every value that this version knows.
    public static let known: [CoalesceRule] = [.none, .writes, .net]
    /// The value as it travels.
    public let rawValue: String

    /// A value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// A rule by which a 2xx is a refusal.
public struct OriginRefusalRule: Codable, Equatable, Sendable {
    /// JSON pointer (RFC 6901) into the body.
    public var pointer: String
    /// The value that is a refusal: a string, number, boolean or null, or its text.
    ///
    /// Without it every value is, except null, false, 0 and an empty string, array or object.
    @OmittedWhenNil public var equals: String?

    /// A rule for a pointer.
    public init(pointer: String, equals: String? = nil) {
        self.pointer = pointer
        self.equals = equals
    }

    /// Reads an object; a number, boolean or null of `equals` becomes its text.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        pointer = try container.decode(String.self, forKey: .pointer)
        let given = try container.decode(OmittedWhenNil<RawJSON>.self, forKey: .equals).wrappedValue
        let text: String?
        switch try given.map({ try JSONValue(parsing: $0.bytes) }) {
        case nil: text = nil
        case .string(let string): text = string
        case .number(let number): text = number.text
        case .bool(let bool): text = String(bool)
        case .null: text = "null"
        case .array, .object:
            throw DecodingError.dataCorruptedError(
                forKey: .equals,
                in: container,
                debugDescription: "equals is a string, number, boolean or null"
            )
        }
        equals = text
    }
}

extension OriginDefinition {
    /// The keys of an origin with every default; of a file of `tls` its path.
    ///
    /// Covered secrets are `***`: values of headers and the user of a proxy.
    package init(_ origin: OriginSettings, coversSecrets: Bool = false) {
        self.init(baseURL: origin.baseURL.text)
        allowPrivate = origin.allowPrivate
        redirectHosts = origin.redirectHosts.map(\.description)
        shared = origin.isShared
        proxy = coversSecrets ? origin.proxy?.maskedText : origin.proxy?.text
        var files = OriginTLS()
        files.caFile = origin.tls[.caFile]?.path
        files.clientCert = origin.tls[.clientCertificate]?.path
        files.clientKey = origin.tls[.clientKey]?.path
        tls = files
        headers = NamedValues(
            origin.headers.fields.map { .init($0.name, coversSecrets ? "***" : $0.value) }
        )
        credential = origin.credential.map {
            OriginCredentialFile(header: $0.header, file: $0.file, users: $0.users.map(\.name))
        }
        fetch = OriginFetch(origin.fetch)
        normalize = origin.normalize.map(OriginNormalize.init)
        modifiers = OriginModifiers(origin.modifiers)
    }
}

extension OriginFetch {
    fileprivate init(_ settings: FetchSettings) {
        policy = FetchPolicy(rawValue: settings.policy.rawValue)
        networkWait = settings.networkWait
        timeout = settings.timeout
        connectTimeout = settings.connectTimeout
        ttl = settings.ttl
        storeNoStore = settings.storesNoStore
        postReads = settings.postReads
        vary = settings.vary
        refusedIf = settings.refusedIf.map { .init(pointer: $0.pointer, equals: $0.equals) }
        minRefresh = settings.minRefresh
        compression = settings.compresses
    }
}

extension OriginModifiers {
    fileprivate init(_ rules: ModifierRules) {
        respondAsync = rules.respondsAsync
        var key = OriginIdempotency()
        key.header = rules.idempotency.header
        key.honoured = rules.idempotency.isHonoured
        idempotency = key
        answer = AnswerRule(rawValue: rules.answer.rawValue)
        expect = rules.expect.map { ExpectRule(rawValue: $0.rawValue) }
        afterUnknown = UnknownRule(rawValue: rules.afterUnknown.rawValue)
        ifMatch = MatchRule(rawValue: rules.ifMatch.rawValue)
        onConflict = ConflictRule(rawValue: rules.onConflict.rawValue)
        coalesce = CoalesceRule(rawValue: rules.coalesce.rawValue)
        acceptedLimit = rules.acceptedLimit
        stalledAfter = rules.stalledAfter
        refusedIf = rules.refusedIf.map { .init(pointer: $0.pointer, equals: $0.equals) }
        keepHeaders = rules.keptHeaders
        empty = NamedValues(
            rules.empty.map { .init($0.path, RawJSON(unchecked: Array($0.form.utf8))) }
        )
        createdId = rules.createdID
    }
}

extension OriginNormalize {
    package init(_ rules: NormalizeRules) {
        byType = rules.byType.map { .named(type: $0.type, id: $0.id) }
        types = rules.types.map(OriginTypeRule.init)
        paths = rules.paths.map(OriginPathRule.init)
    }
}

extension OriginTypeRule {
    fileprivate init(_ rule: TypeRule) {
        self.init(type: rule.type)
        key = rule.key?.fields.map(OriginKeyField.init)
        url = rule.url
        version = rule.version.map(\.pointer)
        let sorted = rule.lists.map { ($0.key.pointer, $0.value) }.sorted { $0.0 < $1.0 }
        lists = NamedValues(sorted.map { .init($0.0, OriginListRule($0.1)) })
        embed = rule.isEmbedded
        onDeleted = rule.onDeleted == .null ? nil : DeletionRule(rawValue: rule.onDeleted.rawValue)
    }
}

extension OriginListRule {
    fileprivate init(_ rule: ListRule) {
        self =
            switch rule {
            case .replace: .replace
            case .append: .append
            case .pages(let parameter): .pages(parameter: parameter)
            case .by(let member): .by(member: member)
            }
    }
}

extension OriginPathRule {
    fileprivate init(_ rule: PathRule) {
        self.init(url: rule.url, at: rule.at.pointer, type: rule.type)
        key = rule.key?.fields.map(OriginKeyField.init)
    }
}

extension OriginKeyField {
    fileprivate init(_ field: EntityKeyRule.Field) {
        self =
            switch field {
            case .member(let name): .member(name)
            case .within(let name, let fields): .within(name, fields.map(OriginKeyField.init))
            }
    }
}

extension MemberPath {
    /// The path as a JSON pointer (RFC 6901).
    package var pointer: String { JSONPointer(tokens: tokens).text }
}
