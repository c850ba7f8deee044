package import LarderModel

package struct BodyStore: Sendable {
    let file: StateFile
    let shared: SharedCacheState
    let readers: StoreReaders
    private var commits: CommitQueue { file.commits }

    package func begin() async throws(StoreError) -> UploadID {
        try await commits.submit { writer throws(StoreError) in try writer.cache.beginUpload() }
    }

    /// Begins a body for an id that may be pinned, or with `isPinning` is about to be pinned.
    ///
    /// The body then goes into `state.db`, whether the cache has room for it or not.
    package func begin(
        for scope: ScopeKey,
        _ id: EntryID,
        isPinning: Bool = false
    ) async throws(StoreError) -> UploadID {
        guard isPinning || shared.residency.covers(scope, id) else { return try await begin() }
        let upload = try await commits.submit { writer throws(StoreError) -> UploadID? in
            let name = TargetName(scope, id)
            guard !isPinning else { return try writer.state.beginUpload(name, as: .pin) }
            guard let found = try writer.state.rows.find(name) else { return nil }
            // A body that did not fit as a pin goes into the cache.
            if found.pin == .tooLarge, !found.isTargeted { return nil }
            return try writer.state.beginUpload(name, as: .answer)
        }
        if let upload { return upload }
        return try await begin()
    }

    package func append(
        _ chunk: [UInt8],
        to upload: UploadID,
        now: Timestamp
    ) async throws(StoreError) {
        try await commits.submit { writer throws(StoreError) in
            try writer.bodies.append(chunk, to: upload, now: now)
        }
    }

    /// Gives an upload up without waiting; a body that a row names by then stays.
    package func abandon(_ upload: UploadID?) {
        guard let upload else { return }
        shared.abandon(upload)
        wake()
    }

    /// Copies bodies into their other files and ends their leases; a damaged one gets no upload.
    func copy(
        _ large: [LargeBody],
        into copied: inout CopiedBodies,
        now: Timestamp
    ) async throws(StoreError) {
        defer {
            for body in large where body.isLeased {
                if shared.leases.release(body.body.number) { wake() }
            }
        }
        for body in large { abandon(copied.removeValue(forKey: body.name)?.upload) }
        for body in large {
            do throws(StoreError) {
                copied[body.name] = (body.body, try await copy(body, now))
            } catch .badChunk {
                copied[body.name] = (body.body, nil)
            }
        }
    }

    private func copy(_ large: LargeBody, _ now: Timestamp) async throws(StoreError) -> UploadID {
        let (name, purpose) = (large.name, large.purpose)
        let upload = try await commits.submit { writer throws(StoreError) in
            guard large.file == .state else { return try writer.cache.beginUpload() }
            // Better now than after most of it was copied.
            let size = large.entry.rowSize(in: name.scope, isChunked: true)
            let found = try writer.state.rows.find(name)
            if StateBudget.hasToFit(found, as: purpose) {
                try writer.state.budget.checkRoom(for: size, name.scope, replacing: found)
            }
            return try writer.state.beginUpload(name, as: purpose)
        }
        do throws(StoreError) {
            try await eachChunk(of: large.body) { chunk throws(StoreError) in
                try await append(chunk, to: upload, now: now)
            }
            return upload
        } catch {
            abandon(upload)
            throw error
        }
    }

    /// A body, readable while its ``BodyReader`` exists; nil when the row no longer names it.
    package func open(
        _ body: ChunkedBody,
        of scope: ScopeKey,
        _ id: EntryID,
        now: Timestamp
    ) async throws(StoreError) -> BodyReader? {
        let opened = BodyReader(body, of: scope, id, self)
        let isWhole = try await readers.read(.current) { connection throws(StoreError) -> Bool? in
            defer { connection.endTransaction() }
            let found = try connection.withEntry(scope, id, now: now, isUse: false) { row in
                row.chunkedBody
            }
            return found == body ? try connection.bodies.isWhole(body) : nil
        }
        if isWhole == false {
            // larderd would otherwise send a damaged body cut short.
            shared.countDamagedRow()
            drop(body, of: scope, id)
        }
        return isWhole == true ? opened : nil
    }

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

    package func bytes(of new: NewEntry) async throws(StoreError) -> [UInt8] {
        guard let body = new.uploadedBody else { return new.body.bytes ?? [] }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(min(body.byteCount, Limits.inlineJSONBytesMax))
        try await eachChunk(of: body) { bytes += $0 }
        return bytes
    }

    private func eachChunk(
        of body: ChunkedBody,
        _ take: ([UInt8]) async throws(StoreError) -> Void
    ) async throws(StoreError) {
        var progress = ChunkProgress(body)
        while let position = progress.next {
            let chunk = try await chunk(position, of: body)
            try progress.take(chunk)
            try await take(chunk)
        }
    }

    func chunk(_ position: Int64, of body: ChunkedBody) async throws(StoreError) -> [UInt8] {
        try await readers.read(.current) { reader throws(StoreError) in
            try reader.bodies.chunk(position, of: body)
        }
    }

    package func drop(_ body: ChunkedBody, of scope: ScopeKey, _ id: EntryID) {
        guard body.file == .cache else {
            return file.dropDamaged(scope, id) { $0.body == body.number }
        }
        commits.post { writer throws(StoreError) in
            guard let row = try writer.cache.rows.find(scope, id), row.body == body.number
            else { return }
            var step: Revision?
            try writer.cache.eviction.evict(row.key, .damaged, nil, &step)
        }
    }

    func leases(beside body: ChunkedBody) -> BodyLeases {
        body.file == .cache ? shared.leases : shared.stateLeases
    }

    func wake() { commits.wake() }
}

/// Reads a chunked body, whose chunks stay in place meanwhile; used by one task at a time.
package final class BodyReader {
    package let body: ChunkedBody
    private let scope: ScopeKey
    private let id: EntryID
    private let store: BodyStore
    private var progress: ChunkProgress

    init(_ body: ChunkedBody, of scope: ScopeKey, _ id: EntryID, _ store: BodyStore) {
        self.body = body
        self.scope = scope
        self.id = id
        self.store = store
        progress = ChunkProgress(body)
        store.leases(beside: body).take(body.number)
    }

    deinit {
        if store.leases(beside: body).release(body.number) { store.wake() }
    }

    /// Reads only a part of the body from now on, and no chunk before or after it.
    package func seek(to part: Range<Int>) { progress = ChunkProgress(body, part) }

    /// The next chunk, at most ``Limits/inlineBodyBytesMax`` bytes; nil at the end.
    ///
    /// Throws `badChunk` if a chunk is missing or damaged. The rest of the body is then lost, and
    /// the row is removed. So the next read is a miss, and the next fetch brings a whole body.
    package func next() async throws(StoreError) -> [UInt8]? {
        guard let position = progress.next else { return nil }
        do throws(StoreError) {
            return try progress.take(try await store.chunk(position, of: body))
        } catch {
            if error == .badChunk { store.drop(body, of: scope, id) }
            throw error
        }
    }
}

package struct ChunkSource {
    let reader: StoreReader
    private var shared: SharedCacheState { reader.shared }

    func isWhole(_ body: ChunkedBody) throws(StoreError) -> Bool {
        try withChunks(of: body) { chunks throws(StoreError) in try chunks.isWhole(body) } ?? false
    }

    /// Reads one chunk in its own transaction; throws `badChunk` for a missing or damaged one.
    func chunk(_ position: Int64, of body: ChunkedBody) throws(StoreError) -> [UInt8] {
        defer { if body.file == .cache { reader.endTransaction() } }
        let chunk = try withChunks(of: body) { chunks throws(StoreError) in
            try chunks.chunk(position, of: body)
        }
        guard let chunk else { throw .badChunk }
        return chunk
    }

    /// All chunks of a body: call it within ``inConsistentSnapshot(_:)`` with the read of its row.
    ///
    /// Nil when one is missing or damaged.
    package func whole(_ body: ChunkedBody) throws(StoreError) -> [UInt8]? {
        guard try isWhole(body) else { return nil }
        do throws(StoreError) {
            return try withChunks(of: body) { chunks throws(StoreError) in
                try chunks.bytes(of: body)
            }
        } catch .badChunk {
            return nil
        }
    }

    private func withChunks<Value>(
        of body: ChunkedBody,
        _ read: (ChunkReader) throws(StoreError) -> Value
    ) throws(StoreError) -> Value? {
        guard body.file == .cache else { return try read(try reader.stateReader().chunks) }
        return try reader.cache.reading { file throws(StoreError) in
            do throws(StoreError) {
                return try read(file.chunks)
            } catch {
                if error == .badChunk { shared.countDamagedRow() }
                throw error
            }
        }
    }
}
