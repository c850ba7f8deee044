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

    func large(_ row: CachedRows.CachedCopy, _ name: TargetName, as purpose: BodyPurpose) -> LargeBody?
    {
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
        let upload: UploadID
        switch file {
        case .state: upload = try state.beginUpload(name, as: purpose)
        case .cache: upload = try cache.beginUpload()
        }
        do throws(StoreError) {
            var rest = bytes[...]
            while !rest.isEmpty {
                let chunk = Array(rest.prefix(Limits.inlineBodyBytesMax))
                switch file {
                case .state: try state.append(chunk, to: upload)
                case .cache: try cache.append(chunk, to: upload, now: shared.now())
                }
                rest = rest.dropFirst(chunk.count)
            }
            return .uploaded(upload)
        } catch {
            try forget(.uploaded(upload))
            throw error
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
