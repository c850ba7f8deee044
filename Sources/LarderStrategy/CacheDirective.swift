/// A directive of a Cache-Control value (RFC 9111 5.2).
struct CacheDirective: Equatable {
    /// In lower case.
    let name: String
    /// Without quotes.
    let argument: String?

    static func list(_ value: String) -> [CacheDirective] {
        split(value).map { directive in
            let parts = directive.split(
                separator: UInt8(ascii: "="),
                maxSplits: 1,
                omittingEmptySubsequences: false
            )
            return CacheDirective(
                name: parts[0].trimmed.lowercased(),
                argument: parts.count == 2 ? parts[1].trimmed.unquoted : nil
            )
        }
    }

    /// Splits at commas outside of quotes.
    private static func split(_ value: String) -> [Substring.UTF8View] {
        var isQuoted = false
        var isEscaped = false
        return value.utf8.split { byte in
            switch byte {
            case _ where isEscaped:
                isEscaped = false
            case UInt8(ascii: "\\"):
                isEscaped = isQuoted
            case UInt8(ascii: "\""):
                isQuoted.toggle()
            case UInt8(ascii: ","):
                return !isQuoted
            default:
                break
            }
            return false
        }
    }
}

extension Substring.UTF8View {
    fileprivate var trimmed: String {
        func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == 0x09 }
        var text = drop(while: isSpace)
        while let last = text.last, isSpace(last) { text.removeLast() }
        return String(Substring(text))
    }
}

extension String {
    /// The text without the quotes around it, if it has any.
    fileprivate var unquoted: String {
        let quote = UInt8(ascii: "\"")
        guard utf8.count >= 2, utf8.first == quote, utf8.last == quote else { return self }
        return String(Substring(utf8.dropFirst().dropLast()))
    }
}
