import AsyncHTTPClient
import LarderModel
import LarderWire
import NIOCore
import NIOHTTP1

extension LarderClient {
    /// The bytes under an id, whole in memory, and what is known of them.
    ///
    ///     let note = try await larder.entry("notes/today")
    ///     print(String(decoding: note.bytes, as: UTF8.self))
    ///
    /// - Throws: ``LarderError/miss(_:)`` where there is nothing, ``LarderError/deleted(_:)`` where
    ///   the origin said that it is gone.
    public func entry(_ id: String) async throws(LarderError) -> CachedEntry {
        let id = try entryID(id)
        return try await entry(id, at: try entryTarget(id))
    }

    /// The same as a stream, for large ones; hangs up when its chunks are let go.
    ///
    ///     let film = try await larder.entryStream("films/1")
    ///     for try await chunk in film.chunks { try file.write(contentsOf: chunk) }
    ///
    /// - Throws: As ``entry(_:)``; its chunks throw ``LarderError/cutOff`` where the bytes end too
    ///   early.
    public func entryStream(_ id: String) async throws(LarderError) -> StreamedEntry {
        let id = try entryID(id)
        return try await entryStream(id, at: try entryTarget(id))
    }

    /// What is known of the bytes under an id.
    ///
    /// - Throws: As ``entry(_:)``.
    public func metadata(_ id: String) async throws(LarderError) -> EntryMetadata {
        let id = try entryID(id)
        let request = SocketRequest(.HEAD, try entryTarget(id), timeLimit: Limits.reportTime)
        return EntryMetadata(id: id, response: try await connection.send(request))
    }

    /// The answer of the daemon to a write of an entry or entity.
    public struct WriteReceipt: Equatable, Sendable {
        /// Whether there was nothing under the id before.
        public let isNew: Bool
        /// Tag of the bytes; nil for an entity and after a removal.
        public let etag: String?
        /// Revision of the write.
        public let rev: Int64?

        init(_ response: HTTPClientResponse) {
            isNew = response.status == .created
            etag = response.headers.first(name: "ETag")
            rev = response.headers.first(name: "Larder-Rev").flatMap { Int64($0) }
        }
    }

    /// A condition of a write (RFC 9110 13.1); if the entry does not meet it, the daemon refuses the
    /// write with `urn:larder:precondition-failed`.
    public enum WriteCondition: Hashable, Sendable {
        /// Nothing (`If-None-Match: *`).
        case absent
        /// Something (`If-Match: *`).
        case present
        /// Bytes with this tag (`If-Match`).
        case etag(String)

        func add(to headers: inout HTTPHeaders) {
            switch self {
            case .absent: headers.add(name: "If-None-Match", value: "*")
            case .present: headers.add(name: "If-Match", value: "*")
            case .etag(let tag): headers.add(name: "If-Match", value: tag)
            }
        }
    }

    /// Stores a program's own bytes under an id; they are on disk when it returns.
    ///
    ///     try await larder.put("notes/today", bytes: Array("buy milk".utf8), mediaType: "text/plain")
    ///
    /// - Parameters:
    ///   - id: 1 to 8,192 bytes without control characters, not under an origin's base URL.
    ///   - bytes: The bytes.
    ///   - mediaType: Their Content-Type.
    ///   - ttl: How long they are there; nil: until they are evicted or removed.
    ///   - isPinned: Whether they are pinned as well, both or neither; see ``pin(_:waitingFor:)``.
    ///   - condition: What there must be under the id.
    /// - Returns: Whether it is new, with its tag and revision.
    /// - Throws: ``LarderError/tooLarge(_:)`` above the daemon's limit for one entry,
    ///   ``LarderError/invalid(_:)`` for an id that cannot be taken, ``LarderError/unavailable(_:)``
    ///   where there is no room.
    @discardableResult
    public func put(
        _ id: String,
        bytes: [UInt8],
        mediaType: String = "application/octet-stream",
        ttl: Duration? = nil,
        isPinned: Bool = false,
        only condition: WriteCondition? = nil
    ) async throws(LarderError) -> WriteReceipt {
        try await put(id, body: .bytes(bytes), mediaType: mediaType, ttl: ttl, isPinned, condition)
    }

    /// The same from a sequence of chunks, of which only a few are in memory at once.
    ///
    /// - Parameters:
    ///   - id: 1 to 8,192 bytes without control characters, not under an origin's base URL.
    ///   - chunks: The bytes. What it throws becomes ``LarderError/bodyFailed(_:)``, and nothing
    ///     is stored.
    ///   - byteCount: Their number, if it is known; it must be right.
    ///   - mediaType: Their Content-Type.
    ///   - ttl: How long they are there; nil: until they are evicted or removed.
    ///   - isPinned: Whether they are pinned as well, both or neither; see ``pin(_:waitingFor:)``.
    ///   - condition: What there must be under the id.
    /// - Returns: Whether it is new, with its tag and revision.
    /// - Throws: As ``put(_:bytes:mediaType:ttl:isPinned:only:)``, and ``LarderError/bodyFailed(_:)``.
    @discardableResult
    public func put<Chunks: AsyncSequence & Sendable>(
        _ id: String,
        chunks: Chunks,
        byteCount: Int? = nil,
        mediaType: String = "application/octet-stream",
        ttl: Duration? = nil,
        isPinned: Bool = false,
        only condition: WriteCondition? = nil
    ) async throws(LarderError) -> WriteReceipt where Chunks.Element == [UInt8] {
        let length = byteCount.map { HTTPClientRequest.Body.Length.known(Int64($0)) } ?? .unknown
        let body = HTTPClientRequest.Body.stream(BufferedBody(chunks: chunks), length: length)
        return try await put(id, body: body, mediaType: mediaType, ttl: ttl, isPinned, condition)
    }

    /// Removes a program's own bytes, forgets an origin's answer, or marks an entity as deleted at its
    /// server.
    ///
    /// - Parameters:
    ///   - id: The id.
    ///   - scope: Whose.
    ///   - condition: What there must be under the id.
    /// - Returns: The revision of the removal.
    /// - Throws: ``LarderError/miss(_:)`` where there is nothing.
    @discardableResult
    public func remove(
        _ id: String,
        from scope: EntryScope = .own,
        only condition: WriteCondition? = nil
    ) async throws(LarderError) -> WriteReceipt {
        let selection = try scopeSelection(scope)
        let path = PercentCoding.entryPath(try entryID(id))
        let query = PercentCoding.query(selection.parameters)
        let target = query.isEmpty ? path : path + "?" + query
        var request = SocketRequest(.DELETE, target, timeLimit: Limits.reportTime)
        condition?.add(to: &request.headers)
        let response = try await connection.send(request)
        _ = try await response.wholeBody(upTo: Limits.reportBytesMax)
        return WriteReceipt(response)
    }

    private func put(
        _ id: String,
        body: HTTPClientRequest.Body,
        mediaType: String,
        ttl: Duration?,
        _ isPinned: Bool,
        _ condition: WriteCondition?
    ) async throws(LarderError) -> WriteReceipt {
        let parameters: KeyValuePairs = [
            "ttl": ttl?.unitText, "pin": isPinned ? "true" : nil,
            "account": try accountParameter(),
        ]
        let path = PercentCoding.entryPath(try entryID(id))
        var request = SocketRequest(.PUT, target(path, parameters))
        request.headers.add(name: "Content-Type", value: mediaType)
        condition?.add(to: &request.headers)
        request.body = body
        let response = try await connection.send(request)
        _ = try await response.wholeBody(upTo: Limits.reportBytesMax)
        return WriteReceipt(response)
    }
}

extension LarderClient {
    /// The entry that a snapshot's `body_href` names.
    func entry(_ id: EntryID, at path: String) async throws(LarderError) -> CachedEntry {
        let stream = try await entryStream(id, at: path)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(min(stream.metadata.byteCount ?? 0, Limits.frameBytesMax))
        for try await chunk in stream.chunks { bytes += chunk }
        return CachedEntry(metadata: stream.metadata, bytes: bytes)
    }

    /// A path of the daemon's own may leave the account to the one who asks.
    func entryStream(_ id: EntryID, at path: String) async throws(LarderError) -> StreamedEntry {
        let path = path.contains("?") ? path : target(path, ["account": try accountParameter()])
        let response = try await connection.send(SocketRequest(.GET, path))
        return StreamedEntry(
            metadata: EntryMetadata(id: id, response: response),
            chunks: EntryChunks(response.body, client: self)
        )
    }

    func entryID(_ text: String) throws(LarderError) -> EntryID {
        try LarderError.checking(.badID) { () throws(ModelError) in try EntryID(given: text) }
    }

    private func entryTarget(_ id: EntryID) throws(LarderError) -> String {
        target(PercentCoding.entryPath(id), ["account": try accountParameter()])
    }

    /// The account as a parameter; nil where it is the default.
    func accountParameter() throws(LarderError) -> String? {
        let account = try accountName()
        return account == .default ? nil : account.text
    }
}
