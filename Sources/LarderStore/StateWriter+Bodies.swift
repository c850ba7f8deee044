import LarderModel

/// Bodies of kept rows that are too large for them, as those of `cache.db`: written in chunks that
/// no row names, linked by a put, unlinked when their row goes, and removed once nobody reads them.
extension StateWriter {
    /// Begins a body that is to replace that of an id's row, or to be a new one's.
    ///
    /// That of a pin counts while it comes; that of a target does not, as its base takes what the
    /// server says.
    func beginUpload(
        _ scope: ScopeKey,
        _ id: EntryID,
        as keeping: Keeping
    ) throws(StoreError) -> UploadID {
        let found = try find(scope, id)
        try statements.insertBody.run()
        let body = connection.lastInsertedRow
        guard Limits.bodies.contains(body) else {
            throw connection.damaged("number a body")
        }
        let pin = StateWriterState.Replacing(size: found?.pinnedSize ?? 0)
        let isOfPin = Self.hasToFit(found, as: keeping)
        state.uploads[body] = StateWriterState.Upload(pin: isOfPin ? pin : nil)
        return UploadID(body: body, file: .state)
    }

    /// Adds the next chunk; every chunk but the last has ``Limits/inlineBodyBytesMax`` bytes.
    func append(_ chunk: [UInt8], to upload: UploadID) throws(StoreError) {
        guard var progress = state.uploads[upload.body] else { throw .closed }
        let added = Int64(chunk.count + Limits.chunkOverheadBytes)
        if let pin = progress.pin {
            let uploaded = state.uploads.values.reduce(0) { $0 + ($1.pin == nil ? 0 : $1.size) }
            let total = state.pins.bytes - pin.size + uploaded + added
            guard total <= state.pins.maxBytes else {
                throw .pinsFull(bytes: progress.size + added, limit: state.pins.maxBytes)
            }
        }
        let statement = statements.insertChunk
        statement.bind(1, CacheWriter.chunkKey(upload.body, progress.chunks))
        statement.bind(2, chunk.withUnsafeBytes { Checksum.chunk($0) })
        statement.bind(3, chunk)
        try statement.run()
        progress.chunks += 1
        progress.size += added
        state.uploads[upload.body] = progress
    }

    /// Gives an upload up; its chunks go like those of a replaced body.
    func forget(_ upload: UploadID) {
        guard state.uploads.removeValue(forKey: upload.body) != nil else { return }
        state.unlinkedBodies.append(upload.body)
    }

    /// Marks an uploaded body as one that a row names.
    func link(_ body: NewBody) throws(StoreError) {
        switch body {
        case .inline: return
        case .uploaded(let upload):
            guard upload.file == .state,
                let progress = state.uploads.removeValue(forKey: upload.body)
            else { throw .closed }
            try setBody(upload.body, size: progress.size, isLinked: true)
        }
    }

    /// Marks a body as one that no row names; it is removed by a later transaction.
    ///
    /// A number that no body can have is a damaged row's, and names nothing.
    func unlink(body: Int64) throws(StoreError) {
        guard Limits.bodies.contains(body) else { return }
        try setBody(body, size: 0, isLinked: false)
        state.unlinkedBodies.append(body)
    }

    private func setBody(_ body: Int64, size: Int64, isLinked: Bool) throws(StoreError) {
        statements.setBody.bind(1, body)
        statements.setBody.bind(2, size)
        statements.setBody.bind(3, isLinked ? 1 : 0)
        try statements.setBody.run()
    }

    var hasRemovableBodies: Bool {
        state.unlinkedBodies.contains { !leases.isHeld($0) }
    }

    /// Takes away at most 256 chunks of bodies that nobody names and nobody reads.
    func removeStep() throws(StoreError) {
        guard let index = state.unlinkedBodies.firstIndex(where: { !leases.isHeld($0) }) else {
            return
        }
        let body = state.unlinkedBodies[index]
        let statement = statements.deleteChunks
        statement.bind(1, CacheWriter.chunkKey(body, 0))
        statement.bind(2, CacheWriter.chunkKey(body + 1, 0))
        statement.bind(3, Int64(Limits.evictionBatchRowsMax))
        let before = connection.totalChanges
        try statement.run()
        guard connection.totalChanges - before < Limits.evictionBatchRowsMax else { return }
        statements.deleteBody.bind(1, body)
        try statements.deleteBody.run()
        state.unlinkedBodies.remove(at: index)
    }
}
