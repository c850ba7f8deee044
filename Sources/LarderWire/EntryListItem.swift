package import LarderModel

/// One row of a list: what is known of an entry without its bytes.
package struct EntryListItem: Equatable, Sendable {
    package var id: EntryID
    /// Whose row it is; told in lists of others' rows only.
    package var scope: Scope?
    package var kind: EntryKind
    package var origin: OriginName?
    package var status: Int
    package var mediaType: String?
    /// The bytes of the body.
    package var byteCount: Int
    /// What it counts against `cache.max_bytes`: body, id, headers and the fixed cost of its rows.
    package var accountedBytes: Int64
    package var storedAt: Timestamp
    /// The moment of its last use, by the logical clock that eviction goes by.
    package var lastUsed: Int64
    package var freshUntil: Timestamp?
    package var isStale: Bool
    package var revision: Revision
    package var etag: String
    /// Whether it is pinned.
    package var isPinned: Bool
    /// `modifier` where no server has said what is shown; else `cache`.
    package var source: AnswerSource

    package init(
        entry: Entry,
        accountedBytes: Int64,
        lastUsed: Int64,
        isPinned: Bool = false,
        source: AnswerSource = .cache,
        now: Timestamp
    ) {
        id = entry.id
        kind = entry.kind
        origin = entry.origin
        status = entry.status
        mediaType = entry.mediaType
        byteCount = entry.body.byteCount
        self.accountedBytes = accountedBytes
        storedAt = entry.storedAt
        self.lastUsed = lastUsed
        freshUntil = entry.freshUntil
        isStale = entry.isStale(at: now)
        revision = entry.revision
        etag = entry.entityTag
        self.isPinned = isPinned
        self.source = source
    }
}

/// One page of a list.
package struct EntryPage: Equatable, ReportPage {
    package var items: [EntryListItem]
    /// What to give as `cursor` for the page after this one; nil on the last.
    package var next: String?

    package init(items: [EntryListItem], next: String?) {
        self.items = items
        self.next = next
    }
}
