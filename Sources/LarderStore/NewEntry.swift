package import LarderModel

package struct NewEntry: Sendable {
    package var scope: ScopeKey
    package var entry: Entry
    package var body: NewBody
    /// Of a normalized answer; its body is its template then.
    var form: AnswerForm?
    /// Who has brought it, and by what, for watchers.
    package var client: ClientTag?
    package var cause: String?
    /// Whether it is a user's own: a shared row under its id is hidden from that user then.
    package var hidesShared = false
    /// The last revision that was told when its request started; nil for what no request has brought.
    package var start: Revision?

    package init(scope: ScopeKey, entry: Entry, body: NewBody) {
        self.scope = scope
        self.entry = entry
        self.body = body
    }

    /// What watchers hear of it, once it has a revision; nil for what is nobody's entry.
    func change(at revision: Revision) -> Change? {
        switch entry.kind {
        case .blob, .fetched, .entity:
            return Change(revision, scope.scope, .put(entry.id, changeCause))
        case .tombstone: return Change(revision, scope.scope, .delete(entry.id, changeCause))
        case .variants: return nil
        }
    }

    var changeCause: ChangeCause {
        ChangeCause(entry.kind == .blob ? .client : .network, text: cause, client: client)
    }
}

package enum NewBody: Sendable {
    /// At most ``Limits/inlineBodyBytesMax`` bytes; none for a tombstone.
    case inline([UInt8])
    case uploaded(UploadID)
}

/// The number of a body whose chunks are being written; never used twice.
package struct UploadID: Hashable, Sendable {
    let body: Int64
    var file = BodyFile.cache
}

/// The row that a removal took away.
package struct RemovalReceipt: Equatable, Sendable {
    package let kind: EntryKind
    package let revision: Revision
}

package struct PutReceipt: Equatable, Sendable {
    package let revision: Revision
    package internal(set) var isNew: Bool
    /// Whether the row had the same bytes already; the revision is then the old one.
    package let isSame: Bool
}

package enum RefreshOutcome: Equatable, Sendable {
    case refreshed(Entry)
    /// It was evicted, or replaced by an answer with another validator, meanwhile.
    case gone
}

package struct EvictionCandidate: Equatable, Sendable {
    let key: RowKey
    let revision: Revision
    let scope: String
    package let id: EntryID
    package let size: Int64
    let lastUsed: Int64

    package var cursor: RowCursor { RowCursor(value: lastUsed, scope: scope, id: id.text) }
}

package struct EvictionReceipt: Equatable, Sendable {
    package var evicted: [EvictionCandidate] = []
    /// Protected, or changed since they were named.
    package var skipped = 0

    package init() {}

    package var bytes: Int64 { evicted.reduce(0) { $0 + $1.size } }
}

package struct StoreTotals: Equatable, Sendable {
    /// The accounted size: bodies, ids, headers and a fixed overhead for each row.
    package var bytes: Int64 = 0
    package var entries: Int64 = 0
    /// What the accounted size may be now: `max_bytes`, or less while the disk is short of space.
    package var budget: Int64 = 0
    package var evictions: Int64 = 0
    /// Rows that were evicted because the disk or a quota on it was short.
    package var diskEvictions: Int64 = 0
    package var isPressed = false
    /// Of these, blobs past their ttl, and rows that somebody named.
    package var expired: Int64 = 0
    package var evictedByRequest: Int64 = 0
    /// Reads that met a damaged row since the start.
    package var damaged: Int64 = 0
    /// What was not stored since the start, as another id's row has its key.
    package var keysTaken: Int64 = 0
    /// Whether a put was refused because protected rows fill the budget, and none has fitted since.
    package var isFull = false
}
