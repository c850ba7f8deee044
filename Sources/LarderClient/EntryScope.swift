public import LarderAPI
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

    init(_ scope: Scope) {
        switch scope {
        case .own(let uid, let account): self = .user(uid, account: account.text)
        case .shared: self = .everybody
        }
    }
}

extension EntryItem {
    /// The owner of the row; nil in lists of the client's own rows.
    public var owner: EntryOwner? { EntryOwner(user: user, account: account, shared: shared) }
}

extension LarderClient {
    /// The rows of a scope.
    func rows(of scope: EntryScope) throws(LarderError) -> ScopeQuery {
        let selection = try scopeSelection(scope)
        var query = ScopeQuery()
        if scope != .own { query.scope = selection.text }
        query.account = selection.account?.text
        return query
    }

    /// A scope as it travels.
    func scopeSelection(_ scope: EntryScope) throws(LarderError) -> ScopeSelection {
        switch scope {
        case .own: return .own(try accountName())
        case .shared: return .shared
        case .user(let uid, let account?):
            let name = try LarderError.checking(.badRequest) { () throws(ModelError) in
                try AccountName(account)
            }
            return .user(uid, name)
        case .user(let uid, nil): return .user(uid, nil)
        case .all: return .all
        }
    }
}
