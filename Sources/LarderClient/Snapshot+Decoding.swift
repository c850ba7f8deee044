import FoundationEssentials

extension Snapshot {
    /// The body decoded from JSON, with all else that is known.
    func decoded<Value: Decodable & Sendable>(
        as type: Value.Type,
        by decoder: JSONDecoder
    ) async throws(LarderError) -> TypedSnapshot<Value> {
        let value = try decoder.decode(type, from: try await body(), of: frame.entry.id)
        return TypedSnapshot(value: value, snapshot: self)
    }
}

extension JSONDecoder {
    /// The body of an entry as a value.
    func decode<Value: Decodable>(
        _ type: Value.Type,
        from body: [UInt8],
        of id: String
    ) throws(LarderError) -> Value {
        do {
            return try decode(type, from: Data(body))
        } catch let error as DecodingError {
            throw .decoding(id: id, reason: error.reason)
        } catch {
            throw .decoding(id: id, reason: "\(error)")
        }
    }
}

extension DecodingError {
    /// Where it failed and why, in one line.
    fileprivate var reason: String {
        let context =
            switch self {
            case .typeMismatch(_, let context), .valueNotFound(_, let context),
                .keyNotFound(_, let context), .dataCorrupted(let context):
                context
            @unknown default: Context(codingPath: [], debugDescription: "\(self)")
            }
        let path = context.codingPath.map(\.stringValue).joined(separator: "/")
        return path.isEmpty
            ? context.debugDescription : "at \(path): \(context.debugDescription)"
    }
}
