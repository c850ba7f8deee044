import LarderModel

package struct QueueLimits: Equatable, Sendable {
    package var maxModifiers: Int64 = 100_000
    package var maxBytes: Int64 = 256 << 20
    /// One uid's part of both, and of the pins, once there are two; above this part of the cache a
    /// uid loses own rows first.
    package var userShare = 0.5
    /// What one uid alone may have: a part stays for whoever comes next.
    var aloneShare: Double { max(userShare, Limits.aloneShare) }

    func part(of limit: Int64, users: Int) -> Int64 {
        let part = Double(limit) * (users > 1 ? userShare : aloneShare)
        return Int64(users > 1 ? part : part.rounded(.up))
    }
    package var history: Int64 = 10_000
}
