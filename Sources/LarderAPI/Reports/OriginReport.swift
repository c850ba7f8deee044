/// An origin: how it is asked, and how it is doing.
public struct OriginReport: Codable, Equatable, Sendable {
    /// Name of the origin.
    public var name: String
    /// The URL that its own begin with.
    public var baseURL: String
    /// Where the origin is configured.
    public var source: OriginSource
    /// Path of the configuration file; null if the source is not a file.
    public var file: String?
    /// How the origin is doing.
    @Flattened public var condition: OriginCondition
    /// The keys of the origin, with every default.
    ///
    /// Values of headers and the user of a proxy are `***`.
    public var settings: OriginDefinition

    package init(
        name: String,
        source: OriginSource,
        file: String?,
        condition: OriginCondition,
        settings: OriginDefinition
    ) {
        self.name = name
        baseURL = settings.baseURL
        self.source = source
        self.file = file
        self.condition = condition
        self.settings = settings
    }
}

/// How an origin is doing.
public struct OriginCondition: Codable, Equatable, Sendable {
    /// State by the last requests, or `offline` while the origin is set offline.
    public var state: OriginState
    /// Time since which the origin is in this state; null before the first request.
    public var since: Timestamp?
    /// Whether a person has set the origin offline, so that no request leaves for it.
    public var offline: Bool
    /// Time until which background requests wait, as the origin asked with Retry-After; null if it
    /// did not.
    ///
    /// Of several accounts it is the time of the last; of the client's own, if it has one.
    public var retryAfterUntil: Timestamp?
    /// The user and account that ``retryAfterUntil`` is of, `1000/work`, or `shared`.
    ///
    /// Null if it is another user's and the client is not an administrator.
    public var retryAfterFor: String?

    package init(state: OriginState, since: Timestamp?, offline: Bool = false) {
        self.state = state
        self.since = since
        self.offline = offline
    }
}

/// Where an origin is configured.
public struct OriginSource: WireEnum {
    /// A file of the configuration.
    public static let file = OriginSource(rawValue: "file")
    /// A request of an administrator.
    public static let api = OriginSource(rawValue: "api")
    /// Nowhere: a public host, asked by the user of a daemon that serves one user.
    public static let implicit = OriginSource(rawValue: "implicit")
    /// Every value that this version knows.
    public static let known: [OriginSource] = [.file, .api, .implicit]
    /// The value as it travels.
    public let rawValue: String

    /// A value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// State of an origin by the last requests.
public struct OriginState: WireEnum {
    /// Nothing was asked yet.
    public static let unknown = OriginState(rawValue: "unknown")
    /// The origin answers.
    public static let online = OriginState(rawValue: "online")
    /// The origin does not answer, or was set offline.
    public static let offline = OriginState(rawValue: "offline")
    /// A captive portal answers in its place.
    public static let captive = OriginState(rawValue: "captive")
    /// Every value that this version knows.
    public static let known: [OriginState] = [.unknown, .online, .offline, .captive]
    /// The value as it travels.
    public let rawValue: String

    /// A value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// The answer of an origin that was asked just now.
public struct OriginCheckReport: Codable, Equatable, Sendable {
    /// Name of the origin.
    public var name: String
    /// The URL that was asked.
    public var url: String
    /// Milliseconds from the request to the head of the answer, with the time to connect.
    public var latencyMs: Double
    /// Status of the answer; null without one.
    public var status: Int?
    /// Address and port of the connection; null without a connection.
    public var peer: String?
    /// Whether ``peer`` is a proxy.
    public var peerIsProxy: Bool
    /// Version of HTTP: `HTTP/1.1`.
    public var `protocol`: String?
    /// Version of TLS, with the certificate verified: `TLS 1.3`; null without TLS.
    public var tls: String?
    /// Why the origin counts as not answering; null if it answered.
    public var problem: Problem?

    package init(name: String, url: String, latencyMs: Double, peerIsProxy: Bool) {
        self.name = name
        self.url = url
        self.latencyMs = latencyMs
        self.peerIsProxy = peerIsProxy
    }
}

/// The credential of an account at an origin, without its value.
public struct CredentialReport: Codable, Equatable, Sendable {
    /// Name of the account.
    public var account: String
    /// Giver of the credential that requests of the account carry; null if they carry none.
    public var source: CredentialSource?
    /// Name of its header field; null if there is none.
    public var header: String?
    /// Time at which the user set it; null for another source.
    public var setAt: Timestamp?
    /// Time until which it is likely to be taken, as the user said; null if unknown.
    public var expires: Timestamp?
    /// Whether the origin's last answer refused it, with 401 or 407.
    public var refused: Bool
    /// Number of the account's modifiers at the origin that are not sent yet.
    public var waiting: Int

    package init(account: String, refused: Bool, waiting: Int) {
        self.account = account
        self.refused = refused
        self.waiting = waiting
    }
}

/// The giver of a credential.
public struct CredentialSource: WireEnum {
    /// The user, for one account.
    public static let user = CredentialSource(rawValue: "user")
    /// The configuration, for the users that it lists.
    public static let configuration = CredentialSource(rawValue: "configuration")
    /// The headers of the origin, for all users.
    public static let origin = CredentialSource(rawValue: "origin")
    /// Every value that this version knows.
    public static let known: [CredentialSource] = [.user, .configuration, .origin]
    /// The value as it travels.
    public let rawValue: String

    /// A value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// The order to renew the credential of an account, which one client has at a time.
public struct RenewalOrder: Codable, Equatable, Sendable {
    /// Why it has to be renewed.
    public var reason: RenewalReason
    /// The lease that goes with the new credential; it is good for 30 s.
    public var lease: String

    package init(_ reason: RenewalReason, lease: String) {
        self.reason = reason
        self.lease = lease
    }
}

/// Why a credential has to be renewed.
public struct RenewalReason: WireEnum {
    /// The credential expires within 60 s, or half its life is over.
    public static let expiring = RenewalReason(rawValue: "expiring")
    /// The origin has refused the credential, or asks for one.
    public static let refused = RenewalReason(rawValue: "refused")
    /// Every value that this version knows.
    public static let known: [RenewalReason] = [.expiring, .refused]
    /// The value as it travels.
    public let rawValue: String

    /// A value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }
}
