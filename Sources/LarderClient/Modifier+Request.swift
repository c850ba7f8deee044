import LarderJSON
import LarderModel
import LarderWire

extension Modifier {
    /// What is sent to the server.
    public struct Request: Equatable, Sendable {
        /// What it carries.
        public enum Body: Equatable, Sendable {
            /// JSON.
            case json(JSON)
            /// A text in UTF-8.
            case text(String)
            /// Bytes.
            case bytes([UInt8])
            /// The bytes that an entry shows when the modifier is accepted.
            case entry(String)
        }

        /// Such as `POST`; not one that only reads.
        public var method: String
        /// Absolute, http or https, of a host that the daemon has an origin for.
        public var url: String
        /// Header fields but Authorization, Cookie and Idempotency-Key, which are the daemon's.
        ///
        /// Without a Content-Type it is that of the body's kind.
        public var headers: [String: String]
        /// Nil: none.
        public var body: Body?

        /// A request.
        public init(
            _ method: String,
            _ url: String,
            headers: [String: String] = [:],
            body: Body? = nil
        ) {
            self.method = method
            self.url = url
            self.headers = headers
            self.body = body
        }
    }
}

extension Modifier.Request {
    /// As it travels; refused where the daemon would refuse it.
    var wire: ModifierCommand.Request {
        get throws(LarderError) {
            let url = try LarderError.checking(.badURL) { () throws(ModelError) in
                try WebURL(self.url)
            }
            var request = ModifierCommand.Request(method: method, url: url)
            for (name, value) in headers.sorted(by: { $0.key < $1.key }) {
                request.headers.append(name, value)
            }
            guard let body else { return request }
            request.body = try body.wire
            if let type = body.mediaType, request.headers["Content-Type"] == nil {
                request.headers.append("Content-Type", type)
            }
            return request
        }
    }
}

extension Modifier.Request.Body {
    fileprivate var mediaType: String? {
        switch self {
        case .json: "application/json"
        case .text: "text/plain; charset=utf-8"
        case .bytes: "application/octet-stream"
        case .entry: nil
        }
    }

    fileprivate var wire: ModifierCommand.Request.Body {
        get throws(LarderError) {
            switch self {
            case .json(let value): .bytes(Array(value.text.utf8))
            case .text(let text): .bytes(Array(text.utf8))
            case .bytes(let bytes): .bytes(bytes)
            case .entry(let id):
                .entry(
                    try LarderError.checking(.badID) { () throws(ModelError) in
                        try EntryID(id)
                    }
                )
            }
        }
    }
}
