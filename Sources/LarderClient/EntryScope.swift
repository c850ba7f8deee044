import LarderModel
import LarderWire

/// The users whose rows a request reads or changes.
///
/// ``user(_:account:)`` and ``all`` are for administrators of the daemon; other users get
/// ``LarderError/notPermitted(_:)``. The daemon logs each such use.
public enum EntryScope: Hashable, Sendable {
    /// Rows of this user, in the client's account.
    case own
    /// Rows that every user of the daemon sees.
    case shared
    /// Rows of another user: of one account, or of all accounts if it is nil.
    case user(UInt32, account: String? = nil)
    /// Rows of all users.
    case all
}

/// The user who sees an entry, or every user.
public enum EntryOwner: Hashable, Sendable {
    /// The user with this uid, in this account.
    case user(UInt32, account: String)
    /// Every user of the daemon.
    case everybody

    /// The owner of a row; nil in lists of the client's own rows.
    init?(user: UInt32?, account: String?, shared: Bool?) {
        guard let user else {
            guard shared == true else { return nil }
            self = .everybody
            return
        }
        self = .user(user, account: account ?? "default")
    }
}

extension EntryItem {
    /// The owner of the row; nil in lists of the client's own rows.
    public var owner: EntryOwner? { EntryOwner(user: user, account: account, shared: shared) }
}

extension LarderClient {
    func rows(of scope: EntryScope) throws(LarderError) -> ScopeQuery {
        var query = ScopeQuery()
        switch scope {
        case .own: query.account = try accountParameter()
        case .shared: query.scope = ScopeSelection.shared.text
        case .user(let uid, let account):
            let name = try account.map { name throws(LarderError) in try accountName(name) }
            query.scope = ScopeSelection.user(uid, name).text
            query.account = name?.text
        case .all: query.scope = ScopeSelection.all.text
        }
        return query
    }
}
