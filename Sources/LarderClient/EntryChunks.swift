import AsyncHTTPClient

/// The bytes of an entry as they arrive, in chunks of any size.
///
/// Iterate them once. Leaving the loop closes the connection. The iteration throws
/// ``LarderError/cutOff`` if the entry ends too early.
public struct EntryChunks: AsyncSequence, Sendable {
    private enum Source: Sendable {
        case bytes([UInt8])
        case response(HTTPClientResponse.Body, LarderClient)
    }

    private let source: Source

    init(_ bytes: [UInt8]) {
        source = .bytes(bytes)
    }

    init(_ body: HTTPClientResponse.Body, client: LarderClient) {
        source = .response(body, client)
    }

    /// Call this once.
    public func makeAsyncIterator() -> AsyncIterator {
        switch source {
        case .bytes(let bytes): AsyncIterator(.bytes(bytes))
        case .response(let body, let client):
            AsyncIterator(.response(body.makeAsyncIterator(), client))
        }
    }

    /// Iterator over the remaining chunks.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate enum State {
            case bytes([UInt8])
            case response(HTTPClientResponse.Body.AsyncIterator, LarderClient)
            case over
        }

        private var state: State

        fileprivate init(_ state: State) {
            self.state = state
        }

        /// The next bytes, at least one; nil after the last.
        public mutating func next() async throws(LarderError) -> [UInt8]? {
            switch state {
            case .bytes(let bytes):
                state = .over
                return bytes.isEmpty ? nil : bytes
            case .response(var body, let client):
                state = .over
                guard let chunk = try await body.nextChunk() else { return nil }
                state = .response(body, client)
                return Array(chunk)
            case .over:
                return nil
            }
        }

        /// The same, called by `for try await`.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(LarderError) -> [UInt8]? {
            try await next()
        }
    }
}
