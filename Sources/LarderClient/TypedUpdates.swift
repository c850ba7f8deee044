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
                    let value = try decode(try await snapshot.body(), of: snapshot.id)
                    return .value(TypedSnapshot(value: value, snapshot: snapshot))
                case .unchanged: return .unchanged
                case .deleted: return .deleted
                case .failed(let problem): return .failed(problem)
                case .end: continue
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

        private func decode(_ body: [UInt8], of id: String) throws(LarderError) -> Value {
            do {
                return try decoder.decode(Value.self, from: Data(body))
            } catch let error as DecodingError {
                throw .decoding(id: id, reason: error.reason)
            } catch {
                throw .decoding(id: id, reason: "\(error)")
            }
        }
    }
}

extension DecodingError {
    /// Where it failed and why, in one line.
    fileprivate var reason: String {
        let context =
            switch self {
            case .typeMismatch(_, let context), .valueNotFound(_, let context),
                .keyNotFound(_, let context), .dataCorrupted(let context):
                context
            @unknown default: Context(codingPath: [], debugDescription: "\(self)")
            }
        let path = context.codingPath.map(\.stringValue).joined(separator: "/")
        return path.isEmpty
            ? context.debugDescription : "at \(path): \(context.debugDescription)"
    }
}
