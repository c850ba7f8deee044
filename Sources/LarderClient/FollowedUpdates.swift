import LarderWire

/// The views of one URL, one after the other, for as long as they are iterated.
///
/// The connection is made again when it breaks or the daemon restarts, after a pause that grows and
/// is drawn by chance; what was shown before is not shown again. It ends only by leaving the loop,
/// by cancelling the task, and by an error that no second try can heal, which is thrown.
public struct FollowedUpdates<Value: Sendable>: AsyncSequence, Sendable {
    let frames: FetchFrames
    let time: ClientTime
    /// Makes a value of what the daemon shows.
    let read: @Sendable (Snapshot) async throws(LarderError) -> Value

    /// Asks the daemon at the first call of `next()`.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(self)
    }

    /// One follower.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private enum State {
            /// There is no stream; one is begun after the pause.
            case apart(pause: Duration?)
            case reading(FetchFrames.AsyncIterator)
            case over
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
                case .over: return nil
                case .apart(let pause):
                    if let pause { try await wait(pause) }
                    state = .reading(updates.frames.makeAsyncIterator())
                case .reading(var stream):
                    state = .over
                    let read: Result<FetchUpdate?, LarderError> = await Self.next(of: &stream)
                    switch read {
                    case .success(let update?):
                        state = .reading(stream)
                        if let told = try await tell(update) { return told }
                    case .success(nil):
                        // The daemon has said its end: it is going, and may be back.
                        if let told = try broke(.cutOff) { return told }
                    case .failure(let error):
                        if let told = try broke(error) { return told }
                    }
                }
            }
        }

        /// The same, called by `for try await`.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(LarderError) -> FollowUpdate<Value>? {
            try await next()
        }

        private static func next(
            of stream: inout FetchFrames.AsyncIterator
        ) async -> Result<FetchUpdate?, LarderError> {
            do throws(LarderError) {
                return .success(try await stream.next())
            } catch {
                return .failure(error)
            }
        }

        private mutating func wait(_ pause: Duration) async throws(LarderError) {
            do throws(CancellationError) {
                try await updates.time.pause(pause)
            } catch {
                state = .over
                throw .cancelled
            }
        }

        /// What the program hears of an update; nil where it is nothing.
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
                    state = .over
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

        /// What the program hears of a broken stream; throws what no second try can heal.
        private mutating func broke(
            _ error: LarderError
        ) throws(LarderError) -> FollowUpdate<Value>? {
            switch plan.broke(error, chance: updates.time.chance()) {
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
