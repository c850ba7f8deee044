import LarderModel
import LarderNormalize

/// A durable row as the writer finds it before it changes it.
struct DurableRow: Sendable {
    let name: TargetName
    let number: Int64
    /// Nil while there is no entry.
    let kind: EntryKind?
    let revision: Revision
    let byteCount: Int
    let digest: Digest
    let body: Int64?
    let size: Int64
    /// Nil when it is not pinned.
    var pin: PinState?
    let etag: String?
    let lastModified: String?
    let origin: String?
    /// What the origin answered when it had deleted what a pin keeps.
    let goneStatus: Int?
    let isWanted: Bool
    /// Whether an unsettled change targets it.
    let isTargeted: Bool
    /// Whether it keeps the shared row under its id, and has no entry of its own.
    let keepsShared: Bool
    /// Of a shared row in whose share it counts.
    let payer: UInt32?
    /// Of an answer that is kept normalized, and the checksum of its template.
    let skeleton: Int64?
    let checksum: Int64?
    /// Whether it is a variant of a URL that is pinned or targeted.
    let isHeld: Bool
    /// Whether it counts in the room of pins, as a pinned answer has brought it.
    let isInPins: Bool

    var charge: RowCharge {
        RowCharge(pin: pin, isInPins: isInPins, size: size, payer: payer)
    }
    var isPinned: Bool { pin != nil }
    /// Whether nothing keeps it but references to it, so that it goes without those once the cache has
    /// it synced.
    var isReleased: Bool { isReferredOnly && !isHeld }
    /// Whether the entry under its id is the cache's: it is a pin that has none.
    var isLeftToCache: Bool { isPinned && !isTargeted && !hasEntry && !keepsShared }
    /// What it counts as a pin.
    var pinnedSize: Int64 { isPinned ? size : 0 }
    var hasEntry: Bool { kind != nil }
    /// Whether it has an entry that is no tombstone, or is a pin of a shared row that has.
    var hasBytes: Bool { kind.map { $0 != .tombstone } ?? (keepsShared && pin == .held) }

    /// Whether no pin and no change keeps it.
    var isReferredOnly: Bool { !isPinned && !isTargeted }

    init(_ row: SQLiteStatement, _ name: TargetName) {
        self.name = name
        var numbers = RowNumbers(row)
        number = row.integer(EntryColumn.key)
        kind = row.integerOrNil(EntryColumn.kind).map { EntryKind(rawValue: $0) ?? .blob }
        revision = numbers.revision(EntryColumn.rev)
        origin = row.text(EntryColumn.origin)
        etag = row.text(EntryColumn.etag)
        lastModified = row.text(EntryColumn.lastModified)
        byteCount = numbers.byteCount(EntryColumn.bytes)
        digest = row.digest(EntryColumn.digestHigh, .digestLow)
        body = row.integerOrNil(EntryColumn.body)
        skeleton = row.integerOrNil(EntryColumn.skeleton)
        checksum = row.integerOrNil(EntryColumn.checksum)
        size = numbers.size(DurableColumn.size)
        pin = PinState(claim: row)
        goneStatus = numbers.statusOrNil(DurableColumn.goneStatus)
        isWanted = row.isTrue(DurableColumn.wanted)
        isTargeted = row.isTrue(DurableColumn.targeted)
        keepsShared = row.isTrue(DurableColumn.shared)
        isHeld = row.isTrue(DurableColumn.held)
        isInPins = row.isTrue(DurableColumn.inPins)
        payer = row.integerOrNil(DurableColumn.payer).flatMap(UInt32.init(exactly:))
    }

    static let columns: Set<DurableColumn> = [
        .size, .pinnedAt, .state, .goneStatus, .wanted, .targeted, .shared, .held, .inPins, .payer,
    ]
}

/// A durable row with its entry and the body where it stands.
struct SavedEntry: Sendable {
    let claim: DurableRow
    /// Nil while there is none, and for one that is damaged.
    var entry: Entry?
    var inline: [UInt8] = []
    var chunked: ChunkedBody?
    /// Its row where it is a normalized answer; then `inline` is its template.
    var normalized: NormalizedRow?
}

extension DurableRow {
    /// Whether the row has the bytes that an entry brings.
    func matches(_ entry: Entry) -> Bool {
        kind == entry.kind && byteCount == entry.body.byteCount && digest == entry.body.digest
    }
}
