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
    public init(rawValue: String) {
        self.rawValue = rawValue
    }
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
    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}
