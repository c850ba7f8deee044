import LarderModel

/// What each user has in the queue, as the writer counts it.
struct QueueUsage: Equatable {
    /// One user's part.
    struct Part: Equatable {
        /// Unsettled modifiers and dead letters.
        var count: Int64 = 0
        /// Theirs, and that of the bases that are kept for nothing else.
        var bytes: Int64 = 0
    }

    private(set) var parts: [UInt32: Part] = [:]
    /// All parts together.
    private(set) var total = Part()

    init() {}

    /// Of a user without anything there is no part.
    subscript(uid: UInt32) -> Part {
        get { parts[uid] ?? Part() }
        set {
            let old = self[uid]
            total.count += newValue.count - old.count
            total.bytes += newValue.bytes - old.bytes
            parts[uid] = newValue == Part() ? nil : newValue
        }
    }

    init(reading connection: SQLiteConnection) throws(StoreError) {
        let bases = try connection.prepare(
            """
            SELECT scope, sum(size) FROM kept WHERE pinned_at IS NULL AND targeted > 0
            GROUP BY scope
            """
        )
        while try bases.step() {
            guard let uid = bases.text(0).flatMap(Scope.init(text:))?.uid else { continue }
            self[uid].bytes += bases.integer(1)
        }
    }
}
