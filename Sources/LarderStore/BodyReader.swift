import LarderModel

/// Reads a chunked body from its beginning to its end, holding its chunks in place meanwhile.
///
/// Used by one task at a time. Its chunks may be removed once it is gone.
package final class BodyReader {
    package let body: ChunkedBody
    private let leases: BodyLeases
    private let source: BlockingReader
    private let owner: Owner

    /// What the file that a body stands in does about it.
    struct Owner: Sendable {
        /// Chunks may be removed that could not be before.
        let wake: @Sendable () -> Void
        /// The body is damaged: what names it goes.
        let drop: @Sendable () -> Void
    }

    private var position: Int64 = 0
    private var bytesRead = 0

    init(
        _ body: ChunkedBody,
        leases: BodyLeases,
        source: BlockingReader,
        owner: Owner
    ) {
        self.body = body
        self.leases = leases
        self.source = source
        self.owner = owner
        leases.take(body.number)
    }

    deinit {
        if leases.giveBack(body.number) { owner.wake() }
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
            if error == .badChunk { owner.drop() }
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
}

extension WriterPart<CacheWriter> {
    /// Takes the row of a damaged body away, if it still names it.
    func dropRow(of body: ChunkedBody, _ scope: ScopeKey, _ id: EntryID) {
        post { writer throws(StoreError) in
            guard let found = try writer.find(scope, id).0, found.body == body.number else {
                return
            }
            try writer.evict(found.key, .damaged)
        }
    }
}
