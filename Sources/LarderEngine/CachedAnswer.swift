import LarderJSON
import LarderModel
import LarderNormalize
import LarderStore
import LarderWire

/// An ``EntryView`` that is shown behind its read: its bytes are copied out, but for a body too large
/// for that, which follows later.
struct CachedAnswer {
    /// As it is shown: the view.
    let entry: Entry
    /// What its origin can be asked to confirm: the base, where that is an answer.
    let known: Entry?
    let body: Body
    /// Where the body stands in chunks.
    let chunks: ChunkedBody?
    /// The body that effects made, or that of a normalized answer.
    let made: [UInt8]?
    let overlay: Overlay
    let source: AnswerSource
    /// Whether it is kept normalized.
    let isNormalized: Bool
    /// Where the row stands.
    let place: ScopeKey

    enum Body {
        case ready(FrameBody)
        /// JSON that stands in chunks and has to be read off the loop.
        case chunked(ChunkedBody)
    }

    /// A row that is shown as it lies, copied out; nil for one that cannot be read.
    private struct Row {
        let entry: Entry
        let body: Body
        let chunks: ChunkedBody?

        init?(_ row: borrowing EntryRow, for scope: Scope) {
            guard let entry = row.entry() else { return nil }
            self.entry = entry
            chunks = row.chunkedBody
            if let chunks {
                body =
                    entry.body.isJSON
                    ? .chunked(chunks) : .ready(FrameBody(entry, in: scope, bytes: nil))
            } else {
                body = .ready(FrameBody(entry, in: scope, bytes: row.withBody { Array($0) }))
            }
        }
    }

    /// Reads what a client sees under an id, to be shown behind the read; nil for a miss.
    ///
    /// With `isPartial` a normalized answer is shown also where entities of it were evicted.
    init?(
        _ context: EngineContext,
        _ reader: StoreReader,
        _ sight: Sight,
        _ id: EntryID,
        now: Timestamp,
        isPartial: Bool = false
    ) throws(StoreError) {
        let scope = sight.own.scope
        let read = try context.view(
            of: id,
            for: sight.own,
            in: sight,
            reader,
            now: now,
            isPartial: isPartial
        ) { row, _, _ in Row(row, for: scope) }
        guard let view = read.view else { return nil }
        (place, source, overlay) = (view.place, view.source, view.overlay)
        isNormalized = view.isNormalized
        let known: Entry?
        switch view.content {
        case .row(nil): return nil
        case .row(let row?):
            (entry, body, chunks, made) = (row.entry, row.body, row.chunks, nil)
            known = row.entry
        case .made(let entry, let bytes):
            let body = FrameBody(entry, in: scope, bytes: bytes)
            (self.entry, self.body, chunks, made) = (entry, .ready(body), nil, bytes)
            known = view.known
        case .deleted(let entry):
            (self.entry, body, chunks, made) = (entry, .ready(.bytes([])), nil, nil)
            known = view.known
        }
        self.known = known.flatMap { $0.kind == .fetched ? $0 : nil }
    }

    /// Whether a modifier deletes it that is not settled.
    var isDeletedByModifier: Bool { entry.kind == .tombstone && source == .modifier }

    /// The exact bytes where they are at hand.
    var readyBytes: [UInt8]? {
        guard case .ready(let body) = body else { return nil }
        switch body {
        case .json(let bytes), .bytes(let bytes): return bytes
        case .href: return nil
        }
    }

    /// The body as it stands in a frame for a client; nil when its row is gone meanwhile.
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
                let reader = try await store.openBody(chunked, of: place, entry.id, now: now)
            else { return nil }
            var bytes: [UInt8] = []
            bytes.reserveCapacity(entry.body.byteCount)
            while let chunk = try await reader.next() { bytes += chunk }
            return FrameBody(entry, in: scope.scope, bytes: bytes)
        }
    }
}
