package import LarderModel
package import LarderNormalize

package struct NewEntry: Sendable {
    package var scope: ScopeKey
    package var entry: Entry
    package var body: NewBody
    /// The form of a normalized answer; its body is then its template.
    var form: AnswerForm?
    /// The client that brought the entry, for watchers; `cause` says by what.
    package var client: ClientTag?
    package var cause: String?
    /// Whether it is a user's own: a shared row under its id is hidden from that user then.
    package var hidesShared = false
    /// The last revision that was told when its request started; nil for what no request has
    /// brought.
    package var start: Revision?
    /// Whether members of base are in it, as a write has touched them since its request: no wait
    /// for an answer ends with it.
    var isMix = false
    /// Whether the row was used: a poll, which no client waits for, leaves it as old as it was.
    package var isUse = true

    package init(scope: ScopeKey, entry: Entry, body: NewBody) {
        self.scope = scope
        self.entry = entry
        self.body = body
    }

    /// Says that what it shows is not all from one answer, and not from after a confirmed write.
    mutating func becomeStale() {
        (entry.etag, entry.lastModified, entry.freshUntil) = (nil, nil, nil)
        // No user who has seen newer content sees the row again.
        start = Revision(0)
    }

    /// The change that watchers hear of, once the entry has a revision; nil for a URL of variants.
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

    var isLinkableInCache: Bool {
        if case .inline(let bytes) = body { return bytes.count <= Limits.inlineBodyBytesMax }
        return body.upload?.file == .cache
    }

    var uploadedBody: ChunkedBody? {
        body.upload.map {
            ChunkedBody(number: $0.body, byteCount: entry.body.byteCount, file: $0.file)
        }
    }

    var name: TargetName { TargetName(scope, entry.id) }

    var rowSize: Int64 {
        guard let form, case .inline(let template) = body else {
            return entry.rowSize(in: scope, isChunked: body.isUploaded)
        }
        return entry.rowSize(in: scope, dataBytes: template.count) + form.size
    }
}

package enum NewBody: Sendable {
    /// At most ``Limits/inlineBodyBytesMax`` bytes; none for a tombstone.
    case inline([UInt8])
    case uploaded(UploadID)

    package var upload: UploadID? { if case .uploaded(let upload) = self { upload } else { nil } }

    var bytes: [UInt8]? { if case .inline(let bytes) = self { bytes } else { nil } }

    var isUploaded: Bool { upload != nil }
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
    /// The row was evicted meanwhile, or replaced by an answer with another validator.
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

    init?(_ row: SQLiteStatement) {
        guard let id = row.entryID(EntryColumn.id) else { return nil }
        key = RowKey(row.integer(EntryColumn.key))
        revision = Revision(row.integer(EntryColumn.rev))
        scope = row.text(EntryColumn.scope) ?? ""
        self.id = id
        size = row.integer(RecencyColumn.size).clamped(to: Limits.rowBytes)
        lastUsed = row.integer(RecencyColumn.lastUsed)
    }

    static let columns = RecencyColumn.row([.key, .scope, .id, .rev])
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
    /// Present limit of the accounted size: `max_bytes`, or less while the disk is short of space.
    package var budget: Int64 = 0
    package var evictions: Int64 = 0
    /// Rows that were evicted because the disk or a quota on it was short.
    package var diskEvictions: Int64 = 0
    /// Evictions of blobs past their ttl, and of rows that a request named.
    package var expired: Int64 = 0
    package var evictedByRequest: Int64 = 0
    package var isPressed = false
    /// Reads that met a damaged row since the start.
    package var damaged: Int64 = 0
    /// Entries not stored since the start, because another id's row has their key.
    package var keysTaken: Int64 = 0
    /// Whether a put was refused because protected rows fill the budget, and none has fitted since.
    package var isFull = false
}

/// Entities that an answer, or a client, brings of one origin.
package struct NewEntities: Sendable {
    package let scope: ScopeKey
    package let origin: OriginName
    package internal(set) var split: Split
    package internal(set) var fetch: Revision
    package let cause: ChangeCause
    package let hidesShared: Bool
    /// The members that an entity keeps, by its number: writes have touched them since the fetch.
    var kept: [Int: TouchedMembers] = [:]
    /// Whether an effect has made them: one that is as it was is as old as before.
    var isMade = false

    package init(
        _ split: Split,
        of origin: OriginName,
        in scope: ScopeKey,
        fetch: Revision,
        cause: ChangeCause,
        hidesShared: Bool = false
    ) {
        self.hidesShared = hidesShared
        self.split = split
        self.origin = origin
        self.scope = scope
        self.fetch = fetch
        self.cause = cause
    }

    /// An entity with what the answer has of it, except the members that are kept.
    func merged(_ number: Int, into held: HeldEntity) -> MergedEntity {
        split.merged(number, into: held, fetch: fetch.number, keeping: kept[number] ?? .none)
    }

    func form(_ saved: SavedEntities) -> (template: [UInt8], form: AnswerForm)? {
        form(split.keys.indices.compactMap { saved.merged[$0] })
    }

    /// The form with these entities; nil unless they are all of them.
    func form(_ merged: [MergedEntity]) -> (template: [UInt8], form: AnswerForm)? {
        guard merged.count == split.keys.count,
            let template = split.template(merged).flatMap({ try? Template($0, split.skeleton) })
        else { return nil }
        return (template.bytes, AnswerForm(template, split.skeleton, of: origin))
    }

    var ids: some Sequence<EntryID> { split.keys.lazy.map { EntryID(EntityName($0, of: origin)) } }
}

/// That an entity is gone, as an answer or a client says.
package struct EntityRemoval: Sendable {
    let name: EntityName
    let scope: ScopeKey
    let fetch: Revision
    let cause: ChangeCause
    /// As in ``NewEntry``.
    let hidesShared: Bool

    package init(
        of name: EntityName,
        in scope: ScopeKey,
        fetch: Revision,
        cause: ChangeCause,
        hidesShared: Bool = false
    ) {
        (self.name, self.scope, self.fetch) = (name, scope, fetch)
        (self.cause, self.hidesShared) = (cause, hidesShared)
    }
}

/// Entities of an answer that `state.db` keeps, with it merged into them there.
struct SavedEntities: Sendable {
    var merged: [Int: MergedEntity] = [:]
    /// The number of the step, which is open; nil where nothing was merged.
    var step: Revision?
}

package struct NewAnswer: Sendable {
    /// The entry; its body is the answer as received, for a store that keeps the answer whole.
    package var entry: NewEntry
    package internal(set) var entities: NewEntities

    package init(_ entry: NewEntry, _ entities: NewEntities) {
        self.entry = entry
        self.entities = entities
    }
}

package struct AnswerReceipt: Equatable, Sendable {
    package let entry: PutReceipt
    package let isNormalized: Bool
}

/// A step's change of an entity, and the part of it that shows.
struct EntityChange: Sendable {
    let name: EntityName
    var key: RowKey
    /// The names of the members that have another value; nil where all that shows of it may differ.
    let members: Set<[UInt8]>?
    let event: Change.Event

    init(_ name: EntityName, at key: RowKey, _ change: MergedEntity.Change, _ event: Change.Event) {
        self.name = name
        self.key = key
        self.event = event
        switch change {
        case .nothing, .created: members = nil
        case .members(let names):
            // Half of a surrogate pair is no text: then whatever shows it is told.
            let isText = !names.contains { $0.unicodeScalars.contains("\u{FFFD}") }
            members = isText ? Set(names.map { Array($0.utf8) }) : nil
        }
    }
}

/// A condition on what a reader sees under the id of a write.
///
/// The writer then checks that the row is still the one that was seen. If it is not, the condition
/// is checked again.
package struct WriteCondition: Sendable {
    private let name: TargetName
    private let holds: @Sendable (StoreReader) throws(StoreError) -> Bool

    package init(
        _ scope: ScopeKey,
        _ id: EntryID,
        holds: @escaping @Sendable (StoreReader) throws(StoreError) -> Bool
    ) {
        name = TargetName(scope, id)
        self.holds = holds
    }

    struct Seen: Sendable {
        let name: TargetName
        let cached: Revision?
        let saved: Revision?
    }

    func check(_ readers: StoreReaders) async throws(StoreError) -> Seen {
        try await readers.read(Reading.current) { [self] reader throws(StoreError) -> Seen in
            // The row first: what changes it after this look is seen by the writer.
            let saved =
                reader.shared.residency.covers(name.scope, name.id)
                ? try reader.stateReader().revision(name.scope, name.id) : nil
            let seen = Seen(
                name: name,
                cached: try? reader.withRow(name.scope, name.id) { $0.revision },
                saved: saved
            )
            guard try holds(reader) else { throw .conditionFailed }
            return seen
        }
    }
}
