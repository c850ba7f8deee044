import Synchronization

/// Where a body goes from the flight that reads it to the one client that it is for, piece by piece
/// and no faster than the client takes them; guarded by a lock.
///
///     empty ── offer ──▶ offered ── next ──▶ empty
///       └───── next ───▶ awaited ── offer ─▶ empty
///     any ── finish, giveUp ──▶ over
///
/// Invariants:
/// 1. At most one piece is here.
/// 2. Whoever waits is answered exactly once, outside of the lock.
/// 3. Once it is over it stays so: nothing more is taken from either side.
final class BodyHandover: Sendable {
    /// How it was over.
    enum End: Equatable {
        /// The client has all.
        case whole
        /// The flight could not bring the rest.
        case brokenOff
        /// The client wants no more.
        case givenUp
    }

    typealias BrokenOff = PassedBody.BrokenOff

    private typealias Offerer = CheckedContinuation<Bool, Never>
    private typealias Reader = CheckedContinuation<Result<[UInt8]?, BrokenOff>, Never>
    private typealias Watcher = CheckedContinuation<Void, Never>

    private enum State {
        case empty
        case offered([UInt8], Offerer)
        case awaited(Reader)
        case over(End)
    }

    private struct Slot {
        var state = State.empty
        var watcher: Watcher?
    }

    private let slot = Mutex(Slot())

    // MARK: From the flight

    private enum OfferStep {
        case wait
        case hand(Reader)
        case refuse
    }

    /// Returns once the piece was taken; false when nobody wants it any more.
    ///
    /// Cancelling the calling task breaks the body off.
    func offer(_ piece: [UInt8]) async -> Bool {
        await withTaskCancellationHandler {
            await withCheckedContinuation { offerer in
                let step = slot.withLock { slot -> OfferStep in
                    switch slot.state {
                    case .empty:
                        slot.state = .offered(piece, offerer)
                        return .wait
                    case .awaited(let reader):
                        slot.state = .empty
                        return .hand(reader)
                    case .over:
                        return .refuse
                    case .offered:
                        preconditionFailure("a body is read by one flight, piece after piece")
                    }
                }
                switch step {
                case .wait: break
                case .hand(let reader):
                    reader.resume(returning: .success(piece))
                    offerer.resume(returning: true)
                case .refuse: offerer.resume(returning: false)
                }
            }
        } onCancel: {
            end(.brokenOff)
        }
    }

    /// The origin's answer is over.
    func finish(isWhole: Bool) {
        end(isWhole ? .whole : .brokenOff)
    }

    /// Returns when it is over, or the calling task is cancelled.
    func untilOver() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { watcher in
                let isOver = slot.withLock { slot -> Bool in
                    if case .over = slot.state { return true }
                    guard !Task.isCancelled else { return true }
                    slot.watcher = watcher
                    return false
                }
                if isOver { watcher.resume() }
            }
        } onCancel: {
            let watcher = slot.withLock { slot in
                defer { slot.watcher = nil }
                return slot.watcher
            }
            watcher?.resume()
        }
    }

    // MARK: From the client

    private enum NextStep {
        case wait
        case take([UInt8], Offerer)
        case end(End)
    }

    /// The next piece; nil at the end.
    func next() async throws(BrokenOff) -> [UInt8]? {
        let result = await withCheckedContinuation { (reader: Reader) in
            let step = slot.withLock { slot -> NextStep in
                switch slot.state {
                case .empty:
                    slot.state = .awaited(reader)
                    return .wait
                case .offered(let piece, let offerer):
                    slot.state = .empty
                    return .take(piece, offerer)
                case .over(let end):
                    return .end(end)
                case .awaited:
                    preconditionFailure("a body has one reader")
                }
            }
            switch step {
            case .wait: break
            case .take(let piece, let offerer):
                offerer.resume(returning: true)
                reader.resume(returning: .success(piece))
            case .end(let end):
                reader.resume(returning: end == .whole ? .success(nil) : .failure(BrokenOff()))
            }
        }
        return try result.get()
    }

    /// The client wants no more; whoever waits here for it is let go.
    func giveUp() {
        end(.givenUp)
    }

    private func end(_ end: End) {
        let (state, watcher) = slot.withLock { slot -> (State, Watcher?) in
            let state = slot.state
            if case .over = state { return (state, nil) }
            slot.state = .over(end)
            defer { slot.watcher = nil }
            return (state, slot.watcher)
        }
        switch state {
        case .offered(_, let offerer): offerer.resume(returning: false)
        case .awaited(let reader):
            reader.resume(returning: end == .whole ? .success(nil) : .failure(BrokenOff()))
        case .empty, .over: break
        }
        watcher?.resume()
    }
}
