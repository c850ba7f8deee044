/// Halves of surrogate pairs in a `String`: JSON can escape them (`"\ud800"`) and UTF-8 cannot hold
/// them.
///
/// Each half `U+D800...U+DFFF` is a scalar of `U+10F000...U+10F7FF`, private use, and is written as
/// its escape again. A text that contains one of these scalars itself has both halves of its
/// surrogate pair, which is the same JSON string. So no two strings of JSON have one text.
enum JSONHalves {
    /// First byte of these scalars in UTF-8.
    private static let lead: UInt8 = 0xF4
    /// First byte of half a surrogate pair in WTF-8.
    private static let halfLead: UInt8 = 0xED
    private static let firstHalf: UInt32 = 0xD800

    /// Whether a text of these bytes must be made by ``text(_:)``.
    static func mayBe(in bytes: some Sequence<UInt8>) -> Bool {
        bytes.contains { $0 == lead || $0 == halfLead }
    }

    /// The text of bytes in WTF-8 (https://simonsapin.github.io/wtf-8/).
    static func text(_ bytes: some Collection<UInt8>) -> String {
        let bytes = Array(bytes)
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count + 8)
        var index = 0
        while index < bytes.count {
            if bytes[index] == halfLead, index + 2 < bytes.count, bytes[index + 1] >= 0xA0 {
                let tail = UInt32(bytes[index + 1] & 0x1F) << 6 | UInt32(bytes[index + 2] & 0x3F)
                text += scalar(of: firstHalf + tail)
                index += 3
            } else if let number = number(bytes[index...]) {
                let supplementary = 0xFF000 + number
                text += scalar(of: 0xD800 + supplementary >> 10)
                text += scalar(of: 0xDC00 + supplementary & 0x3FF)
                index += 4
            } else {
                text.append(bytes[index])
                index += 1
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Escape of the scalar with which the bytes of a text begin, if it is one of these; it takes
    /// the place of four bytes.
    static func escape(_ bytes: some Collection<UInt8>) -> [UInt8]? {
        number(bytes).map { Array("\\u\(String(firstHalf + $0, radix: 16))".utf8) }
    }

    /// Number of the scalar among these with which bytes of UTF-8 begin.
    private static func number(_ bytes: some Collection<UInt8>) -> UInt32? {
        guard bytes.first == lead else { return nil }
        let scalar = Array(bytes.prefix(4))
        guard scalar.count == 4, scalar[1] == 0x8F, scalar[2] < 0xA0 else { return nil }
        return UInt32(scalar[2] & 0x1F) << 6 | UInt32(scalar[3] & 0x3F)
    }

    private static func scalar(of half: UInt32) -> [UInt8] {
        let number = half - firstHalf
        return [lead, 0x8F, UInt8(0x80 | number >> 6), UInt8(0x80 | number & 0x3F)]
    }
}
