import LarderModel

/// The modifiers of each lane, in the order of their numbers.
///
/// A *place* is one modifier in one lane. It is *open* when it is the first of its lane and the
/// lane is not paused. A modifier may be sent when all its places are open. Lanes and places are
/// lists within arrays, so entering, leaving anywhere and looking at the place before are O(1).
struct LaneTable: Sendable {
    /// A lane of one user's account; `owner` is the queue's number for the user and account.
    struct Key: Hashable, Sendable {
        let owner: Int32
        let lane: Lane
    }

    private struct Row: Sendable {
        var first: Int32 = -1
        var last: Int32 = -1
        var isPaused = false
    }

    private struct LaneSlot: Sendable {
        var slot: Int32
        var number: ModifierNumber
        var lane: Int32
        var before: Int32 = -1
        var after: Int32 = -1
        /// The next place of the same modifier, or of the free ones.
        var sibling: Int32
    }

    private var names = Interned<Key>()
    private var rows: [Row] = []
    private var places: [LaneSlot] = []
    private var freePlace: Int32 = -1

    /// Places of other modifiers that open or close when a modifier enters or leaves.
    struct LaneChange: Equatable {
        var opened: [Int32] = []
        var closed: [Int32] = []
    }

    // MARK: To enter and to leave

    /// Puts the modifier into the lanes.
    ///
    /// Returns where its places begin and how many of them are not open. The modifier gets
    /// in front of none in `underWay`.
    mutating func enter(
        _ slot: Int32,
        _ number: ModifierNumber,
        _ lanes: [Lane],
        owner: Int32,
        after underWay: Set<Int32> = []
    ) -> (places: Int32, closed: Int32, change: LaneChange) {
        var chain: Int32 = -1
        var closed: Int32 = 0
        var change = LaneChange()
        for (position, lane) in lanes.enumerated() where !lanes[..<position].contains(lane) {
            let row = use(Key(owner: owner, lane: lane))
            chain = place(LaneSlot(slot: slot, number: number, lane: row, sibling: chain))
            link(chain, &change, underWay)
            if !isOpen(chain) { closed += 1 }
        }
        return (chain, closed, change)
    }

    mutating func leave(_ chain: Int32) -> LaneChange {
        var change = LaneChange()
        var next = chain
        while next >= 0 {
            let place = places[Int(next)]
            unlink(next, &change)
            places[Int(next)].sibling = freePlace
            freePlace = next
            _ = names.release(place.lane)
            next = place.sibling
        }
        return change
    }

    private mutating func use(_ key: Key) -> Int32 {
        let (row, isNew) = names.use(key)
        if isNew { rows.put(Row(), at: row) }
        return row
    }

    private mutating func place(_ place: LaneSlot) -> Int32 {
        guard freePlace >= 0 else {
            places.append(place)
            return Int32(places.count - 1)
        }
        let index = freePlace
        freePlace = places[Int(index)].sibling
        places[Int(index)] = place
        return index
    }

    /// Numbers arrive in order, so the walk from the end is short.
    private mutating func link(
        _ index: Int32,
        _ change: inout LaneChange,
        _ underWay: Set<Int32>
    ) {
        let place = places[Int(index)]
        var before = rows[Int(place.lane)].last
        while before >= 0, places[Int(before)].number > place.number,
            !underWay.contains(places[Int(before)].slot)
        {
            before = places[Int(before)].before
        }
        let after = before >= 0 ? places[Int(before)].after : rows[Int(place.lane)].first
        if before < 0, after >= 0, !rows[Int(place.lane)].isPaused {
            change.closed.append(places[Int(after)].slot)
        }
        places[Int(index)].before = before
        places[Int(index)].after = after
        join(before, index, lane: place.lane)
        join(index, after, lane: place.lane)
    }

    private mutating func unlink(_ index: Int32, _ change: inout LaneChange) {
        let place = places[Int(index)]
        join(place.before, place.after, lane: place.lane)
        if place.before < 0, place.after >= 0, !rows[Int(place.lane)].isPaused {
            change.opened.append(places[Int(place.after)].slot)
        }
    }

    private mutating func join(_ before: Int32, _ after: Int32, lane: Int32) {
        if before >= 0 { places[Int(before)].after = after } else { rows[Int(lane)].first = after }
        if after >= 0 { places[Int(after)].before = before } else { rows[Int(lane)].last = before }
    }

    private func isOpen(_ index: Int32) -> Bool {
        places[Int(index)].before < 0 && !rows[Int(places[Int(index)].lane)].isPaused
    }

    // MARK: Pauses

    /// Pauses a lane, which closes the place of its first modifier.
    ///
    /// Nil when the lane was already paused.
    mutating func pause(_ key: Key) -> LaneChange? {
        let lane = use(key)
        guard !rows[Int(lane)].isPaused else {
            _ = names.release(lane)
            return nil
        }
        rows[Int(lane)].isPaused = true
        return LaneChange(closed: first(of: lane))
    }

    /// Resumes a lane; nil if it was not paused.
    mutating func resume(_ key: Key) -> LaneChange? {
        guard let lane = names.slot(of: key), rows[Int(lane)].isPaused else { return nil }
        rows[Int(lane)].isPaused = false
        let change = LaneChange(opened: first(of: lane))
        _ = names.release(lane)
        return change
    }

    private func first(of lane: Int32) -> [Int32] {
        let first = rows[Int(lane)].first
        return first < 0 ? [] : [places[Int(first)].slot]
    }

    // MARK: Looking

    /// The modifier's lanes if an earlier one is after it in one of them; nil if not.
    func disordered(_ chain: Int32) -> [Lane]? {
        let isInOrder = walk(chain).allSatisfy { place in
            place.after < 0 || places[Int(place.after)].number > place.number
        }
        return isInOrder ? nil : walk(chain).map { names[$0.lane].lane }
    }

    enum Blocker: Equatable {
        case after(ModifierNumber, Lane)
        case paused(Lane)
    }

    /// The blocker in the modifier's lanes: an earlier modifier, or else a paused lane.
    func blocker(_ chain: Int32) -> Blocker? {
        var paused: Blocker?
        for place in walk(chain) {
            let lane = names[place.lane].lane
            if place.before >= 0 { return .after(places[Int(place.before)].number, lane) }
            if rows[Int(place.lane)].isPaused { paused = .paused(lane) }
        }
        return paused
    }

    /// The modifiers that come after those of a group in the lanes of its first.
    func next(after group: Set<Int32>, of chain: Int32) -> [Int32] {
        walk(chain).compactMap { place in
            var next = place.after
            while next >= 0, group.contains(places[Int(next)].slot) {
                next = places[Int(next)].after
            }
            return next < 0 ? nil : places[Int(next)].slot
        }
    }

    /// Whether the modifier directly before it is of a group, in each of its lanes.
    func isDirectly(_ chain: Int32, after group: Set<Int32>) -> Bool {
        walk(chain).allSatisfy { place in
            place.before >= 0 && group.contains(places[Int(place.before)].slot)
        }
    }

    /// The number of the modifier's places that are not open, by a new count.
    func closedCount(_ chain: Int32) -> Int {
        walk(chain).count { $0.before >= 0 || rows[Int($0.lane)].isPaused }
    }

    private func walk(_ chain: Int32) -> [LaneSlot] {
        var found: [LaneSlot] = []
        var next = chain
        while next >= 0 {
            found.append(places[Int(next)])
            next = places[Int(next)].sibling
        }
        return found
    }
}
