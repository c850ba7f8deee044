public import FoundationEssentials
import LarderJSON
import LarderModel
import LarderWire

extension LarderClient {
    /// Changes what a URL shows: here at once, and on the server by a PATCH of what differs
    /// (RFC 7396), as soon as that can be sent.
    ///
    ///     try await larder.modify(url, as: Article.self) { $0.liked = true }
    ///
    /// What is cached is read, with what is still to be sent, and nobody is asked. Only members
    /// that `change` alters are sent; what the type does not know stays as it is. What a merge
    /// cannot say is refused: a member that becomes null, and a change of an array whose elements
    /// have members that the type does not know, as an array is sent as a whole.
    ///
    /// A number is sent as it is after the change. To have the server's counted on, write a
    /// ``Modifier`` with ``Modifier/Effect/add(_:)``.
    ///
    /// - Parameters:
    ///   - url: Absolute, http or https, of a host that the daemon has an origin for.
    ///   - type: What the body is.
    ///   - decoder: How dates, keys and the like are spelled.
    ///   - encoder: The same for what is sent; both must spell alike.
    ///   - change: Changes the value.
    /// - Returns: What was written, as by ``write(_:)``; nil where nothing was changed.
    /// - Throws: ``LarderError/miss(_:)`` where nothing is cached, ``LarderError/deleted(_:)`` where
    ///   it is gone, ``LarderError/decoding(id:reason:)`` where the body is something else,
    ///   ``LarderError/invalid(_:)`` for what a merge cannot say, and what ``write(_:)`` throws.
    @discardableResult
    public func modify<Value: Codable>(
        _ url: String,
        as type: Value.Type,
        decoder: JSONDecoder = JSONDecoder(),
        encoder: JSONEncoder = JSONEncoder(),
        _ change: (inout Value) -> Void
    ) async throws(LarderError) -> ModifierReceipt? {
        let id = try LarderError.checking(.badURL) { () throws(ModelError) in
            try WebURL(url).text
        }
        let body = try await entry(id).bytes
        var value = try decoder.decode(type, from: body, of: id)
        let before = try JSON(encoding: value, by: encoder)
        change(&value)
        let after = try JSON(encoding: value, by: encoder)
        let difference = ValueDifference(
            shown: try shown(body, of: id),
            before: before.value,
            after: after.value
        )
        guard let merge = try difference.merge() else { return nil }
        return try await write(Modifier(.merge(JSON(merge)), on: id))
    }

    private func shown(_ body: [UInt8], of id: String) throws(LarderError) -> JSONValue {
        do throws(JSONError) {
            return try JSONValue(parsing: body)
        } catch {
            throw .decoding(id: id, reason: error.message)
        }
    }
}
