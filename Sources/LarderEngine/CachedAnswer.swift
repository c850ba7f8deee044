import LarderModel
import LarderStore
import LarderWire

/// What is shown under an id, read on the loop; a body too large for that follows later.
struct CachedAnswer {
    /// As it is shown: the view.
    let entry: Entry
    /// What its origin can be asked to confirm: the base, where that is an answer.
    let known: Entry?
    let body: Body
    /// Where the body stands in chunks.
    let chunks: ChunkedBody?
    /// The body that effects made.
    private(set) var made: [UInt8]?
    private(set) var overlay = Overlay.none

    enum Body {
        case ready(FrameBody)
        /// JSON that stands in chunks and has to be read off the loop.
        case chunked(ChunkedBody)
    }

    /// Reads what an id shows; nil for a miss.
    init?(
        _ reader: StoreReader,
        _ scope: ScopeKey,
        _ id: EntryID,
        now: Timestamp
    ) throws(StoreError) {
        guard let target = try reader.target(scope, id) else {
            try self.init(base: reader, scope, id, now: now)
            let failed = try reader.deadLetters(scope, id)
            if failed > 0 { overlay = Overlay(pending: [], failed: failed, isComplete: true) }
            return
        }
        let shown = try ShownEntry(id, target, in: scope, reader)
        guard let entry = shown.entry else { return nil }
        if let made = shown.bytes {
            let body = FrameBody(entry, in: scope.scope, bytes: made)
            self.init(entry, .ready(body), known: target.base.entry)
            self.made = made
        } else {
            try self.init(base: reader, scope, id, now: now)
        }
        overlay = shown.overlay
    }

    /// Reads an id's row, whatever modifiers make of it; nil when there is none.
    init?(
        base reader: StoreReader,
        _ scope: ScopeKey,
        _ id: EntryID,
        now: Timestamp
    ) throws(StoreError) {
        let read = try reader.withEntry(scope, id, now: now) { row -> CachedAnswer? in
            guard let entry = row.entry() else { return nil }
            guard let chunked = row.chunkedBody else {
                let bytes = row.withBody { Array($0) }
                let body = FrameBody(entry, in: scope.scope, bytes: bytes)
                return CachedAnswer(entry, .ready(body), known: entry)
            }
            guard entry.body.isJSON else {
                let body = FrameBody(entry, in: scope.scope, bytes: nil)
                return CachedAnswer(entry, .ready(body), known: entry, chunks: chunked)
            }
            return CachedAnswer(entry, .chunked(chunked), known: entry, chunks: chunked)
        }
        guard let found = read, let answer = found else { return nil }
        self = answer
    }

    private init(_ entry: Entry, _ body: Body, known: Entry?, chunks: ChunkedBody? = nil) {
        self.entry = entry
        self.known = known.flatMap { $0.kind == .fetched ? $0 : nil }
        self.body = body
        self.chunks = chunks
    }

    /// The exact bytes where they are at hand.
    var readyBytes: [UInt8]? {
        guard case .ready(let body) = body else { return nil }
        switch body {
        case .json(let bytes), .bytes(let bytes): return bytes
        case .href: return nil
        }
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
