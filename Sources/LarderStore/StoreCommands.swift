import LarderModel

/// What must not be lost: commands over both files (``StoreWriter``), as those see them who wait.
struct StoreCommands: Sendable {
    let file: StateFile
    let shared: SharedCacheState
    let bodies: BodyStore
    /// By which the conditions of writes are looked at.
    let readers: StoreReaders

    /// Carries out what may need large bodies copied first.
    func copying<Value: Sendable>(
        now: Timestamp,
        _ attempt: (CopiedBodies) async throws(StoreError) ->
            Entrance<Value>
    ) async throws(StoreError) -> Value {
        var copied: CopiedBodies = [:]
        // What a row names by now stays.
        defer { for copy in copied.values { abandon(copy) } }
        for _ in 0..<Limits.commandRoundsMax {
            switch try await attempt(copied) {
            case .done(let value): return value
            case .refused(let error): throw error
            case .needs(let large):
                for body in large { abandon(copied.removeValue(forKey: body.name)) }
                try await copy(large, into: &copied, now)
            }
        }
        throw .overloaded
    }

    /// Copies bodies and lets those go that are leased; one that is damaged is known as such.
    private func copy(
        _ large: [LargeBody],
        into copied: inout CopiedBodies,
        _ now: Timestamp
    ) async throws(StoreError) {
        defer {
            for body in large where body.isLeased {
                if shared.leases.giveBack(body.body.number) { bodies.wake() }
            }
        }
        for large in large {
            do throws(StoreError) {
                let upload = try await bodies.copy(large, now: now)
                copied[large.name] = (large.body, upload)
            } catch .badChunk {
                copied[large.name] = (large.body, nil)
            }
        }
    }

    private func abandon(_ copy: (source: ChunkedBody, upload: UploadID?)?) {
        if let upload = copy?.upload { bodies.abandon(upload) }
    }

    /// Carries a write out that hangs on what stands under its id.
    func conditionally<Value: Sendable>(
        _ condition: WriteCondition?,
        _ scope: ScopeKey,
        _ id: EntryID,
        _ now: Timestamp,
        isRepeatable: Bool = false,
        _ write:
            @escaping @Sendable (StoreWriter, CopiedBodies) throws(StoreError)
            -> Entrance<Value>
    ) async throws(StoreError) -> Value {
        for _ in 0..<Limits.commandRoundsMax {
            let seen = try await condition?.check(readers)
            let value = try await copying(now: now) {
                (copied) async throws(StoreError) -> Entrance<Value?> in
                // A row may come where its URL is.
                try await file.commits.submit(
                    isRepeatable: isRepeatable && condition == nil,
                    promotes: !shared.claims.isEmpty,
                    cache: .optional
                ) {
                    writer throws(StoreError) in
                    guard try writer.isStill(seen, scope, id) else { return .done(nil) }
                    return switch try write(writer, copied) {
                    case .done(let value): .done(value)
                    case .refused(let error): .refused(error)
                    case .needs(let large): .needs(large)
                    }
                }
            }
            if let value { return value }
        }
        throw .overloaded
    }

    /// Reads off the event loops; ``Reading/current`` says for whom.
    func read<Value: Sendable>(
        _ work: @escaping @Sendable (StoreReader) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        try await readers.read(.current, work)
    }
}
