import LarderModel

/// Bodies of claimed rows that are too large for them, and the room that pins have for them.
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
        let isOfPin = Self.hasToFit(found, as: keeping)
        return try bodies.begin(
            replacing: isOfPin ? found?.pinnedSize ?? 0 : nil,
            &state.bodies
        )
    }

    /// Adds the next chunk, if pins have room for it.
    func append(_ chunk: [UInt8], to upload: UploadID) throws(StoreError) {
        let progress = try state.bodies.upload(upload)
        if let replaced = progress.replaced {
            let added = BodyState.size(of: chunk)
            let total = state.pins.bytes - replaced + state.bodies.pinnedBytes + added
            guard total <= state.pins.maxBytes else {
                throw .pinsFull(bytes: progress.size + added, limit: state.pins.maxBytes)
            }
        }
        try bodies.append(chunk, to: upload, &state.bodies)
    }

    /// Gives an upload up; its chunks go like those of a replaced body.
    func forget(_ upload: UploadID) { state.bodies.forget(upload) }

    /// Takes away some chunks of bodies that no row names and nobody reads.
    func removeBodies() throws(StoreError) {
        try bodies.removeStep(leases, &state.bodies)
    }
}
