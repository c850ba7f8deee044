import Glibc

/// A read of an entry in the form in which nearly all come, found in what was read without the parser:
/// HTTP/1.1, one Host, and no field that could ask for anything but what the target does.
///
/// It takes no more than what the parser takes, and says the same of it; everything else is left to
/// the parser.
struct PlainRead {
    /// Where the target stands, in origin form.
    let target: Range<Int>
    /// The length of the head, its empty line included.
    let length: Int

    /// Nil for what does not begin with the whole of one.
    init?(_ bytes: UnsafeRawBufferPointer) {
        var text = Text(bytes: bytes)
        guard text.skip("GET "), text.starts(with: "/v1/entries/") else { return nil }
        let begin = text.place
        text.skip { $0.standsInTarget }
        let end = text.place
        guard text.skip(" HTTP/1.1\r\n") else { return nil }
        var hosts = 0
        while !text.skip("\r\n") {
            guard let field = text.field(), field.isHarmless(&text) else { return nil }
            hosts += field == .host ? 1 : 0
            guard text.skip("\r\n") else { return nil }
        }
        guard hosts == 1, text.place <= Self.lengthMax else { return nil }
        target = begin..<end
        length = text.place
    }

    /// A longer head is the parser's, which has limits of its own; none of this length has as many
    /// fields as that takes.
    private static let lengthMax = 2_048

    /// Fields that change nothing of the answer to a read.
    private enum Field {
        case host
        case connection
        case other

        /// Goes over the field's value; false for one that means something.
        func isHarmless(_ text: inout Text) -> Bool {
            switch self {
            case .host: text.skip { $0.standsInHost }
            case .connection: return text.skip("keep-alive") || text.skip("Keep-Alive")
            case .other: text.skip { $0 >= UInt8(ascii: " ") && $0 < 0x7F }
            }
            return true
        }
    }

    /// What is left to be looked at.
    private struct Text {
        let bytes: UnsafeRawBufferPointer
        private(set) var place = 0

        func starts(with text: StaticString) -> Bool {
            let count = text.utf8CodeUnitCount
            guard bytes.count - place >= count, let base = bytes.baseAddress else { return false }
            return memcmp(base + place, text.utf8Start, count) == 0
        }

        mutating func skip(_ text: StaticString) -> Bool {
            guard starts(with: text) else { return false }
            place += text.utf8CodeUnitCount
            return true
        }

        mutating func skip(while isWanted: (UInt8) -> Bool) {
            while place < bytes.count, isWanted(bytes[place]) { place += 1 }
        }

        /// The name of a field with its colon and a space; nil for any that may mean something.
        mutating func field() -> Field? {
            if skip("Host: ") || skip("host: ") { return .host }
            if skip("Connection: ") || skip("connection: ") { return .connection }
            for name in Self.harmless where skip(name) { return .other }
            return nil
        }

        private static let harmless: [StaticString] = [
            "User-Agent: ", "user-agent: ", "Accept: ", "accept: ", "Accept-Encoding: ",
            "accept-encoding: ", "Accept-Language: ", "accept-language: ", "Larder-Client: ",
        ]
    }
}
