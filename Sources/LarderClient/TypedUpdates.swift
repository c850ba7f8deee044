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

    /// Iterator over the updates of one request.
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
