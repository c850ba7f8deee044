import LarderModel

/// Reads a chunked body from its beginning to its end, holding its chunks in place meanwhile.
///
/// Used by one task at a time. Its chunks may be removed once it is gone.
package final class BodyReader {
    package let body: ChunkedBody
    private let scope: ScopeKey
    private let id: EntryID
    private let leases: BodyLeases
    private let source: BlockingReader
    private let queue: CommitQueue
    private var position: Int64 = 0
    private var bytesRead = 0

    init(
        _ body: ChunkedBody,
        of scope: ScopeKey,
        _ id: EntryID,
        leases: BodyLeases,
        source: BlockingReader,
        queue: CommitQueue
    ) {
        self.body = body
        self.scope = scope
        self.id = id
        self.leases = leases
        self.source = source
        self.queue = queue
        leases.take(body.number)
    }

    deinit {
        if leases.giveBack(body.number) { queue.wake() }
    }

    /// The next chunk, at most ``Limits/inlineBodyBytesMax`` bytes; nil at the end.
    ///
    /// Throws `badChunk` when one is missing or damaged: the rest of the body is lost, and the row
    /// goes, so that the next read is a miss and the next fetch brings a whole one.
    package func next() async throws(StoreError) -> [UInt8]? {
        guard bytesRead < body.byteCount else { return nil }
        do throws(StoreError) {
            let chunk = try await readChunk()
            position += 1
            bytesRead += chunk.count
            return chunk
        } catch {
            if error == .badChunk { dropRow() }
            throw error
        }
    }

    private func readChunk() async throws(StoreError) -> [UInt8] {
        let chunk = try await source.read { [body, position] reader throws(StoreError) in
            try reader.chunk(position, of: body)
        }
        guard !chunk.isEmpty, bytesRead + chunk.count <= body.byteCount else { throw .badChunk }
        return chunk
    }

    private func dropRow() {
        queue.post { [body, scope, id] writer throws(StoreError) in
            guard let found = try writer.find(scope, id).0, found.body == body.number else {
                return
            }
            try writer.remove(found.key)
        }
    }
}
