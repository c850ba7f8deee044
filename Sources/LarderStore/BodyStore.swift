package import LarderModel

/// Bodies that are too large for a row, as they come and as they are read; see ``BodyTable``.
package struct BodyStore: Sendable {
    let commands: StoreCommands
    private var cache: WriterPart<CacheWriter> { commands.cache }
    private var state: StateFile { commands.file }
    private var shared: SharedCacheState { commands.shared }

    /// Begins a body in the cache.
    package func begin() async throws(StoreError) -> UploadID {
        try await cache.submit { writer throws(StoreError) in try writer.beginUpload() }
    }

    /// Begins a body for an id that may be pinned, or with `isPinning` is about to be: it then comes
    /// into `state.db`, whether the cache has room for it or not.
    package func begin(
        for scope: ScopeKey,
        _ id: EntryID,
        isPinning: Bool = false
    ) async throws(StoreError) -> UploadID {
        guard isPinning || shared.claims.covers(scope, id) else { return try await begin() }
        let upload = try await state.queue.submit { writer throws(StoreError) -> UploadID? in
            guard !isPinning else { return try writer.beginUpload(scope, id, as: .pin) }
            guard let found = try writer.find(scope, id) else { return nil }
            // What did not fit is better off in the cache.
            if found.pin == .tooLarge, !found.isTargeted { return nil }
            return try writer.beginUpload(scope, id, as: .answer)
        }
        if let upload { return upload }
        return try await begin()
    }

    /// Adds the next chunk; every chunk but the last has ``Limits/inlineBodyBytesMax`` bytes.
    package func append(
        _ chunk: [UInt8],
        to upload: UploadID,
        now: Timestamp
    ) async throws(StoreError) {
        try await commands.carrier.append(chunk, to: upload, now: now)
    }

    /// Gives an upload up.
    ///
    /// It does not wait: its chunks go when the writer has time.
    package func abandon(_ upload: UploadID) {
        commands.carrier.abandon(.uploaded(upload))
    }

    /// A body that stays readable until ``BodyReader`` is gone, even if its row goes; nil when the
    /// row no longer names it.
    package func open(
        _ body: ChunkedBody,
        of scope: ScopeKey,
        _ id: EntryID,
        now: Timestamp
    ) async throws(StoreError) -> BodyReader? {
        let owner = owner(of: body, scope, id)
        let reader = BodyReader(
            body,
            leases: body.file == .cache ? shared.leases : state.leases,
            source: commands.readers.bodies,
            owner: owner
        )
        let isWhole = try await commands.readers.bodies.read {
            connection throws(StoreError) -> Bool? in
            defer { connection.endTransaction() }
            let found = try connection.withEntry(scope, id, now: now, isUse: false) { row in
                row.chunkedBody
            }
            return found == body ? try connection.isWhole(body) : nil
        }
        if isWhole == false {
            // It would be served cut short.
            shared.countDamagedRow()
            owner.drop()
        }
        return isWhole == true ? reader : nil
    }

    /// A body that an entry names, in one piece; nil when it was replaced.
    package func whole(
        _ body: ChunkedBody,
        of scope: ScopeKey,
        _ id: EntryID,
        now: Timestamp
    ) async throws(StoreError) -> [UInt8]? {
        guard let reader = try await open(body, of: scope, id, now: now) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(min(body.byteCount, Limits.inlineJSONBytesMax))
        while let chunk = try await reader.next() { bytes += chunk }
        return bytes
    }

    /// Takes what a damaged body belongs to away; it does not wait.
    package func drop(_ body: ChunkedBody, of scope: ScopeKey, _ id: EntryID) {
        owner(of: body, scope, id).drop()
    }

    private func owner(
        of body: ChunkedBody,
        _ scope: ScopeKey,
        _ id: EntryID
    ) -> BodyReader.Owner {
        switch body.file {
        case .cache:
            BodyReader.Owner(
                wake: { [cache] in cache.wake() },
                drop: { [cache] in cache.dropRow(of: body, scope, id) }
            )
        case .state:
            BodyReader.Owner(
                wake: { [state] in state.queue.wake() },
                drop: { [state] in state.dropDamaged(scope, id, body: body.number) }
            )
        }
    }

    /// The bytes of an entry that is about to be put, also where they stand in chunks by now.
    package func bytes(of new: NewEntry) async throws(StoreError) -> [UInt8] {
        switch new.body {
        case .inline(let bytes): return bytes
        case .uploaded(let upload):
            let body = ChunkedBody(
                number: upload.body,
                byteCount: new.entry.body.byteCount,
                file: upload.file
            )
            return try await commands.carrier.bytes(of: body)
        }
    }
}
