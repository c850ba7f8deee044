/// The header field by which an origin knows an account of a user.
///
/// The value is a secret: it goes to the origin and into `state.db`, and nowhere else.
package struct Credential: Equatable, Sendable {
    package let header: String
    package let value: String
    package let setAt: Timestamp
    /// The time until which the origin is likely to take it; nil if unknown.
    package let expires: Timestamp?

    package init(header: String, value: String, setAt: Timestamp, expires: Timestamp? = nil) {
        self.header = header
        self.value = value
        self.setAt = setAt
        self.expires = expires
    }

    /// The time from which it should be renewed: before it ends, and not sooner than after half its
    /// life.
    package var renewalTime: Timestamp? {
        guard let expires, expires > setAt else { return nil }
        let lead = min(Limits.renewalLeadTime, expires.since(setAt) / 2)
        return expires.advanced(by: .zero - lead)
    }
}

extension Credential: CustomStringConvertible, CustomReflectable {
    package var description: String { "\(header): ***" }
    package var customMirror: Mirror { Mirror(self, children: ["header": header]) }
}

/// An account of a user at an origin, which has at most one credential there.
package struct CredentialName: Hashable, Sendable {
    package let scope: Scope
    package let origin: OriginName

    package init(_ scope: Scope, at origin: OriginName) {
        self.scope = scope
        self.origin = origin
    }
}

/// The kind of credential under which a modifier was accepted, and without which it is not sent.
package enum CredentialNeed: String, Sendable {
    /// The credential of its account.
    case account
    /// The credential of its account, or the origin's for all users.
    case any

    package func isMet(by present: CredentialNeed?) -> Bool {
        switch self {
        case .account: present == .account
        case .any: present != nil
        }
    }
}

extension OriginSettings {
    /// The account's credential among the ``headers``.
    package struct AccountCredential: Equatable, Sendable {
        package let name: CredentialName
        /// The name of its header field.
        package let header: String
        /// A number that no other credential of the process has.
        package let number: Int
    }

    /// The settings for the requests of an account with a credential of its own.
    ///
    /// The answers are then the account's alone. Headers that identify others are left out.
    package func with(
        _ credential: Credential,
        of name: CredentialName,
        number: Int
    ) -> OriginSettings {
        var own = self
        own.isShared = false
        own.headers.remove("Authorization")
        own.headers.remove("Cookie")
        own.headers.set(credential.header, credential.value)
        own.account = AccountCredential(name: name, header: credential.header, number: number)
        return own
    }

    /// The kind of credential that a request with these settings carries.
    package var credentialKind: CredentialNeed? {
        if account != nil { return .account }
        return headers.fields.contains { HeaderFields.holdsSecret($0.name) } ? .any : nil
    }
}
