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
            guard let high = iterator.next()?.hexValue, let low = iterator.next()?.hexValue else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// A text as one segment of a path or one value of a query: all but unreserved characters
    /// (RFC 3986 2.3) are encoded.
    package static func encode(_ text: String) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            let isPlain = byte.isASCIIAlphanumeric || "-._~".utf8.contains(byte)
            if isPlain { bytes.append(byte) } else { append(byte, to: &bytes) }
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
}
