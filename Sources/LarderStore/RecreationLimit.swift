import LarderModel

/// How often `cache.db` may be made anew: what breaks again and again is not the file.
struct RecreationLimit {
    private var moments: [Timestamp] = []

    /// Whether it may be made anew at `now`.
    func allows(at now: Timestamp) -> Bool {
        count(at: now) < Limits.recreationsMax
    }

    mutating func recreated(at now: Timestamp) {
        moments = moments.filter { Self.isRecent($0, now) } + [now]
    }

    private func count(at now: Timestamp) -> Int {
        moments.count { Self.isRecent($0, now) }
    }

    /// A moment in the future is one before the clock was set back.
    private static func isRecent(_ moment: Timestamp, _ now: Timestamp) -> Bool {
        moment <= now && now.since(moment) < Limits.recreationTime
    }
}
