/// Small numbers in place of long names, for as long as a name is in use.
///
/// A number that is no longer in use is given to another name.
struct Interned<Key: Hashable & Sendable>: Sendable {
    private var slots: [Key: Int32] = [:]
    private var rows: [(key: Key, uses: Int32)] = []
    private var free: [Int32] = []

    var count: Int { slots.count }

    var inUse: [Int32] { slots.values.sorted() }

    subscript(slot: Int32) -> Key { rows[Int(slot)].key }

    func slot(of key: Key) -> Int32? { slots[key] }

    /// The number of the name, which gets one more use.
    mutating func use(_ key: Key) -> (slot: Int32, isNew: Bool) {
        if let slot = slots[key] {
            rows[Int(slot)].uses += 1
            return (slot, false)
        }
        let slot = free.popLast() ?? Int32(rows.count)
        if Int(slot) == rows.count { rows.append((key, 1)) } else { rows[Int(slot)] = (key, 1) }
        slots[key] = slot
        return (slot, true)
    }

    /// Removes one use of the number; true if that was the last one.
    mutating func release(_ slot: Int32) -> Bool {
        rows[Int(slot)].uses -= 1
        guard rows[Int(slot)].uses == 0 else { return false }
        slots[rows[Int(slot)].key] = nil
        free.append(slot)
        return true
    }
}
