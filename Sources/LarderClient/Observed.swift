/// What is known of a URL that is observed, as of now; see
/// ``LarderClient/observe(_:as:options:decoder:)``.
public struct Observed<Value: Sendable>: Sendable {
    /// The value; nil where nothing is known of it, or the origin has deleted it.
    public let value: Value?
    /// Whether the origin has deleted it.
    public let isDeleted: Bool
    /// Whether the value is past its lifetime.
    public let isStale: Bool
    /// Why nothing newer can be had at the moment: the network, the origin or the daemon; nil while
    /// all is well.
    public let error: LarderError?
    /// How many unsent changes of this device the value shows.
    public let pending: Int
    /// How many changes of this device failed on it.
    public let failed: Int
}

/// Makes one state after the other of what a follower is told.
struct ObservedState<Value: Sendable> {
    private var shown: TypedSnapshot<Value>?
    private var isDeleted = false
    private var isStale = false
    private var error: LarderError?

    init() {}

    /// What is to be said now; nil where that was said before.
    mutating func updateArrived(
        _ update: FollowUpdate<TypedSnapshot<Value>>
    ) -> Observed<Value>? {
        switch update {
        case .value(let snapshot):
            shown = snapshot
            isDeleted = false
            isStale = snapshot.isStale
            error = nil
        case .unchanged:
            guard isStale || error != nil else { return nil }
            isStale = false
            error = nil
        case .deleted:
            shown = nil
            isDeleted = true
            isStale = false
            error = nil
        case .origin(let origin) where origin.state == .online:
            guard case .offline = error else { return nil }
            error = nil
        case .origin(let origin):
            guard error == nil, origin.state != .unknown else { return nil }
            error = .problem(
                Problem(
                    origin.state == .captive ? .captive : .unreachable,
                    "the origin '\(origin.origin)' is \(origin.state)"
                )
            )
        case .failed(let problem):
            error = .problem(problem)
        case .disconnected(let reason):
            error = reason
        }
        return Observed(
            value: shown?.value,
            isDeleted: isDeleted,
            isStale: isStale,
            error: error,
            pending: shown?.snapshot.pending ?? 0,
            failed: shown?.snapshot.failed ?? 0
        )
    }
}

/// What is known of one URL, now and after each change, for as long as it is iterated.
///
/// It connects again as ``FollowedUpdates`` does, and ends as that does.
public struct ObservedValues<Value: Sendable>: AsyncSequence, Sendable {
    let updates: FollowedUpdates<TypedSnapshot<Value>>

    /// Asks the daemon at the first call of `next()`.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(updates.makeAsyncIterator())
    }

    /// One observer.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private var updates: FollowedUpdates<TypedSnapshot<Value>>.AsyncIterator
        private var state = ObservedState<Value>()

        init(_ updates: FollowedUpdates<TypedSnapshot<Value>>.AsyncIterator) {
            self.updates = updates
        }

        /// What is known then; it waits until that is something else.
        public mutating func next() async throws(LarderError) -> Observed<Value>? {
            while let update = try await updates.next() {
                if let observed = state.updateArrived(update) { return observed }
            }
            return nil
        }

        /// The same, called by `for try await`.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(LarderError) -> Observed<Value>? {
            try await next()
        }
    }
}
