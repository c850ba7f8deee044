import LarderModel

extension Entry {
    /// What the row counts against the budget: body, ids, headers and a fixed overhead for the row
    /// and for each chunk; a function of what the row holds.
    func rowSize(in scope: ScopeKey, isChunked: Bool) -> Int64 {
        let overhead = isChunked ? ChunkedBody.overhead(of: body.byteCount) : 0
        return rowSize(in: scope, dataBytes: body.byteCount + overhead)
    }

    func rowSize(in scope: ScopeKey, dataBytes: Int) -> Int64 {
        var bytes = Limits.rowOverheadBytes + scope.text.utf8.count + id.text.utf8.count
        bytes += (origin?.text.utf8.count ?? 0) + (mediaType?.utf8.count ?? 0)
        bytes += (etag?.utf8.count ?? 0) + (lastModified?.utf8.count ?? 0) + headers.byteCount
        return Int64(bytes + dataBytes)
    }
}

extension CachedRows.Row {
    /// Whether the row has the bytes that an entry brings; a normalized one may show others by now.
    func matches(_ entry: Entry) -> Bool {
        kind == entry.kind && byteCount == entry.body.byteCount && digest == entry.body.digest
            && skeleton == nil
    }
}
