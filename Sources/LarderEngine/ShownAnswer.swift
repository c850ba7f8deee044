import LarderModel
import LarderStore
import LarderWire

/// An ``EntryView`` that is shown behind its read: its bytes are copied out, but for those in chunks,
/// which follow later.
struct ShownAnswer: Sendable {
    enum Body: Sendable {
        case bytes([UInt8])
        case chunks(ChunkedBody)
    }

    var entry: Entry
    /// What its origin can be asked to confirm: the base, where that is an answer.
    let known: Entry?
    var body: Body
    var overlay: Overlay
    var source: AnswerSource
    let isNormalized: Bool
    let place: ScopeKey

    /// Nil for a row that cannot be read.
    init?(_ view: EntryView<(Entry, Body)?>) {
        (place, source, overlay) = (view.place, view.source, view.overlay)
        isNormalized = view.isNormalized
        var known = view.known
        switch view.content {
        case .row(nil): return nil
        case .row((let entry, let body)?):
            (self.entry, self.body) = (entry, body)
            known = entry
        case .made(let entry, let bytes): (self.entry, body) = (entry, .bytes(bytes))
        case .deleted(let entry): (self.entry, body) = (entry, .bytes([]))
        }
        self.known = known.flatMap { $0.kind == .fetched ? $0 : nil }
    }

    /// What the network has just said, with what modifiers add to it.
    init(_ entry: Entry, _ bytes: [UInt8], _ overlay: Overlay = .none, in place: ScopeKey) {
        (self.entry, self.overlay, self.source, self.place) = (entry, overlay, .network, place)
        (known, body, isNormalized) = (nil, .bytes(bytes), false)
    }

    /// What is copied of a row; nil for one that cannot be read.
    static func copy(_ row: borrowing EntryRow) -> (Entry, Body)? {
        guard let entry = row.entry() else { return nil }
        let body = row.chunkedBody.map { Body.chunks($0) }
        return (entry, body ?? .bytes(row.withBody { Array($0) }))
    }

    var deletion: DeletedFrame {
        DeletedFrame(source: source, revision: entry.revision, status: entry.status)
    }

    var isDeletedByModifier: Bool { entry.kind == .tombstone && source == .modifier }

    /// The whole body; nil where it is gone meanwhile.
    func bytes(_ store: Store, now: Timestamp) async throws(StoreError) -> [UInt8]? {
        switch body {
        case .bytes(let bytes): bytes
        case .chunks(let chunks):
            try await store.bodies.whole(chunks, of: place, entry.id, now: now)
        }
    }

    /// The body to be printed: with `asItIs` whatever it is, else as far as a frame shows it; nil
    /// where it is gone meanwhile.
    func open(
        _ store: Store,
        asItIs: Bool,
        now: Timestamp
    ) async throws(StoreError) -> RawAnswer.Body? {
        guard case .chunks(let chunks) = body, asItIs || !entry.body.isJSON else {
            return try await bytes(store, now: now).map { .bytes($0) }
        }
        guard asItIs else { return .empty }
        return try await store.bodies.open(chunks, of: place, entry.id, now: now)
            .map { .stored($0) }
    }

    /// The chunks that a frame shows as JSON.
    var chunkedJSON: ChunkedBody? {
        guard case .chunks(let chunks) = body, entry.body.isJSON else { return nil }
        return chunks
    }
}

extension EntryReader {
    /// Reads what the client sees under an id, to be shown behind the read; nil for a miss.
    func answer(of id: EntryID, in sight: Sight? = nil) throws(StoreError) -> ShownAnswer? {
        try view(of: id, in: sight) { row, _ in ShownAnswer.copy(row) }
            .flatMap(ShownAnswer.init)
    }
}

extension Entries {
    /// What a client sees under an id, read on its event loop, or off it where that is long; nil for a
    /// miss.
    func answer(
        _ sight: Sight,
        _ id: EntryID,
        on loop: StoreReader,
        isPartial: Bool = false
    ) async throws(StoreError) -> ShownAnswer? {
        let now = clock.now()
        return try await store.read(on: loop) { [context] reader throws(StoreError) in
            var look = EntryReader(context: context, scope: sight.own, reader: reader, now: now)
            look.isPartial = isPartial
            return try look.answer(of: id, in: sight)
        }
    }
}
