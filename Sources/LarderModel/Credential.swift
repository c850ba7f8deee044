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

    package var loginCommand: String {
        let account = scope.account
        let option = account == .default ? "" : " --account \(account.text)"
        return "cachectl origin login \(origin)\(option)"
    }
}

/// A credential of an origin's configuration, for the default accounts of some users.
package struct OriginCredential: Equatable, Sendable {
    package struct User: Equatable, Sendable {
        /// As the configuration names the user: a name or a number.
        package let name: String
        /// Nil if there is no such user.
        package let uid: UInt32?

        package init(name: String, uid: UInt32?) {
            self.name = name
            self.uid = uid
        }
    }

    package var header = "Authorization"
    /// The absolute path of the file with the value.
    package var file = ""
    package var users: [User] = []
    /// The secret.
    package var value = ""

    package init() {}

    package func covers(_ scope: Scope) -> Bool {
        guard case .own(let uid, .default) = scope else { return false }
        return users.contains { $0.uid == uid }
    }

    package var credential: Credential {
        Credential(header: header, value: value, setAt: Timestamp(milliseconds: 0))
    }

    /// A number below zero, which another value does not have.
    package var number: Int {
        var hasher = Hasher()
        hasher.combine(header)
        hasher.combine(value)
        return hasher.finalize() | Int.min
    }
}

extension OriginCredential: CustomStringConvertible, CustomReflectable {
    package var description: String { "\(header): ***" }
    package var customMirror: Mirror { Mirror(self, children: ["header": header, "file": file]) }
}

/// The kind of credential under which a modifier was accepted, and without which it is not sent.
package enum CredentialNeed: String, Sendable {
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
