import LarderModel

package struct ChunkSource {
    let reader: StoreReader
    private var shared: SharedCacheState { reader.shared }

    func isWhole(_ body: ChunkedBody) throws(StoreError) -> Bool {
        try withChunks(of: body) { chunks throws(StoreError) in try chunks.isWhole(body) } ?? false
    }

    /// One chunk, from a transaction of its own; throws `badChunk` for a missing or damaged one.
    func chunk(_ position: Int64, of body: ChunkedBody) throws(StoreError) -> [UInt8] {
        defer { if body.file == .cache { reader.endTransaction() } }
        let chunk = try withChunks(of: body) { chunks throws(StoreError) in
            try chunks.chunk(position, of: body)
        }
        guard let chunk else { throw .badChunk }
        return chunk
    }

    /// All chunks of a body: call it within ``atOneMoment(_:)`` with the read of its row.
    ///
    /// Nil when one is missing or damaged.
    package func whole(_ body: ChunkedBody) throws(StoreError) -> [UInt8]? {
        guard try isWhole(body) else { return nil }
        do throws(StoreError) {
            return try withChunks(of: body) { chunks throws(StoreError) in
                try chunks.bytes(of: body)
            }
        } catch .badChunk {
            return nil
        }
    }

    private func withChunks<Value>(
        of body: ChunkedBody,
        _ read: (ChunkReader) throws(StoreError) -> Value
    ) throws(StoreError) -> Value? {
        guard body.file == .cache else { return try read(try reader.stateReader().chunks) }
        return try reader.reading { file throws(StoreError) in
            do throws(StoreError) {
                return try read(file.chunks)
            } catch {
                if error == .badChunk { shared.countDamagedRow() }
                throw error
            }
        }
    }
}
