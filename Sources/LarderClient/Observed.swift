/// The current state of an observed URL; see ``LarderClient/observe(_:as:options:decoder:)``.
public struct Observed<Value: Sendable>: Sendable {
    /// The value; nil if nothing is known yet, or if the origin has deleted it.
    public let value: Value?
    /// Whether the origin has deleted the value.
    public let isDeleted: Bool
    /// Whether the value is past its lifetime.
    public let isStale: Bool
    /// Failure of the network, the origin or the daemon that prevents an update; nil: none.
    public let error: LarderError?
    /// Number of unsent changes of this device that the value shows.
    public let pending: Int
    /// Number of changes of this device that failed on the value.
    public let failed: Int
    /// Entities in the value on which changes of this device wait or have failed.
    public let rows: [SnapshotRow]
    /// Entities that failed changes would have put into the value, as they were written.
    public let failedRows: [FailedRow]
}

/// Turns the updates of a follower into states.
struct ObservedState<Value: Sendable> {
    private var shown: TypedSnapshot<Value>?
    private var isDeleted = false
    private var isStale = false
    private var error: LarderError?

    init() {}

    /// The new state after an update; nil if the update changes nothing.
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
            failed: shown?.snapshot.failed ?? 0,
            rows: shown?.snapshot.rows ?? [],
            failedRows: shown?.snapshot.failedRows ?? []
        )
    }
}

/// The states of one URL: the current one, then one after each change.
///
/// The iteration connects again and ends like ``FollowedUpdates``.
public struct ObservedValues<Value: Sendable>: AsyncSequence, Sendable {
    let updates: FollowedUpdates<TypedSnapshot<Value>>

    /// Asks the daemon at the first call of `next()`.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(updates.makeAsyncIterator())
    }

    /// Iterator that holds the connection of one observer.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private var updates: FollowedUpdates<TypedSnapshot<Value>>.AsyncIterator
        private var state = ObservedState<Value>()

        init(_ updates: FollowedUpdates<TypedSnapshot<Value>>.AsyncIterator) {
            self.updates = updates
        }

        /// Waits for the next state.
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
