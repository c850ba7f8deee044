import LarderModel
import LarderStore
import LarderWire

/// What the cache has under an id, read on the loop; a body too large for that follows later.
struct CachedAnswer {
    let entry: Entry
    let body: Body
    /// Where the body stands in chunks.
    let chunks: ChunkedBody?

    enum Body {
        case ready(FrameBody)
        /// JSON that stands in chunks and has to be read off the loop.
        case chunked(ChunkedBody)
    }

    /// Reads an id's row; nil when there is none.
    init?(
        _ reader: StoreReader,
        _ scope: ScopeKey,
        _ id: EntryID,
        now: Timestamp
    ) throws(StoreError) {
        let read = try reader.withEntry(scope, id, now: now) { row -> CachedAnswer? in
            guard let entry = row.entry() else { return nil }
            guard let chunked = row.chunkedBody else {
                let bytes = row.withBody { Array($0) }
                return CachedAnswer(entry, .ready(FrameBody(entry, in: scope.scope, bytes: bytes)))
            }
            guard entry.body.isJSON else {
                let body = FrameBody(entry, in: scope.scope, bytes: nil)
                return CachedAnswer(entry, .ready(body), chunks: chunked)
            }
            return CachedAnswer(entry, .chunked(chunked), chunks: chunked)
        }
        guard let found = read, let answer = found else { return nil }
        self = answer
    }

    private init(_ entry: Entry, _ body: Body, chunks: ChunkedBody? = nil) {
        self.entry = entry
        self.body = body
        self.chunks = chunks
    }

    /// The body as it stands in a frame; nil when its row is gone meanwhile.
    func frameBody(
        _ store: CacheStore,
        _ scope: ScopeKey,
        now: Timestamp
    ) async throws(StoreError) -> FrameBody? {
        switch body {
        case .ready(let body):
            return body
        case .chunked(let chunked):
            guard entry.body.byteCount <= Limits.inlineJSONBytesMax,
                let reader = try await store.openBody(chunked, of: scope, entry.id, now: now)
            else { return nil }
            var bytes: [UInt8] = []
            bytes.reserveCapacity(entry.body.byteCount)
            while let chunk = try await reader.next() { bytes += chunk }
            return FrameBody(entry, in: scope.scope, bytes: bytes)
        }
    }
}
