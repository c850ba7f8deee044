import LarderModel
import LarderNormalize
import LarderStore
import LarderWire

/// An ``EntryView`` for use after its read.
///
/// Its bytes are copied, except those in chunks, which follow later.
struct ShownAnswer: Sendable {
    enum Body: Sendable {
        case bytes([UInt8])
        case chunks(ChunkedBody)
    }

    var entry: Entry
    /// The answer that the origin can be asked to confirm; nil if base is not an answer.
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

    /// The answer that the network has just given, with the overlay of modifiers.
    init(_ entry: Entry, _ bytes: [UInt8], _ overlay: Overlay = .none, in place: ScopeKey) {
        (self.entry, self.overlay, self.source, self.place) = (entry, overlay, .network, place)
        (known, body, isNormalized) = (nil, .bytes(bytes), false)
    }

    /// A copy of a row; nil if the row cannot be read.
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

    /// The body to print; nil if it is gone meanwhile.
    ///
    /// With `asItIs` it is always the body, otherwise only as far as a frame shows it.
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

extension EngineContext {
    /// Reads what a client sees, on the event loop that owns `loop`, or off it if that takes long.
    func look<Value: Sendable>(
        as scope: ScopeKey,
        on loop: StoreReader? = nil,
        _ work: @escaping @Sendable (inout EntryReader) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        let now = clock.now()
        let read: @Sendable (StoreReader) throws(StoreError) -> Value = {
            [self] reader throws(StoreError) in
            var look = EntryReader(context: self, scope: scope, reader: reader, now: now)
            return try work(&look)
        }
        guard let loop else { return try await store.read(read) }
        return try await store.read(on: loop, read)
    }
}

extension EntryReader {
    /// Reads the view of an id, for use after the read; nil for a miss.
    func answer(
        of id: EntryID,
        in lookupScopes: LookupScopes? = nil
    ) throws(StoreError) -> ShownAnswer? {
        try view(of: id, in: lookupScopes) { row, _ in ShownAnswer.copy(row) }
            .flatMap(ShownAnswer.init)
    }
}

extension Entries {
    /// The view of an id, read on the event loop, or off it if that takes long; nil for a miss.
    func answer(
        _ lookupScopes: LookupScopes,
        _ id: EntryID,
        on loop: StoreReader,
        isPartial: Bool = false
    ) async throws(StoreError) -> ShownAnswer? {
        try await context.look(as: lookupScopes.own, on: loop) { look throws(StoreError) in
            look.isPartial = isPartial
            return try look.answer(of: id, in: lookupScopes)
        }
    }
}

/// The network's answer as one client sees it, with its own modifiers applied.
enum NetworkView {
    case current(ShownAnswer)
    case deleted(DeletedFrame)
    case failed(FetchFailure)
    case gone
}

struct NetworkResultReader {
    let context: EngineContext
    let request: FetchRequest
    let scope: ScopeKey
    let cached: ShownAnswer?
    private var entries: Entries { Entries(context: context) }

    /// The view of one client on the outcome of a flight.
    ///
    /// Bytes that the client has seen already keep the revision that it knows.
    ///
    /// Throws if the client's own modifiers cannot be read: without them, they would look as if
    /// they were gone.
    func view(
        of outcome: FlightOutcome,
        _ reader: StoreReader
    ) async throws(StoreError) -> NetworkView {
        let said: NetworkView
        switch outcome {
        case .current(let answer): return try await view(of: answer, reader)
        case .deleted(_, let status, let words?, _) where request.quotesOrigin:
            said = .failed(.refused(words, .gone(request.url, status: status)))
        case .deleted(let revision, let status, _, _):
            said = .deleted(DeletedFrame(revision: revision, status: status))
        case .failed(let problem): said = .failed(.problem(problem))
        case .refused(_, let problem)
        where problem.kind == .redirectRefused && !request.quotesOrigin:
            said = .failed(.problem(problem))
        case .refused(let refusal, let problem): said = .failed(.refused(refusal, problem))
        case .passed(let head): said = .failed(.passed(head))
        }
        guard let id = request.command.id, context.isTargeted(scope, id),
            let row = try await entries.answer(context.lookupScopes(scope, request), id, on: reader)
        else { return said }
        if row.isDeletedByModifier { return deleted(row) }
        guard case .deleted = outcome, row.entry.kind != .tombstone else { return said }
        return .current(known(row))
    }

    private func view(
        of answer: FlightAnswer,
        _ reader: StoreReader
    ) async throws(StoreError) -> NetworkView {
        let (id, scope) = (answer.entry.id, scope)
        let isTargeted = context.isTargeted(scope, id)
        let came = answer.bytes.map { ShownAnswer(answer.entry, $0, in: scope) }
        if !answer.isKept, !answer.isOvertaken, let bytes = answer.bytes {
            return try await view(ofUnstored: answer.entry, bytes, reader)
        }
        if !isTargeted, !answer.isNormalized, !answer.isOvertaken, answer.lateSince == nil {
            if let came { return .current(await marked(came, reader)) }
            if var cached, cached.entry.revision == answer.entry.revision {
                (cached.entry, cached.source) = (answer.entry, .network)
                return .current(cached)
            }
        }
        let (lookupScopes, isPartial) = (context.lookupScopes(scope, request), request.isPartial)
        let row = try await entries.answer(lookupScopes, id, on: reader, isPartial: isPartial)
        guard let row else {
            guard let bytes = answer.bytes else { return .gone }
            let home = answer.isOvertaken ? lookupScopes.shared ?? lookupScopes.own : nil
            return try await view(ofUnstored: answer.entry, bytes, knownIn: home, reader)
        }
        if let since = answer.lateSince, let came, !isTargeted, row.entry.revision <= since {
            // The answer of the later request is not written yet.
            return .current(await marked(came, reader))
        }
        return row.entry.kind == .tombstone ? deleted(row) : .current(known(row))
    }

    /// The view of an answer that the store does not have: what came, with the client's own
    /// modifiers of the answer and of its entities.
    ///
    /// With `home`, writes have overtaken the answer: what is known of its entities there stays
    /// (case 8).
    private func view(
        ofUnstored entry: Entry,
        _ bytes: [UInt8],
        knownIn home: ScopeKey? = nil,
        _ reader: StoreReader
    ) async throws(StoreError) -> NetworkView {
        let split = try await split(of: entry, bytes, always: home != nil)
        guard split != nil || context.isTargeted(scope, entry.id) else {
            return .current(await marked(ShownAnswer(entry, bytes, in: scope), reader))
        }
        let view = try await context.look(as: scope, on: reader) { look throws(StoreError) in
            try look.reader.inConsistentSnapshot { () throws(StoreError) -> NetworkView in
                try NetworkView(entry, bytes, split, knownIn: home, look)
            }
        }
        guard case .current(let answer) = view else { return view }
        return .current(known(answer))
    }

    /// The entities of an answer; without `always`, nil if the client's own modifiers target none
    /// of them.
    private func split(
        of entry: Entry,
        _ bytes: [UInt8],
        always: Bool
    ) async throws(StoreError) -> Split? {
        let (origin, url, modifiers) = (request.origin, request.url, context.store.modifiers)
        guard request.normalizes, always || modifiers.hasTargets, entry.body.isJSON,
            let rules = context.origins.entityRules[origin.name], let path = origin.path(of: url)
        else { return nil }
        let splitter = Splitter(rules, bodyBytesMax: Limits.normalizedBodyBytesMax)
        let outcome = try await context.splitting.pass { () async throws(StoreError) in
            try await context.store.work(onBytes: bytes.count) {
                splitter.split(bytes, path: path, query: url.query)
            }
        }
        guard case .split(let split) = outcome else { return nil }
        let ids = split.keys.lazy.map { EntryID(EntityName($0, of: origin.name)) }
        return always || ids.contains { modifiers.isTarget(scope, $0) } ? split : nil
    }

    /// The answer with the dead letters of its target; without them where they cannot be read.
    private func marked(_ came: ShownAnswer, _ reader: StoreReader) async -> ShownAnswer {
        var answer = came
        let id = came.entry.id
        answer.overlay.failed = (try? reader.targets.failures(scope, id)) ?? 0
        guard answer.overlay.failed > 0 else { return answer }
        let counted = answer.overlay
        let marked = try? await context.look(as: scope, on: reader) { look throws(StoreError) in
            try RowMarks(look: look).marked(counted, of: id, nil)
        }
        answer.overlay = marked ?? counted
        return answer
    }

    private func deleted(_ row: ShownAnswer) -> NetworkView {
        var frame = row.deletion
        if frame.source != .modifier { frame.source = .network }
        return .deleted(frame)
    }

    private func known(_ row: ShownAnswer) -> ShownAnswer {
        var answer = row
        if row.source != .modifier { answer.source = .network }
        if let cached, cached.entry.body == row.entry.body {
            answer.entry.revision = cached.entry.revision
        }
        return answer
    }
}

extension NetworkView {
    /// Applies a client's modifiers to an answer that is not stored.
    ///
    /// That answer is what the origin said last, whatever base says. `split` has its entities if
    /// modifiers target any of them.
    fileprivate init(
        _ entry: Entry,
        _ bytes: [UInt8],
        _ split: Split?,
        knownIn home: ScopeKey?,
        _ look: EntryReader
    ) throws(StoreError) {
        let (scope, reader) = (look.scope, look.reader)
        var (entry, bytes, below) = (entry, bytes, Overlay.none)
        if let split {
            switch try reader.answers.rebuilt(
                unstored: entry,
                split,
                for: scope,
                knownIn: home,
                now: look.now
            ) {
            case .shown(let shown)?:
                (entry, bytes) = (shown.entry, shown.answer.bytes)
                below = Overlay(shown.pending, missing: shown.answer)
            case .deleted(let tombstone, _, let isByModifier)?:
                self = .deleted(
                    DeletedFrame(
                        source: isByModifier ? .modifier : .network,
                        revision: tombstone.revision,
                        status: tombstone.status
                    )
                )
                return
            case .missing?, nil:
                self = .gone
                return
            }
        }
        var changes = try reader.targets.changes(ofVariant: entry.id, scope)
        if changes == nil { changes = try reader.targets.target(scope, entry.id)?.changes }
        let base = TargetBase.value(entry, entry.body.isJSON ? bytes : nil)
        let shown = try ShownEntry(entry.id, base, changes ?? [], look)
        guard let view = shown.entry, view.kind != .tombstone else {
            self = .deleted(
                DeletedFrame(
                    source: shown.isMade ? .modifier : .network,
                    revision: shown.entry?.revision ?? entry.revision,
                    status: shown.entry?.status ?? 404
                )
            )
            return
        }
        let body = shown.bytes ?? bytes
        let isJSON = view.body.isJSON
        let marks = RowMarks(look: look)
        let overlay = try marks.marked(
            shown.overlay.adding(below),
            of: entry.id,
            isJSON ? body : nil
        )
        self = .current(ShownAnswer(view, body, overlay, in: scope))
    }
}
