package import LarderModel

/// What `POST /v1/evict` asks for.
package struct EvictCommand: Equatable, Sendable {
    package var selection: EvictSelection
    /// Says what would go and lets it stay.
    package var isDryRun = false
    /// Whether what is pinned is unpinned and goes too.
    package var includesPinned = false
    package var scope = ScopeSelection.own(.default)

    package init(_ selection: EvictSelection) {
        self.selection = selection
    }
}

/// Which entries go: one way at a time.
package enum EvictSelection: Equatable, Sendable {
    /// Those of these ids, 1 to ``Limits/evictIDsMax`` of them.
    case ids([EntryID])
    /// Entities, as many; without an origin where only one has rules.
    case keys([EntityKey], origin: OriginName?)
    /// Those whose ids begin with it.
    case prefix(String)
    case origin(OriginName)
    /// Those that were stored or confirmed longer ago.
    case olderThan(Duration)
    /// The least recently used, until the accounted size is at most this.
    case toBytes(ByteSize)
    case all
}

/// What went, or with a dry run would go.
package struct EvictReport: Equatable, Sendable {
    package var evicted: Int
    package var bytes: Int64
    /// Entries that were asked for and are protected.
    package var skipped: Int
    /// At most ``Limits/evictedIDsMax`` of them, those of entities behind the others; ``evicted``
    /// counts all.
    package var ids: [EntryID]

    package init(evicted: Int, bytes: Int64, skipped: Int, ids: [EntryID]) {
        self.evicted = evicted
        self.bytes = bytes
        self.skipped = skipped
        self.ids = ids
    }
}
