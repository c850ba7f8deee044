import LarderModel
import LarderStore
import LarderWire

/// What the network says as a client sees it: with what its own modifiers make of it.
enum NetworkView {
    case current(ShownAnswer)
    case deleted(DeletedFrame)
    case failed(FetchFailure)
    case gone
}

struct NetworkLook {
    let context: EngineContext
    let request: FetchRequest
    let scope: ScopeKey
    let cached: ShownAnswer?
    private var entries: Entries { Entries(context: context) }

    /// What a client sees of what a flight came to.
    ///
    /// Bytes that it has seen already keep the revision that it knows. Where the client's own
    /// modifiers cannot be read, what is shown without them would look as if they were gone.
    func view(
        of outcome: FlightOutcome,
        _ reader: StoreReader
    ) async throws(StoreError) -> NetworkView {
        let said: NetworkView
        switch outcome {
        case .current(let answer): return try await view(of: answer, reader)
        case .deleted(let revision, let status):
            said = .deleted(DeletedFrame(revision: revision, status: status))
        case .failed(let problem): said = .failed(.problem(problem))
        case .refused(let refusal, let problem): said = .failed(.refused(refusal, problem))
        case .passed(let head): said = .failed(.passed(head))
        }
        guard let id = try? EntryID(request.url), context.isTargeted(scope, id),
            let row = try await entries.answer(context.sight(scope, request), id, on: reader)
        else { return said }
        if row.isDeletedByModifier { return deleted(row) }
        guard case .deleted = said, row.entry.kind != .tombstone else { return said }
        return .current(known(row))
    }

    private func view(
        of answer: FlightAnswer,
        _ reader: StoreReader
    ) async throws(StoreError) -> NetworkView {
        let (id, scope) = (answer.entry.id, scope)
        let isTargeted = context.isTargeted(scope, id)
        let came = answer.bytes.map { ShownAnswer(answer.entry, $0, in: scope) }
        if !isTargeted, !answer.isNormalized {
            if var came {
                came.overlay.failed = (try? reader.targets.failures(scope, id)) ?? 0
                return .current(came)
            }
            if var cached, cached.entry.revision == answer.entry.revision {
                (cached.entry, cached.source) = (answer.entry, .network)
                return .current(cached)
            }
        }
        if isTargeted, !answer.isKept, let bytes = answer.bytes {
            let view = try await context.store.read(on: reader) { reader throws(StoreError) in
                try NetworkView(answer.entry, bytes, in: scope, reader)
            }
            guard case .current(let answer) = view else { return view }
            return .current(known(answer))
        }
        let (sight, isPartial) = (context.sight(scope, request), request.isPartial)
        let row = try await entries.answer(sight, id, on: reader, isPartial: isPartial)
        guard let row else { return came.map { .current($0) } ?? .gone }
        return row.entry.kind == .tombstone ? deleted(row) : .current(known(row))
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
    /// What a client's modifiers make of an answer that is not kept: it is what the origin said last,
    /// whatever base says.
    fileprivate init(
        _ entry: Entry,
        _ bytes: [UInt8],
        in scope: ScopeKey,
        _ reader: StoreReader
    ) throws(StoreError) {
        var changes = try reader.targets.changes(ofVariant: entry.id, scope)
        if changes == nil { changes = try reader.targets.target(scope, entry.id)?.changes }
        let base = TargetBase.value(entry, entry.body.isJSON ? bytes : nil)
        let shown = try ShownEntry(entry.id, base, changes ?? [], in: scope, reader)
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
        self = .current(ShownAnswer(view, shown.bytes ?? bytes, shown.overlay, in: scope))
    }
}
