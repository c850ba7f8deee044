package import LarderJSON
import LarderModel

/// What a target shows.
package enum ViewReport: Equatable, Sendable {
    /// Nothing is known of it.
    case unknown
    case deleted
    /// One JSON text, and whether all of it is known.
    case json([UInt8], isComplete: Bool)
    /// Anything else, by its length.
    case bytes(Int)
}

extension ViewReport {
    /// About how long its JSON is.
    package var byteCount: Int {
        switch self {
        case .unknown, .deleted, .bytes: 32
        case .json(let bytes, _): bytes.count + 32
        }
    }

    package func write(to json: inout JSONWriter) {
        json.object { json in
            switch self {
            case .unknown:
                json.member("state", "unknown")
            case .deleted:
                json.member("state", "deleted")
            case .json(let bytes, let isComplete):
                json.member("state", "value")
                json.member("complete", isComplete)
                json.name("body")
                json.verbatim(RawJSON.onOneLine(bytes))
            case .bytes(let count):
                json.member("state", "value")
                json.member("complete", true)
                json.member("bytes", count)
            }
        }
    }

    init(_ object: WireObject) throws(WireError) {
        switch try object.string("state") {
        case "unknown": self = .unknown
        case "deleted": self = .deleted
        case "value":
            if let body = object.bytes("body") {
                self = .json(body, isComplete: try object.bool("complete"))
            } else {
                self = .bytes(try object.integer("bytes"))
            }
        case let text: throw .unknownValue(member: "state", text: text)
        }
    }
}
