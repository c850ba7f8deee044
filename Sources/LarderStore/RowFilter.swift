package import LarderModel

package enum RowScopes: Sendable, Hashable {
    case one(ScopeKey)
    case user(UInt32)
    case all

    var condition: String {
        switch self {
        case .one: "scope = :scope"
        case .user: "scope >= :scope AND scope < :scope_end"
        case .all: "1"
        }
    }

    package func covers(_ scope: Scope) -> Bool {
        switch self {
        case .one(let key): key.scope == scope
        case .user(let uid): scope.uid == uid
        case .all: true
        }
    }

    func bind(to statement: SQLiteStatement) {
        switch self {
        case .one(let scope): statement.bind(":scope", scope.text)
        case .user(let uid):
            // The text of a scope is the uid, a colon and the account; a semicolon comes next.
            statement.bind((":scope", "\(uid):"), (":scope_end", "\(uid);"))
        case .all: break
        }
    }
}

package struct RowFilter: Sendable {
    package var scopes: RowScopes
    package var prefix: String?
    package var origin: OriginName?
    package var storedBefore: Timestamp?
    /// Only rows that are anybody's to see at this moment: no blob past its `ttl`, and none of the
    /// rows that Larder keeps for itself.
    package var shownAt: Timestamp?
    package var part = RowPart.all

    package init(scope: ScopeKey) { self.init(.one(scope)) }
    package init(_ scopes: RowScopes) { self.scopes = scopes }
}

package enum RowPart: Sendable {
    case all
    case entries
    case entities
}

/// In which order a list goes: ids ascending, the largest, the oldest, the least recently used.
///
/// Where it is about several scopes, rows that are equal in it follow each other by scope and id.
package enum RowOrder: Sendable, CaseIterable {
    case id
    case size
    case age
    case used
}

package struct RowCursor: Equatable, Sendable {
    package var value: Int64
    package var scope: String
    package var id: String

    package init(value: Int64, scope: String, id: String) {
        self.value = value
        self.scope = scope
        self.id = id
    }
}

package struct ListedRow: Equatable, Sendable {
    package internal(set) var entry: Entry
    package let scope: Scope
    package let size: Int64
    package let lastUsed: Int64
    package internal(set) var isPinned: Bool
    /// Whether there is no entry in it: what shows is what modifiers make of it, if anything does,
    /// and of ``entry`` only its id, its origin and its time are known.
    package internal(set) var isBare = false

    package func cursor(_ order: RowOrder) -> RowCursor {
        let value =
            switch order {
            case .id: Int64(0)
            case .size: size
            case .age: entry.storedAt.milliseconds
            case .used: lastUsed
            }
        return RowCursor(value: value, scope: scope.text, id: entry.id.text)
    }
}
