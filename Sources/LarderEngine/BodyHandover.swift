import Synchronization

/// Where a body goes from the flight that reads it to the one client that it is for, piece by piece
/// and no faster than the client takes them; guarded by a lock.
///
///     empty ── offer ──▶ offered ── next ──▶ empty
///       └───── next ───▶ awaited ── offer ─▶ empty
///     any ── finish ──▶ over
///
/// Invariants:
/// 1. At most one piece is here.
/// 2. Whoever waits is answered exactly once, outside of the lock.
/// 3. Once it is over it stays so: nothing more is taken from either side.
final class BodyHandover: Sendable {
    typealias BrokenOff = PassedBody.BrokenOff

    private typealias Piece = Result<[UInt8]?, BrokenOff>
    private typealias Offerer = CheckedContinuation<Bool, Never>
    private typealias Reader = CheckedContinuation<Piece, Never>

    private enum State {
        case empty
        case offered([UInt8], Offerer)
        case awaited(Reader)
        /// What the client is told from then on.
        case over(Piece)
    }

    private let state = Mutex(State.empty)
    private let (over, ending) = AsyncStream<Void>.makeStream()

    /// Returns once the piece was taken; false when nobody wants it any more.
    ///
    /// Cancelling the calling task breaks the body off.
    func offer(_ piece: [UInt8]) async -> Bool {
        await withTaskCancellationHandler {
            await withCheckedContinuation { offerer in
                let answer = state.withLock { state -> (@Sendable () -> Void)? in
                    switch state {
                    case .empty:
                        state = .offered(piece, offerer)
                        return nil
                    case .awaited(let reader):
                        state = .empty
                        return {
                            reader.resume(returning: .success(piece))
                            offerer.resume(returning: true)
                        }
                    case .over: return { offerer.resume(returning: false) }
                    case .offered:
                        preconditionFailure("a body is read by one flight, piece after piece")
                    }
                }
                answer?()
            }
        } onCancel: {
            finish(isWhole: false)
        }
    }

    func next() async throws(BrokenOff) -> [UInt8]? {
        let result = await withCheckedContinuation { (reader: Reader) in
            let answer = state.withLock { state -> (@Sendable () -> Void)? in
                switch state {
                case .empty:
                    state = .awaited(reader)
                    return nil
                case .offered(let piece, let offerer):
                    state = .empty
                    return {
                        offerer.resume(returning: true)
                        reader.resume(returning: .success(piece))
                    }
                case .over(let end): return { reader.resume(returning: end) }
                case .awaited: preconditionFailure("a body has one reader")
                }
            }
            answer?()
        }
        return try result.get()
    }

    /// The origin's answer is over, or the client wants no more; whoever waits is let go, and what
    /// was over first counts.
    func finish(isWhole: Bool) {
        let end: Piece = isWhole ? .success(nil) : .failure(BrokenOff())
        let last = state.withLock { state in
            let last = state
            if case .over = last {} else { state = .over(end) }
            return last
        }
        switch last {
        case .offered(_, let offerer): offerer.resume(returning: false)
        case .awaited(let reader): reader.resume(returning: end)
        case .empty, .over: break
        }
        ending.finish()
    }

    /// Returns when it is over, or the calling task is cancelled.
    func untilOver() async {
        for await _ in over {}
    }
}

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

    package func next() async throws(BrokenOff) -> [UInt8]? {
        try await handover.next()
    }

    /// Nobody wants the rest; a reader that waits is let go.
    package func giveUp() {
        handover.finish(isWhole: false)
    }

    package struct BrokenOff: Error {}
}
