/// What the queue may hold.
package struct QueueLimits: Equatable, Sendable {
    package var maxModifiers: Int64 = 100_000
    package var maxBytes: Int64 = 256 << 20
    /// One uid's part of both once there are two.
    package var userShare = 0.5
    /// Settled modifiers that are remembered.
    package var history: Int64 = 10_000

    package init() {}
}
