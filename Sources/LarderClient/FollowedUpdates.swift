/// The updates of a followed URL.
///
/// When the connection breaks or the daemon restarts, the iteration connects again after a growing
/// random pause. It does not repeat values that the program already has. It ends when the program
/// leaves the loop, when the task is cancelled, or by throwing a permanent error.
public struct FollowedUpdates<Value: Sendable>: AsyncSequence, Sendable {
    let frames: FetchFrames
    let time: ClientTime
    /// Makes a value of what the daemon shows.
    let read: @Sendable (Snapshot) async throws(LarderError) -> Value

    /// Asks the daemon at the first call of `next()`.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(self)
    }

    /// Iterator that holds the connection of one follower.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private enum State {
            /// There is no stream; the iterator connects after the pause.
            case apart(pause: Duration?)
            case reading(FetchFrames.AsyncIterator)
            case finished
        }

        private let updates: FollowedUpdates
        private var state = State.apart(pause: nil)
        private var plan = FollowPlan()

        init(_ updates: FollowedUpdates) {
            self.updates = updates
        }

        /// The next update; it waits until there is one.
        public mutating func next() async throws(LarderError) -> FollowUpdate<Value>? {
            while true {
                switch state {
                case .finished: return nil
                case .apart(let pause):
                    if let pause { try await wait(pause) }
                    state = .reading(updates.frames.makeAsyncIterator())
                case .reading(var stream):
                    state = .finished
                    let update: FetchUpdate
                    do throws(LarderError) {
                        // The daemon ended the stream; it may be restarting.
                        guard let next = try await stream.next() else { throw .cutOff }
                        update = next
                    } catch {
                        if let told = try streamFailed(error) { return told }
                        continue
                    }
                    state = .reading(stream)
                    if let told = try await tell(update) { return told }
                }
            }
        }

        /// The same, called by `for try await`.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(LarderError) -> FollowUpdate<Value>? {
            try await next()
        }

        private mutating func wait(_ pause: Duration) async throws(LarderError) {
            do throws(CancellationError) {
                try await updates.time.pause(pause)
            } catch {
                state = .finished
                throw .cancelled
            }
        }

        /// The update as the program gets it; nil if the program does not get it.
        private mutating func tell(
            _ update: FetchUpdate
        ) async throws(LarderError) -> FollowUpdate<Value>? {
            switch update {
            case .snapshot(let snapshot):
                let step = plan.snapshotArrived(snapshot.rev, snapshot.source)
                guard step == .tell else { return nil }
                do throws(LarderError) {
                    return .value(try await updates.read(snapshot))
                } catch {
                    state = .finished
                    throw error
                }
            case .unchanged:
                plan.streamSpoke()
                return .unchanged
            case .deleted: return plan.deletionArrived() == .tell ? .deleted : nil
            case .failed(let problem):
                plan.streamSpoke()
                return .failed(problem)
            case .origin(let origin):
                plan.streamSpoke()
                return .origin(origin)
            case .end:
                return nil
            }
        }

        /// The update for a broken stream, if the program gets one; throws permanent errors.
        private mutating func streamFailed(
            _ error: LarderError
        ) throws(LarderError) -> FollowUpdate<Value>? {
            switch plan.streamFailed(error, randomUnit: updates.time.randomUnit()) {
            case .giveUp: throw error
            case .tryAgain(let pause, let isTold):
                state = .apart(pause: pause)
                guard isTold else { return nil }
                if case .deleted = error { return .deleted }
                return error.problem.map { .failed($0) } ?? .disconnected(error)
            }
        }
    }
}

/// An update of a followed URL; see ``LarderClient/follow(_:options:)``.
public enum FollowUpdate<Value: Sendable>: Sendable {
    /// The current value of the URL; each revision comes once.
    case value(Value)
    /// The network confirmed the last value.
    case unchanged
    /// The URL is gone; it may come back.
    case deleted
    /// The network failed; the last value stays valid, and the stream goes on.
    case failed(Problem)
    /// The state of the origin has changed; the last value stays valid.
    case origin(OriginFrame)
    /// The daemon does not answer; the last value stays valid, and the client tries again.
    ///
    /// This update comes once in each outage.
    case disconnected(LarderError)
}
