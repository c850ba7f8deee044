import LarderModel

extension Entry {
    /// What the row counts against the budget: body, ids, headers and a fixed overhead for the row
    /// and for each chunk.
    ///
    /// Exact, in that it is a function of what the row holds.
    func rowSize(in scope: ScopeKey, isChunked: Bool) -> Int64 {
        var bytes = Limits.rowOverheadBytes + scope.text.utf8.count + id.text.utf8.count
        bytes += (origin?.text.utf8.count ?? 0) + (mediaType?.utf8.count ?? 0)
        bytes += (etag?.utf8.count ?? 0) + (lastModified?.utf8.count ?? 0) + headers.byteCount
        bytes += body.byteCount
        if isChunked { bytes += Self.chunkCount(body.byteCount) * Limits.chunkOverheadBytes }
        return Int64(bytes)
    }

    /// Every chunk but the last is full.
    private static func chunkCount(_ bytes: Int) -> Int {
        (bytes + Limits.inlineBodyBytesMax - 1) / Limits.inlineBodyBytesMax
    }
}

extension CacheWriter.FoundRow {
    /// Whether the row has the bytes that an entry brings.
    func matches(_ entry: Entry) -> Bool {
        kind == entry.kind && byteCount == entry.body.byteCount && digest == entry.body.digest
    }
}
