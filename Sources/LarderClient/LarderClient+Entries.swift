import AsyncHTTPClient
public import FoundationEssentials
import LarderModel
import LarderWire
import NIOCore
import NIOHTTP1

extension LarderClient {
    /// Reads an entry with its metadata, all bytes in memory.
    ///
    ///     let note = try await larder.entry("notes/today")
    ///     print(String(decoding: note.bytes, as: UTF8.self))
    ///
    /// - Throws: ``LarderError/miss(_:)`` if nothing is cached under the id,
    ///   ``LarderError/deleted(_:)`` if the origin said that it is gone.
    public func entry(_ id: String) async throws(LarderError) -> CachedEntry {
        let id = try entryID(id)
        return try await entry(id, at: try entryTarget(id))
    }

    /// Reads an entry as a stream; releasing its chunks closes the connection.
    ///
    ///     let film = try await larder.entryStream("films/1")
    ///     for try await chunk in film.chunks { try file.write(contentsOf: chunk) }
    ///
    /// - Throws: As ``entry(_:)``; the chunks throw ``LarderError/cutOff`` if the bytes end too
    ///   early.
    public func entryStream(_ id: String) async throws(LarderError) -> StreamedEntry {
        let id = try entryID(id)
        return try await entryStream(id, at: try entryTarget(id))
    }

    /// Reads the metadata of an entry.
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

    /// A condition of a write (RFC 9110 13.1); if the entry does not meet it, the daemon refuses
    /// the write with `urn:larder:precondition-failed`.
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
    ///   - ttl: Lifetime of the bytes; nil: until they are evicted or removed.
    ///   - isPinned: Whether the write also pins the bytes; see ``pin(_:waitingFor:refresh:)``. If the
    ///     daemon cannot pin them, it does not store them.
    ///   - condition: Condition that the entry must meet; nil: none.
    /// - Returns: Whether the entry is new, with its tag and revision.
    /// - Throws: ``LarderError/tooLarge(_:)`` above the daemon's limit for one entry,
    ///   ``LarderError/invalid(_:)`` for an invalid id, ``LarderError/unavailable(_:)`` if there is
    ///   no room.
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

    /// Stores a program's own bytes from a sequence of chunks, with only a few chunks in memory.
    ///
    /// - Parameters:
    ///   - id: 1 to 8,192 bytes without control characters, not under an origin's base URL.
    ///   - chunks: The bytes. If the sequence throws, the daemon stores nothing, and the call
    ///     throws ``LarderError/bodyFailed(_:)``.
    ///   - byteCount: Exact number of bytes, if it is known.
    ///   - mediaType: Their Content-Type.
    ///   - ttl: Lifetime of the bytes; nil: until they are evicted or removed.
    ///   - isPinned: Whether the write also pins the bytes; see ``pin(_:waitingFor:refresh:)``. If the
    ///     daemon cannot pin them, it does not store them.
    ///   - condition: Condition that the entry must meet; nil: none.
    /// - Returns: Whether the entry is new, with its tag and revision.
    /// - Throws: As ``put(_:bytes:mediaType:ttl:isPinned:only:)``, and
    ///   ``LarderError/bodyFailed(_:)``.
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

    /// Removes a program's own bytes, forgets an origin's answer, or marks an entity as deleted at
    /// its server.
    ///
    /// - Parameters:
    ///   - id: The id.
    ///   - scope: Rows in which to remove it.
    ///   - condition: Condition that the entry must meet; nil: none.
    /// - Returns: The revision of the removal.
    /// - Throws: ``LarderError/miss(_:)`` if nothing is cached under the id.
    @discardableResult
    public func remove(
        _ id: String,
        from scope: EntryScope = .own,
        only condition: WriteCondition? = nil
    ) async throws(LarderError) -> WriteReceipt {
        let rows = try rows(of: scope)
        let target = socketTarget(PercentCoding.entryPath(try entryID(id)), rows)
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
        var query = PutQuery()
        (query.ttl, query.pin) = (ttl, isPinned ? true : nil)
        query.account = try accountParameter()
        let path = PercentCoding.entryPath(try entryID(id))
        var request = SocketRequest(.PUT, socketTarget(path, query))
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

    /// Adds the account to a path without a query, as a path from the daemon may lack it.
    func entryStream(_ id: EntryID, at path: String) async throws(LarderError) -> StreamedEntry {
        let path = path.contains("?") ? path : socketTarget(path, try accountQuery())
        let response = try await connection.send(SocketRequest(.GET, path))
        return StreamedEntry(
            metadata: EntryMetadata(id: id, response: response),
            chunks: EntryChunks(response.body, client: self)
        )
    }

    func entryID(_ text: String) throws(LarderError) -> EntryID {
        try LarderError.checking(.badID, text, EntryID.init(given:))
    }

    private func entryTarget(_ id: EntryID) throws(LarderError) -> String {
        socketTarget(PercentCoding.entryPath(id), try accountQuery())
    }

    func accountQuery() throws(LarderError) -> AccountQuery {
        var query = AccountQuery()
        query.account = try accountParameter()
        return query
    }

    /// The account as a parameter; nil for the default account.
    func accountParameter() throws(LarderError) -> String? {
        let account = try accountName()
        return account == .default ? nil : account.text
    }
}

/// The normalized cache: objects that are in several answers and are kept once.
///
/// An entity has an id as entries have, for ``LarderClient/entry(_:)``,
/// ``LarderClient/remove(_:from:)`` and all else that takes ids.
extension LarderClient {
    /// The id of an entity: `entity:ORIGIN/TYPE:KEY`.
    ///
    /// - Parameters:
    ///   - key: `Type:id`, such as `User:7`.
    ///   - origin: Name of the origin.
    /// - Returns: The id, such as `entity:shop/User:7`.
    public static func entityID(_ key: String, of origin: String) -> String {
        "\(EntryID.entityScheme)\(origin)/\(key)"
    }

    /// Reads the current value of an entity, without the network.
    ///
    ///     let author = try await larder.entity("entity:shop/User:7", as: Author.self)
    ///     show(author.value.name)
    ///
    /// The value has every member that any answer brought. A reference to another entity is its
    /// key; up to `depth` references deep it is the entity itself.
    ///
    /// - Parameters:
    ///   - id: Id of the entity; see ``entityID(_:of:)``.
    ///   - depth: 0 to 8.
    ///   - type: Type of the value.
    ///   - decoder: How dates, keys and the like are spelled.
    /// - Returns: The value with its metadata.
    /// - Throws: ``LarderError/miss(_:)`` if the entity is unknown, ``LarderError/deleted(_:)`` if
    ///   the origin has deleted it, ``LarderError/decoding(id:reason:)`` if the value has another
    ///   type.
    public func entity<Value: Decodable & Sendable>(
        _ id: String,
        expanding depth: Int = 0,
        as type: Value.Type,
        decoder: JSONDecoder = JSONDecoder()
    ) async throws(LarderError) -> TypedEntity<Value> {
        let entity = try await self.entity(id, expanding: depth)
        let value = try decoder.decode(type, from: entity.bytes, of: id)
        return TypedEntity(value: value, metadata: entity.metadata)
    }

    /// Reads the current value of an entity as JSON, without the network.
    ///
    /// - Parameters:
    ///   - id: Id of the entity; see ``entityID(_:of:)``.
    ///   - depth: 0 to 8.
    /// - Returns: The JSON with its metadata.
    /// - Throws: As ``entity(_:expanding:as:decoder:)``.
    public func entity(
        _ id: String,
        expanding depth: Int = 0
    ) async throws(LarderError) -> CachedEntry {
        let id = try entryID(id)
        var query = EntryQuery()
        query.expand = depth == 0 ? nil : depth
        query.account = try accountParameter()
        return try await entry(id, at: socketTarget(PercentCoding.entryPath(id), query))
    }

    /// Sets an entity to the value that its server has, which a program has learned elsewhere.
    ///
    ///     try await larder.setEntity("entity:shop/User:7", to: #"{"id":7,"name":"Ada"}"#)
    ///
    /// Every answer with the entity shows it immediately. A ``Modifier`` also writes to the server.
    ///
    /// - Parameters:
    ///   - id: Id of the entity; see ``entityID(_:of:)``.
    ///   - json: A JSON object. Known members that it does not have stay.
    /// - Returns: Whether the entity was known before.
    /// - Throws: ``LarderError/invalid(_:)`` for JSON that is not an entity of this key.
    @discardableResult
    public func setEntity(_ id: String, to json: String) async throws(LarderError) -> WriteReceipt {
        try await put(id, bytes: Array(json.utf8), mediaType: MediaType.json)
    }

    /// Sets an entity to a value that is encoded as JSON.
    ///
    /// - Parameters:
    ///   - id: Id of the entity; see ``entityID(_:of:)``.
    ///   - value: The value. Members that the type does not know stay.
    ///   - encoder: How dates, keys and the like are spelled.
    /// - Returns: Whether the entity was known before.
    /// - Throws: As ``setEntity(_:to:)``.
    @discardableResult
    public func setEntity<Value: Encodable & Sendable>(
        _ id: String,
        to value: Value,
        encoder: JSONEncoder = JSONEncoder()
    ) async throws(LarderError) -> WriteReceipt {
        let json: Data
        do {
            json = try encoder.encode(value)
        } catch {
            throw .bodyFailed("\(error)")
        }
        return try await setEntity(id, to: String(decoding: json, as: UTF8.self))
    }
}

extension LarderClient {
    /// Reads the cached entries of several ids as of one moment, without the network.
    ///
    ///     let batch = try await larder.batch(urls, as: Article.self)
    ///     show(batch.found.map(\.value))
    ///     fetch(batch.missed)
    ///
    /// - Parameters:
    ///   - ids: 1 to 1,000, none of them twice; the id of a fetched entry is its URL.
    ///   - type: Type of the bodies.
    ///   - decoder: How dates, keys and the like are spelled.
    /// - Returns: The cached entries, and the ids without one.
    /// - Throws: The problem, such as `urn:larder:bad-request`;
    ///   ``LarderError/decoding(id:reason:)`` if a body has another type.
    public func batch<Value: Decodable & Sendable>(
        _ ids: [String],
        as type: Value.Type,
        decoder: JSONDecoder = JSONDecoder()
    ) async throws(LarderError) -> BatchResult<TypedSnapshot<Value>> {
        let batch = try await batch(ids)
        var found: [TypedSnapshot<Value>] = []
        for snapshot in batch.found {
            found.append(try await snapshot.decoded(as: type, by: decoder))
        }
        return BatchResult(found: found, missed: batch.missed, deleted: batch.deleted)
    }

    /// Reads the cached entries of several ids, with their bodies as bytes.
    ///
    /// The answer leaves out large bodies. ``Snapshot/body()`` reads such a body later, as it is
    /// then.
    ///
    /// - Parameter ids: 1 to 1,000, none of them twice.
    /// - Returns: The cached entries, and the ids without one.
    /// - Throws: The problem, such as `urn:larder:bad-request`.
    public func batch(_ ids: [String]) async throws(LarderError) -> BatchResult<Snapshot> {
        for id in ids { _ = try entryID(id) }
        var command = BatchCommand(ids: ids)
        command.account = try accountParameter()
        let request = SocketRequest(sending: command, to: "/v1/entries/batch")
        var reader = try await FrameReader<BatchFrame>(request, of: self)
        var found: [Snapshot] = []
        var missed: [String] = []
        var deleted: [String] = []
        while true {
            switch try await reader.next().frame {
            case .snapshot(let frame): found.append(Snapshot(frame, client: self))
            case .miss(let frame): missed.append(frame.id)
            case .deleted(let frame): deleted.append(frame.id)
            case .other: continue
            case .end(let end):
                await reader.drain()
                guard end.outcome != .shutdown else {
                    throw .problem(Problem(.shuttingDown, "the daemon is ending"))
                }
                return BatchResult(found: found, missed: missed, deleted: deleted)
            }
        }
    }
}

/// The cached entries of several ids, as of one moment.
public struct BatchResult<Found: Sendable>: Sendable {
    /// The cached entries, in the order asked.
    public let found: [Found]
    /// The ids under which nothing is cached, in the order asked.
    public let missed: [String]
    /// The ids of which the origin has said that they are gone, in the order asked.
    public let deleted: [String]
}

/// The users whose rows a request reads or changes.
///
/// ``user(_:account:)`` and ``all`` are for administrators of the daemon; other users get
/// ``LarderError/notPermitted(_:)``. The daemon logs each such use.
public enum EntryScope: Hashable, Sendable {
    /// Rows of this user, in the client's account.
    case own
    /// Rows that every user of the daemon sees.
    case shared
    /// Rows of another user: of one account, or of all accounts if it is nil.
    case user(UInt32, account: String? = nil)
    /// Rows of all users.
    case all
}

/// The user who sees an entry, or every user.
public enum EntryOwner: Hashable, Sendable {
    /// The user with this uid, in this account.
    case user(UInt32, account: String)
    /// Every user of the daemon.
    case everybody

    /// The owner of a row; nil in lists of the client's own rows.
    init?(user: UInt32?, account: String?, shared: Bool?) {
        guard let user else {
            guard shared == true else { return nil }
            self = .everybody
            return
        }
        self = .user(user, account: account ?? "default")
    }
}

extension EntryItem {
    /// The owner of the row; nil in lists of the client's own rows.
    public var owner: EntryOwner? { EntryOwner(user: user, account: account, shared: shared) }
}

extension LarderClient {
    func rows(of scope: EntryScope) throws(LarderError) -> ScopeQuery {
        var query = ScopeQuery()
        switch scope {
        case .own: query.account = try accountParameter()
        case .shared: query.scope = ScopeSelection.shared.text
        case .user(let uid, let account):
            let name = try account.map { name throws(LarderError) in try accountName(name) }
            query.scope = ScopeSelection.user(uid, name).text
            query.account = name?.text
        case .all: query.scope = ScopeSelection.all.text
        }
        return query
    }
}
