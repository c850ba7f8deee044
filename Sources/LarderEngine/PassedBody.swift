/// The client's end of a ``BodyHandover``: the rest of the body is given up when this goes, and the
/// origin's connection with it.
///
/// Read by one task.
package final class PassedBody: Sendable {
    let handover = BodyHandover()

    init() {}

    deinit {
        handover.finish(isWhole: false)
    }

    /// The next piece, never empty; nil at the end.
    ///
    /// Throws ``BrokenOff`` when the origin's answer was cut off.
    package func next() async throws(BrokenOff) -> [UInt8]? {
        try await handover.next()
    }

    /// Nobody wants the rest; a reader that waits is let go.
    package func giveUp() {
        handover.finish(isWhole: false)
    }

    /// The body did not come to its end.
    package struct BrokenOff: Error {}
}
