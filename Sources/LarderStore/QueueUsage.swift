package import LarderModel

struct QueueUsage: Equatable {
    struct Part: Equatable {
        var count: Int64 = 0
        /// Theirs, and that of the rows of `state.db` that pins do not count.
        var bytes: Int64 = 0
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
            parts[uid] = newValue == Part() ? nil : newValue
        }
    }

    mutating func add(bytes: Int64, of uid: UInt32?) {
        if let uid { self[uid].bytes += bytes } else { total.bytes += bytes }
    }

    /// Why what is added does not fit, if it does not: into everything, or into its user's part.
    ///
    /// The part always counts, so that one user alone leaves room for a second.
    func refusal(adding added: QueueUsage, _ limits: QueueLimits) -> StoreError? {
        guard added.total != Part() else { return nil }
        if total.count + added.total.count > limits.maxModifiers {
            return .queueFull(.modifiers, limit: limits.maxModifiers)
        }
        if total.bytes + added.total.bytes > limits.maxBytes {
            return .queueFull(.bytes, limit: limits.maxBytes)
        }
        let users = Set(parts.keys).union(added.parts.keys).count
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
    }
}

package struct QueueTotals: Equatable, Sendable {
    /// Unsettled modifiers by state, and dead letters as `dead`; a state without any is left out.
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
