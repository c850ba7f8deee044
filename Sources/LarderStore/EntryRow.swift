import Glibc
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
    package var entityTag: String {
        isDecoded ? digest.entityTag : statement.text(EntryColumn.etag) ?? digest.entityTag
    }
    /// ``Entry/isDecoded`` of the first line.
    private var isDecoded: Bool {
        statement.bytes(EntryColumn.headers).starts(with: Entry.codingField.utf8)
    }
    /// Length of the body, limited to its allowed range even if the row says otherwise.
    package var byteCount: Int {
        var numbers = RowNumbers(statement)
        return numbers.byteCount(EntryColumn.bytes)
    }
    var isJSON: Bool { statement.isTrue(EntryColumn.json) }
    package var isComplete: Bool { statement.isOfCompleteEntry }
    package var digest: Digest { statement.digest(EntryColumn.digestHigh, .digestLow) }

    /// How the bytes are coded; the headers of JSON, which is most reads, are not looked through.
    package var contentEncoding: String? {
        guard !isJSON else { return nil }
        return HeaderLines(bytes: statement.bytes(EntryColumn.headers)).list("Content-Encoding")
    }

    package var chunkedBody: ChunkedBody? {
        statement.integerOrNil(EntryColumn.body).map {
            ChunkedBody(number: $0, byteCount: byteCount, file: file)
        }
    }

    /// The number of the skeleton of a normalized answer.
    ///
    /// Such a row holds the answer's template. Its data on the body describes the body as received.
    package var skeleton: Int64? { statement.integerOrNil(EntryColumn.skeleton) }

    private var hasSoundNumbers: Bool {
        var numbers = RowNumbers(statement)
        _ = (
            numbers.revision(EntryColumn.rev), numbers.statusOrNil(EntryColumn.status),
            numbers.byteCount(EntryColumn.bytes)
        )
        return numbers.areSound && EntryKind(rawValue: statement.integer(EntryColumn.kind)) != nil
    }

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

    package func withBody<Value>(_ read: (UnsafeRawBufferPointer) -> Value) -> Value {
        read(statement.bytes(EntryColumn.data))
    }

    private func request(of id: EntryID) -> RequestContent? {
        guard !statement.isNull(EntryColumn.request) else { return nil }
        return RequestContent(stored: statement.bytes(EntryColumn.request), id: id)
    }

    package func entry() -> Entry? {
        guard hasSoundNumbers, let id = statement.entryID(EntryColumn.id) else { return nil }
        var entry = Entry(
            id: id,
            kind: kind,
            status: isComplete ? Int(statement.integer(EntryColumn.status)) : 200,
            storedAt: storedAt,
            revision: revision,
            body: BodySummary(byteCount: byteCount, digest: digest, isJSON: isJSON)
        )
        entry.isComplete = isComplete
        entry.origin = statement.text(EntryColumn.origin).flatMap { try? OriginName($0) }
        entry.mediaType = mediaType
        entry.etag = statement.text(EntryColumn.etag)
        entry.lastModified = lastModified
        entry.headers = HeaderFields(lines: statement.text(EntryColumn.headers) ?? "")
        entry.freshUntil = freshUntil
        entry.request = request(of: id)
        return entry
    }
}

extension SQLiteStatement {
    /// Binds ``EntryColumn/put`` without the form of a normalized answer.
    func bind(_ entry: Entry, _ body: NewBody) {
        bind(confirmed: entry)
        bind(EntryColumn.kind, entry.kind.rawValue)
        bind(EntryColumn.rev, entry.revision.number)
        bind(EntryColumn.status, entry.isComplete ? entry.status : Self.statusOfPart)
        bind(EntryColumn.etag, entry.etag)
        bind(EntryColumn.lastModified, entry.lastModified)
        bind(EntryColumn.bytes, entry.body.byteCount)
        bind(EntryColumn.json, entry.body.isJSON)
        bind(EntryColumn.digestHigh, .digestLow, entry.body.digest)
        bind(EntryColumn.body, body.upload?.body)
        bind(EntryColumn.data, body.bytes)
        bind(EntryColumn.request, entry.request?.stored)
    }

    /// The status in the row of an incomplete entry: no answer with this status is ever stored.
    private static let statusOfPart = 206

    var isOfCompleteEntry: Bool { integer(EntryColumn.status) != Int64(Self.statusOfPart) }

    /// Binds ``EntryColumn/confirmed``.
    func bind(confirmed entry: Entry) {
        bind(EntryColumn.storedAt, entry.storedAt.milliseconds)
        bind(EntryColumn.freshUntil, entry.freshUntil?.milliseconds)
        bind(EntryColumn.headers, entry.headers.lines)
        bind(EntryColumn.origin, entry.origin?.text)
        bind(EntryColumn.mediaType, entry.mediaType)
    }

    func bind<Column: TableColumn>(_ high: Column, _ low: Column, _ digest: Digest) {
        bind(high, Int64(bitPattern: digest.high))
        bind(low, Int64(bitPattern: digest.low))
    }
}

package struct ChunkedBody: Hashable, Sendable {
    let number: Int64
    package let byteCount: Int
    let file: BodyFile

    var accountedBytes: Int64 { Int64(byteCount + Self.overhead(of: byteCount)) }

    /// Accounted size of the chunks beyond their bytes; every chunk but the last is full.
    static func overhead(of byteCount: Int) -> Int {
        let chunks = (byteCount + Limits.inlineBodyBytesMax - 1) / Limits.inlineBodyBytesMax
        return chunks * Limits.chunkOverheadBytes
    }
}

enum BodyFile: Hashable, Sendable {
    case cache
    case state
}

extension Entry {
    /// Accounted size of the row: body, ids, headers and a fixed overhead for the row and each
    /// chunk.
    ///
    /// It depends only on what the row holds.
    func rowSize(in scope: ScopeKey, isChunked: Bool) -> Int64 {
        let overhead = isChunked ? ChunkedBody.overhead(of: body.byteCount) : 0
        return rowSize(in: scope, dataBytes: body.byteCount + overhead)
    }

    func rowSize(in scope: ScopeKey, dataBytes: Int) -> Int64 {
        var bytes = Limits.rowOverheadBytes + scope.text.utf8.count + id.text.utf8.count
        bytes += (origin?.text.utf8.count ?? 0) + (mediaType?.utf8.count ?? 0)
        bytes += (etag?.utf8.count ?? 0) + (lastModified?.utf8.count ?? 0) + headers.byteCount
        bytes += request?.storedByteCount ?? 0
        return Int64(bytes + dataBytes)
    }

    /// An entry that only modifiers have made; see ``ListedRow/isBare``.
    init(bare id: EntryID, of origin: OriginName?, storedAt: Timestamp) {
        let body = BodySummary(of: [], isJSON: false)
        self.init(id: id, kind: .fetched, storedAt: storedAt, revision: Revision(0), body: body)
        self.origin = origin
    }
}

/// ``HeaderFields/lines`` where SQLite holds them, valid until the statement moves on.
///
/// It finds what `HeaderFields(lines:)` would under names in ASCII.
struct HeaderLines {
    let bytes: UnsafeRawBufferPointer

    /// All values under `name`, as one list (RFC 9110 5.3), or nil where there is none.
    func list(_ name: StaticString) -> String? {
        var list: String?
        var start = 0
        while start < bytes.count {
            let end = endOfLine(from: start)
            let line = UnsafeRawBufferPointer(rebasing: bytes[start..<end])
            start = end + 1
            guard let value = Self.value(in: line, under: name) else { continue }
            let text = String(decoding: value, as: UTF8.self)
            list = list.map { "\($0), \(text)" } ?? text
        }
        return list
    }

    private func endOfLine(from start: Int) -> Int {
        let rest = UnsafeRawBufferPointer(rebasing: bytes[start...])
        guard let base = rest.baseAddress,
            let feed = memchr(base, CInt(UInt8(ascii: "\n")), rest.count)
        else { return bytes.count }
        return start + (UnsafeRawPointer(feed) - base)
    }

    private static func value(
        in line: UnsafeRawBufferPointer,
        under name: StaticString
    ) -> UnsafeRawBufferPointer.SubSequence? {
        let count = name.utf8CodeUnitCount
        guard line.count > count, line[count] == UInt8(ascii: ":") else { return nil }
        let wanted = UnsafeBufferPointer(start: name.utf8Start, count: count)
        let isNamed = zip(line, wanted).allSatisfy { $0.lowercasedASCII == $1.lowercasedASCII }
        guard isNamed else { return nil }
        let value = line.dropFirst(count + 1)
        return value.first == UInt8(ascii: " ") ? value.dropFirst() : value
    }
}
