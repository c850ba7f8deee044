/// What a client takes of time and chance: the system's, or a test's.
package struct ClientTime: Sendable {
    /// Returns after a pause; throws only when the calling task is cancelled.
    package let pause: @Sendable (Duration) async throws(CancellationError) -> Void
    /// A number in 0..<1.
    package let chance: @Sendable () -> Double

    package init(
        pause: @escaping @Sendable (Duration) async throws(CancellationError) -> Void,
        chance: @escaping @Sendable () -> Double
    ) {
        self.pause = pause
        self.chance = chance
    }

    package static let system = ClientTime(
        pause: { (duration) async throws(CancellationError) in
            do {
                try await Task.sleep(for: duration, clock: .continuous)
            } catch {
                throw CancellationError()
            }
        },
        chance: { .random(in: 0..<1) }
    )
}
