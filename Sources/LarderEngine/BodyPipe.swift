import Synchronization

/// Hands a body, piece by piece, from the flight that reads it to the client that receives it.
///
/// The flight reads no faster than the client takes the pieces.
///
/// Invariants:
/// 1. At most one piece is here: the flight offers the next after the client took the last.
/// 2. The first call of ``finish(isWhole:)`` decides the outcome; no piece is handed over after it.
final class BodyPipe: Sendable {
    typealias BrokenOff = PassThroughBody.BrokenOff

    private let (pieces, offering) = AsyncStream<[UInt8]>.makeStream()
    private let (takings, taking) = AsyncStream<Void>.makeStream()
    private let (over, ending) = AsyncStream<Void>.makeStream()
    /// Whether all of the body was handed over; nil until it is over.
    private let isWhole = Mutex<Bool?>(nil)

    /// Returns true once the client took the piece, and false if the client wants no more.
    ///
    /// Cancelling the calling task breaks the body off.
    func offer(_ piece: [UInt8]) async -> Bool {
        if case .enqueued = offering.yield(piece) {
            for await _ in takings { return true }
        }
        finish(isWhole: false)
        return false
    }

    func next() async throws(BrokenOff) -> [UInt8]? {
        if isWhole.withLock({ $0 }) != false {
            for await piece in pieces {
                taking.yield()
                return piece
            }
        }
        guard isWhole.withLock({ $0 }) == true else { throw BrokenOff() }
        return nil
    }

    /// The origin's answer is over, or the client wants no more; neither side waits any longer.
    func finish(isWhole: Bool) {
        self.isWhole.withLock { $0 = $0 ?? isWhole }
        offering.finish()
        taking.finish()
        ending.finish()
    }

    /// Returns when it is over, or the calling task is cancelled.
    func untilOver() async {
        for await _ in over {}
    }
}

/// The client's end of a ``BodyPipe``: the rest of the body is given up when this goes, and the
/// origin's connection with it.
///
/// Read by one task.
package final class PassThroughBody: Sendable {
    let pipe = BodyPipe()

    init() {}

    deinit {
        pipe.finish(isWhole: false)
    }

    package func next() async throws(BrokenOff) -> [UInt8]? {
        try await pipe.next()
    }

    package func giveUp() {
        pipe.finish(isWhole: false)
    }

    package struct BrokenOff: Error {}
}
