/// The base64 of RFC 4648 4, with padding.
package enum Base64 {
    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8
    )
    private static let padding = UInt8(ascii: "=")
    /// The value of each letter; 0xFF where it is none.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 0xFF, count: 256)
        for (value, letter) in alphabet.enumerated() { values[Int(letter)] = UInt8(value) }
        return values
    }()

    package static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            var bits: UInt32 = 0
            for (index, byte) in group.enumerated() { bits |= UInt32(byte) << (16 - 8 * index) }
            for index in 0..<4 {
                let isPadding = index > group.count
                text.append(
                    isPadding ? padding : alphabet[Int(bits >> (18 - 6 * index) & 63)]
                )
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Nil for a foreign letter, a bad length, padding in the wrong place, or bits left over.
    package static func decode(_ text: String) -> [UInt8]? {
        let letters = Array(text.utf8)
        guard letters.count.isMultiple(of: 4) else { return nil }
        let paddings = letters.suffix(2).reversed().prefix { $0 == padding }.count
        var bytes: [UInt8] = []
        bytes.reserveCapacity(letters.count / 4 * 3)
        var bits: UInt32 = 0
        var bitCount = 0
        for letter in letters.dropLast(paddings) {
            let value = values[Int(letter)]
            guard value < 64 else { return nil }
            bits = bits << 6 | UInt32(value)
            bitCount += 6
            guard bitCount >= 8 else { continue }
            bitCount -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(bitCount)))
            bits &= 1 << UInt32(bitCount) - 1
        }
        return bits == 0 ? bytes : nil
    }
}

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
