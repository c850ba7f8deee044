import FoundationEssentials
import LarderModel

/// The updates of a followed URL.
///
/// When the connection breaks or the daemon restarts, the iteration connects again after a growing
/// random pause. It does not repeat values that the program already has. It ends when the program
/// leaves the loop, when the task is cancelled, or by throwing a permanent error.
public struct FollowedUpdates<Value: Sendable>: AsyncSequence, Sendable {
    let frames: FetchFrames
    let time: ClientTime
    /// Whether the last state is repeated after an outage that the program was told.
    var tellsReturn = false
    /// Makes a value of what the daemon shows.
    let read: @Sendable (Snapshot) async throws(LarderError) -> Value

    /// Asks the daemon at the first call of `next()`.
    public func makeAsyncIterator() -> ClientIterator<FollowUpdate<Value>> {
        var run = Run(self)
        return ClientIterator { () async throws(LarderError) in try await run.next() }
    }

    /// An iteration, which holds the connection of one follower.
    private struct Run {
        private enum State {
            /// There is no stream; the iterator connects after the pause.
            case apart(pause: Duration?)
            case reading(ClientIterator<FetchUpdate>)
            case finished
        }

        private let updates: FollowedUpdates
        private var state = State.apart(pause: nil)
        private var plan = FollowPlan()

        init(_ updates: FollowedUpdates) {
            self.updates = updates
            plan.tellsReturn = updates.tellsReturn
        }

        mutating func next() async throws(LarderError) -> FollowUpdate<Value>? {
            while true {
                switch state {
                case .finished: return nil
                case .apart(let pause):
                    state = .finished
                    if let pause { try await updates.time.wait(pause) }
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

        /// The update as the program gets it; nil if the program does not get it.
        private mutating func tell(
            _ update: FetchUpdate
        ) async throws(LarderError) -> FollowUpdate<Value>? {
            switch update {
            case .snapshot(let snapshot):
                let before = plan
                guard plan.snapshotArrived(snapshot.rev, snapshot.source) else { return nil }
                do throws(LarderError) {
                    return .value(try await updates.read(snapshot))
                } catch {
                    // The program does not have this revision: the next stream tells it again.
                    (plan, state) = (before, .finished)
                    return try streamFailed(error.ofBody)
                }
            case .unchanged:
                plan.streamSpoke()
                return .unchanged
            case .deleted: return plan.deletionArrived() ? .deleted : nil
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

extension LarderError {
    /// The error of a body that is read by its address; it may have been replaced or evicted
    /// meanwhile.
    fileprivate var ofBody: LarderError {
        switch self {
        case .miss, .deleted: .cutOff
        default: self
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

/// Decides which updates a follower passes to its program, and when it connects again.
///
/// After a break, the follower skips the updates that the program already has. It does not report
/// the first break of a stream that gave an update. It reports a longer outage once.
struct FollowPlan: Equatable {
    enum BreakStep: Equatable {
        /// Connect again after the pause; `isTold` says whether the program hears of it.
        case tryAgain(after: Duration, isTold: Bool)
        case giveUp
    }

    /// Whether the program gets its last state again after an outage that it was told.
    var tellsReturn = false
    /// Revision of the last snapshot that the program got.
    private var shown: Int64?
    /// Whether the last update was a deletion.
    private var isDeleted = false
    /// Attempts that failed in a row.
    private var failures = 0
    private var wasConnected = false
    private var isOutageTold = false

    /// A snapshot has arrived, over this connection or a new one; true if the program gets it.
    mutating func snapshotArrived(_ revision: Int64, _ source: AnswerSource) -> Bool {
        let isReturn = tellsReturn && isOutageTold
        streamSpoke()
        if let shown, revision == shown { return isReturn }
        // An older cached snapshot: the program already has a newer one that is no longer cached.
        if let shown, revision < shown, source != .network { return false }
        shown = revision
        isDeleted = false
        return true
    }

    /// A deletion has arrived; true if the program gets it.
    mutating func deletionArrived() -> Bool {
        let isReturn = tellsReturn && isOutageTold
        streamSpoke()
        defer { isDeleted = true }
        return !isDeleted || isReturn
    }

    /// Another update has arrived.
    mutating func streamSpoke() {
        failures = 0
        wasConnected = true
        isOutageTold = false
    }

    /// The stream has ended or could not be opened.
    ///
    /// `randomUnit` in 0..<1 is the random number for jitter.
    mutating func streamFailed(_ error: LarderError, randomUnit: Double) -> BreakStep {
        var longest = Limits.followRetryMax
        switch error {
        case .deleted:
            // The daemon answers; only the entry is gone, and it may come back.
            let isTold = deletionArrived()
            failures = 1
            return .tryAgain(after: Limits.followRetryMax, isTold: isTold)
        case .unreachable, .timedOut, .cutOff: break
        case .offline, .originFailed:
            // The daemon itself asks such an origin no more often.
            longest = Limits.probePauseMax
            fallthrough
        default:
            guard error.problem?.retryable == true else { return .giveUp }
        }
        let isSilent = isOutageTold || (wasConnected && failures == 0)
        if !isSilent { isOutageTold = true }
        let least = Limits.followRetryBase
        let most = min(least * (1 << min(failures, 10)), longest)
        failures += 1
        return .tryAgain(after: least + (most - least) * randomUnit, isTold: !isSilent)
    }
}

/// The updates of one fetch, with every body decoded from JSON.
///
/// It is iterated and left like ``FetchFrames``. A body that does not decode throws
/// ``LarderError/decoding(id:reason:)``.
public struct TypedUpdates<Value: Decodable & Sendable>: AsyncSequence, Sendable {
    let frames: FetchFrames
    let decoder: JSONDecoder

    /// Asks the daemon at the first call of `next()`.
    public func makeAsyncIterator() -> ClientIterator<TypedUpdate<Value>> {
        var received = frames.makeAsyncIterator()
        return ClientIterator { [decoder] () async throws(LarderError) in
            while let update = try await received.next() {
                switch update {
                case .snapshot(let snapshot):
                    return .value(try await snapshot.decoded(as: Value.self, by: decoder))
                case .unchanged: return .unchanged
                case .deleted: return .deleted
                case .failed(let problem): return .failed(problem)
                case .origin, .end: continue
                }
            }
            return nil
        }
    }
}

/// A step of a fetch, with the body decoded.
public enum TypedUpdate<Value: Sendable>: Sendable {
    /// The current value of the URL: first the cached one, then the network's.
    case value(TypedSnapshot<Value>)
    /// The network confirmed the cached value.
    case unchanged
    /// The URL is gone: the origin said so, or an unsent change deletes it.
    case deleted
    /// The network failed after the cached answer, which stays valid.
    case failed(Problem)
}

/// A decoded body with its snapshot.
public struct TypedSnapshot<Value: Sendable>: Sendable {
    /// The body.
    public let value: Value
    /// The snapshot that the body belongs to.
    public let snapshot: Snapshot

    /// Whether the body is cached or came from the network.
    public var source: AnswerSource { snapshot.source }
    /// Whether the body is past its lifetime.
    public var isStale: Bool { snapshot.stale }
    /// Time since the origin gave or confirmed the body.
    public var age: Duration { snapshot.age }
}
