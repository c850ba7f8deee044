package import LarderModel

/// Accounted size of a row, and the bound that it counts against.
///
/// A pinned row, and a row that came with one, counts against the bound of pins. Every other row
/// counts against the bound of the queue.
struct RowCharge {
    var pin: PinState?
    var isInPins: Bool
    var size: Int64
    /// The user in whose share a shared row counts; the row itself is no user's pin.
    var payer: UInt32?
}

struct StateBudget {
    let state: StateWriter

    static func sizeWithoutEntry(_ name: TargetName, _ origin: String?) -> Int64 {
        let nameBytes = name.scope.text.utf8.count + name.id.text.utf8.count
        return Int64(Limits.rowOverheadBytes + nameBytes + (origin?.utf8.count ?? 0))
    }

    func recount(_ row: DurableRow, _ change: (inout RowCharge) -> Void) {
        var charge = row.charge
        change(&charge)
        recount(row.name.scope, from: row.charge, to: charge)
    }

    func recount(_ scope: ScopeKey, from old: RowCharge?, to new: RowCharge?) {
        let isKept = scope == state.shared.sharedScope
        for (charge, sign) in [(old, -1), (new, 1)] as [(RowCharge?, Int64)] {
            guard let charge else { continue }
            let uid = isKept ? charge.payer : scope.scope.uid
            guard charge.pin != nil || charge.isInPins else {
                state.memory.queue.add(bytes: sign * charge.size, of: uid)
                continue
            }
            // A shared row adds bytes only: the pins of the users that keep it are counted already.
            let count = charge.pin == nil || charge.payer != nil ? 0 : sign
            state.memory.pins.count += count
            state.memory.pins.bytes += sign * charge.size
            if charge.pin == .waiting { state.memory.pins.waiting += count }
            guard let uid else { continue }
            var user = state.memory.pins.users[uid] ?? PinTotals.User()
            user.count += count
            user.bytes += sign * charge.size
            state.memory.pins.users[uid] = user == PinTotals.User() ? nil : user
            if let pin = charge.pin, PinState.failures.contains(pin) {
                let sum = (state.memory.pins.failed[uid] ?? 0) + count
                state.memory.pins.failed[uid] = sum == 0 ? nil : sum
            }
        }
    }

    static func hasToFit(_ row: DurableRow?, as purpose: BodyPurpose) -> Bool {
        switch purpose {
        case .pin: row?.isPinned != true || row?.isTargeted != true
        case .answer: row?.isPinned == true && row?.isTargeted != true
        case .base: false
        }
    }

    /// Throws unless an entry of this size fits in place of the row's pinned bytes.
    ///
    /// It has to fit into the room of all pins, and into the share of its user or payer.
    func checkRoom(
        for size: Int64,
        _ scope: ScopeKey,
        replacing row: DurableRow?,
        paidBy payer: UInt32? = nil
    ) throws(StoreError) {
        let old = row?.pinnedSize ?? 0
        guard state.memory.pins.bytes - old + size <= state.memory.pins.maxBytes else {
            throw .pinsFull(bytes: size, limit: state.memory.pins.maxBytes)
        }
        guard size > old, let uid = scope.scope.uid ?? payer else { return }
        let part = state.memory.pins.part(of: uid, state.limits)
        guard (state.memory.pins.users[uid]?.bytes ?? 0) - old + size <= part else {
            throw .pinsFull(bytes: size, limit: part)
        }
    }

    func checkCount(_ scope: ScopeKey) throws(StoreError) {
        guard let uid = scope.scope.uid,
            (state.memory.pins.users[uid]?.count ?? 0) >= Limits.pinsPerUserMax
        else { return }
        throw .tooManyPins(limit: Limits.pinsPerUserMax)
    }
}

package struct PinTotals: Equatable, Sendable {
    package var count: Int64 = 0
    /// Accounted size of the pins: bodies, ids, headers and a fixed overhead for each.
    package var bytes: Int64 = 0
    package var maxBytes: Int64 = 0
    package var waiting: Int64 = 0
    package var users: [UInt32: User] = [:]

    package struct User: Equatable, Sendable {
        package var count: Int64 = 0
        package var bytes: Int64 = 0
    }

    package var failed: [UInt32: Int64] = [:]
    package var damaged: Int64 = 0
    /// Sets of entries that are fetched in advance, of all users.
    package var sets: Int64 = 0
    /// Whether there were sets, or pins that sets have left, when the file was opened.
    package var hadSets = false

    /// The room that one user's pins may take of all.
    func part(of uid: UInt32?, _ limits: QueueLimits) -> Int64 {
        // A user's share counts even for a lone user, so that room stays for a second one.
        let isAlone = users.keys.allSatisfy { $0 == uid }
        return limits.part(of: maxBytes, users: isAlone ? 1 : 2)
    }
}

struct QueueUsage: Equatable {
    struct Part: Equatable {
        var count: Int64 = 0
        /// Bytes of modifiers, of rows of `state.db` that pins do not count, and of kept answers.
        var bytes: Int64 = 0
        var answerBytes: Int64 = 0
    }

    private(set) var parts: [UInt32: Part] = [:]
    /// All parts together, and the bytes of shared rows that have no payer.
    private(set) var total = Part()

    init() {}

    subscript(uid: UInt32) -> Part {
        get { parts[uid] ?? Part() }
        set {
            let old = self[uid]
            total.count += newValue.count - old.count
            total.bytes += newValue.bytes - old.bytes
            total.answerBytes += newValue.answerBytes - old.answerBytes
            parts[uid] = newValue == Part() ? nil : newValue
        }
    }

    mutating func add(bytes: Int64, of uid: UInt32?) {
        if let uid { self[uid].bytes += bytes } else { total.bytes += bytes }
    }

    /// The reason why an addition does not fit into the whole queue, or into its user's share.
    ///
    /// The share always counts, so that one user alone leaves room for a second.
    func refusal(adding added: QueueUsage, _ limits: QueueLimits) -> StoreError? {
        guard added.total != Part() else { return nil }
        if total.count + added.total.count > limits.maxModifiers {
            return .queueFull(.modifiers, limit: limits.maxModifiers)
        }
        if total.bytes + added.total.bytes > limits.maxBytes {
            return .queueFull(.bytes, limit: limits.maxBytes)
        }
        // A user with nothing but kept answers takes no share from another.
        let others = parts.count {
            added.parts[$0.key] == nil
                && ($0.value.count > 0 || $0.value.bytes > $0.value.answerBytes)
        }
        let users = others + added.parts.count
        let count = limits.part(of: limits.maxModifiers, users: users)
        let bytes = limits.part(of: limits.maxBytes, users: users)
        for (uid, part) in added.parts {
            if self[uid].count + part.count > count { return .queueFull(.modifiers, limit: count) }
            if self[uid].bytes + part.bytes > bytes { return .queueFull(.bytes, limit: bytes) }
        }
        return nil
    }

    init(reading connection: SQLiteConnection) throws(StoreError) {
        let parts = try connection.prepare(
            """
            SELECT scope, sum(\(SQLiteStatement.countedSize)) AS bytes, 0 AS count, payer FROM claim
            WHERE pinned_at IS NULL AND in_pins = 0 GROUP BY scope, payer
            UNION ALL
            SELECT scope, sum(\(SQLiteStatement.countedSize)), count(*), NULL FROM modifier
            GROUP BY scope
            UNION ALL SELECT scope, count(*) * \(Limits.hiddenMarkBytes), 0, NULL FROM hidden GROUP BY scope
            """
        )
        while try parts.step() {
            let uid = parts.payer
            add(bytes: parts.integer("bytes"), of: uid)
            if let uid { self[uid].count += parts.integer("count") }
        }
        let answers = try connection.prepare(
            "SELECT scope, sum(\(HistoryColumn.answerSize)) AS bytes FROM history GROUP BY scope"
        )
        while try answers.step() {
            guard let uid = answers.scope("scope")?.uid else { continue }
            self[uid].bytes += answers.integer("bytes")
            self[uid].answerBytes += answers.integer("bytes")
        }
    }
}

package struct QueueTotals: Equatable, Sendable {
    /// Unsettled modifiers by state, and dead letters as `failed`; a state without any is left out.
    package var byState: [ModifierState: Int64] = [:]
    /// Modifiers, dead letters, and the bases that are kept for nothing else.
    package var bytes: Int64 = 0
    /// Unsettled ones that their origin did not apply again and again.
    package var stalled: Int64 = 0
    package var waitingForPerson: [UInt32: [ModifierState: Int64]] = [:]
    package var maxModifiers: Int64 = 0
    package var maxBytes: Int64 = 0

    package var count: Int64 { byState.values.reduce(0, +) }
    package var failed: Int64 { byState[.failed] ?? 0 }
    package var unsettled: Int64 { count - failed }

    package var isNearlyFull: Bool { count * 5 > maxModifiers * 4 || bytes / 4 > maxBytes / 5 }
}
