import LarderModel

/// Finds the end of a string, and decodes its text.
package enum JSONStringScan {
    /// The offset after the closing quotation mark of the string that opens at `start`.
    static func end(
        in bytes: UnsafeRawBufferPointer,
        from start: Int
    ) throws(JSONError) -> (end: Int, hasEscapes: Bool) {
        var position = start + 1
        var hasEscapes = false
        while true {
            position = skipPlain(in: bytes, from: position)
            guard position < bytes.count else { throw .unexpectedEnd(at: position) }
            switch bytes[position] {
            case UInt8(ascii: "\""):
                return (position + 1, hasEscapes)
            case UInt8(ascii: "\\"):
                hasEscapes = true
                position = try escape(in: bytes, from: position)
            case 0..<0x20:
                throw .controlCharacter(at: position)
            case 0x80...:
                position = try scalar(in: bytes, from: position)
            default:
                position += 1
            }
        }
    }

    /// Passes over whole words of eight bytes that are all ASCII without a quotation mark, a
    /// backslash and a control character; the bytes of the last one it leaves to the caller.
    private static func skipPlain(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highs: UInt64 = 0x8080_8080_8080_8080
        var position = start
        while position + 8 <= bytes.count {
            let word = bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self)
            let quote = word ^ (ones &* 0x22)
            let backslash = word ^ (ones &* 0x5C)
            // A high bit marks each byte that is a quotation mark, a backslash, below 0x20, or not
            // ASCII. Bytes after the first marked one may be marked wrongly. The first one ends the
            // loop, so that does no harm.
            let special =
                ((quote &- ones) & ~quote) | ((backslash &- ones) & ~backslash)
                | (word &- (ones &* 0x20)) | word
            guard special & highs == 0 else {
                return position + (special & highs).littleEndian.trailingZeroBitCount / 8
            }
            position += 8
        }
        return position
    }

    /// The offset after the escape that begins at `start` with a backslash.
    private static func escape(
        in bytes: UnsafeRawBufferPointer,
        from start: Int
    ) throws(JSONError) -> Int {
        guard start + 1 < bytes.count else { throw .unexpectedEnd(at: bytes.count) }
        switch bytes[start + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
            UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return start + 2
        case UInt8(ascii: "u"):
            for offset in start + 2..<start + 6 {
                guard offset < bytes.count else { throw .unexpectedEnd(at: offset) }
                guard bytes[offset].hexValue != nil else { throw .badEscape(at: start) }
            }
            return start + 6
        default:
            throw .badEscape(at: start)
        }
    }

    /// The offset after the UTF-8 sequence of two to four bytes at `start`.
    ///
    /// Source: The Unicode Standard, table 3-7, *Well-Formed UTF-8 Byte Sequences*.
    private static func scalar(
        in bytes: UnsafeRawBufferPointer,
        from start: Int
    ) throws(JSONError) -> Int {
        let length: Int
        var second: ClosedRange<UInt8> = 0x80...0xBF
        switch bytes[start] {
        case 0xC2...0xDF: length = 2
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: length = 3
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: length = 4
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        default: throw .badUTF8(at: start)
        }
        for index in 1..<length {
            guard start + index < bytes.count else { throw .unexpectedEnd(at: start + index) }
            let allowed = index == 1 ? second : 0x80...0xBF
            guard allowed.contains(bytes[start + index]) else { throw .badUTF8(at: start) }
        }
        return start + length
    }
}

extension JSONStringScan {
    /// The text of a token that is a string or a name of the same `bytes`.
    ///
    /// Half a surrogate pair, which a `String` cannot hold, becomes a scalar of ``JSONHalves``.
    package static func text(_ token: JSONToken, in bytes: UnsafeRawBufferPointer) -> String {
        let content = UnsafeRawBufferPointer(rebasing: bytes[token.range].dropFirst().dropLast())
        return token.hasEscapes ? JSONHalves.text(decoded(content)) : JSONHalves.text(content)
    }

    /// Decodes the bytes between the quotation marks of a string that a tokenizer has read.
    ///
    /// JSON can escape half a surrogate pair, and UTF-8 cannot hold it. Here it has three bytes of
    /// its own (https://simonsapin.github.io/wtf-8/).
    package static func decoded(_ content: UnsafeRawBufferPointer) -> [UInt8] {
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
                let (scalar, length) = escapedScalar(in: content, at: position)
                append(scalar, to: &text)
                position += length
                continue
            case let byte: text.append(byte)
            }
            position += 2
        }
        return text
    }

    /// The number of a scalar written as one escape, or as those of a surrogate pair, or of half a
    /// pair; and how long that is.
    private static func escapedScalar(
        in bytes: UnsafeRawBufferPointer,
        at position: Int
    ) -> (scalar: UInt32, length: Int) {
        let unit = codeUnit(in: bytes, at: position)
        let next = position + 6
        guard (0xD800..<0xDC00).contains(unit), next + 6 <= bytes.count,
            bytes[next] == UInt8(ascii: "\\"), bytes[next + 1] == UInt8(ascii: "u")
        else { return (unit, 6) }
        let low = codeUnit(in: bytes, at: next)
        guard (0xDC00..<0xE000).contains(low) else { return (unit, 6) }
        return (0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00), 12)
    }

    private static func append(_ scalar: UInt32, to text: inout [UInt8]) {
        func tail(_ shift: UInt32) -> UInt8 { UInt8(0x80 | scalar >> shift & 0x3F) }
        switch scalar {
        case 0..<0x80: text.append(UInt8(scalar))
        case 0x80..<0x800: text += [UInt8(0xC0 | scalar >> 6), tail(0)]
        case 0x800..<0x10000: text += [UInt8(0xE0 | scalar >> 12), tail(6), tail(0)]
        default: text += [UInt8(0xF0 | scalar >> 18), tail(12), tail(6), tail(0)]
        }
    }

    /// The number of the four digits after the backslash and the `u` at `position`.
    private static func codeUnit(
        in bytes: UnsafeRawBufferPointer,
        at position: Int
    ) -> UInt32 {
        (position + 2..<position + 6).reduce(0) { unit, index in
            unit << 4 | UInt32(bytes[index].hexValue ?? 0)
        }
    }
}
