import LarderModel

/// A thing that was created here, and gets its id from the server.
public struct CreatedEntity: Equatable, Sendable {
    /// Id of the entity, with a temporary key: `entity:ORIGIN/TYPE:tmp:UUID`.
    ///
    /// Reads and writes take it for as long as it is used, also after the server gave the real id.
    public let id: String
    /// Text for the server's id in URLs and JSON bodies of other writes: `{{id:tmp:UUID}}`.
    public let placeholder: String
    /// Receipt of the write that creates the entity.
    public let receipt: ModifierReceipt
}

extension LarderClient {
    /// Creates an entity here, and on the server by a request.
    ///
    ///     let eggs = try await larder.create(
    ///         "Todo",
    ///         of: "shop",
    ///         ["type": "Todo", "title": "eggs"],
    ///         by: .init("POST", "https://api.example.com/todos", body: ["title": "eggs"])
    ///     )
    ///     try await larder.write(Modifier(.merge(["done": true]), on: eggs.id))
    ///
    /// The entity shows immediately under ``CreatedEntity/id``. Writes that name this id wait for
    /// the id that the server gives. The daemon then puts the real id in place of the temporary
    /// one, and sends them.
    ///
    /// - Parameters:
    ///   - type: Type of the entity, by the rules of the origin.
    ///   - origin: Name of the origin.
    ///   - value: A JSON object.
    ///   - request: Creates the entity on the server; it cannot name the id.
    /// - Returns: The entity with its temporary id, and the receipt of the write.
    /// - Throws: As ``write(_:)``.
    public func create(
        _ type: String,
        of origin: String,
        _ value: JSON,
        by request: ModifierRequestCommand
    ) async throws(LarderError) -> CreatedEntity {
        let name = "tmp:\(time.generateID())"
        let key = EntityKey(type: type, id: name)?.text ?? "\(type):\(name)"
        let id = "\(EntryID.entityScheme)\(origin)/\(key)"
        let receipt = try await write(Modifier(.put(value), on: id, request: request))
        return CreatedEntity(id: id, placeholder: "{{id:\(name)}}", receipt: receipt)
    }

    /// The id of a created entity, with the key that the server gave it.
    ///
    /// - Parameters:
    ///   - created: The entity.
    ///   - wait: Time in which the server has to answer.
    /// - Returns: Nil while the server has not given an id, or if it refused the entity.
    /// - Throws: The errors of ``LarderClient/modifier(_:waitingFor:)``.
    public func realID(
        of created: CreatedEntity,
        waitingFor wait: Duration? = nil
    ) async throws(LarderError) -> String? {
        let report = try await modifier(created.receipt.id, waitingFor: wait)
        let id = report.targets.first?.id
        return id == created.id ? nil : id
    }
}
