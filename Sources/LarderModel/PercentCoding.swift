/// Percent-encoding (RFC 3986 2.1) of entity keys, segments of paths and values in queries.
package enum PercentCoding {
    private static let digits = Array("0123456789ABCDEF".utf8)

    /// Appends `byte` as `%2F` is written.
    static func append(_ byte: UInt8, to bytes: inout [UInt8]) {
        bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }

    /// The text that the bytes stand for; nil where a `%` has no two digits or it is no UTF-8.
    package static func decoded(_ text: some Sequence<UInt8>) -> String? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.underestimatedCount)
        var iterator = text.makeIterator()
        while let byte = iterator.next() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = iterator.next().flatMap(value),
                let low = iterator.next().flatMap(value)
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// A text as one segment of a path or one value of a query: all but unreserved characters
    /// (RFC 3986 2.3) are encoded.
    package static func encode(_ text: String) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"), UInt8(ascii: "~"):
                bytes.append(byte)
            default: append(byte, to: &bytes)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A path as it is in a URL: bytes that are not ASCII are encoded.
    package static func path(_ text: String) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if byte < 0x80 { bytes.append(byte) } else { append(byte, to: &bytes) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
