/// Small numbers in the place of long names, for as long as somebody uses them.
///
/// A number that nobody uses any more is given to another name.
struct Interned<Key: Hashable & Sendable>: Sendable {
    private var slots: [Key: Int32] = [:]
    private var rows: [Row] = []
    private var free: [Int32] = []

    private struct Row: Sendable {
        var key: Key
        var uses: Int32
    }

    /// How many numbers there are or were at once.
    var capacity: Int { rows.count }
    var count: Int { slots.count }

    /// The numbers in use.
    var inUse: [Int32] { slots.values.sorted() }

    subscript(slot: Int32) -> Key { rows[Int(slot)].key }

    /// The number of a name that is in use.
    func slot(of key: Key) -> Int32? { slots[key] }

    /// The number of the name, which is used once more.
    mutating func use(_ key: Key) -> (slot: Int32, isNew: Bool) {
        if let slot = slots[key] {
            rows[Int(slot)].uses += 1
            return (slot, false)
        }
        let row = Row(key: key, uses: 1)
        let slot: Int32
        if let reused = free.popLast() {
            slot = reused
            rows[Int(slot)] = row
        } else {
            slot = Int32(rows.count)
            rows.append(row)
        }
        slots[key] = slot
        return (slot, true)
    }

    /// The number is used once less; true when that was the last time.
    mutating func release(_ slot: Int32) -> Bool {
        rows[Int(slot)].uses -= 1
        guard rows[Int(slot)].uses == 0 else { return false }
        slots[rows[Int(slot)].key] = nil
        free.append(slot)
        return true
    }
}
