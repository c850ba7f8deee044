import LarderModel
import LarderNormalize

enum CommandResult<Value: Sendable>: Sendable {
    case done(Value)
    case refused(StoreError)
    /// Nothing was done: these bodies are to be copied first.
    case needs([LargeBody])
}

/// A body of more bytes than one command copies: it is copied first, a chunk a command.
struct LargeBody: Sendable {
    let name: TargetName
    let entry: Entry
    let body: ChunkedBody
    let file: BodyFile
    let purpose: BodyPurpose
    let isLeased: Bool
}

/// Copies of large bodies: each source with its upload; the upload is nil if the source was
/// damaged.
typealias CopiedBodies = [TargetName: (source: ChunkedBody, upload: UploadID?)]

struct BodyLinking: WriterPart {
    let writer: StoreWriter

    func large(_ new: NewEntry, to file: BodyFile, as purpose: BodyPurpose) -> LargeBody? {
        guard let source = new.uploadedBody, source.file != file else { return nil }
        return large(source, new.name, new.entry, to: file, as: purpose)
    }

    func large(
        _ row: CachedRows.CachedCopy,
        _ name: TargetName,
        as purpose: BodyPurpose
    ) -> LargeBody? {
        guard case .chunked(let body) = row.body else { return nil }
        return large(body, name, row.entry, to: .state, as: purpose, isLeased: true)
    }

    /// A body that has to be copied first, so that a row of the other file can link it.
    ///
    /// Nil for a body that the command copies itself, or that was copied. A leased body stays
    /// leased for its copy.
    func large(
        _ source: ChunkedBody,
        _ name: TargetName,
        _ entry: Entry,
        to file: BodyFile,
        as purpose: BodyPurpose,
        isLeased: Bool = false
    ) -> LargeBody? {
        guard source.byteCount > Limits.copiedAtOnceBytesMax, writer.copied[name]?.source != source
        else { return nil }
        if isLeased {
            // A rerun of the command leases the body again.
            onRollBack { [leases = shared.leases] in leases.release(source.number) }
        }
        return LargeBody(
            name: name,
            entry: entry,
            body: source,
            file: file,
            purpose: purpose,
            isLeased: isLeased
        )
    }

    func ready(
        _ new: NewEntry,
        in file: BodyFile,
        as purpose: BodyPurpose
    ) throws(StoreError) -> NewEntry {
        guard new.form == nil else { return new }
        var ready = new
        if case .inline(let bytes) = new.body {
            ready.body = try linkable(bytes, new.name, in: file, as: purpose)
        } else if let source = new.uploadedBody, source.file != file {
            ready.body = try linkable(.chunked(source), new.name, in: file, as: purpose)
        }
        return ready
    }

    /// A body of either file as one that a row of `file` can link; throws `badChunk` for one that
    /// is damaged.
    func linkable(
        _ body: Target.Body,
        _ name: TargetName,
        in file: BodyFile,
        as purpose: BodyPurpose
    ) throws(StoreError) -> NewBody {
        let source: ChunkedBody
        switch body {
        case .inline(let bytes): return try linkable(bytes, name, in: file, as: purpose)
        case .chunked(let chunked): source = chunked
        }
        guard let copy = writer.copied[name], copy.source == source else {
            return try linkable(try bytes(of: source), name, in: file, as: purpose)
        }
        guard let upload = copy.upload else { throw .badChunk }
        return .uploaded(upload)
    }

    /// Stores bytes so that a row of `file` can link them.
    ///
    /// An entity's bytes stay in its row, whatever their size.
    func linkable(
        _ bytes: [UInt8],
        _ name: TargetName,
        in file: BodyFile,
        as purpose: BodyPurpose
    ) throws(StoreError) -> NewBody {
        guard !name.id.isEntity, bytes.count > Limits.inlineBodyBytesMax else {
            return .inline(bytes)
        }
        let upload =
            switch file {
            case .state: try state.beginUpload(name, as: purpose)
            case .cache: try cache.beginUpload()
            }
        do throws(StoreError) {
            for chunk in bytes.chunks(of: Limits.inlineBodyBytesMax) {
                try append(chunk, to: upload, now: shared.now())
            }
            return .uploaded(upload)
        } catch {
            try forget(.uploaded(upload))
            throw error
        }
    }

    func append(_ chunk: [UInt8], to upload: UploadID, now: Timestamp) throws(StoreError) {
        switch upload.file {
        case .state: try state.append(chunk, to: upload)
        case .cache: try cache.append(chunk, to: upload, now: now)
        }
    }

    /// Gives up a body that no row names; one that a row names by now stays.
    func forget(_ body: NewBody) throws(StoreError) {
        guard let upload = body.upload else { return }
        switch upload.file {
        case .state: try state.forget(upload)
        case .cache: try cacheIfAny?.forget(upload)
        }
    }

    func bytes(of body: ChunkedBody) throws(StoreError) -> [UInt8] {
        switch body.file {
        case .state: try state.reader.chunks.bytes(of: body)
        case .cache: try cache.chunks.bytes(of: body)
        }
    }
}

/// The bodies of a file that are too large for a row, in chunks.
///
/// ``BodyState`` is their state in memory.
struct BodyTable {
    let connection: SQLiteConnection
    let file: BodyFile

    /// Begins a body; `replaced` is the present size of the pin that it replaces.
    ///
    /// `replaced` is nil for a body that counts against no bound of pins while it arrives. Another
    /// one counts in the share of `payer`.
    func begin(
        replacing replaced: Int64? = nil,
        paidBy payer: UInt32? = nil,
        _ state: inout BodyState
    ) throws(StoreError) -> UploadID {
        try connection.statement("INSERT INTO body (size, linked) VALUES (0, 0)").run()
        let body = connection.lastInsertedRow
        guard Limits.bodies.contains(body) else { throw connection.damaged("number a body") }
        state.uploads[body] = BodyState.Upload(replaced: replaced, payer: payer)
        return UploadID(body: body, file: file)
    }

    /// Adds the next chunk; every chunk but the last has ``Limits/inlineBodyBytesMax`` bytes.
    func append(
        _ chunk: [UInt8],
        to upload: UploadID,
        _ state: inout BodyState
    ) throws(StoreError) {
        var progress = try state.upload(upload)
        let sql = """
            INSERT OR REPLACE INTO chunk (chunk, checksum, data) VALUES (:chunk, :checksum, :data)
            """
        try connection.statement(sql).run(
            (":chunk", Self.chunkKey(upload.body, progress.chunks)),
            (":checksum", chunk.withUnsafeBytes { Checksum.chunk($0) }),
            (":data", chunk)
        )
        progress.chunks += 1
        progress.size += BodyState.size(of: chunk)
        state.uploads[upload.body] = progress
    }

    @discardableResult
    func link(_ body: NewBody, _ state: inout BodyState) throws(StoreError) -> Int64? {
        guard let upload = body.upload else { return nil }
        guard upload.file == file else { throw .uploadLost }
        let size = try state.upload(upload).size
        state.uploads[upload.body] = nil
        try mark(upload.body, size: size, isLinked: true)
        return size
    }

    /// Marks a body as one that no row names, for a later transaction to remove.
    ///
    /// A number that no body can have is a damaged row's.
    func unlink(_ body: Int64, _ state: inout BodyState) throws(StoreError) {
        guard Limits.bodies.contains(body) else { return }
        try mark(body, size: 0, isLinked: false)
        state.unlinked.append(body)
    }

    private func mark(_ body: Int64, size: Int64, isLinked: Bool) throws(StoreError) {
        try connection.statement(
            "UPDATE body SET size = :size, linked = :linked WHERE body = :body"
        )
        .run((":body", body), (":size", size), (":linked", isLinked))
    }

    /// Deletes at most 256 chunks of a body that no row links and no reader leases.
    func removeStep(_ leases: BodyLeases, _ state: inout BodyState) throws(StoreError) {
        guard let index = state.unlinked.firstIndex(where: { !leases.isHeld($0) }) else { return }
        let body = state.unlinked[index]
        let before = connection.totalChanges
        let sql = """
            DELETE FROM chunk WHERE chunk IN
                (SELECT chunk FROM chunk WHERE chunk >= :first AND chunk < :end LIMIT :limit)
            """
        try connection.statement(sql).run(
            (":first", Self.chunkKey(body, 0)),
            (":end", Self.chunkKey(body + 1, 0)),
            (":limit", Limits.evictionBatchRowsMax)
        )
        guard connection.totalChanges - before < Limits.evictionBatchRowsMax else { return }
        try connection.statement("DELETE FROM body WHERE body = :body").run((":body", body))
        state.unlinked.remove(at: index)
    }

    /// Key of a chunk: body · 2^20 + position, so the chunks of a body are adjacent.
    ///
    /// 2^20 chunks are 64 GiB.
    static func chunkKey(_ body: Int64, _ position: Int64) -> Int64 { body << 20 | position }
}

struct BodyState {
    fileprivate(set) var uploads: [Int64: Upload] = [:]
    fileprivate(set) var unlinked: [Int64] = []

    struct Upload {
        fileprivate var chunks: Int64 = 0
        /// With the chunks' overhead, as a row counts it once it is linked.
        fileprivate(set) var size: Int64 = 0
        let replaced: Int64?
        let payer: UInt32?
        /// Whether it is a pin above its user's share: it is refused at its end, and takes no room
        /// from other users meanwhile.
        fileprivate(set) var exceedsShare = false
    }

    var uploadedBytes: Int64 { uploads.values.reduce(0) { $0 + $1.size } }

    /// Bytes of other bodies of pins that arrive.
    func pinnedBytes(besides upload: UploadID, where isMeant: (Upload) -> Bool) -> Int64 {
        let others = uploads.filter { $0.key != upload.body && $0.value.replaced != nil }
        return others.values.filter(isMeant).reduce(0) { $0 + $1.size }
    }

    mutating func setExceedsShare(_ exceedsShare: Bool, _ upload: UploadID) {
        uploads[upload.body]?.exceedsShare = exceedsShare
    }

    static func size(of chunk: [UInt8]) -> Int64 { Int64(chunk.count + Limits.chunkOverheadBytes) }

    func upload(_ upload: UploadID) throws(StoreError) -> Upload {
        guard let progress = uploads[upload.body] else { throw .uploadLost }
        return progress
    }

    /// Gives an upload up; the bytes that it counted.
    @discardableResult mutating func forget(_ upload: UploadID) -> Int64 {
        guard let progress = uploads.removeValue(forKey: upload.body) else { return 0 }
        unlinked.append(upload.body)
        return progress.size
    }

    func hasRemovable(_ leases: BodyLeases) -> Bool { unlinked.contains { !leases.isHeld($0) } }
}

struct ChunkReader {
    let connection: SQLiteConnection

    /// Whether a body has as many chunks as its row says, and a row names it.
    func isWhole(_ chunked: ChunkedBody) throws(StoreError) -> Bool {
        let sql = "SELECT size FROM body WHERE body = :body AND linked = 1"
        let size = try connection.statement(sql, (":body", chunked.number)).first {
            $0.integer(.only)
        }
        return size == chunked.accountedBytes
    }

    func chunk(_ position: Int64, of body: ChunkedBody) throws(StoreError) -> [UInt8] {
        let chunk = try connection.statement(
            "SELECT data, checksum FROM chunk WHERE chunk = :chunk",
            (":chunk", BodyTable.chunkKey(body.number, position))
        )
        guard try chunk.step(), Checksum.chunk(chunk.bytes(.only)) == chunk.integer("checksum")
        else { throw .badChunk }
        return Array(chunk.bytes(.only))
    }

    /// All of a body; throws `badChunk` for one that is missing a part, or damaged.
    func bytes(of body: ChunkedBody) throws(StoreError) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(min(body.byteCount, Limits.inlineJSONBytesMax))
        var progress = ChunkProgress(body)
        while let position = progress.next {
            let chunk = try chunk(position, of: body)
            try progress.take(chunk)
            bytes += chunk
        }
        return bytes
    }
}

struct ChunkProgress {
    private let body: ChunkedBody
    private let part: Range<Int>
    private var position: Int64
    /// Bytes of the body before the next chunk.
    private var byteCount: Int

    init(_ body: ChunkedBody, _ part: Range<Int>? = nil) {
        self.body = body
        self.part = part ?? 0..<body.byteCount
        // Every chunk but the last is full.
        let first = self.part.lowerBound / Limits.inlineBodyBytesMax
        (position, byteCount) = (Int64(first), first * Limits.inlineBodyBytesMax)
    }

    var next: Int64? { byteCount < part.upperBound ? position : nil }

    /// Takes the next chunk, and returns what the part has of it; throws `badChunk` for a chunk of
    /// another length.
    @discardableResult
    mutating func take(_ chunk: [UInt8]) throws(StoreError) -> [UInt8] {
        let start = byteCount
        guard chunk.count == min(Limits.inlineBodyBytesMax, body.byteCount - start) else {
            throw .badChunk
        }
        byteCount += chunk.count
        position += 1
        let wanted = part.clamped(to: start..<byteCount)
        guard wanted.count < chunk.count else { return chunk }
        return Array(chunk[wanted.lowerBound - start..<wanted.upperBound - start])
    }
}

enum BodyPurpose: Sendable {
    /// An answer, or a client's bytes, for a row that is durable already.
    case answer
    /// Bytes to be pinned, which have to fit into the budget of the pins.
    case pin
    /// To be the base of a target, which counts in the queue.
    case base
}
