import LarderModel

/// The send step of a modifier, and what is known of its targets then.
struct Departing: WriterPart {
    let writer: StoreWriter

    /// Counts an attempt, notes that bytes may leave, and returns all that is sent.
    ///
    /// Nil for a modifier that is settled or unreadable. `deciding` may keep it back.
    func send(
        _ number: ModifierNumber,
        joining decide: JoinedModifiers.Decision,
        deciding: (DepartingModifier) -> SendDecision
    ) throws(StoreError) -> DepartingModifier? {
        let used = try state.temporaries.used(by: number)
        guard used.allSatisfy({ $0.state == .known }) else { throw .missingID }
        guard let row = try state.modifiers.row(number), !row.isSettled,
            let whole = try state.reader.queue.modifier(number)
        else { return nil }
        let scope = shared.key(for: whole.modifier.scope)
        var new: JoinedModifiers?
        if !whole.modifier.mayHaveLeft {
            new = try decide(JoinableModifiers(departing: self, first: whole))
        }
        let joined = if let new { new.others } else { try joining.members(of: row) }
        var departing = try self.departing(whole, joined, scope)
        departing.decision = new.map { $0.request == nil } == true ? .needless : deciding(departing)
        switch departing.decision {
        case .look, .needless: return departing
        case .stop(let theirs): try state.seen.note(theirs, row)
        case .part:
            try joining.part(groupOf: number)
            return try send(number, joining: { _ in nil }, deciding: deciding)
        case .send(let etag):
            if let request = new?.request {
                try joining.join(joined, to: row, request)
                departing.whole = try state.reader.queue.modifier(number) ?? whole
            }
            try state.modifiers.send(row, etag: etag)
            for whole in [whole] + joined { try noteSent(whole, scope) }
            departing.whole.modifier.sent(etag: etag)
        }
        return departing
    }

    private func departing(
        _ whole: WholeModifier,
        _ joined: [WholeModifier],
        _ scope: ScopeKey
    ) throws(StoreError) -> DepartingModifier {
        let changes = whole.changes + joined.flatMap(\.changes)
        let isCompared = !whole.modifier.mayBeApplied
        let seen = isCompared ? Set(changes.filter { $0.seen != nil }.map(\.id)) : []
        var (bases, compared): ([EntryID: TargetBase], [EntryID: TargetBase]) = ([:], [:])
        for id in whole.modifier.targets {
            let place = try sharing.place(of: TargetName(scope, id))
            if place.scope != scope, try hiding.isHidden(id, from: scope) { continue }
            guard let saved = try state.rows.entry(place), let entry = saved.entry else { continue }
            bases[id] =
                saved.claim.goneStatus.map { .deleted(entry.tombstone($0)) }
                ?? TargetBase(entry, saved.chunked == nil ? saved.inline : nil)
            if seen.contains(id) { compared[id] = try promotion.base(saved) }
        }
        for id in seen where compared[id] == nil { compared[id] = try sentBase(of: id, scope) }
        let made = try state.temporaries.waiting(madeBy: whole.modifier.number)
        let row = try row(of: whole.modifier, compared, scope)
        return DepartingModifier(
            whole: whole,
            bases: bases,
            compared: compared,
            etag: row?.etag,
            isTagOfCodedBytes: row.map { $0.etag != nil && $0.isDecoded } ?? false,
            taken: try taken(before: whole.modifier, scope),
            createsIDs: !made.isEmpty,
            joined: joined
        )
    }

    /// The row with what the request's own URL gave; nil if the target is another by now.
    ///
    /// A POST gets none: many servers ignore an If-Match there, and with one the request would
    /// count as one that can be repeated.
    private func row(
        of modifier: StoredModifier,
        _ compared: [EntryID: TargetBase],
        _ scope: ScopeKey
    ) throws(StoreError) -> Entry? {
        guard modifier.method != "POST", !modifier.mayBeApplied,
            let url = try? EntryID(modifier.url)
        else { return nil }
        for id in modifier.targets where !modifier.implied.contains(id) {
            if id == url {
                let base =
                    if let known = compared[id] { known } else { try sentBase(of: id, scope) }
                return base.row
            }
            guard let name = id.entity, shared.origins.ownID(name) == url else { continue }
            // The answer at its URL is where the entity is. If its entities have changed since, it
            // has no ETag.
            let place = try sharing.place(of: TargetName(scope, id)).scope
            if place != scope, try hiding.isHidden(url, from: scope) { return nil }
            return try sentBase(of: url, place).row
        }
        return nil
    }

    /// The effects of earlier modifiers on the targets that the origin has taken, although base
    /// does not show them yet.
    private func taken(
        before modifier: StoredModifier,
        _ scope: ScopeKey
    ) throws(StoreError) -> [EntryID: [[UInt8]]] {
        var taken: [EntryID: [[UInt8]]] = [:]
        guard try (state.memory.totals.byState[.accepted] ?? 0) > 0 else { return taken }
        for id in modifier.targets {
            let changes = try state.reader.changes(TargetName(scope, id), before: modifier.number)
            let accepted = changes.filter { $0.state == .accepted }
            if !accepted.isEmpty { taken[id] = accepted.map(\.effect) }
        }
        return taken
    }

    /// Notes what base is at the first send step of a round; later ones may be repeats of it.
    private func noteSent(_ whole: WholeModifier, _ scope: ScopeKey) throws(StoreError) {
        let bases = shared.configuration.sentBases
        for change in whole.changes where change.sent == nil && bases.areWanted(change.effect) {
            let mark = (":sent", bases.mark(try sentBase(of: change.id, scope)))
            try state.queue[.noteSent].run((":change", change.row), mark)
        }
    }

    func sentBase(of id: EntryID, _ scope: ScopeKey) throws(StoreError) -> TargetBase {
        // The row of a target is durable, so no expiry counts.
        try promotion.base(of: TargetName(scope, id), now: Timestamp(milliseconds: 0))
    }
}

extension TargetBase {
    fileprivate var row: Entry? {
        if case .value(let entry, _) = self { entry } else { nil }
    }
}
