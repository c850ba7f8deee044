import LarderJSON
import LarderModel

extension JSONWriter {
    /// An origin's body, of which ``Limits/quotedBodyBytesMax`` bytes travel: inline where it is
    /// JSON, as a text otherwise; in both cases on one line.
    mutating func member(_ name: String, quoting body: [UInt8]) {
        let capped = Array(body.prefix(Limits.quotedBodyBytesMax))
        self.name(name)
        if JSONValidator.accepts(capped) {
            verbatim(RawJSON.onOneLine(capped))
        } else {
            string(String(decoding: capped, as: UTF8.self))
        }
    }
}

extension WireObject {
    /// A body that ``JSONWriter/member(_:quoting:)`` wrote; nil where it is missing or null.
    ///
    /// A string is taken for text, any other value for JSON.
    func optionalQuote(_ name: String) throws(WireError) -> [UInt8]? {
        switch try value(name) {
        case nil: nil
        case .string(let text): Array(text.utf8)
        case .some: bytes(name)
        }
    }
}
