import LarderModel

/// Reads a chunked body, whose chunks stay in place meanwhile; used by one task at a time.
package final class BodyReader {
    package let body: ChunkedBody
    private let scope: ScopeKey
    private let id: EntryID
    private let store: BodyStore
    private var progress: ChunkProgress

    init(_ body: ChunkedBody, of scope: ScopeKey, _ id: EntryID, _ store: BodyStore) {
        self.body = body
        self.scope = scope
        self.id = id
        self.store = store
        progress = ChunkProgress(body)
        store.leases(beside: body).take(body.number)
    }

    deinit {
        if store.leases(beside: body).giveBack(body.number) { store.wake() }
    }

    /// The next chunk, at most ``Limits/inlineBodyBytesMax`` bytes; nil at the end.
    ///
    /// Throws `badChunk` when one is missing or damaged: the rest of the body is lost, and the row
    /// goes, so that the next read is a miss and the next fetch brings a whole one.
    package func next() async throws(StoreError) -> [UInt8]? {
        guard let position = progress.next else { return nil }
        do throws(StoreError) {
            let chunk = try await store.chunk(position, of: body)
            try progress.take(chunk)
            return chunk
        } catch {
            if error == .badChunk { store.drop(body, of: scope, id) }
            throw error
        }
    }
}
