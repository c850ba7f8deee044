/// A reader goes a step.
extension PlaceState {
    mutating func startRead(_ index: Int, _ wanted: UInt8) {
        budget.reads -= 1
        readers[index].wanted = wanted
        readers[index].told = toldNumber
        if readers[index].hasTransaction, readers[index].number >= published {
            readers[index].phase = .rows
            if !rules.holds(.overlayAfterRow) { readers[index].early = overlay }
            raise(index)
        } else {
            renew(index)
        }
    }

    /// The number first, by which the overlay keeps what it needs; the transaction after.
    private mutating func renew(_ index: Int) {
        readers[index].phase = .numbered
        if !rules.holds(.overlayAfterRow) { readers[index].early = overlay }
        readers[index].hasTransaction = false
        let last = rules.holds(.numberNeverGoesBack) ? readers[index].number : 0
        readers[index].number = max(published, last)
        readers[index].snapshot =
            rules.holds(.numberBeforeTransaction) ? PlacePair(PlaceRow()) : cache.rows
    }

    mutating func open(_ index: Int) {
        readers[index].phase = .rows
        readers[index].hasTransaction = true
        if rules.holds(.numberBeforeTransaction) {
            readers[index].snapshot = cache.rows
        } else {
            readers[index].number = max(published, readers[index].number)
        }
        raise(index)
    }

    private mutating func raise(_ index: Int) {
        guard rules.holds(.rowRaisesNumber), rules.holds(.oneNumberForAllRows) else { return }
        for id in 0..<world.ids where readers[index].wanted & (1 << UInt8(id)) != 0 {
            let row = readers[index].snapshot[id]
            guard row.written >= overlay.claims[id].mark else { continue }
            readers[index].number = max(readers[index].number, row.written)
        }
    }

    /// The second reader of a shared row is another user.
    private func isOther(_ index: Int) -> Bool { world.isShared && index == 1 }

    private enum Base {
        case row(PlaceRow)
        case saved
    }

    /// What the reader takes the id's base from.
    private func base(_ id: Int, _ reader: PlaceReader, _ overlay: PlaceOverlay) -> Base {
        let claim = overlay.claims[id]
        var row = reader.snapshot[id]
        if claim.mark > row.written { row = PlaceRow() }
        if !row.isAbsent, !row.isHead { return .row(row) }
        let isClaimed = claim.isClaimed || claim.gone > reader.number
        if row.isAbsent, !rules.holds(.missAsksSaved) { return .row(row) }
        return isClaimed ? .saved : .row(PlaceRow())
    }

    mutating func readOverlay(_ index: Int) {
        let reader = readers[index]
        let overlay = reader.early ?? overlay
        readers[index].early = nil
        var rows = PlacePair(PlaceRow())
        var number = reader.number
        for id in 0..<world.ids where reader.wanted & (1 << UInt8(id)) != 0 {
            guard case .row(let row) = base(id, reader, overlay) else {
                readers[index].phase = .saved
                return
            }
            if !rules.holds(.oneNumberForAllRows) { number = max(number, row.written) }
            rows[id] = view(of: row, id, index) {
                overlay.shows($0, at: number, onMiss: $1, rules)
            }
        }
        show(index, rows)
    }

    /// Whether the reader must wait until its number is published, as what one client sees by two
    /// loops is in order too.
    func isWaiting(_ index: Int) -> Bool {
        world.isOneClient && rules.holds(.shownIsPublished) && readers[index].number > published
    }

    /// Takes `saved` in place of a row: one that is newer than the reader's number is read anew.
    mutating func readSaved(_ index: Int) {
        let reader = readers[index]
        let ids = (0..<world.ids).filter { reader.wanted & (1 << UInt8($0)) != 0 }
        var rows = PlacePair(PlaceRow())
        for id in ids {
            var row = durable.claims[id].saved
            if case .row(let cached) = base(id, reader, overlay) {
                row = cached
            } else if isAnew(id, reader) {
                return readAnew(index, id)
            }
            rows[id] = view(of: row, id, index) {
                overlay.shows($0, at: reader.number, onMiss: $1, rules)
            }
        }
        show(index, rows)
    }

    private func isAnew(_ id: Int, _ reader: PlaceReader) -> Bool {
        let claim = durable.claims[id]
        if !claim.isPresent { return rules.holds(.noClaimIsReadAnew) }
        return claim.saved.written > reader.number && rules.holds(.newerSavedIsReadAnew)
    }

    private mutating func readAnew(_ index: Int, _ id: Int) {
        renew(index)
        var again = readers[index]
        again.snapshot = cache.rows
        if group == nil, case .saved = base(id, again, overlay), isAnew(id, again) {
            fail("a read of \(id) never ends")
        }
    }

    /// The row with the changes that show, and with their numbers.
    private func view(
        of row: PlaceRow,
        _ id: Int,
        _ index: Int,
        _ shows: (Int, Bool) -> Bool
    ) -> PlaceRow {
        var view = row
        for modifier in 0..<2 where has(modifier, on: id) && shows(modifier, row.isAbsent) {
            if isOther(index), rules.holds(.ownUserAlone) { continue }
            view.content = (view.isAbsent ? .unknown : view.content).adding(modifier)
            view.rev = max(view.rev, overlay.changes[modifier].accept)
        }
        return view
    }

    /// The reader has its view, which must be that of one moment.
    private mutating func show(_ index: Int, _ rows: PlacePair<PlaceRow>) {
        readers[index].phase = .idle
        let reader = readers[index]
        let ids = (0..<world.ids).filter { reader.wanted & (1 << UInt8($0)) != 0 }
        let least = max(reader.seen, reader.told)
        let isOther = isOther(index)
        let moment = moments.indices.first { moment in
            (moment + 1 == moments.count || moments[moment + 1].number > least)
                && ids.allSatisfy {
                    (isOther ? moments[moment].other : moments[moment].own)[$0] == rows[$0].content
                }
        }
        guard let moment else {
            fail(
                "reader \(index) shows \(text(rows, ids)), as was seen at no moment from \(least) on"
            )
            return
        }
        for other in readers.indices
        where other == index || (world.isOneClient && readers[other].phase == .idle) {
            readers[other].seen = max(least, moments[moment].number)
        }
        for id in ids { compare(rows[id], id, index) }
    }

    private mutating func compare(_ row: PlaceRow, _ id: Int, _ index: Int) {
        let last = readers[index].shown[id]
        if !row.isAbsent, !last.isAbsent {
            if row.rev < last.rev {
                fail("rev of \(id) goes back from \(last.rev) to \(row.rev)")
            } else if row.rev == last.rev, row.content != last.content {
                fail("rev \(row.rev) of \(id) stands for two views")
            }
        }
        var shown = row
        shown.written = 0
        shown.isHead = false
        readers[index].shown[id] = shown
    }

    private func text(_ rows: PlacePair<PlaceRow>, _ ids: [Int]) -> String {
        ids.map { "\($0): \(rows[$0])" }.joined(separator: ", ")
    }
}

extension PlaceRow: CustomStringConvertible {
    var description: String {
        content.isAbsent ? "nothing" : "\(content) rev \(rev)"
    }
}

extension PlaceContent: CustomStringConvertible {
    var description: String {
        if isAbsent { return "nothing" }
        let word = bits & 15
        let name = word == 0 ? "{}" : word == Self.tombstone ? "tombstone" : "word \(word)"
        let modifiers = (0..<2).filter { count(of: $0) > 0 }
        return name + modifiers.map { " + m\($0)×\(count(of: $0))" }.joined()
    }
}
