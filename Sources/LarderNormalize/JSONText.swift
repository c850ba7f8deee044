import LarderJSON

/// What strings of JSON say, as bytes of UTF-8 in which half a surrogate pair, which JSON can
/// escape and UTF-8 cannot hold, keeps three bytes of its own.
///
/// So two strings say the same if and only if their bytes here are the same. Source: *The WTF-8
/// encoding*, https://simonsapin.github.io/wtf-8/.
enum JSONText {
    /// What stands between the quotation marks of a string that a tokenizer has taken.
    static func decoded(_ content: UnsafeRawBufferPointer) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(content.count)
        var position = 0
        while position < content.count {
            guard content[position] == UInt8(ascii: "\\") else {
                text.append(content[position])
                position += 1
                continue
            }
            switch content[position + 1] {
            case UInt8(ascii: "b"): text.append(0x08)
            case UInt8(ascii: "f"): text.append(0x0C)
            case UInt8(ascii: "n"): text.append(0x0A)
            case UInt8(ascii: "r"): text.append(0x0D)
            case UInt8(ascii: "t"): text.append(0x09)
            case UInt8(ascii: "u"):
                position += append(escapeAt: position, of: content, to: &text)
                continue
            case let byte: text.append(byte)
            }
            position += 2
        }
        return text
    }

    /// Appends the scalar of `\uXXXX`, or of a pair of them, and returns its length.
    private static func append(
        escapeAt position: Int,
        of content: UnsafeRawBufferPointer,
        to text: inout [UInt8]
    ) -> Int {
        var scalar = unit(content, at: position)
        var length = 6
        let next = position + 6
        if (0xD800..<0xDC00).contains(scalar), next + 6 <= content.count,
            content[next] == UInt8(ascii: "\\"), content[next + 1] == UInt8(ascii: "u")
        {
            let low = unit(content, at: next)
            if (0xDC00..<0xE000).contains(low) {
                scalar = 0x10000 + (scalar - 0xD800) << 10 + (low - 0xDC00)
                length = 12
            }
        }
        switch scalar {
        case 0..<0x80: text.append(UInt8(scalar))
        case 0x80..<0x800: text += [UInt8(0xC0 | scalar >> 6), tail(scalar)]
        case 0x800..<0x10000:
            text += [UInt8(0xE0 | scalar >> 12), tail(scalar >> 6), tail(scalar)]
        default:
            text += [
                UInt8(0xF0 | scalar >> 18), tail(scalar >> 12), tail(scalar >> 6), tail(scalar),
            ]
        }
        return length
    }

    private static func tail(_ scalar: UInt32) -> UInt8 { UInt8(0x80 | scalar & 0x3F) }

    private static func unit(_ content: UnsafeRawBufferPointer, at position: Int) -> UInt32 {
        (position + 2..<position + 6).reduce(0) { unit, index in
            let digit = UInt32(content[index])
            return unit << 4 | (digit < 0x40 ? digit & 15 : (digit & 7) + 9)
        }
    }

    /// Whether some of the text is half a surrogate pair.
    static func hasLoneSurrogate(_ text: [UInt8]) -> Bool {
        text.indices.contains { text[$0] == 0xED && $0 + 1 < text.count && text[$0 + 1] >= 0xA0 }
    }

    /// Appends the text as a string of JSON, in its canonical spelling (RFC 8785 3.2.2.2).
    static func append(_ text: UnsafeRawBufferPointer, to json: inout [UInt8]) {
        json.append(UInt8(ascii: "\""))
        var start = 0
        for (index, byte) in text.enumerated() {
            let isSurrogate =
                byte == 0xED && index + 2 < text.count && text[index + 1] >= 0xA0
                && text[index + 2] & 0xC0 == 0x80
            guard
                byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
                    || isSurrogate
            else { continue }
            json.append(contentsOf: text[start..<index])
            start = index + (isSurrogate ? 3 : 1)
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): json += [UInt8(ascii: "\\"), byte]
            case 0x08: json += Array(#"\b"#.utf8)
            case 0x09: json += Array(#"\t"#.utf8)
            case 0x0A: json += Array(#"\n"#.utf8)
            case 0x0C: json += Array(#"\f"#.utf8)
            case 0x0D: json += Array(#"\r"#.utf8)
            case 0xED:
                let low = UInt32(text[index + 1] & 0x3F) << 6 | UInt32(text[index + 2] & 0x3F)
                append(escaping: 0xD000 | low, to: &json)
            default: append(escaping: UInt32(byte), to: &json)
            }
        }
        json.append(contentsOf: text[start...])
        json.append(UInt8(ascii: "\""))
    }

    private static func append(escaping unit: UInt32, to json: inout [UInt8]) {
        let digits = String(unit, radix: 16)
        json += Array(("\\u" + String(repeating: "0", count: 4 - digits.count) + digits).utf8)
    }
}
