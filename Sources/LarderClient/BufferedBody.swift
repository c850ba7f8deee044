import NIOCore

/// A caller's chunks as the HTTP client takes them.
struct BufferedBody<Chunks: AsyncSequence & Sendable>: AsyncSequence, Sendable
where Chunks.Element == [UInt8] {
    let chunks: Chunks

    func makeAsyncIterator() -> Iterator {
        Iterator(chunks: chunks.makeAsyncIterator())
    }

    struct Iterator: AsyncIteratorProtocol {
        var chunks: Chunks.AsyncIterator

        mutating func next() async throws -> ByteBuffer? {
            do {
                return try await chunks.next(isolation: #isolation).map { ByteBuffer(bytes: $0) }
            } catch let error as CancellationError {
                throw error
            } catch {
                throw BodyFailure(reason: "\(error)")
            }
        }
    }
}

/// The caller's sequence threw; its error, told apart from those of the connection.
struct BodyFailure: Error {
    let reason: String
}
