import FoundationEssentials

/// The updates of one fetch, with every body decoded from JSON.
///
/// It is iterated and left like ``FetchFrames``. A body that does not decode throws
/// ``LarderError/decoding(id:reason:)``.
public struct TypedUpdates<Value: Decodable & Sendable>: AsyncSequence, Sendable {
    let frames: FetchFrames
    let decoder: JSONDecoder

    /// Asks the daemon at the first call of `next()`.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(frames: frames.makeAsyncIterator(), decoder: decoder)
    }

    /// One request's updates.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private var frames: FetchFrames.AsyncIterator
        private let decoder: JSONDecoder

        init(frames: FetchFrames.AsyncIterator, decoder: JSONDecoder) {
            self.frames = frames
            self.decoder = decoder
        }

        /// The next update; nil after the end.
        public mutating func next() async throws(LarderError) -> TypedUpdate<Value>? {
            while let update = try await frames.next() {
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

        /// The same, called by `for try await`.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(LarderError) -> TypedUpdate<Value>? {
            try await next()
        }
    }
}

/// One step of a fetch whose bodies are decoded.
public enum TypedUpdate<Value: Sendable>: Sendable {
    /// What is known of the URL now.
    case value(TypedSnapshot<Value>)
    /// The network has what the value before showed.
    case unchanged
    /// The origin says that it is gone.
    case deleted
    /// The network failed after the cached answer, which stays.
    case failed(Problem)
}

/// A decoded body, and what is known of it.
public struct TypedSnapshot<Value: Sendable>: Sendable {
    /// The body.
    public let value: Value
    /// All else.
    public let snapshot: Snapshot

    /// Whether it is what was cached or what the network said.
    public var source: AnswerSource { snapshot.source }
    /// Whether it is past its lifetime.
    public var isStale: Bool { snapshot.stale }
    /// How long ago the origin gave or confirmed it.
    public var age: Duration { snapshot.age }
}
