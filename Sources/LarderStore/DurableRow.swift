package import LarderModel
import LarderNormalize

/// A row of `state.db` without the bytes of its entry.
package struct DurableRow: Sendable {
    package let name: TargetName
    let number: Int64
    package let kind: EntryKind?
    let revision: Revision
    let byteCount: Int
    let digest: Digest
    let body: Int64?
    package let size: Int64
    var pin: PinState?
    let pinnedAt: Int64?
    let isComplete: Bool
    let etag: String?
    let lastModified: String?
    let origin: String?
    /// Status of the origin's answer that deleted the pinned entry.
    let goneStatus: Int?
    let isWanted: Bool
    /// Whether an unsettled change targets it, of a shared row any user's.
    package let isTargeted: Bool
    /// How many unsettled changes target it; only with ``columnsWithTargets``.
    let targets: Int
    /// Whether it keeps the shared row under its id, and has no entry of its own.
    let keepsShared: Bool
    /// The user in whose share a shared row counts.
    let payer: UInt32?
    /// The skeleton of a normalized answer, and the checksum of its template.
    let skeleton: Int64?
    let checksum: Int64?
    /// Whether it is a variant of a URL that is pinned or targeted.
    let isHeld: Bool
    /// Whether it counts in the room of pins, as a pinned answer has brought it.
    let isInPins: Bool
    /// Whether no client has pinned it, so that its pin ends with the last set that keeps it.
    let isPrefetched: Bool
    /// Whether something keeps it that is neither a pin nor a change of its own, where that was
    /// looked up.
    package var isNeeded = false

    var charge: RowCharge { RowCharge(pin: pin, isInPins: isInPins, size: size, payer: payer) }
    package var isPinned: Bool { pin != nil }
    /// Whether it is a pin that keeps the shared row: one that there is no room for keeps none.
    var isKeepingPin: Bool { pin == .held || pin == .waiting || pin == .failed }
    /// Whether nothing keeps it but references to it, so that it goes without those once the cache
    /// has it synced.
    var isReleased: Bool { isReferredOnly && !isHeld }
    /// Whether the entry under its id is the cache's: it is a pin that has none.
    var isLeftToCache: Bool { isPinned && !isTargeted && !hasEntry && !keepsShared }
    var pinnedSize: Int64 { isPinned ? size : 0 }
    package var hasEntry: Bool { kind != nil }
    /// Whether it has an entry other than a tombstone, or pins a shared row that has one.
    ///
    /// An answer whose pin waits, or has failed, does not count: an entity that it shows was lost.
    var hasBytes: Bool {
        guard let kind else { return keepsShared && pin == .held }
        return kind != .tombstone && pin != .waiting && pin != .failed
    }

    var isReferredOnly: Bool { !isPinned && !isTargeted }

    package var cursor: RowCursor { RowCursor(value: 0, scope: name.scope.text, id: name.id.text) }

    init?(_ row: SQLiteStatement, _ shared: SharedCacheState) {
        guard let id = row.entryID(EntryColumn.id), let scope = row.scope(EntryColumn.scope) else {
            return nil
        }
        self.init(row, TargetName(shared.key(for: scope), id))
    }

    init(_ row: SQLiteStatement, _ name: TargetName) {
        self.name = name
        var numbers = RowNumbers(row)
        number = row.integer(EntryColumn.key)
        kind = row.integerOrNil(EntryColumn.kind).map { EntryKind(rawValue: $0) ?? .blob }
        revision = numbers.revision(EntryColumn.rev)
        origin = row.text(EntryColumn.origin)
        isComplete = row.isOfCompleteEntry
        etag = row.text(EntryColumn.etag)
        lastModified = row.text(EntryColumn.lastModified)
        byteCount = numbers.byteCount(EntryColumn.bytes)
        digest = row.digest(EntryColumn.digestHigh, .digestLow)
        body = row.integerOrNil(EntryColumn.body)
        skeleton = row.integerOrNil(EntryColumn.skeleton)
        checksum = row.integerOrNil(EntryColumn.checksum)
        size = numbers.size(DurableColumn.size)
        pinnedAt = row.integerOrNil(DurableColumn.pinnedAt)
        pin = pinnedAt.map { _ in PinState(rawValue: row.integer(DurableColumn.state)) ?? .failed }
        goneStatus = numbers.statusOrNil(DurableColumn.goneStatus)
        isWanted = row.isTrue(DurableColumn.wanted)
        isTargeted = row.isTrue(DurableColumn.targeted)
        targets = numbers.count(DurableColumn.targets)
        keepsShared = row.integer(DurableColumn.shared) == 1
        isHeld = row.isTrue(DurableColumn.held)
        isInPins = row.isTrue(DurableColumn.inPins)
        isPrefetched = row.isTrue(DurableColumn.prefetched)
        payer = row.integerOrNil(DurableColumn.payer).flatMap(UInt32.init(exactly:))
    }

    static let columns: Set<DurableColumn> = [
        .size, .pinnedAt, .state, .goneStatus, .wanted, .targeted, .shared, .held, .inPins, .payer,
        .prefetched,
    ]
    static let found = DurableColumn.row(EntryColumn.found, columns)
    static let columnsWithTargets = DurableColumn.row(EntryColumn.found, columns.union([.targets]))

    func matches(_ entry: Entry) -> Bool {
        kind == entry.kind && byteCount == entry.body.byteCount && digest == entry.body.digest
            && isComplete == entry.isComplete
    }
}

struct SavedEntry: Sendable {
    let claim: DurableRow
    /// The entry; nil if there is none, or it is damaged.
    private(set) var entry: Entry?
    private(set) var inline: [UInt8] = []
    private(set) var chunked: ChunkedBody?
    /// The row of a normalized answer; `inline` is then its template.
    private(set) var normalized: NormalizedRow?

    init(_ statement: SQLiteStatement, _ name: TargetName) {
        claim = DurableRow(statement, name)
        let row = EntryRow(statement, file: .state)
        guard claim.hasEntry, row.isSound, let entry = row.entry() else { return }
        normalized = row.normalized(in: name.scope)
        guard row.skeleton == nil || normalized != nil else { return }
        self.entry = entry
        inline = row.withBody { Array($0) }
        chunked = row.chunkedBody
    }

    static let columns = DurableColumn.row(Set(EntryColumn.allCases), DurableRow.columns)

    var held: HeldEntity { entry.map { TargetBase($0, inline).held } ?? .unknown }
}

enum DurableStatement: Int, PreparedStatement {
    case begin, commit, find, get, insert, setEntry, refresh, setState, setPinned, setRefresh,
        setPrefetched, clearEntry, delete, keepers, keep, setKept, raise, variants, heldVariants

    var sql: String {
        switch self {
        case .begin: "BEGIN IMMEDIATE"
        case .commit: "COMMIT"
        case .find: "SELECT \(DurableRow.found) FROM claim WHERE scope = :scope AND id = :id"
        case .get: "SELECT \(SavedEntry.columns) FROM claim WHERE scope = :scope AND id = :id"
        case .insert:
            """
            INSERT INTO claim (\(EntryColumn.names(Self.name)), \(DurableColumn.names(Self.made)))
            VALUES (\(EntryColumn.parameters(Self.name)), \(DurableColumn.parameters(Self.made)))
            """
        case .setEntry:
            """
            UPDATE claim SET \(EntryColumn.assignments(EntryColumn.put)),
                \(DurableColumn.assignments([.size, .state, .problem, .reason])), gone_status = NULL,
                wanted = 0
            WHERE claim = :key
            """
        case .refresh:
            """
            UPDATE claim SET \(EntryColumn.assignments(EntryColumn.confirmed)),
                \(DurableColumn.assignments([.size, .state])), problem = NULL, reason = NULL,
                gone_status = NULL, wanted = 0
            WHERE claim = :key
            """
        case .setState:
            """
            UPDATE claim SET
                \(DurableColumn.assignments([.state, .problem, .reason, .goneStatus, .wanted]))
            WHERE claim = :key
            """
        case .setPinned:
            """
            UPDATE claim SET pinned_at = :pinned_at, state = :state, problem = NULL, reason = NULL,
                gone_status = NULL, wanted = 0, refresh = NULL, prefetched = NULL
            WHERE claim = :key
            """
        case .setRefresh:
            """
            UPDATE claim SET refresh = :refresh
            WHERE scope = :scope AND id = :id AND pinned_at IS NOT NULL
            """
        case .setPrefetched:
            """
            UPDATE claim SET prefetched = nullif(:prefetched, 0),
                refresh = CASE WHEN :prefetched THEN NULL ELSE refresh END
            WHERE claim = :key
            """
        case .clearEntry: "UPDATE claim SET \(Self.cleared), size = :size WHERE claim = :key"
        case .delete: "DELETE FROM claim WHERE claim = :key"
        case .keepers:
            """
            SELECT \(DurableRow.found) FROM claim INDEXED BY claim_keeper
            WHERE id = :id AND shared = 1 ORDER BY claim
            """
        case .keep: "UPDATE claim SET shared = :shared WHERE claim = :key"
        case .setKept:
            """
            UPDATE claim SET \(DurableColumn.assignments([.targeted, .pinnedAt, .state, .payer]))
            WHERE claim = :key
            """
        case .variants:
            """
            SELECT id FROM claim WHERE scope = :scope AND id >= :from AND id < :end
                AND (:all OR \(RowQuery.isVariant))
                AND (kind <> \(EntryKind.variants.rawValue) OR kind IS NULL AND targeted > 0)
            ORDER BY id LIMIT \(Limits.pageRowsMax)
            """
        case .heldVariants:
            """
            SELECT id FROM claim WHERE scope = :scope AND id >= :prefix AND id < :end AND held = 1
                AND \(RowQuery.isVariant)
            """
        case .raise:
            """
            UPDATE claim SET rev = max(rev, :rev)
            WHERE scope = :scope AND id = :id AND kind IS NOT NULL
            """
        }
    }

    /// Clears the answer of a row; the request of a read with a body stays, to ask for it again.
    static let cleared = EntryColumn.allCases
        .filter(EntryColumn.put.subtracting([.rev, .origin, .request]).contains)
        .map { "\($0.name) = NULL" }.joined(separator: ", ")

    private static let name: Set<EntryColumn> = [.scope, .id, .origin]
    private static let made: Set<DurableColumn> = [
        .size, .targeted, .shared, .pinnedAt, .state, .wanted, .held, .inPins, .payer,
    ]
}
