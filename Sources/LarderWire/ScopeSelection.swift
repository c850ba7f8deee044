package import LarderModel

/// The rows that a request reads or changes: `scope=own|shared|user:N|all`.
///
/// `account` selects an account within `own` and `user:N`. Without it, `own` uses the default
/// account and `user:N` all accounts. `user:N` and `all` are for administrators.
package enum ScopeSelection: Equatable, Sendable {
    case own(AccountName)
    case shared
    case user(UInt32, AccountName?)
    case all

    package init(scope: String?, account: AccountName?) throws(Problem) {
        guard let scope, scope != "own" else {
            self = .own(account ?? .default)
            return
        }
        if scope.hasPrefix("user:"), let uid = Scope.uid(scope.dropFirst(5)) {
            self = .user(uid, account)
            return
        }
        let everybodys = [ScopeSelection.shared, .all]
        guard let selection = everybodys.first(where: { $0.text == scope }) else {
            throw Problem(.badRequest, "scope: '\(scope)' is none of own, shared, user:N, all")
        }
        guard account == nil else {
            throw Problem(.badRequest, "account: it does not go with scope=\(scope)")
        }
        self = selection
    }

    package init(_ query: ScopeQuery) throws(Problem) {
        let account = try Problem.checking("account") { () throws(ModelError) in
            try query.account.map { text throws(ModelError) in try AccountName(text) }
        }
        try self.init(scope: query.scope, account: account)
    }

    /// The parameter `scope`.
    package var text: String {
        switch self {
        case .own: "own"
        case .shared: "shared"
        case .user(let uid, _): "user:\(uid)"
        case .all: "all"
        }
    }

    /// The parameter `account`.
    package var account: AccountName? {
        switch self {
        case .own(let account): account == .default ? nil : account
        case .user(_, let account): account
        case .shared, .all: nil
        }
    }

    package var isOthers: Bool {
        switch self {
        case .own, .shared: false
        case .user, .all: true
        }
    }
}
