import AsyncHTTPClient
public import FoundationEssentials
public import LarderAPI
import LarderModel
import LarderWire
import NIOHTTP1

/// The normalized cache: objects that are in several answers and are kept once.
extension LarderClient {
    /// An entity as it is known now, whichever answer brought it.
    ///
    ///     let author = try await larder.entity("User:7", as: Author.self)
    ///     show(author.value.name)
    ///
    /// Nobody else is asked. It has every member that any answer brought; where it refers to
    /// another entity, that one's key stands, up to `depth` references deep the entity itself.
    ///
    /// - Parameters:
    ///   - key: `Type:id`, such as `User:7`.
    ///   - origin: Whose it is; may be nil while only one origin has rules.
    ///   - depth: 0 to 8.
    ///   - type: What it is.
    ///   - decoder: How dates, keys and the like are spelled.
    /// - Returns: It, and what is known of it.
    /// - Throws: ``LarderError/miss(_:)`` where nothing is known, ``LarderError/deleted(_:)`` where
    ///   the origin has deleted it, ``LarderError/decoding(id:reason:)`` where it is something else.
    public func entity<Value: Decodable & Sendable>(
        _ key: String,
        origin: String? = nil,
        expanding depth: Int = 0,
        as type: Value.Type,
        decoder: JSONDecoder = JSONDecoder()
    ) async throws(LarderError) -> TypedEntity<Value> {
        let entity = try await self.entity(key, origin: origin, expanding: depth)
        let value = try decoder.decode(type, from: entity.bytes, of: key)
        return TypedEntity(value: value, metadata: entity.metadata)
    }

    /// The same as JSON.
    ///
    /// - Parameters:
    ///   - key: `Type:id`, such as `User:7`.
    ///   - origin: Whose it is; may be nil while only one origin has rules.
    ///   - depth: 0 to 8.
    /// - Returns: It, and what is known of it; the `id` of that is the key.
    /// - Throws: As ``entity(_:origin:expanding:as:decoder:)``.
    public func entity(
        _ key: String,
        origin: String? = nil,
        expanding depth: Int = 0
    ) async throws(LarderError) -> CachedEntry {
        var query = EntityQuery()
        (query.origin, query.expand) = (origin, depth == 0 ? nil : depth)
        query.account = try accountParameter()
        let key = try EntityKey(given: key)
        let request = SocketRequest(getting: PercentCoding.entityPath(key), query)
        let response = try await connection.send(request)
        return CachedEntry(
            metadata: EntryMetadata(name: key.text, response: response),
            bytes: try await response.wholeBody(upTo: Limits.reportBytesMax)
        )
    }

    /// Sets an entity as what its server holds, where a program has learned that elsewhere.
    ///
    ///     try await larder.setEntity("User:7", to: #"{"id":7,"name":"Ada"}"#)
    ///
    /// Every answer that shows it shows it so at once. What is to be written to the server is a
    /// ``Modifier``.
    ///
    /// - Parameters:
    ///   - key: `Type:id`, such as `User:7`.
    ///   - origin: Whose it is; may be nil while only one origin has rules.
    ///   - json: A JSON object. What it does not have of what is known stays.
    /// - Returns: Whether it was known before.
    /// - Throws: ``LarderError/invalid(_:)`` for what is no entity of this key.
    @discardableResult
    public func setEntity(
        _ key: String,
        origin: String? = nil,
        to json: String
    ) async throws(LarderError) -> PutOutcome {
        var request = SocketRequest(.PUT, try entityTarget(key, origin))
        request.headers.add(name: "Content-Type", value: MediaType.json)
        request.body = .bytes(Array(json.utf8))
        let response = try await connection.send(request)
        _ = try await response.wholeBody(upTo: Limits.reportBytesMax)
        return response.status == .created ? .created : .replaced
    }

    /// The same from a value.
    ///
    /// - Parameters:
    ///   - key: `Type:id`, such as `User:7`.
    ///   - origin: Whose it is; may be nil while only one origin has rules.
    ///   - value: What it is now. What the type does not know of it stays.
    ///   - encoder: How dates, keys and the like are spelled.
    /// - Returns: Whether it was known before.
    /// - Throws: As ``setEntity(_:origin:to:)``.
    @discardableResult
    public func setEntity<Value: Encodable & Sendable>(
        _ key: String,
        origin: String? = nil,
        to value: Value,
        encoder: JSONEncoder = JSONEncoder()
    ) async throws(LarderError) -> PutOutcome {
        let json: Data
        do {
            json = try encoder.encode(value)
        } catch {
            throw .bodyFailed("\(error)")
        }
        return try await setEntity(key, origin: origin, to: String(decoding: json, as: UTF8.self))
    }

    /// Marks an entity as deleted at its server, where a program has learned that elsewhere.
    ///
    /// The answers that show it are as the origin's rule for its type says: without it, or deleted
    /// themselves.
    ///
    /// - Parameters:
    ///   - key: `Type:id`, such as `User:7`.
    ///   - origin: Whose it is; may be nil while only one origin has rules.
    /// - Throws: ``LarderError/invalid(_:)`` for what is no key.
    public func deleteEntity(_ key: String, origin: String? = nil) async throws(LarderError) {
        let target = try entityTarget(key, origin)
        _ = try await connection.report(
            SocketRequest(.DELETE, target, timeLimit: Limits.reportTime)
        )
    }

    /// All entities of an origin, in the order of their keys, page by page.
    ///
    ///     for try await author in larder.allEntities(type: "User") { print(author.key) }
    ///
    /// - Parameters:
    ///   - origin: Whose; may be nil while only one origin has rules.
    ///   - type: Only those of a type.
    ///   - scope: Whose rows.
    /// - Returns: All of them; nothing is asked before they are iterated.
    public func allEntities(
        origin: String? = nil,
        type: String? = nil,
        scope: EntryScope = .own
    ) -> Pages<EntityItem> {
        Pages { cursor throws(LarderError) in
            let page = try await self.entities(
                origin: origin,
                type: type,
                limit: Limits.pageRowsMax,
                cursor: cursor,
                scope: scope
            )
            return (page.items, page.next)
        }
    }

    /// One page of entities, without their values.
    ///
    /// - Parameters:
    ///   - origin: Whose; may be nil while only one origin has rules.
    ///   - type: Only those of a type.
    ///   - limit: Rows in the page, 1 to 1,000; nil: 100.
    ///   - cursor: the `next` of the page before.
    ///   - scope: Whose rows.
    /// - Returns: The page.
    /// - Throws: ``LarderError/notPermitted(_:)`` for others' rows.
    public func entities(
        origin: String? = nil,
        type: String? = nil,
        limit: Int? = nil,
        cursor: String? = nil,
        scope: EntryScope = .own
    ) async throws(LarderError) -> Page<EntityItem> {
        var query = EntityListQuery()
        (query.origin, query.type) = (origin, type)
        (query.page.limit, query.page.cursor) = (limit, cursor)
        query.rows = try rows(of: scope)
        return try await connection.send(SocketRequest(getting: "/v1/entities", query))
    }

    /// Everything that is known of an entity, for people.
    package func explainEntity(
        _ key: String,
        origin: String?,
        scope: EntryScope = .own
    ) async throws(LarderError) -> EntityExplanation {
        var query = EntityExplanationQuery()
        query.origin = origin
        query.rows = try rows(of: scope)
        let path = PercentCoding.entityPath(try EntityKey(given: key)) + "/explain"
        return try await connection.send(SocketRequest(getting: path, query))
    }

    private func entityTarget(_ key: String, _ origin: String?) throws(LarderError) -> String {
        target(
            PercentCoding.entityPath(try EntityKey(given: key)),
            ["origin": origin, "account": try accountParameter()]
        )
    }
}

extension EntityKey {
    /// A key that a program gives.
    init(given text: String) throws(LarderError) {
        self = try LarderError.checking(.badID) { () throws(ModelError) in try EntityKey(text) }
    }
}
