import LarderModel

/// Bodies too large for a row. A body is uploaded in chunks that no row names, linked by a put,
/// unlinked when its row goes, and removed once nobody reads it.
extension CacheWriter {
    /// A body's chunks stand together: body · 2^20 + position.
    ///
    /// 2^20 chunks are 64 GiB. The number of a body is within ``Limits/bodies``.
    static func chunkKey(_ body: Int64, _ position: Int64) -> Int64 {
        body << 20 | position
    }

    func beginUpload() throws(StoreError) -> UploadID {
        try statements.insertBody.run()
        let body = connection.lastInsertedRow
        guard Limits.bodies.contains(body) else {
            throw .corrupt(file: database.path, step: "number a body")
        }
        shared.noteBody(body)
        state.uploads[body] = CacheWriterState.Upload()
        return UploadID(body: body)
    }

    /// Adds the next chunk; every chunk but the last has ``Limits/inlineBodyBytesMax`` bytes.
    func append(_ chunk: [UInt8], to upload: UploadID, now: Timestamp) throws(StoreError) {
        guard var progress = state.uploads[upload.body] else { throw .uploadLost }
        let added = Int64(chunk.count + Limits.chunkOverheadBytes)
        try checkBudget(progress.size + added)
        let statement = statements.insertChunk
        statement.bind(1, Self.chunkKey(upload.body, progress.chunks))
        statement.bind(2, chunk.withUnsafeBytes { Checksum.chunk($0) })
        statement.bind(3, chunk)
        try statement.run()
        progress.chunks += 1
        progress.size += added
        state.uploads[upload.body] = progress
        state.totals.bytes += added
        try makeRoom(for: added, keeping: [], now: now)
    }

    /// Gives an upload up; its chunks go like those of a replaced body.
    func forget(_ upload: UploadID) {
        guard let progress = state.uploads.removeValue(forKey: upload.body) else { return }
        state.totals.bytes -= progress.size
        state.unlinkedBodies.append(upload.body)
    }

    /// Marks an uploaded body as one that a row names; nil for a body that stands in its row.
    func link(_ body: NewBody) throws(StoreError) -> CacheWriterState.Upload? {
        switch body {
        case .inline:
            return nil
        case .uploaded(let upload):
            guard upload.file == .cache,
                let progress = state.uploads.removeValue(forKey: upload.body)
            else { throw .uploadLost }
            try setBody(upload.body, size: progress.size, isLinked: true)
            return progress
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

    /// Whether there are chunks that one ``removeStep()`` can take away.
    var hasRemovableBodies: Bool {
        state.unlinkedBodies.contains { !shared.leases.isHeld($0) }
    }

    /// Takes away at most 256 chunks of bodies that nobody names and nobody reads.
    func removeStep() throws(StoreError) {
        guard let index = state.unlinkedBodies.firstIndex(where: { !shared.leases.isHeld($0) })
        else { return }
        let body = state.unlinkedBodies[index]
        let statement = statements.deleteChunks
        statement.bind(1, Self.chunkKey(body, 0))
        statement.bind(2, Self.chunkKey(body + 1, 0))
        statement.bind(3, Int64(Limits.evictionBatchRowsMax))
        let before = connection.totalChanges
        try statement.run()
        guard connection.totalChanges - before < Limits.evictionBatchRowsMax else { return }
        statements.deleteBody.bind(1, body)
        try statements.deleteBody.run()
        state.unlinkedBodies.remove(at: index)
    }
}
