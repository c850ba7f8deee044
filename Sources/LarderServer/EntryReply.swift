import LarderEngine
import LarderModel
import LarderStore
import LarderWire
import NIOCore
import NIOHTTP1

/// The answer to a read of an entry, made from the row where it lies.
enum EntryReply {
    case whole(HTTPResponseStatus, HTTPHeaders, ByteBuffer?)
    /// The body has to be read off the loop.
    case chunked(HTTPHeaders, ChunkedBody, ScopeKey)
    case problem(Problem)

    /// Reads an id for a peer: the hot path, so nothing here waits.
    init(
        _ id: EntryID,
        _ head: HTTPRequestHead,
        _ peer: Peer,
        _ loop: LoopReader,
        _ engine: Engine
    ) {
        let now = engine.clock.now()
        do {
            let account = try Self.account(head.uri)
            let scope = loop.key(for: peer.scope(account))
            let found = try engine.withEntry(id, scope, loop.reader, now: now) { row in
                EntryReply(row, id, head, scope, date: loop.date(at: now), now)
            }
            self = found ?? .problem(.miss(id))
        } catch let problem as Problem {
            self = .problem(problem)
        } catch let error as StoreError {
            self = .problem(Problem(error))
        } catch {
            preconditionFailure("a read fails in two ways only")
        }
    }

    private static func account(_ uri: String) throws(Problem) -> AccountName {
        guard let mark = uri.firstIndex(of: "?") else { return .default }
        var parameters = try QueryParameters(uri[uri.index(after: mark)...])
        let account = try parameters.takeAccount()
        try parameters.refuseRest()
        return account
    }

    private init(
        _ row: borrowing EntryRow,
        _ id: EntryID,
        _ head: HTTPRequestHead,
        _ scope: ScopeKey,
        date: String,
        _ now: Timestamp
    ) {
        switch row.kind {
        case .blob, .fetched:
            break
        case .tombstone:
            self = .problem(
                Problem(.deleted, "the origin says that '\(id)' is gone", status: 410)
            )
            return
        case .variants:
            self = .problem(.miss(id))
            return
        }
        let tag = row.entityTag
        var headers = Self.headers(row, tag, date: date, now)
        if head.headers.contains(name: "If-None-Match"),
            EntityTagList.contains(tag, in: head.headers["If-None-Match"])
        {
            self = .whole(.notModified, headers, nil)
            return
        }
        headers.add(name: "Content-Length", value: String(row.byteCount))
        if let chunked = row.chunkedBody {
            self = .chunked(headers, chunked, scope)
        } else if head.method == .HEAD {
            self = .whole(.ok, headers, nil)
        } else {
            self = .whole(.ok, headers, row.withBody { ByteBuffer(bytes: $0) })
        }
    }

    private static func headers(
        _ row: borrowing EntryRow,
        _ tag: String,
        date: String,
        _ now: Timestamp
    ) -> HTTPHeaders {
        var headers = HTTPHeaders()
        headers.reserveCapacity(9)
        headers.add(name: "Date", value: date)
        headers.add(name: "Content-Type", value: row.mediaType ?? "application/octet-stream")
        headers.add(name: "ETag", value: tag)
        let storedAt = row.storedAt
        headers.add(name: "Last-Modified", value: row.lastModified ?? storedAt.httpDate)
        if let coding = row.contentEncoding { headers.add(name: "Content-Encoding", value: coding) }
        let age = max(0, now.since(storedAt).milliseconds / 1_000)
        headers.add(name: "Age", value: String(age))
        headers.add(name: "Cache-Status", value: cacheStatus(row, now))
        headers.add(name: "Larder-Rev", value: String(row.revision.number))
        headers.add(name: "Larder-Pending", value: "0")
        return headers
    }

    /// RFC 9211: a hit, and for how many seconds more it is fresh, less than 0 when it is stale.
    private static func cacheStatus(_ row: borrowing EntryRow, _ now: Timestamp) -> String {
        guard let until = row.freshUntil else { return "larder; hit" }
        return "larder; hit; ttl=\(until.since(now).milliseconds / 1_000)"
    }
}
