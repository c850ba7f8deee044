/// The Cache-Control directives of an answer that Larder heeds (RFC 9111 5.2.2).
struct CacheControl: Equatable {
    /// The first that is given; zero where it cannot be read, which is then stale (4.2.1).
    private(set) var maxAge: Duration?
    private(set) var isNoStore = false
    /// Whether everything is to be confirmed before use, not only some fields of it.
    private(set) var isNoCache = false

    /// Reads a list of directives; unknown ones count for nothing.
    init(_ value: String) {
        for directive in Self.split(value) {
            let parts = directive.split(
                separator: UInt8(ascii: "="),
                maxSplits: 1,
                omittingEmptySubsequences: false
            )
            let name = parts[0].trimmed.lowercased()
            let argument = parts.count == 2 ? parts[1].trimmed.unquoted : nil
            switch name {
            case "no-store":
                isNoStore = true
            case "no-cache" where argument == nil:
                isNoCache = true
            case "max-age" where maxAge == nil:
                maxAge = argument.flatMap { Duration(deltaSeconds: $0) } ?? .zero
            default:
                continue
            }
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
    /// What stands between the quotes, where it stands in quotes.
    fileprivate var unquoted: String {
        let quote = UInt8(ascii: "\"")
        guard utf8.count >= 2, utf8.first == quote, utf8.last == quote else { return self }
        return String(Substring(utf8.dropFirst().dropLast()))
    }
}
