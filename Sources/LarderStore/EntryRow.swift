package import LarderModel

/// An entry's row where SQLite holds it; valid only inside the closure that it is handed to.
///
/// Give each one a name before it is used: where a temporary one is inlined, Swift 6.3.1 breaks off
/// an optimized build.
package struct EntryRow: ~Copyable {
    private let statement: SQLiteStatement
    let file: BodyFile

    init(_ statement: SQLiteStatement, file: BodyFile = .cache) {
        self.statement = statement
        self.file = file
    }

    package var kind: EntryKind {
        EntryKind(rawValue: statement.integer(EntryColumn.kind)) ?? .blob
    }
    package var storedAt: Timestamp {
        Timestamp(milliseconds: statement.integer(EntryColumn.storedAt))
    }
    package var freshUntil: Timestamp? {
        statement.integerOrNil(EntryColumn.freshUntil).map(Timestamp.init(milliseconds:))
    }
    /// Whether it is a client's blob past its `ttl`.
    func isExpired(at now: Timestamp) -> Bool {
        guard kind == .blob, let end = freshUntil else { return false }
        return end <= now
    }
    package var revision: Revision {
        Revision(statement.integer(EntryColumn.rev).clamped(to: Limits.rowRevisions))
    }
    package var mediaType: String? { statement.text(EntryColumn.mediaType) }
    package var lastModified: String? { statement.text(EntryColumn.lastModified) }
    /// The ETag of these bytes: the origin's own, or one made of their digest.
    package var entityTag: String { statement.text(EntryColumn.etag) ?? digest.entityTag }
    /// Within what a body may have, whatever the row says.
    package var byteCount: Int {
        var numbers = RowNumbers(statement)
        return numbers.byteCount(EntryColumn.bytes)
    }
    /// Whether its body is one JSON text.
    var isJSON: Bool { statement.isTrue(EntryColumn.json) }
    package var digest: Digest {
        statement.digest(EntryColumn.digestHigh, .digestLow)
    }

    /// How the bytes are coded, where the origin said so.
    ///
    /// JSON that could be read is not, and is not looked through for it: that is most reads.
    package var contentEncoding: String? {
        guard !isJSON else { return nil }
        return HeaderLines(statement.bytes(EntryColumn.headers)).list("Content-Encoding")
    }

    /// The chunked body that it names; nil when the body stands in the row.
    package var chunkedBody: ChunkedBody? {
        statement.integerOrNil(EntryColumn.body).map {
            ChunkedBody(number: $0, byteCount: byteCount, file: file)
        }
    }

    /// The number of the skeleton of an answer that is kept normalized; nil for one that is kept
    /// whole.
    ///
    /// What stands in the row is then its template, and all that is said of its body is said of it as
    /// it came.
    package var skeleton: Int64? { statement.integerOrNil(EntryColumn.skeleton) }

    /// Whether its numbers are such as rows have.
    private var hasSoundNumbers: Bool {
        var numbers = RowNumbers(statement)
        _ = (
            numbers.revision(EntryColumn.rev), numbers.statusOrNil(EntryColumn.status),
            numbers.byteCount(EntryColumn.bytes)
        )
        return numbers.areSound && EntryKind(rawValue: statement.integer(EntryColumn.kind)) != nil
    }

    /// Whether what stands in the row is what was written.
    var isSound: Bool {
        guard hasSoundNumbers else { return false }
        if let body = chunkedBody {
            return Limits.chunkedBodyBytes.contains(byteCount)
                && Limits.bodies.contains(body.number)
        }
        if skeleton != nil {
            return withBody { Checksum.chunk($0) == statement.integer(EntryColumn.checksum) }
        }
        return withBody { Checksum.digest($0) == digest && $0.count == byteCount }
    }

    /// The body that stands in the row.
    package func withBody<Value>(_ read: (UnsafeRawBufferPointer) -> Value) -> Value {
        read(statement.bytes(EntryColumn.data))
    }

    /// Everything but the bytes; nil for an id that is none and for numbers that no row has, which
    /// only damage leaves.
    package func entry() -> Entry? {
        guard hasSoundNumbers, let id = statement.entryID(EntryColumn.id) else {
            return nil
        }
        var entry = Entry(
            id: id,
            kind: kind,
            status: Int(statement.integer(EntryColumn.status)),
            storedAt: storedAt,
            revision: revision,
            body: BodySummary(
                byteCount: byteCount,
                digest: digest,
                isJSON: isJSON
            )
        )
        entry.origin = statement.text(EntryColumn.origin).flatMap { try? OriginName($0) }
        entry.mediaType = mediaType
        entry.etag = statement.text(EntryColumn.etag)
        entry.lastModified = lastModified
        entry.headers = HeaderFields(lines: statement.text(EntryColumn.headers) ?? "")
        entry.freshUntil = freshUntil
        return entry
    }
}

extension SQLiteStatement {
    /// Binds the columns of ``EntryRow/columns`` from `kind` to `data`, in their order.
    func bind(_ entry: Entry, _ body: NewBody, from first: Int32) {
        bind(first, entry.kind.rawValue)
        bind(first + 1, entry.storedAt.milliseconds)
        bind(first + 2, entry.freshUntil?.milliseconds)
        bind(first + 3, entry.revision.number)
        bind(first + 4, entry.origin?.text)
        bind(first + 5, Int64(entry.status))
        bind(first + 6, entry.mediaType)
        bind(first + 7, entry.etag)
        bind(first + 8, entry.lastModified)
        bind(first + 9, entry.headers.lines)
        bind(first + 10, Int64(entry.body.byteCount))
        bind(first + 11, entry.body.isJSON ? 1 : 0)
        bind(first + 12, entry.body.digest)
        switch body {
        case .inline(let bytes):
            bind(first + 14, Int64?.none)
            bind(first + 15, bytes)
        case .uploaded(let upload):
            bind(first + 14, upload.body)
            bind(first + 15, [UInt8]?.none)
        }
    }

    /// Binds what a confirmation without a new body, as a 304, says anew: `stored_at`, `fresh_until`,
    /// `headers`, `origin`, `media_type`.
    func bind(confirmed entry: Entry, from first: Int32) {
        bind(first, entry.storedAt.milliseconds)
        bind(first + 1, entry.freshUntil?.milliseconds)
        bind(first + 2, entry.headers.lines)
        bind(first + 3, entry.origin?.text)
        bind(first + 4, entry.mediaType)
    }

    func bind(_ position: Int32, _ digest: Digest) {
        bind(position, Int64(bitPattern: digest.high))
        bind(position + 1, Int64(bitPattern: digest.low))
    }
}

/// A body that is kept in chunks.
package struct ChunkedBody: Hashable, Sendable {
    let number: Int64
    package let byteCount: Int
    let file: BodyFile

    /// What its chunks count with their overhead.
    var accountedBytes: Int64 { Int64(byteCount + Self.overhead(of: byteCount)) }

    /// What chunks count beside their bytes; every chunk but the last is full.
    static func overhead(of byteCount: Int) -> Int {
        let chunks = (byteCount + Limits.inlineBodyBytesMax - 1) / Limits.inlineBodyBytesMax
        return chunks * Limits.chunkOverheadBytes
    }
}

/// Which file a body's chunks stand in.
enum BodyFile: Hashable, Sendable {
    case cache
    /// A pinned one.
    case state
}
