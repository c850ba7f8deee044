import LarderJSON

/// Decoded JSON strings in WTF-8: UTF-8 in which a lone surrogate takes three bytes.
///
/// JSON can escape a lone surrogate and UTF-8 cannot hold one. In WTF-8, two strings are equal if
/// and only if their bytes are. Source: *The WTF-8 encoding*, https://simonsapin.github.io/wtf-8/.
enum JSONText {
    /// Decodes the bytes between the quotation marks of a string that a tokenizer has read.
    static func decoded(_ content: UnsafeRawBufferPointer) -> [UInt8] {
        JSONStringScan.decoded(content)
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
