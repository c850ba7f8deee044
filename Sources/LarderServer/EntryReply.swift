import LarderAPI
import LarderEngine
import LarderModel
import LarderStore
import LarderWire
import NIOCore
import NIOHTTP1

/// The answer to a read of an entry, made from the row where it lies.
enum EntryReply: Sendable {
    /// With when these bytes are right, if nothing is written meanwhile.
    case whole(HTTPResponseStatus, HTTPHeaders, ByteBuffer?, at: Range<Timestamp>)
    /// The body, or a part of it, has to be read off the loop.
    case chunked(HTTPHeaders, ChunkedBody, part: Range<Int>?, ScopeKey)
    case problem(Problem, HTTPHeaders = [:])

    /// Reads an id for a peer: the hot path, so nothing here waits; nil where the read is long.
    init?(
        _ id: EntryID,
        _ head: HTTPRequestHead,
        _ peer: Peer,
        _ loop: LoopReader,
        _ engine: Engine
    ) {
        let question: EntryQuestion
        do throws(Problem) {
            question = try EntryQuestion(id, head, peer, loop, engine)
        } catch {
            self = .problem(error)
            return
        }
        if let plain = question.plainAnswer(loop.reader) {
            self = plain
            return
        }
        do throws(StoreError) {
            self = try loop.reader.briefly(question.answer)
        } catch {
            if case .overLoopBudget = error { return nil }
            self = .problem(Problem(error))
        }
    }

    /// Reads an id for a peer, off the loop where the read is long.
    static func read(
        _ id: EntryID,
        _ head: HTTPRequestHead,
        _ peer: Peer,
        _ loop: LoopReader,
        _ engine: Engine
    ) async throws(Problem) -> EntryReply {
        let question = try EntryQuestion(id, head, peer, loop, engine)
        do throws(StoreError) {
            return try await engine.store.read(on: loop.reader, question.answer)
        } catch {
            throw Problem(error)
        }
    }

    /// Parameters of a read, without the client that sends it.
    private struct EntryQuestion: Sendable {
        let id: EntryID
        let head: HTTPRequestHead
        let scope: ScopeKey
        let form: ShownView
        /// How many references deep an entity is shown.
        let depth: Int
        let engine: Engine
        let now: Timestamp
        let date: String

        init(
            _ id: EntryID,
            _ head: HTTPRequestHead,
            _ peer: Peer,
            _ loop: LoopReader,
            _ engine: Engine
        ) throws(Problem) {
            let query = try head.query.map { query throws(Problem) -> EntryQuery in
                if let plain = EntryQuery(account: query) { return plain }
                return try Exchange.parameters(query)
            }
            let now = engine.clock.now()
            self.head = head
            scope = loop.key(
                for: peer.scope(try AccountName(command: head.account(query?.account)))
            )
            self.id = engine.store.modifiers.current(id, in: scope)
            form = query?.show ?? .view
            depth = try query?.depth(of: id) ?? 0
            self.engine = engine
            self.now = now
            date = loop.date(at: now)
        }

        /// The answer where the row alone is what shows; nil where more is to be looked at.
        func plainAnswer(_ reader: StoreReader) -> EntryReply? {
            var reply: EntryReply?
            let isPlain = engine.fastPathRow(of: id, for: scope, reader, now: now) { row in
                reply = EntryReply(row, head, scope, date: date, now, .none)
            }
            return isPlain ? reply : nil
        }

        @Sendable
        func answer(_ reader: StoreReader) throws(StoreError) -> EntryReply {
            let view = try engine.view(
                of: id,
                for: scope,
                reader,
                now: now,
                as: form,
                expanding: depth
            ) { row, overlay in
                EntryReply(row, head, scope, date: date, now, overlay)
            }
            guard let view else { return .problem(.miss(id)) }
            switch view.content {
            case .row(let reply): return reply
            case .made(let entry, let bytes):
                return EntryReply(entry, bytes, view.overlay, head, date: date, now)
            case .deleted: return .problem(.deleted("'\(id)'", by: view.source))
            }
        }
    }

    /// The answer where the bytes are made here.
    private init(
        _ entry: Entry,
        _ bytes: [UInt8],
        _ overlay: Overlay,
        _ head: HTTPRequestHead,
        date: String,
        _ now: Timestamp
    ) {
        let moments = Self.moments(from: now, storedAt: entry.storedAt, freshUntil: nil)
        let tag = entry.entityTag
        var headers = HTTPHeaders()
        headers.addGeneral(date: date)
        headers.add(name: "Content-Type", value: entry.mediaType ?? "application/octet-stream")
        headers.add(name: "ETag", value: tag)
        headers.add(name: "Last-Modified", value: entry.storedAt.httpDate)
        headers.add(name: "Age", value: String(entry.age(at: now).milliseconds / 1_000))
        headers.add(name: "Cache-Status", value: "larder; hit")
        headers.add(name: "Larder-Rev", value: String(entry.revision.number))
        headers.add(overlay)
        let verdict = ReadVerdict(
            head,
            tag: tag,
            byteCount: bytes.count,
            storedAt: entry.storedAt,
            lastModified: entry.lastModified
        )
        self.init(verdict, headers, head, byteCount: bytes.count, at: moments) { part in
            part.map { ByteBuffer(bytes: bytes[$0]) } ?? ByteBuffer(bytes: bytes)
        }
    }

    private init(
        _ row: borrowing EntryRow,
        _ head: HTTPRequestHead,
        _ scope: ScopeKey,
        date: String,
        _ now: Timestamp,
        _ overlay: Overlay
    ) {
        let tag = row.entityTag
        let moments = Self.moments(from: now, storedAt: row.storedAt, freshUntil: row.freshUntil)
        var headers = Self.headers(row, tag, date: date, now)
        headers.add(overlay)
        let byteCount = row.byteCount
        let verdict = ReadVerdict(
            head,
            tag: tag,
            byteCount: byteCount,
            storedAt: row.storedAt,
            lastModified: row.lastModified
        )
        let chunked = row.chunkedBody.map { ($0, scope) }
        self.init(verdict, headers, head, byteCount: byteCount, at: moments, chunked) { part in
            row.withBody { bytes in
                let part = part.map { UnsafeRawBufferPointer(rebasing: bytes[$0]) }
                return ByteBuffer(bytes: part ?? bytes)
            }
        }
    }

    /// The answer with this verdict; `bytes` gives the body or a part of it if it is not `chunked`.
    private init(
        _ verdict: ReadVerdict,
        _ headers: HTTPHeaders,
        _ head: HTTPRequestHead,
        byteCount: Int,
        at moments: Range<Timestamp>,
        _ chunked: (body: ChunkedBody, scope: ScopeKey)? = nil,
        bytes: (Range<Int>?) -> ByteBuffer
    ) {
        var headers = headers
        headers.add(name: "Accept-Ranges", value: "bytes")
        var part: Range<Int>?
        switch verdict {
        case .notModified:
            self = .whole(.notModified, headers, nil, at: moments)
            return
        case .refused(let problem, let fields):
            self = .problem(problem, fields)
            return
        case .whole: break
        case .part(let range):
            part = range
            headers.add(range, of: byteCount)
        }
        headers.add(name: "Content-Length", value: String(part?.count ?? byteCount))
        if let chunked {
            self = .chunked(headers, chunked.body, part: part, chunked.scope)
        } else {
            let body = head.method == .HEAD ? nil : bytes(part)
            self = .whole(part == nil ? .ok : .partialContent, headers, body, at: moments)
        }
    }

    private static func headers(
        _ row: borrowing EntryRow,
        _ tag: String,
        date: String,
        _ now: Timestamp
    ) -> HTTPHeaders {
        var headers = HTTPHeaders()
        headers.reserveCapacity(14)
        headers.addGeneral(date: date)
        headers.add(name: "Content-Type", value: row.mediaType ?? "application/octet-stream")
        headers.add(name: "ETag", value: tag)
        let storedAt = row.storedAt
        headers.add(name: "Last-Modified", value: row.lastModified ?? storedAt.httpDate)
        if let coding = row.contentEncoding { headers.add(name: "Content-Encoding", value: coding) }
        let age = max(0, now.since(storedAt).milliseconds / 1_000)
        headers.add(name: "Age", value: String(age))
        headers.add(name: "Cache-Status", value: cacheStatus(row, now))
        headers.add(name: "Larder-Rev", value: String(row.revision.number))
        return headers
    }

    /// RFC 9211: a hit, and for how many seconds more it is fresh, less than 0 when it is stale.
    private static func cacheStatus(_ row: borrowing EntryRow, _ now: Timestamp) -> String {
        guard let until = row.freshUntil else { return "larder; hit" }
        return "larder; hit; ttl=\(until.since(now).milliseconds / 1_000)"
    }
}

extension EntryQuery {
    fileprivate func depth(of id: EntryID) throws(Problem) -> Int {
        guard let expand else { return 0 }
        guard id.isEntity else {
            throw Problem(.badRequest, "expand: it is for entities, and '\(id)' is none")
        }
        return try expand.checked("expand", in: 0...Limits.entityExpansionMax)
    }
}

extension HTTPHeaders {
    /// Adds the fields about the modifiers that touch an entry.
    fileprivate mutating func add(_ overlay: Overlay) {
        add(name: "Larder-Pending", value: String(overlay.pending.count))
        guard overlay != .none else { return }
        let told = overlay.pending.prefix(Limits.toldPendingMax)
        let ids = told.map(\.text).joined(separator: ", ")
        add(name: "Larder-Pending-Ids", value: ids)
        add(name: "Larder-Failed", value: String(overlay.failed))
        add(name: "Larder-Complete", value: overlay.isComplete ? "true" : "false")
    }
}

extension EntryReply {
    /// Time in which the bytes of an answer stay the same, starting at `now`.
    ///
    /// It ends when Date, Age or `ttl` may show the next second, or the answer may stop being
    /// fresh.
    fileprivate static func moments(
        from now: Timestamp,
        storedAt: Timestamp,
        freshUntil: Timestamp?
    ) -> Range<Timestamp> {
        // All that counts is where in a second each of them begins, and of a `ttl` where it ends.
        func next(_ moment: Int64) -> Int64 {
            let time = (moment % 1_000 - now.milliseconds % 1_000 - 1) % 1_000
            return 1 + (time < 0 ? time + 1_000 : time)
        }
        var time = min(next(0), next(storedAt.milliseconds))
        if let end = freshUntil?.milliseconds { time = min(time, next(end), next(end % 1_000 + 1)) }
        return now..<now.advanced(by: .milliseconds(time))
    }
}

extension EntryQuery {
    /// A query that names an account and nothing else, as most do; nil for any other.
    ///
    /// The general decoder takes nearly half of the time of a read that has no ready answer.
    fileprivate init?(account query: Substring) {
        let (name, value) = ("account=".utf8, query.utf8.dropFirst("account=".utf8.count))
        let isPlain = value.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        guard query.utf8.starts(with: name), !value.isEmpty, isPlain else { return nil }
        self.init()
        account = String(value)
    }
}
