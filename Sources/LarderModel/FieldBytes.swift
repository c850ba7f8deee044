/// Bytes of an HTTP field value as text, and back, without loss (RFC 9110 5.5, obs-text).
///
/// A value is text in UTF-8 as a rule. A byte that is not part of valid UTF-8 becomes one scalar of
/// `U+10FF80...U+10FFFF`, the last of the private use area. A value that contains one of these
/// scalars in UTF-8 has its four bytes written in the same way, so each value has one text.
package enum FieldBytes {
    /// First two bytes of the UTF-8 form of each of these scalars.
    private static let lead: [UInt8] = [0xF4, 0x8F]
    private static let lengthMax = 4

    /// `bytes` as valid UTF-8.
    package static func escaped(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.contains(where: { $0 >= 0x80 }) else { return bytes }
        var escaped: [UInt8] = []
        escaped.reserveCapacity(bytes.count + 16)
        var index = 0
        while index < bytes.count {
            let length = scalarLength(bytes[index...])
            if length > 0, !isEscape(bytes[index...]) {
                escaped += bytes[index..<(index + length)]
                index += length
            } else {
                escaped += escape(bytes[index])
                index += 1
            }
        }
        return escaped
    }

    /// The bytes that `text` stands for.
    package static func unescaped(_ text: some Collection<UInt8>) -> [UInt8] {
        let bytes = Array(text)
        guard bytes.contains(lead[0]) else { return bytes }
        var plain: [UInt8] = []
        plain.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            if isEscape(bytes[index...]) {
                plain.append((bytes[index + 2] - 0xBE) << 6 | 0x80 | (bytes[index + 3] & 0x3F))
                index += lengthMax
            } else {
                plain.append(bytes[index])
                index += 1
            }
        }
        return plain
    }

    private static func escape(_ byte: UInt8) -> [UInt8] {
        lead + [0xBE + ((byte & 0x7F) >> 6), 0x80 | (byte & 0x3F)]
    }

    private static func isEscape(_ bytes: ArraySlice<UInt8>) -> Bool {
        bytes.count >= lengthMax && bytes.starts(with: lead) && bytes[bytes.startIndex + 2] >= 0xBE
    }

    /// Bytes of the valid scalar at the beginning; 0 where there is none (RFC 3629 4).
    private static func scalarLength(_ bytes: ArraySlice<UInt8>) -> Int {
        var iterator = bytes.prefix(lengthMax).makeIterator()
        var decoder = UTF8()
        guard case .scalarValue(let scalar) = decoder.decode(&iterator) else { return 0 }
        return UTF8.width(scalar)
    }
}

extension String {
    /// Text of the bytes of a field value; see ``FieldBytes``.
    package init(fieldBytes: [UInt8]) {
        self.init(decoding: FieldBytes.escaped(fieldBytes), as: UTF8.self)
    }

    /// Bytes of a field value; see ``FieldBytes``.
    package var fieldBytes: [UInt8] { FieldBytes.unescaped(utf8) }
}
