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
