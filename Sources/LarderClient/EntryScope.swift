import LarderModel
import LarderWire

/// Whose entries a list, an inspection or an eviction is about.
///
/// Other than ``own`` and ``shared`` is for administrators of the daemon; others get
/// ``LarderError/notPermitted(_:)``. Each such use is written into the daemon's log.
public enum EntryScope: Hashable, Sendable {
    /// This user's, of the client's account.
    case own
    /// Those that every user of the daemon sees.
    case shared
    /// Another user's: of one account, or without one of all.
    case user(UInt32, account: String? = nil)
    /// Everybody's.
    case all
}

/// Who sees an entry.
public enum EntryOwner: Hashable, Sendable {
    /// One account of one user.
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
