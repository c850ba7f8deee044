/// Visibility of a row: for one account of one user, or for all users.
///
/// The scope is part of every row's key, of single flight, and of visibility: two scopes that ask
/// for the same id never meet.
///
/// The daemon takes it from the credentials of the socket's peer. Of the client's own words, only
/// the account's name counts.
package enum Scope: Hashable, Sendable {
    case own(uid: UInt32, account: AccountName)
    case shared

    /// The account; the default one for shared rows.
    package var account: AccountName {
        switch self {
        case .own(_, let account): account
        case .shared: .default
        }
    }

    /// The user whose rows they are; nil for shared ones.
    package var uid: UInt32? {
        switch self {
        case .own(let uid, _): uid
        case .shared: nil
        }
    }

    /// The form in a row and in a key: `1000:default`, or `shared`.
    ///
    /// A uid is digits only, so no account's name can make one scope look like another.
    package var text: String {
        switch self {
        case .own(let uid, let account): "\(uid):\(account.text)"
        case .shared: "shared"
        }
    }

    /// As reports name it: `1000/work`, `shared`.
    package var userAndAccount: String {
        switch self {
        case .own(let uid, let account): "\(uid)/\(account.text)"
        case .shared: "shared"
        }
    }
}

/// Account whose credential a request uses at an origin; `default` unless the client names one.
package struct AccountName: Hashable, Sendable {
    package let text: String

    package static let `default` = AccountName(unchecked: "default")

    private init(unchecked text: String) {
        self.text = text
    }

    /// Takes 1 to 64 letters, digits, `.`, `_`, `@` and `-`.
    package init(_ text: String) throws(ModelError) {
        guard (1...Limits.accountBytesMax).contains(text.utf8.count),
            text.utf8.allSatisfy(Self.allows)
        else { throw .badAccount(text) }
        self.text = text
    }

    private static func allows(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "@"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
