import LarderJSON
import LarderModel
import LarderNormalize
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
    /// The body that effects made, or that of a normalized answer.
    private(set) var made: [UInt8]?
    private(set) var overlay = Overlay.none
    /// Whether it is kept normalized.
    private(set) var isNormalized = false
    /// Where the row stands.
    let place: ScopeKey

    enum Body {
        case ready(FrameBody)
        /// JSON that stands in chunks and has to be read off the loop.
        case chunked(ChunkedBody)
    }

    /// Reads what an id shows; nil for a miss.
    ///
    /// With `isPartial` a normalized answer is shown also where entities of it were evicted.
    init?(
        _ reader: StoreReader,
        _ sight: Sight,
        _ id: EntryID,
        now: Timestamp,
        isPartial: Bool = false
    ) throws(StoreError) {
        let scope = sight.own
        guard let target = try reader.target(scope, id) else {
            try self.init(base: reader, sight, id, now: now, isPartial: isPartial)
            let failed = try reader.deadLetters(scope, id)
            overlay.failed += failed
            return
        }
        let base = target.base(in: scope, reader, now: now)
        let shown = try ShownEntry(id, base.value, target.changes, in: scope, reader)
        guard let entry = shown.entry else { return nil }
        if let made = shown.bytes {
            let body = FrameBody(entry, in: scope.scope, bytes: made)
            self.init(entry, .ready(body), known: base.known, in: scope)
            self.made = made
        } else {
            try self.init(base: reader, Sight(scope), id, now: now)
        }
        overlay = base.overlay.map(shown.overlay.adding) ?? shown.overlay
    }

    /// Reads an id's row, whatever modifiers make of it; nil when there is none.
    init?(
        base reader: StoreReader,
        _ sight: Sight,
        _ id: EntryID,
        now: Timestamp,
        isPartial: Bool = false
    ) throws(StoreError) {
        for place in sight.scopes {
            let found = try reader.shownRow(
                place,
                id,
                for: .view(of: sight.own),
                now: now,
                isPartial: isPartial
            ) { row in CachedAnswer(row, in: place, for: sight.own.scope) }
            guard let found else { continue }
            let answer: CachedAnswer? =
                switch found {
                case .whole(let answer): answer
                case .normalized(let rebuilt, let came):
                    CachedAnswer(came, rebuilt, in: place, for: sight.own.scope)
                }
            guard let answer else { return nil }
            self = answer
            return
        }
        return nil
    }

    /// Nil for a miss, of which nothing is shown and its validators are not asked with.
    private init?(_ came: Entry, _ rebuilt: Rebuilt, in place: ScopeKey, for scope: Scope) {
        switch rebuilt {
        case .shown(let shown):
            let bytes = shown.answer.bytes
            let body = FrameBody(shown.entry, in: scope, bytes: bytes)
            // A 304 would confirm the bytes that came, and not those that are shown.
            let isAsItCame = shown.entry.body.digest == came.body.digest
            self.init(shown.entry, .ready(body), known: isAsItCame ? came : nil, in: place)
            made = bytes
            overlay = Overlay(shown)
            isNormalized = true
        case .deleted(let tombstone):
            self.init(tombstone, .ready(.bytes([])), known: nil, in: place)
        case .missing:
            return nil
        }
    }

    private init?(_ row: borrowing EntryRow, in place: ScopeKey, for scope: Scope) {
        guard let entry = row.entry() else { return nil }
        guard let chunked = row.chunkedBody else {
            let bytes = row.withBody { Array($0) }
            let body = FrameBody(entry, in: scope, bytes: bytes)
            self.init(entry, .ready(body), known: entry, in: place)
            return
        }
        guard entry.body.isJSON else {
            let body = FrameBody(entry, in: scope, bytes: nil)
            self.init(entry, .ready(body), known: entry, in: place, chunks: chunked)
            return
        }
        self.init(entry, .chunked(chunked), known: entry, in: place, chunks: chunked)
    }

    /// An entity under its own URL, of which no answer is cached.
    init(_ entry: Entry, _ shown: ShownEntity, in place: ScopeKey) {
        let body = FrameBody(entry, in: place.scope, bytes: shown.bytes)
        self.init(entry, .ready(body), known: nil, in: place)
        made = shown.bytes
        overlay = shown.overlay
        isNormalized = true
    }

    private init(
        _ entry: Entry,
        _ body: Body,
        known: Entry?,
        in place: ScopeKey,
        chunks: ChunkedBody? = nil
    ) {
        self.entry = entry
        self.place = place
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

extension Target {
    /// What its effects are applied to: where its answer is of entities, with these as they are now;
    /// with it what an origin may be asked to confirm, and what is to be said of those.
    func base(
        in scope: ScopeKey,
        _ reader: StoreReader,
        now: Timestamp
    ) -> (value: KeptBase, known: Entry?, overlay: Overlay?) {
        guard case .value(let entry, _?) = base,
            let shown = reader.rebuiltMirror(of: entry, scope, for: .view(of: scope), now: now)
        else { return (base, base.entry, nil) }
        let isAsItCame = shown.entry.body.digest == entry.body.digest
        return (
            .value(shown.entry, shown.answer.bytes), isAsItCame ? entry : nil, Overlay(shown)
        )
    }
}
