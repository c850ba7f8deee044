import LarderJSON

/// Where our reading of JSON differs from Foundation's, and is meant to.
///
/// The one list of them: what a fuzzer finds beyond it is a mistake of ours, or belongs here.
package enum MeantDifference: String, CaseIterable, Sendable {
    /// Foundation guesses UTF-16 and UTF-32 from byte order marks and zeros. To us JSON is UTF-8
    /// (RFC 8259 8.1).
    case otherEncoding
    /// Foundation takes a comma behind the last element or member.
    case trailingComma
    /// Half of a surrogate pair, as an escape: servers send it, and it has to come back as it was.
    case loneSurrogate
    /// A number that no `Double` holds: it comes back as it was.
    case hugeNumber
    /// Foundation takes U+FEFF away where a string, or what follows an escape in it, begins with
    /// it.
    case lostMark
    /// A name that stands twice: we keep both members, Foundation the last. To Swift's
    /// dictionaries names are one that are equal by Unicode.
    case repeatedName
    /// More digits than a `Double` has, or than 38: we keep them, and Foundation makes a `Decimal`
    /// of them, whose nearest `Double` it finds with some error.
    case longNumber

    package enum Kind: Sendable {
        case onlyWeRead
        case onlyFoundationReads
        /// Both read it, to other values.
        case otherValue
    }

    /// A text on which both differ for this reason alone.
    package var example: [UInt8] {
        switch self {
        case .otherEncoding: [0xFE, 0xFF, 0, 0x5B, 0, 0x31, 0, 0x5D]
        case .trailingComma: Array(#"{"a": [1, ]}"#.utf8)
        case .loneSurrogate: Array(#"["\ud800"]"#.utf8)
        case .hugeNumber: Array("[1e400]".utf8)
        case .lostMark: Array("[\"\u{FEFF}a\"]".utf8)
        case .repeatedName: Array("{\"\u{E9}\": 1, \"e\u{301}\": 2}".utf8)
        case .longNumber: Array("[0.1234567890123456789012345]".utf8)
        }
    }

    package var kind: Kind {
        switch self {
        case .otherEncoding, .trailingComma: .onlyFoundationReads
        case .loneSurrogate, .hugeNumber: .onlyWeRead
        case .lostMark, .repeatedName, .longNumber: .otherValue
        }
    }

    /// Whether it explains that one of both takes the text and the other does not.
    func explains(_ bytes: [UInt8]) -> Bool {
        switch self {
        case .otherEncoding: Self.hasOtherEncoding(bytes)
        case .trailingComma: JSONValidator.accepts(Self.withoutTrailingCommas(bytes))
        case .loneSurrogate: Self.tokens(bytes) { Self.hasLoneSurrogate($0) }
        case .hugeNumber: Self.tokens(bytes) { Self.isHugeNumber($0) }
        // Found where the values are compared.
        case .lostMark, .repeatedName, .longNumber: false
        }
    }
}

extension MeantDifference {
    /// A mark, or a zero in the first four bytes, by which Foundation guesses.
    private static func hasOtherEncoding(_ bytes: [UInt8]) -> Bool {
        let marks: [[UInt8]] = [[0xEF, 0xBB, 0xBF], [0xFE, 0xFF], [0xFF, 0xFE]]
        return marks.contains { bytes.starts(with: $0) } || bytes.prefix(4).contains(0)
    }

    /// The text without each comma that is followed by a closing bracket.
    private static func withoutTrailingCommas(_ bytes: [UInt8]) -> [UInt8] {
        var kept: [UInt8] = []
        var isInString = false
        var isEscaped = false
        var comma: Int?
        for byte in bytes {
            if isInString {
                isInString = isEscaped || byte != UInt8(ascii: "\"")
                isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
            } else {
                switch byte {
                case UInt8(ascii: ","): comma = kept.count
                case UInt8(ascii: "]"), UInt8(ascii: "}"):
                    if let place = comma { kept.remove(at: place) }
                    comma = nil
                case 0x20, 0x09, 0x0A, 0x0D: break
                default:
                    comma = nil
                    isInString = byte == UInt8(ascii: "\"")
                }
            }
            kept.append(byte)
        }
        return kept
    }

    /// Whether one of a valid text's tokens is such.
    private static func tokens(
        _ bytes: [UInt8],
        _ isSuch: (ArraySlice<UInt8>) -> Bool
    ) -> Bool {
        bytes.withUnsafeBytes { buffer in
            var tokenizer = JSONTokenizer(buffer)
            while let token = try? tokenizer.next() {
                if isSuch(bytes[token.range]) { return true }
            }
            return false
        }
    }

    private static func hasLoneSurrogate(_ token: ArraySlice<UInt8>) -> Bool {
        guard token.contains(UInt8(ascii: "\\")) else { return false }
        var units: [UInt16?] = []
        var rest = token
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                units.append(nil)
                continue
            }
            guard rest.popFirst() == UInt8(ascii: "u") else {
                units.append(nil)
                continue
            }
            units.append(UInt16(String(decoding: rest.prefix(4), as: UTF8.self), radix: 16))
            rest = rest.dropFirst(4)
        }
        var isHighBefore = false
        for unit in units {
            let isHigh = unit.map { (0xD800..<0xDC00).contains($0) } ?? false
            let isLow = unit.map { (0xDC00..<0xE000).contains($0) } ?? false
            if isHighBefore != isLow { return true }
            isHighBefore = isHigh
        }
        return isHighBefore
    }

    private static func isHugeNumber(_ token: ArraySlice<UInt8>) -> Bool {
        guard let first = token.first, first == UInt8(ascii: "-") || (0x30...0x39).contains(first)
        else { return false }
        return Double(String(decoding: token, as: UTF8.self))?.isFinite != true
    }
}
