import LarderModel

/// What must not be lost: commands over both files (``StoreWriter``), as those see them who wait.
struct StoreCommands: Sendable {
    let file: StateFile
    let shared: SharedCacheState
    let bodies: BodyStore
    /// By which the conditions of writes are looked at.
    let readers: StoreReaders
    /// That of `cache.db`.
    let cachePath: String

    // MARK: Commands

    /// Carries a command out; where `cache.db` cannot be used, once more without it, for what is
    /// claimed.
    ///
    /// One that may be carried out twice is so where `cache.db` could not commit its part.
    func submit<Value: Sendable>(
        isRepeatable: Bool = false,
        promotes: Bool = false,
        _ command: @escaping @Sendable (StoreWriter) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        do throws(StoreError) {
            return try await file.commits.submit(
                isRepeatable: isRepeatable,
                promotes: promotes,
                command
            )
        } catch {
            guard isOfCache(error), !shared.claims.isEmpty else { throw error }
            do throws(StoreError) {
                return try await file.commits.submit { writer throws(StoreError) in
                    try writer.leavingOutCache { () throws(StoreError) in try command(writer) }
                }
            } catch .noFile {
                // It does not do without.
                throw error
            }
        }
    }

    /// Whether it is `cache.db` that has failed.
    private func isOfCache(_ error: StoreError) -> Bool {
        switch error {
        case .noFile, .noRoom, .keyTaken, .tooLarge, .uploadLost: true
        case _: error.file == cachePath
        }
    }

    /// Carries out a command that reads what is to be a base; where the file that had it is gone for
    /// good, once more without it.
    ///
    /// One that only cannot be read now has the row still, which nobody may take for unknown: it would
    /// be taken away as soon as it can be read again.
    func withCache<Value: Sendable>(
        _ command: @escaping @Sendable (StoreWriter) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        let before = shared.generation
        var failure = StoreError.closed
        // The fault of a moment is not worth a refusal.
        for _ in 0..<2 {
            do throws(StoreError) {
                return try await file.commits.submit(promotes: true, command)
            } catch {
                guard isOfCache(error) else { throw error }
                failure = error
            }
        }
        let isGone = try await file.commits.outsideTransaction { writer throws(StoreError) in
            writer.files.cache.isGone
        }
        let now = shared.generation
        if isGone || now.hasFile && now != before {
            return try await file.commits.submit { writer throws(StoreError) in
                try writer.leavingOutCache { () throws(StoreError) in try command(writer) }
            }
        }
        switch failure {
        case .sqlite, .corrupt:
            throw .noFile(reason: "what it changes cannot be read, \(failure.message)")
        case _: throw failure
        }
    }

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
                try await submit(
                    isRepeatable: isRepeatable && condition == nil,
                    promotes: !shared.claims.isEmpty
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

    /// See ``Pinning/hide(_:_:)``; throws while `cache.db` cannot commit.
    func hide(_ scope: ScopeKey, _ id: EntryID) async throws(StoreError) {
        try await file.commits.submit { writer throws(StoreError) in
            try writer.pinning.hide(scope, id)
        }
    }

    /// Carries out what shrinks `state.db` or settles what is under way.
    func settling<Value: Sendable>(
        _ command: @escaping @Sendable (StoreWriter) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        try await file.settling { () async throws(StoreError) in try await submit(command) }
    }

    /// Reads off the event loops; ``Reading/current`` says for whom.
    func read<Value: Sendable>(
        _ work: @escaping @Sendable (StoreReader) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        try await readers.read(.current, work)
    }
}
