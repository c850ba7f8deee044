package import LarderModel

package struct Pin: Equatable, Sendable {
    package let id: EntryID
    package let scope: Scope
    package let state: PinState
    package let trouble: PinTrouble?
    package let origin: OriginName?
    package internal(set) var entry: Entry?
    /// Size that counts against `pins.max_bytes`.
    package let size: Int64
    package let pinnedAt: Timestamp
    package let isWanted: Bool
    package let number: Int64
    let keepsShared: Bool
    /// The shortest interval at which its client or a set has its origin asked again; nil without one.
    package internal(set) var refresh: Duration?
    /// Whether a client has pinned it.
    package let isChosen: Bool
    /// The sets that keep it.
    package internal(set) var sets: [PrefetchName] = []

    init?(_ row: SQLiteStatement) {
        guard let id = row.entryID(EntryColumn.id), let scope = row.scope(EntryColumn.scope) else {
            return nil
        }
        self.id = id
        self.scope = scope
        number = row.integer(EntryColumn.key)
        origin = row.text(EntryColumn.origin).flatMap { try? OriginName($0) }
        entry = Self.entry(row)
        var numbers = RowNumbers(row)
        size = numbers.size(DurableColumn.size)
        pinnedAt = numbers.moment(DurableColumn.pinnedAt)
        state = PinState(rawValue: row.integer(DurableColumn.state)) ?? .failed
        trouble = row.text(DurableColumn.problem).map {
            PinTrouble(problem: $0, reason: row.text(DurableColumn.reason) ?? "")
        }
        isWanted = row.isTrue(DurableColumn.wanted)
        keepsShared = row.integer(DurableColumn.shared) == 1
        isChosen = !row.isTrue(DurableColumn.prefetched)
        refresh = row.refreshTime(DurableColumn.refresh)
    }

    static func entry(_ statement: SQLiteStatement) -> Entry? {
        let hasBytes = statement.integerOrNil(EntryColumn.kind).map {
            $0 != EntryKind.tombstone.rawValue
        }
        return hasBytes == true ? EntryRow(statement).entry() : nil
    }

    static let columns = DurableColumn.row(
        EntryColumn.listed,
        [.size, .pinnedAt, .state, .problem, .reason, .wanted, .shared, .refresh, .prefetched]
    )
}

/// The reason for which a row is pinned.
package enum PinReason: Sendable {
    case client
    /// A set, as long as the row is in its list.
    case set
    /// An attempt to fill the pin: who keeps it stays as it is.
    case itself
}

package enum PinOutcome: Equatable, Sendable {
    /// The store has the bytes; `isNew` if the id was not pinned before.
    case held(isNew: Bool)
    /// There are no bytes yet, and there is somewhere to fetch them from.
    case waiting(isNew: Bool)
    /// The cached row is too large for the room that pins have.
    case tooLarge(PinTrouble)
    case miss
}

struct PinRows {
    let state: StateWriter

    /// Makes a pin that waits for its bytes, or waits for them again; one that has bytes is held.
    func mark(
        _ name: TargetName,
        origin: OriginName?,
        now: Timestamp
    ) throws(StoreError) -> (hasBytes: Bool, isNew: Bool) {
        let found = try state.rows.find(name)
        if found?.isPinned != true {
            try state.budget.checkCount(name.scope)
            let size = found?.size ?? StateBudget.sizeWithoutEntry(name, origin?.text)
            try state.budget.checkRoom(for: size, name.scope, replacing: nil)
        }
        guard let found else {
            try state.rows.insert(name, origin, pin: .waiting, at: now)
            return (false, true)
        }
        var row = found
        if !found.isPinned { try setPinned(&row, at: now) }
        if !found.hasBytes { try setState(of: row, .waiting, nil, isWanted: true) }
        return (found.hasBytes, !found.isPinned)
    }

    func setPinned(_ row: inout DurableRow, at moment: Timestamp?) throws(StoreError) {
        let pin: PinState? = moment == nil ? nil : .held
        try state.statements[.setPinned].run(
            (":key", row.number),
            (":pinned_at", moment?.milliseconds),
            (":state", pin?.rawValue)
        )
        state.budget.recount(row) { $0.pin = pin }
        row.pin = pin
    }

    /// Sets the interval at which the origin of a pin is asked again.
    func setRefresh(_ name: TargetName, _ interval: Duration) throws(StoreError) {
        let refresh = (":refresh", Int64(interval / .milliseconds(1)))
        try state.statements(.setRefresh, of: name).run(refresh)
    }

    /// Says of a pin why it is not held.
    ///
    /// Bytes that it has stay, and of a pin that has some only a new answer that is too large is
    /// told.
    func setTrouble(
        _ name: TargetName,
        _ newState: PinState,
        _ trouble: PinTrouble
    ) throws(StoreError) {
        guard let found = try state.rows.find(name), found.isPinned,
            !found.hasBytes || newState == .tooLarge
        else { return }
        try setState(of: found, newState, trouble, isWanted: false)
        if found.keepsShared { try state.keepers.countKeepers(of: name.id) }
    }

    /// Whether a pin is held by a shared row that its user does not see since a login.
    func holdsUnseen(_ row: DurableRow) -> Bool {
        row.keepsShared && row.pin == .held
            && state.shared.origins.showsOwnOnly(row.name.id, row.name.scope.scope)
    }

    /// Has a pin wait for an answer, or has a shared row hold it that its user sees since a logout.
    func wantAgain(_ name: TargetName) throws(StoreError) {
        guard let found = try state.rows.find(name), let pin = found.pin else { return }
        if !found.isWanted {
            guard PinState.failures.contains(pin) && !found.hasBytes || holdsUnseen(found),
                try hasRoom(found)
            else { return }
            try setState(of: found, .waiting, nil, isWanted: true)
            state.memory.hasUpdates = true
        }
        if found.keepsShared { try state.keepers.countKeepers(of: name.id) }
    }

    /// False for a pin that had no room for its shared row, if that is still here without room.
    private func hasRoom(_ pin: DurableRow) throws(StoreError) -> Bool {
        let place = state.shared.sharedName(pin.name.id)
        guard pin.keepsShared, pin.pin == .tooLarge, let row = try state.rows.find(place) else {
            return true
        }
        do throws(StoreError) {
            let uid = pin.name.scope.scope.uid
            try state.budget.checkRoom(for: row.size, place.scope, replacing: row, paidBy: uid)
            return true
        } catch .pinsFull {
            return false
        }
    }

    /// Takes an answer that a pinned entry is deleted, and tells watchers; false if there is no
    /// pin.
    func writeTombstone(_ tombstone: NewEntry) throws(StoreError) -> Bool {
        guard let found = try state.rows.find(tombstone.name) else { return false }
        let view = found.isTargeted ? try state.views.view(of: found.name) : nil
        guard try writeTombstone(found, status: tombstone.entry.status) else { return false }
        guard found.goneStatus == nil else { return true }
        // Modifiers apply to another base from this step on.
        if found.isTargeted {
            try state.targets.setTargeted(true, found, tombstone.entry.revision)
        }
        try state.views.logPut(tombstone, since: view)
        return true
    }

    /// Notes that the origin has deleted a pinned entry, whose bytes stay; false if there are no
    /// bytes.
    func writeTombstone(_ found: DurableRow, status: Int) throws(StoreError) -> Bool {
        guard found.isPinned, found.hasBytes else { return false }
        state.noteChange(of: found.name)
        let trouble = PinTrouble(deleted: status)
        try setState(of: found, .gone, trouble, goneStatus: status, isWanted: false)
        return true
    }

    /// Removes the pin mark of a row that is a base too, with data that the pin alone kept.
    ///
    /// Bytes of a pin that is gone are not shown any more, which is the step of `revision`.
    func unpin(_ pin: DurableRow, _ revision: Revision?) throws(StoreError) {
        let (name, isGone) = (pin.name, pin.goneStatus != nil)
        let view = isGone && pin.isTargeted ? try state.views.view(of: name) : nil
        var row = pin
        try setPinned(&row, at: nil)
        if !row.isTargeted { try state.rows.noteUnkept(name) }
        state.noteChange(of: name)
        guard let status = pin.goneStatus, let revision,
            var entry = try state.rows.entry(name)?.entry?.tombstone(status)
        else { return }
        entry.revision = revision
        let tombstone = NewEntry(scope: name.scope, entry: entry, body: .inline([]))
        try state.rows.write(tombstone, to: row)
        if row.isTargeted { try state.targets.setTargeted(true, row, revision) }
        try state.views.logPut(tombstone, since: view)
    }

    func setState(
        of row: DurableRow,
        _ newState: PinState,
        _ trouble: PinTrouble?,
        goneStatus: Int? = nil,
        isWanted: Bool
    ) throws(StoreError) {
        try state.statements[.setState].run(
            (":key", row.number),
            (":state", newState.rawValue),
            (":problem", trouble?.problem),
            (":reason", trouble?.reason),
            (":gone_status", goneStatus),
            (":wanted", isWanted)
        )
        state.budget.recount(row) { $0.pin = newState }
    }
}

extension PinTrouble {
    static var damaged: PinTrouble {
        PinTrouble(problem: "storage", reason: "its bytes were damaged on the disk")
    }

    init(_ pinsFull: StoreError) {
        self.init(problem: "pins-full", reason: pinsFull.message)
    }

    package init(deleted status: Int) {
        self.init(problem: "deleted", reason: "the origin answered \(status): it does not have it")
    }
}

package struct PinStore: Sendable {
    let store: Store
    private var file: StateFile { store.stateFile }
    private var residency: ResidencyIndex { store.shared.residency }

    /// Keeps what is cached under an id, or waits for it when there is an `origin` to fetch it
    /// from.
    ///
    /// The outcome is synced when the call returns. With `adoptsShared`, a shared row counts as
    /// cached if the scope itself has none. Without `refresh` a pin keeps its interval. A pin
    /// that only sets have made ends with the last of them.
    package func pin(
        _ scope: ScopeKey,
        _ id: EntryID,
        origin: OriginName?,
        refresh: Duration? = nil,
        adoptsShared: Bool = false,
        for reason: PinReason = .client,
        now: Timestamp
    ) async throws(StoreError) -> PinOutcome {
        try file.refuseWhileFull("pin")
        // Without the cache it can be fetched all the same.
        let cache: CommitQueue.CacheUse = origin == nil ? .required : .optional
        return try await store.submit(now: now, promotes: true, cache: cache) {
            writer throws(StoreError) in
            let name = TargetName(scope, id)
            // The list may be another one by now.
            if reason == .set, try !writer.state.prefetches.keeps(name) { return .done(.miss) }
            let found = try writer.durable(name)
            // The pin ended meanwhile.
            if reason == .itself, found?.isPinned != true { return .done(.miss) }
            let result = try writer.pinning.pin(
                name,
                origin: origin,
                adoptsShared: adoptsShared,
                now: now
            )
            guard case .done(let outcome) = result, outcome != .miss else { return result }
            try writer.state.prefetches.notePinned(name, since: found, for: reason)
            if let refresh { try writer.state.pins.setRefresh(name, refresh) }
            return result
        }
    }

    /// Takes a client's pin away; false when no client has pinned it.
    ///
    /// A set that keeps the row goes on keeping it.
    package func unpin(
        _ scope: ScopeKey,
        _ id: EntryID,
        now: Timestamp
    ) async throws(StoreError) -> Bool {
        guard residency.covers(scope, id) else { return false }
        return try await file.settle(cache: .optional) { writer throws(StoreError) in
            try writer.pinning.unpin(TargetName(scope, id), now: now)
        }
    }

    /// Removes a released row, with `includesPinned` also a pin.
    ///
    /// False if there is no such row, or changes target it.
    package func evict(
        _ scope: ScopeKey,
        _ id: EntryID,
        includesPinned: Bool = true,
        client: ClientTag? = nil
    ) async throws(StoreError) -> Bool {
        guard residency.covers(scope, id) else { return false }
        try await store.commits.submit { writer throws(StoreError) in
            try writer.pinning.hide(TargetName(scope, id))
        }
        return try await file.settle(cache: .optional) { writer throws(StoreError) in
            let name = TargetName(scope, id)
            // Another command may have pinned it since the caller looked.
            if !includesPinned, try writer.durable(name)?.isPinned == true { return false }
            return try writer.pinning.drop(name, client: client)
        }
    }

    package func put(
        _ new: NewEntry,
        now: Timestamp,
        if condition: WriteCondition? = nil
    ) async throws(StoreError) -> PutReceipt {
        let limit = store.configuration.maxEntryBytes.bytes
        guard Int64(new.entry.body.byteCount) <= limit else {
            throw .tooLarge(bytes: Int64(new.entry.body.byteCount), limit: limit)
        }
        try file.refuseWhileFull("pin")
        return try await store.submit(if: condition, now: now, cache: .optional) {
            writer throws(StoreError) in try writer.pinning.putPinned(new, now: now)
        }
    }

    package func setTrouble(
        _ scope: ScopeKey,
        _ id: EntryID,
        _ state: PinState,
        _ trouble: PinTrouble
    ) async throws(StoreError) {
        try await file.settle { writer throws(StoreError) in
            try writer.state.pins.setTrouble(TargetName(scope, id), state, trouble)
        }
    }

    package func isPinned(_ scope: ScopeKey, _ id: EntryID) -> Bool {
        residency.place(scope, id)?.isPinned == true
    }

    package func pin(_ scope: ScopeKey, _ id: EntryID) async throws(StoreError) -> Pin? {
        try await store.read { reader throws(StoreError) in
            try reader.stateReader().pin(scope, id)
        }
    }

    package func page(
        of scope: ScopeKey,
        after cursor: String?,
        limit: Int
    ) async throws(StoreError) -> [Pin] {
        try await store.read { reader throws(StoreError) in
            try reader.stateReader().pins(of: scope, after: cursor, limit: limit)
        }
    }

    package func wanted(after number: Int64) async throws(StoreError) -> [Pin] {
        try await store.read { reader throws(StoreError) in
            try reader.stateReader().pins(where: "wanted = 1", after: number)
        }
    }

    package func refreshed(after number: Int64) async throws(StoreError) -> [Pin] {
        try await store.read { reader throws(StoreError) in
            try reader.stateReader().pins(
                where: "refresh IS NOT NULL AND pinned_at IS NOT NULL",
                after: number
            )
        }
    }

    package func failed(_ state: PinState, after number: Int64) async throws(StoreError) -> [Pin] {
        try await store.read { reader throws(StoreError) in
            let condition = """
                pinned_at IS NOT NULL AND state = \(state.rawValue) AND kind IS NULL AND wanted = 0
                """
            return try reader.stateReader().pins(where: condition, after: number)
        }
    }

    /// Pins that are held by the shared rows under their ids, or wait for an answer.
    package func ofShared(after number: Int64) async throws(StoreError) -> [Pin] {
        try await store.read { reader throws(StoreError) in
            let condition = """
                shared = 1 AND pinned_at IS NOT NULL
                    AND (wanted = 1 OR state = \(PinState.held.rawValue))
                """
            return try reader.stateReader()
                .pins(of: "claim INDEXED BY claim_keeper", where: condition, after: number)
        }
    }

    package func wantAgain(_ pins: [(scope: ScopeKey, id: EntryID)]) async throws(StoreError) {
        try await file.settle { writer throws(StoreError) in
            for pin in pins { try writer.state.pins.wantAgain(TargetName(pin.scope, pin.id)) }
        }
    }

    package var totals: PinTotals {
        var totals = residency.pinTotals
        totals.maxBytes = store.configuration.pinsMaxBytes.bytes
        return totals
    }

    /// The room for more pins of a user: their number and their size.
    package func room(for uid: UInt32?) -> (count: Int, bytes: Int64) {
        let totals = totals
        let user = uid.flatMap { totals.users[$0] } ?? PinTotals.User()
        let part = totals.part(of: uid, store.configuration.limits.queue)
        let bytes = min(totals.maxBytes - totals.bytes, part - user.bytes)
        return (Limits.pinsPerUserMax - Int(user.count), max(0, bytes))
    }

    package func whenUpdated(_ tell: @escaping @Sendable () -> Void) {
        residency.pinsUpdated.set { _ in tell() }
    }
}
