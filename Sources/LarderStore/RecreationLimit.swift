import LarderModel

/// How often `cache.db` may be made anew: what breaks again and again is not the file.
struct RecreationLimit {
    private var moments: [Timestamp] = []

    func allows(at now: Timestamp) -> Bool { recent(at: now).count < Limits.recreationsMax }

    mutating func recreated(at now: Timestamp) { moments = recent(at: now) + [now] }

    /// A moment in the future is one before the clock was set back.
    private func recent(at now: Timestamp) -> [Timestamp] {
        moments.filter { $0 <= now && now.since($0) < Limits.recreationTime }
    }
}
