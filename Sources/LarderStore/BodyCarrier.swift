import LarderModel

/// Carries bodies between the two files, chunk by chunk, each in a transaction of its own.
final class BodyCarrier: Sendable {
    private let cache: WriterPart<CacheWriter>
    private let state: WriterPart<StateWriter>
    private let shared: SharedCacheState
    private let bodies: BlockingReader

    init(
        cache: WriterPart<CacheWriter>,
        state: WriterPart<StateWriter>,
        shared: SharedCacheState,
        bodies: BlockingReader
    ) {
        self.cache = cache
        self.state = state
        self.shared = shared
        self.bodies = bodies
    }

    /// Copies a body that stays in place meanwhile.
    func copy(
        _ source: ChunkedBody,
        to file: BodyFile,
        as keeping: Keeping = .answer,
        for entry: Entry,
        in scope: ScopeKey,
        now: Timestamp
    ) async throws(StoreError) -> UploadID {
        let upload = try await begin(file, keeping, entry, scope)
        do throws(StoreError) {
            var position: Int64 = 0
            var copied = 0
            while copied < source.byteCount {
                let chunk = try await chunk(position, of: source)
                guard !chunk.isEmpty, copied + chunk.count <= source.byteCount else {
                    throw .badChunk
                }
                try await append(chunk, to: upload, now: now)
                position += 1
                copied += chunk.count
            }
            return upload
        } catch {
            abandon(.uploaded(upload))
            throw error
        }
    }

    /// All of a body that stays in place meanwhile.
    func bytes(of source: ChunkedBody) async throws(StoreError) -> [UInt8] {
        var gathered = GatheredBody(source)
        while let position = gathered.next {
            try gathered.append(try await chunk(position, of: source))
        }
        return gathered.bytes
    }

    private func chunk(
        _ position: Int64,
        of source: ChunkedBody
    ) async throws(StoreError) -> [UInt8] {
        try await bodies.read { reader throws(StoreError) in
            try reader.chunk(position, of: source)
        }
    }

    private func begin(
        _ file: BodyFile,
        _ keeping: Keeping,
        _ entry: Entry,
        _ scope: ScopeKey
    ) async throws(StoreError) -> UploadID {
        switch file {
        case .cache:
            return try await cache.submit { writer throws(StoreError) in
                try writer.beginUpload()
            }
        case .state:
            let size = entry.rowSize(in: scope, isChunked: true)
            return try await state.submit { writer throws(StoreError) in
                // Better now than after most of it was copied.
                try writer.checkRoom(for: size, scope, entry.id, as: keeping)
                return try writer.beginUpload(scope, entry.id, as: keeping)
            }
        }
    }

    func append(
        _ chunk: [UInt8],
        to upload: UploadID,
        now: Timestamp
    ) async throws(StoreError) {
        switch upload.file {
        case .cache:
            try await cache.submit { writer throws(StoreError) in
                try writer.append(chunk, to: upload, now: now)
            }
        case .state:
            try await state.submit { writer throws(StoreError) in
                try writer.append(chunk, to: upload)
            }
        }
    }

    /// Gives a body up that no row names.
    ///
    /// It does not wait: its chunks go when the writer has time.
    func abandon(_ body: NewBody) {
        guard let upload = body.upload else { return }
        switch upload.file {
        case .cache:
            shared.abandon(upload)
            cache.wake()
        case .state:
            shared.claims.abandon(upload)
            state.wake()
        }
    }
}

/// What a body comes into `state.db` for.
enum Keeping: Sendable {
    /// An answer or a client's bytes for what is kept already.
    case answer
    /// To be pinned: it has to fit beside the other pins.
    case pin
    /// To be the base of a target, which counts in the queue.
    case base
}

extension NewBody {
    /// The upload that it is; nil for one that stands in its row.
    var upload: UploadID? {
        switch self {
        case .inline: nil
        case .uploaded(let upload): upload
        }
    }

    var isUploaded: Bool { upload != nil }
}
