import CXXHash
package import LarderModel

enum CacheStatement: Int, PreparedStatement {
    case begin, commit, setMeta, deleteMeta, touch, find, entry, putEntry, putRecency, refreshEntry,
        refreshRecency, markStale, forgetValidators, deleteEntry, deleteRecency, oldest,
        oldestWithKind,
        oldestOfOwner, oldestOfOwnerWithKind, expired, markDirect, variants

    var sql: String {
        switch self {
        case .begin: "BEGIN IMMEDIATE"
        case .commit: "COMMIT"
        case .setMeta: "REPLACE INTO meta (name, value) VALUES (:name, :value)"
        case .deleteMeta: "DELETE FROM meta WHERE name = :name"
        case .touch: "UPDATE recency SET last_used = :used WHERE key = :key AND last_used < :used"
        case .find:
            """
            SELECT \(RecencyColumn.row(EntryColumn.found)) FROM entry JOIN recency USING (key)
            WHERE key = :key
            """
        case .entry: "SELECT \(EntryColumn.list) FROM entry WHERE key = :key"
        case .putEntry:
            """
            INSERT INTO entry (\(EntryColumn.names())) VALUES (\(EntryColumn.parameters()))
            ON CONFLICT (key) DO UPDATE SET \(EntryColumn.assignments(EntryColumn.put))
            """
        case .putRecency:
            """
            INSERT INTO recency (key, \(RecencyColumn.names()))
            VALUES (:key, \(RecencyColumn.parameters()))
            ON CONFLICT (key) DO UPDATE SET \(RecencyColumn.assignments())
            """
        case .refreshEntry:
            "UPDATE entry SET \(EntryColumn.assignments(EntryColumn.confirmed)) WHERE key = :key"
        case .refreshRecency:
            """
            UPDATE recency SET \(RecencyColumn.assignments([.storedAt, .size, .lastUsed]))
            WHERE key = :key
            """
        case .markStale: "UPDATE entry SET fresh_until = NULL WHERE key = :key"
        case .forgetValidators:
            "UPDATE entry SET etag = NULL, last_modified = NULL WHERE key = :key"
        case .deleteEntry: "DELETE FROM entry WHERE key = :key RETURNING \(EntryColumn.deleted)"
        case .deleteRecency: "DELETE FROM recency WHERE key = :key RETURNING size, owner"
        case .oldest: Self.oldest()
        case .oldestWithKind: Self.oldest(withKind: true)
        case .oldestOfOwner: Self.oldest(ofOwner: true)
        case .oldestOfOwnerWithKind: Self.oldest(ofOwner: true, withKind: true)
        case .expired:
            """
            SELECT \(VictimColumn.list([.key, .lastUsed, .expiresAt])) FROM recency
            WHERE expires_at <= :now AND (expires_at, key) > (:expires_at, :key)
            ORDER BY expires_at, key
            """
        case .variants:
            """
            SELECT id, kind FROM entry WHERE scope = :scope AND id >= :from AND id < :end
                AND (:all OR \(RowQuery.isVariant))
            ORDER BY id LIMIT \(Limits.pageRowsMax)
            """
        case .markDirect: "UPDATE recency SET direct = 1 WHERE key = :key"
        }
    }

    private static func oldest(ofOwner: Bool = false, withKind: Bool = false) -> String {
        """
        SELECT \(VictimColumn.list(withKind ? [.key, .lastUsed, .kind] : [.key, .lastUsed]))
        FROM recency \(withKind ? "JOIN entry USING (key)" : "")
        WHERE \(ofOwner ? "owner = :owner AND" : "") last_used > :used ORDER BY last_used
        """
    }
}

/// A scope with what its ids are hashed with, computed once for a connection.
package struct ScopeKey: Hashable, Sendable {
    package let scope: Scope
    package let text: String
    let seed: UInt64
    fileprivate let mask: UInt64

    /// `hashMask` says which bits of a hash are used: all, but in a test of collisions.
    init(_ scope: Scope, seed: UInt64, hashMask: UInt64 = .max) {
        self.scope = scope
        text = scope.text
        self.seed = Checksum.keyed(scope.text, seed: seed)
        mask = hashMask & RowKey.bits
    }

    var owner: Int64 { scope.uid.map(Int64.init) ?? OwnerTotals.shared }
}

/// Key of an entry's row in `cache.db`: a keyed hash of scope and id.
///
/// A reader compares scope and id with those in the row. The second of two ids with one hash has no
/// row. Among ten million entries, one of 20,000 caches has such a pair.
struct RowKey: Hashable, Sendable {
    let number: Int64

    /// All but the last four, which have numbered the rows with one hash.
    fileprivate static let bits = ~UInt64(15)

    init(_ number: Int64) {
        self.number = number
    }

    init(_ scope: ScopeKey, _ id: EntryID) {
        let hash = Checksum.keyed(id.text, seed: scope.seed)
        number = Int64(bitPattern: hash & scope.mask)
    }
}

/// Reads the numbers of a row, each within its range, because a disk can hold anything.
///
/// A number out of its range is read as the nearer end, and makes the row damaged.
struct RowNumbers {
    private let row: SQLiteStatement
    private(set) var areSound = true

    init(_ row: SQLiteStatement) { self.row = row }

    mutating func number(_ column: some SQLiteColumn, in range: ClosedRange<Int64>) -> Int64 {
        let number = row.integer(column)
        if !range.contains(number) { areSound = false }
        return number.clamped(to: range)
    }

    mutating func count(_ column: some SQLiteColumn) -> Int {
        Int(number(column, in: Limits.rowCounts))
    }

    mutating func countOrNil(_ column: some SQLiteColumn) -> Int? {
        row.isNull(column) ? nil : count(column)
    }

    mutating func statusOrNil(_ column: some SQLiteColumn) -> Int? {
        row.isNull(column) ? nil : Int(number(column, in: Limits.rowStatuses))
    }

    mutating func size(_ column: some SQLiteColumn) -> Int64 { number(column, in: Limits.rowBytes) }

    mutating func byteCount(_ column: some SQLiteColumn) -> Int {
        let range = Limits.chunkedBodyBytes
        return Int(number(column, in: Int64(range.lowerBound)...Int64(range.upperBound)))
    }

    mutating func revision(_ column: some SQLiteColumn) -> Revision {
        Revision(number(column, in: Limits.rowRevisions))
    }

    mutating func moment(_ column: some SQLiteColumn) -> Timestamp {
        Timestamp(milliseconds: number(column, in: Limits.rowMoments))
    }

    mutating func momentOrNil(_ column: some SQLiteColumn) -> Timestamp? {
        row.isNull(column) ? nil : moment(column)
    }
}

/// The hashes of the store: XXH3 of libxxhash (https://xxhash.com), stable since its 0.8.0.
///
/// They find damage and sameness, and are no defence against collisions made on purpose. The store
/// compares ids in full. Equal digests only keep a client from being told of a change.
enum Checksum {
    static func digest(_ bytes: UnsafeRawBufferPointer) -> Digest {
        let hash = XXH3_128bits(bytes.baseAddress, bytes.count)
        return Digest(high: hash.high64, low: hash.low64)
    }

    static func chunk(_ bytes: UnsafeRawBufferPointer) -> Int64 {
        Int64(bitPattern: XXH3_64bits(bytes.baseAddress, bytes.count))
    }

    static func keyedDigest(_ text: String, seed: UInt64) -> Digest {
        var text = text
        return text.withUTF8 { utf8 in
            let hash = XXH3_128bits_withSeed(utf8.baseAddress, utf8.count, seed)
            return Digest(high: hash.high64, low: hash.low64)
        }
    }

    static func keyed(_ text: String, seed: UInt64) -> UInt64 {
        var text = text
        return text.withUTF8 { XXH3_64bits_withSeed($0.baseAddress, $0.count, seed) }
    }
}

/// The digest of a body that comes in pieces, equal to the digest of the whole.
package struct RunningDigest: ~Copyable {
    private let state: OpaquePointer?
    package private(set) var byteCount = 0

    package init() {
        state = XXH3_createState()
        XXH3_128bits_reset(state)
    }

    deinit {
        XXH3_freeState(state)
    }

    package mutating func update(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { _ = XXH3_128bits_update(state, $0.baseAddress, $0.count) }
        byteCount += bytes.count
    }

    package func digest() -> Digest {
        let hash = XXH3_128bits_digest(state)
        return Digest(high: hash.high64, low: hash.low64)
    }
}

extension BodySummary {
    package init(of bytes: [UInt8], isJSON: Bool) {
        let digest = bytes.withUnsafeBytes { Checksum.digest($0) }
        self.init(byteCount: bytes.count, digest: digest, isJSON: isJSON)
    }
}
