import LarderModel

enum EvictionOrder: Hashable {
    /// Blobs past their ttl, those that expired first.
    case expired
    /// Answers of origins, the least recently used first: those of an owner, or all.
    case fetched(of: Int64?)
    /// Rows, the least recently used first: those of an owner, or all.
    case used(of: Int64?)

    func leavesOut(_ kind: Int64) -> Bool {
        if case .fetched = self { kind == EntryKind.blob.rawValue } else { false }
    }
}

/// How far eviction has looked in an order: it passes rows that must stay, and goes on after them.
///
/// It begins again at the front, and finds rows that may go now, after one eviction for every
/// ``Limits/passedRowsPerEviction`` rows that it has passed.
struct EvictionPosition {
    private(set) var key = RowKey(.min)
    private(set) var lastUsed = Int64.min
    /// Of ``EvictionOrder/expired`` alone.
    private(set) var expiresAt = Int64.min
    private var passed: Int64 = 0
    /// Evictions before the beginning.
    private var evictions: Int64 = 0

    mutating func move(to row: SQLiteStatement) {
        key = RowKey(row.integer(VictimColumn.key))
        lastUsed = row.integer(VictimColumn.lastUsed)
        expiresAt = row.integer(VictimColumn.expiresAt)
    }

    mutating func pass() { passed += 1 }

    /// Begins again at the front if that is due after so many evictions.
    mutating func beginAgainIfDue(after count: Int64) {
        guard (count - evictions) * Limits.passedRowsPerEviction >= passed else { return }
        self = EvictionPosition()
        evictions = count
    }
}
