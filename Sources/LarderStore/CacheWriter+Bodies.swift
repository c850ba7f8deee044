import LarderModel

/// Bodies too large for a row, and the room that they take.
extension CacheWriter {
    func beginUpload() throws(StoreError) -> UploadID {
        let upload = try bodies.begin(&state.bodies)
        shared.noteBody(upload.body)
        return upload
    }

    /// Adds the next chunk, and makes room for it.
    func append(_ chunk: [UInt8], to upload: UploadID, now: Timestamp) throws(StoreError) {
        let added = BodyState.size(of: chunk)
        try checkBudget(try state.bodies.upload(upload).size + added)
        try bodies.append(chunk, to: upload, &state.bodies)
        state.totals.bytes += added
        try makeRoom(for: added, keeping: [], now: now)
    }

    /// Gives an upload up; its chunks go like those of a replaced body.
    func forget(_ upload: UploadID) {
        state.totals.bytes -= state.bodies.forget(upload)
    }

    /// Takes away some chunks of bodies that no row names and nobody reads.
    func removeBodies() throws(StoreError) {
        try bodies.removeStep(shared.leases, &state.bodies)
    }
}
