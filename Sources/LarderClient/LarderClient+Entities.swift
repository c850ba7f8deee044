public import FoundationEssentials
import LarderAPI
import LarderModel
import LarderWire

/// The normalized cache: objects that are in several answers and are kept once.
///
/// An entity has an id as entries have, for ``LarderClient/entry(_:)``, ``LarderClient/remove(_:from:)``
/// and all else that takes ids.
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

    /// An entity as it is known now, whichever answer brought it.
    ///
    ///     let author = try await larder.entity("entity:shop/User:7", as: Author.self)
    ///     show(author.value.name)
    ///
    /// The network is not asked. The value has every member that any answer brought; where it refers
    /// to another entity, it has the key of that one, up to `depth` references deep the entity itself.
    ///
    /// - Parameters:
    ///   - id: Id of the entity; see ``entityID(_:of:)``.
    ///   - depth: 0 to 8.
    ///   - type: Type of the value.
    ///   - decoder: How dates, keys and the like are spelled.
    /// - Returns: The value with its metadata.
    /// - Throws: ``LarderError/miss(_:)`` where nothing is known, ``LarderError/deleted(_:)`` where
    ///   the origin has deleted it, ``LarderError/decoding(id:reason:)`` for another value.
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

    /// The same as JSON.
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

    /// The same from a value.
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
