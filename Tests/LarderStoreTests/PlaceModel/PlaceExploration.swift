/// Goes through every state that can be reached, the nearest first.
struct PlaceExploration {
    private(set) var stateCount = 0
    /// How a fault is reached in the fewest events.
    private(set) var fault: String?

    private struct Origin {
        let parent: Int
        let event: PlaceEvent
    }

    private var seen = PlaceSeen()
    private var origins: [Origin] = []

    init(_ world: PlaceWorld, statesMax: Int = .max) {
        let start = PlaceState(world)
        _ = seen.insert(start.digest)
        var level = [(state: start, index: -1)]
        while !level.isEmpty, fault == nil, origins.count < statesMax {
            var next: [(state: PlaceState, index: Int)] = []
            for (state, parent) in level where fault == nil {
                state.eachEvent { event in
                    guard fault == nil, let after = state.after(event),
                        after.fault != nil || seen.insert(after.digest)
                    else { return }
                    origins.append(Origin(parent: parent, event: event))
                    next.append((after, origins.count - 1))
                    if let text = after.fault { fault = trace(to: origins.count - 1, text) }
                }
            }
            level = next
        }
        stateCount = origins.count + 1
    }

    private func trace(to index: Int, _ text: String) -> String {
        var events: [PlaceEvent] = []
        var index = index
        while index >= 0 {
            events.append(origins[index].event)
            index = origins[index].parent
        }
        let lines = events.reversed().enumerated().map { "\($0 + 1). \($1)" }
        return (lines + [text]).joined(separator: "\n")
    }
}

/// The digests of the states that were seen: a table with open addressing.
struct PlaceSeen {
    private var slots = [UInt64](repeating: 0, count: 1 << 12)
    private var count = 0

    /// Whether it is new.
    mutating func insert(_ digest: UInt64) -> Bool {
        if count * 2 > slots.count {
            let old = slots
            slots = [UInt64](repeating: 0, count: old.count * 4)
            count = 0
            for digest in old where digest != 0 { _ = insert(digest) }
        }
        let mask = slots.count - 1
        var index = Int(truncatingIfNeeded: digest) & mask
        while slots[index] != 0 {
            if slots[index] == digest { return false }
            index = (index + 1) & mask
        }
        slots[index] = digest
        count += 1
        return true
    }
}

/// 64 bits that stand for a state: of a million states two are alike once in thirty million runs.
struct PlaceDigest {
    private(set) var value: UInt64 = 0x9E37_79B9_7F4A_7C15

    mutating func take(_ word: UInt64) {
        value = (value ^ word) &* 0xD6E8_FEB8_6659_FD93
        value ^= value >> 32
    }

    mutating func take(_ bytes: UInt8...) {
        var word: UInt64 = 0
        for byte in bytes { word = word << 8 | UInt64(byte) }
        take(word)
    }
}
