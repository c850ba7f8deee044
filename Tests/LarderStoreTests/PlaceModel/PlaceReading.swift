/// An event loop with its transaction in `cache.db`, and the read that it is at.
struct PlaceReader: Hashable {
    /// Where the read of one id goes on.
    enum Phase: UInt8 {
        case idle
        /// Memory: is it targeted?
        case target
        /// `state.db`: base and changes.
        case changes
        /// Memory: is it read from `state.db` first?
        case place
        /// `state.db`: what is saved.
        case saved
        /// `cache.db`.
        case row
        /// The transaction is being opened.
        case opening
        /// Memory: is it claimed?
        case claimed
        /// `state.db`: what is saved of what `cache.db` has not.
        case savedLast
    }

    var phase = Phase.idle
    var hasTransaction = false
    /// Whether nothing was published since the transaction was opened.
    var isCurrent = false
    /// What its transaction sees.
    var snapshot = PlaceCache()
    /// Whether a read of several ids has renewed it.
    var isHeld = false
    var wanted = PlaceIDs.none
    /// The id that it is at.
    var id = 0
    var found = PlacePair(PlaceRow())
    /// A place has changed meanwhile.
    var hasMoved = false
    /// A group was between its commits meanwhile.
    var hasMet = false
    var usesState = false
    /// What was told before the read began.
    var told: PlaceNumber = 0
    /// The earliest number that what it has shown can be of.
    var seen: PlaceNumber = 0
    /// What it showed last of each.
    var shown = PlacePair(PlaceRow())
}

extension [PlaceReader] {
    mutating func move() {
        for index in indices where self[index].phase != .idle { self[index].hasMoved = true }
    }

    mutating func meet() {
        for index in indices where self[index].phase != .idle { self[index].hasMet = true }
    }

    mutating func publish() {
        for index in indices { self[index].isCurrent = false }
    }
}

/// A reader goes a step.
extension PlaceState {
    mutating func startRead(_ index: Int, _ wanted: PlaceIDs) {
        budget.reads -= 1
        readers[index].wanted = wanted
        readers[index].told = toldNumber
        begin(index)
    }

    private func isWide(_ reader: PlaceReader) -> Bool { reader.wanted == .both }

    private mutating func begin(_ index: Int) {
        readers[index].hasMoved = false
        readers[index].hasMet = group?.isBetween == true && holds(.notBetweenCommits)
        readers[index].usesState = false
        readers[index].isHeld = false
        readers[index].found = PlacePair(PlaceRow())
        look(index, at: world.isShared ? 1 - index : readers[index].wanted.contains(0) ? 0 : 1)
    }

    /// Goes on with an id; of several, changes are looked for with what is saved.
    private mutating func look(_ index: Int, at id: Int) {
        readers[index].id = id
        let isTarget = !isWide(readers[index]) && !(world.isShared && id == 0)
        readers[index].phase = isTarget ? .target : .place
    }

    mutating func step(_ index: Int) {
        let reader = readers[index]
        let place = memory[reader.id]
        switch reader.phase {
        case .idle: break
        case .target:
            let isTargeted = place.targets > 0 && holds(.stateOfTargetsFirst)
            readers[index].phase = isTargeted ? .changes : .place
        case .changes:
            readers[index].usesState = true
            guard durable.targets(reader.id, world) > 0 else {
                readers[index].phase = .place
                return
            }
            found(
                index,
                durable.view(of: durable.saved[reader.id]?.row ?? PlaceRow(), reader.id, world)
            )
        case .place:
            if !isWide(reader), !holds(.oneMoment) { readers[index].hasMoved = false }
            let isFirst =
                place.targets > 0 && holds(.stateOfTargetsFirst)
                || place.isCopy || place.isBehind
            readers[index].phase = isFirst ? .saved : .row
        case .saved: saved(index, orElse: .row)
        case .row: row(index)
        case .opening:
            if holds(.numberBeforeTransaction) {
                readers[index].snapshot = cache
            } else {
                readers[index].isCurrent = true
            }
            readers[index].hasTransaction = true
            take(index)
        case .claimed:
            guard place.isClaimed, holds(.missAsksState) else {
                return found(index, PlaceRow())
            }
            readers[index].phase = .savedLast
        case .savedLast: saved(index, orElse: nil)
        }
    }

    /// Takes what is saved of the id, of several ids with the changes.
    private mutating func saved(_ index: Int, orElse phase: PlaceReader.Phase?) {
        readers[index].usesState = true
        let id = readers[index].id
        var row = durable.saved[id]?.row ?? PlaceRow()
        if isWide(readers[index]) { row = durable.view(of: row, id, world) }
        if row.isAbsent, let phase {
            readers[index].phase = phase
        } else {
            found(index, row)
        }
    }

    /// Reads from the transaction that is open, if nothing was published since, else from another.
    private mutating func row(_ index: Int) {
        let reader = readers[index]
        let isNew = reader.isCurrent || !holds(.transactionIsRenewed)
        let isHeld = reader.isHeld && holds(.oneTransaction)
        if reader.hasTransaction, isNew || isHeld { return take(index) }
        readers[index].phase = .opening
        readers[index].hasTransaction = false
        if holds(.numberBeforeTransaction) {
            readers[index].isCurrent = true
        } else {
            readers[index].snapshot = cache
        }
    }

    private mutating func take(_ index: Int) {
        readers[index].isHeld = isWide(readers[index])
        let row = readers[index].snapshot.rows[readers[index].id]
        if row.isAbsent || row.isHead {
            readers[index].phase = .claimed
        } else {
            found(index, row)
        }
    }

    /// Something of the id, or nothing: goes on with the next id, or shows what there is.
    private mutating func found(_ index: Int, _ row: PlaceRow) {
        let reader = readers[index]
        if world.isShared, reader.id == 1 {
            readers[index].found[0] = row
            if row.isAbsent { return look(index, at: 0) }
        } else {
            readers[index].found[reader.id] = row
            if reader.id == 0, isWide(reader) { return look(index, at: 1) }
        }
        let isAgain =
            reader.hasMoved && holds(.movedIsReadAgain)
            || reader.hasMet && readers[index].usesState
        if isAgain { begin(index) } else { show(index) }
    }

    /// The reader has its view, which must be that of one moment.
    private mutating func show(_ index: Int) {
        let reader = readers[index]
        readers[index].phase = .idle
        let ids = world.isShared ? [0] : (0..<world.ids).filter { reader.wanted.contains($0) }
        let least = max(reader.seen, reader.told)
        let moment = moments.indices.first { moment in
            (moment + 1 == moments.count || moments[moment + 1].number > least)
                && ids.allSatisfy {
                    moments[moment].views[world.isShared ? index : $0] == reader.found[$0].content
                }
        }
        guard let moment else {
            let text = ids.map { "\($0): \(reader.found[$0])" }.joined(separator: ", ")
            return fail("reader \(index) shows \(text), as was so at no moment from \(least) on")
        }
        readers[index].seen = max(least, moments[moment].number)
        for id in ids where !reader.found[id].isAbsent {
            let (row, last) = (reader.found[id], reader.shown[id])
            if row.rev < last.rev {
                fail("reader \(index): rev of \(id) goes back from \(last.rev) to \(row.rev)")
            } else if row.rev == last.rev, row.content != last.content, !last.isAbsent {
                fail("reader \(index): rev \(row.rev) of \(id) stands for two views")
            }
            readers[index].shown[id] = PlaceRow(content: row.content, rev: row.rev)
        }
    }

    /// Drops what no reader may use any more, so that equal states are equal.
    mutating func forget() {
        var least = toldNumber
        for index in readers.indices {
            if readers[index].phase == .idle {
                if readers[index].seen <= toldNumber { readers[index].seen = 0 }
                readers[index].told = 0
                (readers[index].id, readers[index].wanted) = (0, .none)
                (readers[index].hasMoved, readers[index].hasMet) = (false, false)
                (readers[index].usesState, readers[index].isHeld) = (false, false)
                readers[index].found = PlacePair(PlaceRow())
                if !readers[index].hasTransaction { readers[index].isCurrent = false }
                if !readers[index].hasTransaction { readers[index].snapshot = PlaceCache() }
                if budget.reads == 0 { readers[index].shown = PlacePair(PlaceRow()) }
            } else {
                least = min(least, max(readers[index].seen, readers[index].told))
            }
        }
        while moments.count > 1, moments[1].number <= least { moments.removeFirst() }
    }
}

extension PlaceRow: CustomStringConvertible {
    var description: String { content.isAbsent ? "nothing" : "\(content) rev \(rev)" }
}

extension PlaceContent: CustomStringConvertible {
    var description: String {
        if isAbsent { return "nothing" }
        let name = bits & 15 == 0 ? "{}" : "word \(bits & 15)"
        let modifiers = (0..<2).filter { count(of: $0) > 0 }
        return name + modifiers.map { " + m\($0)×\(count(of: $0))" }.joined()
    }
}
