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

    private init(unchecked text: String) { self.text = text }

    /// Takes 1 to 64 letters, digits, `.`, `_`, `@` and `-`.
    package init(_ text: String) throws(ModelError) {
        guard (1...Limits.accountBytesMax).contains(text.utf8.count),
            text.utf8.allSatisfy({ $0.isASCIIAlphanumeric || "._@-".utf8.contains($0) })
        else { throw .badAccount(text) }
        self.text = text
    }
}

extension Scope {
    /// Reads ``text``; nil for what is none.
    package init?(text: String) {
        if text == "shared" {
            self = .shared
            return
        }
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let uid = Self.uid(parts[0]),
            let account = try? AccountName(String(parts[1]))
        else { return nil }
        self = .own(uid: uid, account: account)
    }

    /// A user's number as ``text`` spells it: digits only, none too many.
    package static func uid(_ text: some StringProtocol) -> UInt32? {
        guard let uid = UInt32(text), String(uid) == text else { return nil }
        return uid
    }
}

/// Ordering key of modifiers that are sent in order: a target, or a name that clients give.
///
/// Lanes of different users or accounts never meet.
package enum Lane: Hashable, Sendable, CustomStringConvertible {
    case id(EntryID)
    case name(LaneName)

    /// The lane as clients give and get it: `id:ID` or `name:NAME`.
    package var description: String {
        switch self {
        case .id(let id): "id:\(id)"
        case .name(let name): "name:\(name.text)"
        }
    }

    /// Reads a lane as a client gives it, of which an id that is a URL is normalized.
    package init(given text: String) throws(ModelError) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        switch (parts.first, parts.dropFirst().first) {
        case ("id", let id?): self = .id(try EntryID(given: String(id)))
        case ("name", let name?): self = .name(try LaneName(String(name)))
        case (_, _): throw .badLane(text)
        }
    }

    /// The form in `state.db`: of an entity `key:ORIGIN/KEY`.
    package var stored: String {
        if case .id(let id) = self, let entity = id.entity { "key:\(entity)" } else { description }
    }

    package init(stored text: String) throws(ModelError) {
        if text.hasPrefix("id:") {
            self = .id(try EntryID(String(text.dropFirst(3))))
        } else if text.hasPrefix("key:") {
            guard let entity = EntityName(text: text.dropFirst(4)) else { throw .badLane(text) }
            self = .id(EntryID(entity))
        } else {
            self = try Lane(given: text)
        }
    }
}

/// The name of a lane, as a client gives it.
///
/// Two names are the same when their bytes are.
package struct LaneName: Sendable, CustomStringConvertible {
    package let text: String

    package var description: String { text }

    /// Takes 1 to 128 bytes of UTF-8 without control characters (U+0000 to U+001F, U+007F).
    package init(_ text: String) throws(ModelError) {
        let utf8 = text.utf8
        guard (1...Limits.laneNameBytesMax).contains(utf8.count),
            !utf8.contains(where: { $0 < 0x20 || $0 == 0x7F })
        else { throw .badLaneName(text) }
        self.text = text
    }
}

extension LaneName: Hashable {
    package static func == (left: LaneName, right: LaneName) -> Bool {
        left.text.hasSameBytes(as: right.text)
    }

    package func hash(into hasher: inout Hasher) { text.hashBytes(into: &hasher) }
}
