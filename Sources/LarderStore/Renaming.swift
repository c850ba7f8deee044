package import LarderModel

/// An id that an origin gave to a thing which had a temporary one.
package struct RenamedID: Equatable, Sendable {
    package let name: TemporaryID
    package let from: EntryID
    package let to: EntryID
    /// The origin's id as JSON; opaque here.
    package let value: [UInt8]
    /// Whether all users share the answers for the new id.
    package let isOfSharedRow: Bool

    package init(
        _ name: TemporaryID,
        from: EntryID,
        to: EntryID,
        value: [UInt8],
        isOfSharedRow: Bool
    ) {
        (self.name, self.from, self.to) = (name, from, to)
        (self.value, self.isOfSharedRow) = (value, isOfSharedRow)
    }
}

/// The ids of what a confirmed write has created, as its answer tells them.
package struct IDRenaming: Sendable {
    package var ids: [RenamedID] = []
    /// The names for which the answer has no id.
    package var missing: [TemporaryID] = []
    package let request: @Sendable (QueuedRequest) -> QueuedRequest
    package let effect: @Sendable ([UInt8]) -> [UInt8]

    package init(
        request: @escaping @Sendable (QueuedRequest) -> QueuedRequest,
        effect: @escaping @Sendable ([UInt8]) -> [UInt8]
    ) {
        (self.request, self.effect) = (request, effect)
    }
}

/// The ids and modifiers that one commit renamed, for the queue.
package struct RenamedModifiers: Sendable {
    package let scope: Scope
    package let ids: [(from: EntryID, to: EntryID)]
    /// Unsettled modifiers with the new ids among their targets.
    package let modifiers: [StoredModifier]
}

/// Gives things their real ids: in targets, effects, requests and paused lanes of one account.
struct Renaming: WriterPart {
    let writer: StoreWriter

    /// Renames what a write has created; returns the bodies that have to be copied first.
    func rename(
        _ renaming: IDRenaming,
        _ scope: ScopeKey,
        now: Timestamp
    ) throws(StoreError) -> [LargeBody] {
        let aims = try accepting.resolved(
            renaming.ids.map { id in
                WriteTarget(name: TargetName(scope, id.to), isShared: id.isOfSharedRow)
            },
            now
        )
        let found = try promotion.bases(of: aims, now: now)
        guard found.large.isEmpty else { return found.large }
        let step = Step(revision: try revisions.next(), now: now)
        var users: Set<ModifierNumber> = []
        for (id, aim) in zip(renaming.ids, aims) {
            users.formUnion(try state.temporaries.users(of: id.name, scope))
            try rename(id, aim, found, step)
            try state.temporaries.setKnown(id, scope, now)
            try noteSettled(id.name, scope)
        }
        for name in renaming.missing {
            try state.temporaries.setMissing(name, scope)
            try noteSettled(name, scope)
        }
        var modifiers: [StoredModifier] = []
        for number in users.sorted() {
            if let changed = try rewrite(number, renaming) { modifiers.append(changed) }
        }
        let removed = try state.temporaries.trim(scope)
        let ids = renaming.ids.map { (from: $0.from, to: $0.to) }
        let told = RenamedModifiers(scope: scope.scope, ids: ids, modifiers: modifiers)
        afterCommit { [shared] in
            shared.aliases.remove(removed)
            if !told.ids.isEmpty { shared.residency.modifiersRenamed.tell(told) }
        }
        return []
    }

    /// Has the index know of a name that no longer waits.
    private func noteSettled(_ name: TemporaryID, _ scope: ScopeKey) throws(StoreError) {
        guard let stored = try state.temporaries.find(name, scope) else { return }
        let key = AliasIndex.Key(scope: scope.text, name: name)
        afterCommit { [aliases = shared.aliases] in aliases.set(key, stored) }
    }

    /// Notes that a write was not confirmed: what it creates gets no id.
    func fail(madeBy number: ModifierNumber, _ scope: ScopeKey) throws(StoreError) {
        for name in try state.temporaries.fail(madeBy: number) { try noteSettled(name, scope) }
    }

    /// A write names what its edit names, and makes the things of the edit but not the `dropped`.
    func replace(
        _ dropped: [StoredTemporary],
        of new: NewModifier,
        _ number: ModifierNumber,
        isDeadLetter: Bool,
        _ now: Timestamp
    ) throws(StoreError) {
        try state.temporaries.forget(dropped, of: number)
        let keys = dropped.map { AliasIndex.Key(scope: new.scope.text, name: $0.name) }
        afterCommit { [aliases = shared.aliases] in aliases.remove(keys) }
        try state.temporaries.add(new, number, now, made: isDeadLetter ? .failed : .waiting)
        guard isDeadLetter else { return }
        for use in new.temporaries where use.made != nil { try noteSettled(use.name, new.scope) }
    }

    /// The write that creates things is in the queue again, under a new number.
    func requeue(
        _ number: ModifierNumber,
        as next: ModifierNumber,
        _ scope: ScopeKey
    ) throws(StoreError) {
        let names = try state.connection.statement(
            """
            UPDATE temporary_id SET state = 0, creator = :next WHERE creator = :number AND state = 2
            RETURNING name
            """,
            (":next", next.value),
            (":number", number.value)
        ).all { $0.text(.only).flatMap { TemporaryID($0) } }
        let keys = names.map { AliasIndex.Key(scope: scope.text, name: $0) }
        afterCommit { [aliases = shared.aliases] in aliases.remove(keys) }
    }

    // MARK: Targets

    private func rename(
        _ id: RenamedID,
        _ aim: WriteTarget,
        _ found: FoundBases,
        _ step: Step
    ) throws(StoreError) {
        let scope = aim.name.scope
        let old = TargetName(scope, id.from)
        let moved = try state.connection.statement(
            """
            UPDATE change SET id = :to WHERE id = :from AND scope = :scope
            RETURNING modifier, settled
            """,
            (":to", id.to.text),
            (":from", id.from.text),
            (":scope", scope.text)
        ).all { row in
            (number: ModifierNumber(row.integer("modifier")), settled: row.integer("settled"))
        }
        try state.views.log(Change(step.revision, scope.scope, .remapped(id.from, id.to)))
        let open = moved.filter { $0.settled == 0 }.map(\.number).sorted()
        if let first = open.first {
            try state.targets.enter(
                first,
                [aim],
                found.entries,
                step.revision,
                ChangeCause(.modifier)
            )
            let aims = Array(repeating: aim, count: open.count)
            try accepting.cover(aims, found, step.now)
            try state.targets.release(old, from: ModifierNumber(0), step.revision)
            try settling.forgetTargets(open.map { _ in old }, step.revision)
            try movePin(old, aim, step.now)
        } else {
            if let unused = found.entries[aim.base(in: shared)] { try bodies.forget(unused.body) }
        }
        let dead = moved.count { $0.settled == 1 }
        if dead > 0 {
            afterCommit { [index = shared.residency] in
                index.addDeadLetters(scope, id.from, -dead)
                index.addDeadLetters(scope, id.to, dead)
            }
        }
        try state.connection.statement(
            "UPDATE OR REPLACE paused_lane SET lane = :to WHERE scope = :scope AND lane = :from"
        ).run(
            (":to", Lane.id(id.to).stored),
            (":scope", scope.text),
            (":from", Lane.id(id.from).stored)
        )
    }

    /// A pin of the temporary id is one of the real id from now on.
    ///
    /// The bytes of the pin were a base, and the real id has its own. Room for them is not checked,
    /// as the step must not fail.
    private func movePin(
        _ old: TargetName,
        _ aim: WriteTarget,
        _ now: Timestamp
    ) throws(StoreError) {
        guard let pin = try durable(old), pin.isPinned, !pin.isTargeted,
            var row = try durable(aim.name)
        else { return }
        try entries.removeDurable(pin)
        try cacheIfAny?.rows.removeQuietly(old.scope, old.id)
        guard !row.isPinned else { return }
        let state = try state
        try state.pins.setPinned(&row, at: pin.pinnedAt.map { Timestamp(milliseconds: $0) } ?? now)
        if row.kind == nil || row.kind == .tombstone {
            try state.pins.setState(of: row, .waiting, nil, isWanted: true)
            state.memory.hasUpdates = true
        }
        change(aim.name) { $0.isPinned = true }
        if aim.isShared { try state.keepers.countKeepers(of: aim.name.id) }
    }

    /// Puts the real ids into a modifier; returns it if it is unsettled.
    private func rewrite(
        _ number: ModifierNumber,
        _ renaming: IDRenaming
    ) throws(StoreError) -> StoredModifier? {
        guard let whole = try state.reader.queue.modifier(number),
            let row = try state.modifiers.row(number)
        else { return nil }
        let (old, new) = (whole.request, renaming.request(whole.request))
        var added = new.byteCount - old.byteCount
        for (position, change) in whole.changes.enumerated() {
            let effect = renaming.effect(change.effect)
            guard effect != change.effect else { continue }
            added += effect.count - change.effect.count
            try state.connection.statement(
                "UPDATE change SET effect = :effect WHERE modifier = :modifier AND position = :position"
            ).run(
                (":effect", effect),
                (":modifier", number.value),
                (":position", position)
            )
        }
        for id in renaming.ids {
            try state.connection.statement(Self.parentsRenamed).run(
                (":from", id.from.text),
                (":to", id.to.text),
                (":modifier", number.value)
            )
        }
        if new != old || added != 0 {
            try state.connection.statement(
                """
                UPDATE modifier SET url = :url, body = :body, size = max(0, size + :added)
                WHERE number = :number
                """
            ).run(
                (":url", new.url.text),
                (":body", new.body),
                (":added", added),
                (":number", number.value)
            )
            if let after = try state.modifiers.row(number) {
                try state.modifiers.count(bytes: after.size - row.size, of: row)
            }
        }
        guard !row.isSettled else { return nil }
        return try state.reader.queue.modifier(number)?.modifier
    }

    /// A document's id is one line of `parents`.
    private static let parentsRenamed = """
        UPDATE change SET parents = trim(replace(
            char(10) || parents || char(10),
            char(10) || :from || char(10),
            char(10) || :to || char(10)), char(10))
        WHERE modifier = :modifier AND parents IS NOT NULL
        """

    // MARK: Maintenance

    /// Writes down the last uses of names, and forgets those that were not used for long.
    func runMaintenance(
        _ used: [(key: AliasIndex.Key, at: Timestamp)],
        now: Timestamp
    ) throws(StoreError) {
        for use in used {
            try state.connection.statement(
                "UPDATE temporary_id SET used_at = :used_at WHERE scope = :scope AND name = :name"
            ).run(
                (":used_at", use.at.milliseconds),
                (":scope", use.key.scope),
                (":name", use.key.name.text)
            )
        }
        let last = now.advanced(by: .zero - Limits.aliasLifetime).milliseconds
        let removed = try state.temporaries.remove("state <> 0 AND used_at < \(last)")
        afterCommit { [aliases = shared.aliases] in aliases.remove(removed) }
    }
}
