/// A min-heap of slots, with each slot in it at most once.
///
/// The positions of slots are kept outside the heap. Heaps may share them as long as no slot is in
/// two of these heaps. So any slot is taken out in O(log n).
struct SlotHeap<Key: Comparable & Sendable>: Sendable {
    typealias Element = (key: Key, slot: Int32)

    private(set) var elements: [Element] = []

    var first: Element? { elements.first }

    /// Adds the slot under the key, or moves it there; without a key removes it.
    mutating func set(_ slot: Int32, _ key: Key?, _ positions: inout SlotPositions) {
        guard let key else { return remove(slot, &positions) }
        let position = Int(positions[slot])
        if position < 0 {
            elements.append((key, slot))
            rise(from: elements.count - 1, &positions)
        } else {
            let isLess = key < elements[position].key
            elements[position].key = key
            if isLess { rise(from: position, &positions) } else { sink(from: position, &positions) }
        }
    }

    mutating func remove(_ slot: Int32, _ positions: inout SlotPositions) {
        let position = Int(positions[slot])
        guard position >= 0 else { return }
        positions[slot] = -1
        let last = elements.removeLast()
        guard position < elements.count else { return }
        let isLess = last.key < elements[position].key
        elements[position] = last
        if isLess { rise(from: position, &positions) } else { sink(from: position, &positions) }
    }

    private mutating func rise(from start: Int, _ positions: inout SlotPositions) {
        var position = start
        let element = elements[start]
        while position > 0 {
            let parent = (position - 1) / 2
            guard element.key < elements[parent].key else { break }
            place(elements[parent], at: position, &positions)
            position = parent
        }
        place(element, at: position, &positions)
    }

    private mutating func sink(from start: Int, _ positions: inout SlotPositions) {
        var position = start
        let element = elements[start]
        while true {
            var child = 2 * position + 1
            guard child < elements.count else { break }
            if child + 1 < elements.count, elements[child + 1].key < elements[child].key {
                child += 1
            }
            guard elements[child].key < element.key else { break }
            place(elements[child], at: position, &positions)
            position = child
        }
        place(element, at: position, &positions)
    }

    private mutating func place(
        _ element: Element,
        at position: Int,
        _ positions: inout SlotPositions
    ) {
        elements[position] = element
        positions[element.slot] = Int32(position)
    }
}

/// The positions of slots in a heap; -1 for a slot that is in none.
struct SlotPositions: Sendable {
    private var positions: [Int32] = []
    /// The number of moves so far, for tests.
    private(set) var moves = 0

    subscript(slot: Int32) -> Int32 {
        get { Int(slot) < positions.count ? positions[Int(slot)] : -1 }
        set {
            while positions.count <= Int(slot) { positions.append(-1) }
            positions[Int(slot)] = newValue
            moves += 1
        }
    }
}

/// Small numbers in place of long names, for as long as a name is in use.
///
/// A number that is no longer in use is given to another name.
struct Interned<Key: Hashable & Sendable>: Sendable {
    private var slots: [Key: Int32] = [:]
    private var rows: [(key: Key, uses: Int32)] = []
    private var free: [Int32] = []

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
        rows.put((key, 1), at: slot)
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

extension Array {
    /// Puts a row at a slot that was used before, or that is the next after the last one.
    mutating func put(_ row: Element, at slot: Int32) {
        if Int(slot) == count { append(row) } else { self[Int(slot)] = row }
    }
}
