import LarderModel

extension StoreReader {
    /// All chunks of a body that a row names, from the transaction that the row was read in: call it
    /// within ``atOneMoment(_:)`` with that.
    ///
    /// Nil when one is missing or damaged. No transaction holds the chunks of what is kept for good:
    /// another body may have taken their place.
    package func wholeBody(_ body: ChunkedBody) throws(StoreError) -> [UInt8]? {
        guard try isWhole(body) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(min(body.byteCount, Limits.inlineJSONBytesMax))
        var position: Int64 = 0
        while bytes.count < body.byteCount {
            let chunk: [UInt8]
            do throws(StoreError) {
                chunk = try bodyChunk(position, of: body)
            } catch {
                guard error == .badChunk else { throw error }
                return nil
            }
            guard !chunk.isEmpty else { return nil }
            bytes += chunk
            position += 1
        }
        return bytes.count == body.byteCount ? bytes : nil
    }

    private func bodyChunk(
        _ position: Int64,
        of body: ChunkedBody
    ) throws(StoreError) -> [UInt8] {
        let bytes: [UInt8]? =
            switch body.file {
            case .cache:
                try reading { file throws(StoreError) in try readChunk(position, of: body, file) }
            case .state: try keptReader().chunk(position, of: body)
            }
        guard let bytes else { throw .badChunk }
        return bytes
    }
}

extension ChunkedBody {
    /// Whether its bytes may be others' by now, although the row was read in this transaction.
    package var isReplaceable: Bool { file == .state }
}
