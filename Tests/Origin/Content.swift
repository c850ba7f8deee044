import LarderJSON

/// The body of a write, of a document or of an answer.
enum Content: Equatable {
    case json(JSONValue)
    case text(String)

    /// Nil where the bytes are no UTF-8.
    init?(_ bytes: [UInt8]) {
        if let json = try? JSONValue(parsing: bytes) {
            self = .json(json)
        } else if let text = String(validating: bytes, as: UTF8.self) {
            self = .text(text)
        } else {
            return nil
        }
    }

    var bytes: [UInt8] {
        switch self {
        case .text(let text): return Array(text.utf8)
        case .json(let value):
            var json = JSONWriter()
            json.value(value)
            return json.bytes
        }
    }

    /// The media type that it has of itself.
    var type: String {
        switch self {
        case .json: "application/json"
        case .text: "text/plain; charset=utf-8"
        }
    }
}
