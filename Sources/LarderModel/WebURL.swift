/// An absolute http or https URL in the one spelling that serves as an id.
///
/// Scheme and host are in lower case, the default port and the fragment are dropped, an empty path
/// is `/`, and path and query stay as they were given, but that bytes outside of ASCII and spaces
/// are percent-encoded (RFC 3986 3; no dot segments are removed, as an origin may tell them apart).
package struct WebURL: Hashable, Sendable, CustomStringConvertible {
    package let isSecure: Bool
    /// Lower case; an IPv6 address with its brackets.
    package let host: String
    /// The port, the scheme's default included.
    package let port: Int
    /// From the first `/` on, the query included.
    package let pathAndQuery: String
    /// The whole URL, which is the id of its entry.
    package let text: String

    /// Refuses everything that is not absolute http or https, and user names and passwords, which
    /// would end up in rows and logs.
    package init(_ text: String) throws(ModelError) {
        if let url = Self(canonical: text) {
            self = url
            return
        }
        func bad(_ reason: String) -> ModelError { .badURL(text, reason: reason) }
        guard text.utf8.count <= Limits.idBytesMax else { throw bad("it is too long") }
        // By bytes: a delimiter with a combining mark after it is a delimiter all the same.
        let utf8 = text.utf8
        guard utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw bad("it contains a control character")
        }
        guard let colon = utf8.firstIndex(of: UInt8(ascii: ":")),
            utf8[colon...].starts(with: "://".utf8)
        else { throw bad("it needs a scheme, http:// or https://") }
        switch text[..<colon].lowercased() {
        case "http": isSecure = false
        case "https": isSecure = true
        case let scheme: throw bad("the scheme '\(scheme)' is neither http nor https")
        }
        let rest = utf8[utf8.index(colon, offsetBy: 3)...].prefix(while: { $0 != numberSign })
        let authority = rest.prefix(while: { $0 != slash && $0 != question })
        guard !authority.contains(UInt8(ascii: "@")) else { throw bad("it contains a user name") }
        guard authority.allSatisfy({ $0 < 0x80 }) else {
            throw bad("its host is not in ASCII: xn--mnchen-3ya.de stands for münchen.de")
        }
        guard let (host, port) = Self.split(authority: authority) else {
            throw bad("'\(Substring(authority))' is not a host with an optional port")
        }
        self.host = host
        self.port = port ?? (isSecure ? 443 : 80)
        guard let encoded = Self.encode(rest[authority.endIndex...]) else {
            throw bad("it contains a control character")
        }
        pathAndQuery = encoded.utf8.first == slash ? encoded : "/" + encoded
        self.text = Self.originText(isSecure, self.host, self.port) + pathAndQuery
        guard self.text.utf8.count <= Limits.idBytesMax else { throw bad("it is too long") }
    }

    /// Reads a text that is spelled as an id already, as most are; nil for any other.
    ///
    /// Nil also of an IPv6 address.
    private init?(canonical text: String) {
        var text = text
        let parts: (isSecure: Bool, hostEnd: Int, port: Int?, pathStart: Int)? = text.withUTF8 {
            utf8 in
            let isSecure = utf8.starts(with: "https://".utf8)
            guard isSecure || utf8.starts(with: "http://".utf8),
                utf8.count <= Limits.idBytesMax
            else { return nil }
            let start = isSecure ? 8 : 7
            var end = start
            while end < utf8.count, Self.isInHost(utf8[end]) { end += 1 }
            guard (1...253).contains(end - start), end < utf8.count else { return nil }
            var (port, path): (Int?, Int) = (nil, end)
            if utf8[end] == UInt8(ascii: ":") {
                path += 1
                while path < utf8.count, utf8[path].isASCIIDigit, path - end <= 5 { path += 1 }
                let digits = utf8[(end + 1)..<path]
                port = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
                guard let port, digits.first != 0x30, (1...65_535).contains(port),
                    port != (isSecure ? 443 : 80)
                else { return nil }
            }
            guard path < utf8.count, utf8[path] == slash,
                utf8[path...].allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != numberSign })
            else { return nil }
            return (isSecure, end, port, path)
        }
        guard let parts else { return nil }
        let utf8 = text.utf8
        let hostStart = utf8.index(utf8.startIndex, offsetBy: parts.isSecure ? 8 : 7)
        let hostEnd = utf8.index(utf8.startIndex, offsetBy: parts.hostEnd)
        isSecure = parts.isSecure
        host = String(Substring(utf8[hostStart..<hostEnd]))
        port = parts.port ?? (parts.isSecure ? 443 : 80)
        let pathStart = utf8.index(utf8.startIndex, offsetBy: parts.pathStart)
        pathAndQuery = String(Substring(utf8[pathStart...]))
        self.text = text
    }

    /// Whether a byte may be in the name of a host as it is spelled in an id.
    private static func isInHost(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte) || byte.isASCIIDigit || byte == UInt8(ascii: "-")
            || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_")
    }

    package static func == (one: WebURL, other: WebURL) -> Bool { one.text == other.text }
    package func hash(into hasher: inout Hasher) { hasher.combine(text) }

    package var defaultPort: Int { isSecure ? 443 : 80 }

    /// Scheme, host and, unless it is the default, port: `https://api.example.com:8443`.
    package var originText: String {
        String(Substring(text.utf8.dropLast(pathAndQuery.utf8.count)))
    }

    private static func originText(_ isSecure: Bool, _ host: String, _ port: Int) -> String {
        let start = (isSecure ? "https://" : "http://") + host
        return port == (isSecure ? 443 : 80) ? start : "\(start):\(port)"
    }

    /// Host and, unless it is the default, port: `api.example.com:8443`.
    package var authority: String { port == defaultPort ? host : "\(host):\(port)" }

    package var description: String { text }

    /// The path without the query.
    package var path: Substring {
        Substring(pathAndQuery.utf8.prefix(while: { $0 != question }))
    }

    /// The query without its question mark; empty where there is none.
    package var query: Substring { Substring(pathAndQuery.utf8.dropFirst(path.utf8.count + 1)) }

    /// Path and query as a request asks for them: byte for byte, but that what HTTP does not allow
    /// there (RFC 3986 3.3, 3.4) is percent-encoded.
    ///
    /// `[` and `]` go out as they are, as browsers and curl send them.
    package var requestTarget: String {
        let bytes = Array(pathAndQuery.utf8)
        guard bytes.indices.contains(where: { Self.isForbidden(at: $0, in: bytes) }) else {
            return pathAndQuery
        }
        var target: [UInt8] = []
        for (index, byte) in bytes.enumerated() {
            if Self.isForbidden(at: index, in: bytes) {
                PercentCoding.append(byte, to: &target)
            } else {
                target.append(byte)
            }
        }
        return String(decoding: target, as: UTF8.self)
    }

    private static func isForbidden(at index: Int, in bytes: [UInt8]) -> Bool {
        switch bytes[index] {
        case UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\\"),
            UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"),
            UInt8(ascii: "}"):
            return true
        case UInt8(ascii: "%"):
            let digits = bytes[(index + 1)...].prefix(2)
            return digits.count < 2 || digits.contains { $0.hexValue == nil }
        default: return false
        }
    }

    /// Whether a segment of the path is `.` or `..` for an origin that decodes dots, slashes and
    /// backslashes before it splits the path (RFC 3986 3.3).
    package var hasDotSegments: Bool {
        guard path.utf8.contains(where: { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "%") })
        else { return false }
        var plain = path.lowercased().replacing("%2e", with: ".")
        for slash in ["%2f", "%5c", "\\"] { plain.replace(slash, with: "/") }
        return plain.split(separator: "/").contains { $0 == "." || $0 == ".." }
    }

    /// As a base URL: a slash at the end makes no other one.
    package var baseAddress: String {
        pathAndQuery.utf8.last == slash ? String(text.dropLast()) : text
    }

    /// Whether scheme, host, port and whole path segments of this are the beginning of `other`.
    ///
    /// `https://a/v1` is a prefix of `https://a/v1/x` and `https://a/v1?x`, not of `https://a/v10`.
    package func isPrefix(of other: WebURL) -> Bool {
        guard isSecure == other.isSecure, host == other.host, port == other.port else {
            return false
        }
        var base = path.utf8
        if base.last == slash { base.removeLast() }
        guard other.pathAndQuery.utf8.starts(with: base) else { return false }
        let next = other.pathAndQuery.utf8.dropFirst(base.count).first
        return next == nil || next == slash || next == question
    }
}

extension WebURL {
    /// The URL that `reference` means when this one answered with it (RFC 3986 5.2).
    ///
    /// A reference with another scheme than http and https is refused like a URL with one.
    package func resolving(_ reference: String) throws(ModelError) -> WebURL {
        let utf8 = reference.utf8.prefix(while: { $0 != numberSign })
        if Self.hasScheme(utf8) { return try WebURL(reference) }
        let trimmed = String(Substring(utf8))
        if utf8.starts(with: "//".utf8) {
            return try WebURL((isSecure ? "https:" : "http:") + trimmed)
        }
        let target: String
        switch utf8.first {
        case .none:
            target = pathAndQuery
        case .some(question):
            target = path + trimmed
        case .some(slash):
            target = Self.removeDotSegments(trimmed)
        case .some:
            let folder = path[...(path.lastIndex(of: "/") ?? path.startIndex)]
            target = Self.removeDotSegments(folder + trimmed)
        }
        return try WebURL(originText + target)
    }

    /// Whether a colon follows what RFC 3986 3.1 takes for a scheme.
    private static func hasScheme(_ reference: Substring.UTF8View) -> Bool {
        let scheme = reference.prefix { $0.isASCIIAlphanumeric || "+-.".utf8.contains($0) }
        return scheme.first?.isASCIILetter == true
            && reference[scheme.endIndex...].first == UInt8(ascii: ":")
    }

    /// RFC 3986 5.2.4, on the path only.
    private static func removeDotSegments(_ text: String) -> String {
        let path = text.utf8.prefix(while: { $0 != question })
        var output: [Substring] = []
        let segments = path.split(separator: slash, omittingEmptySubsequences: false).dropFirst()
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            if segment.elementsEqual(".".utf8) {
                if isLast { output.append("") }
            } else if segment.elementsEqual("..".utf8) {
                _ = output.popLast()
                if isLast { output.append("") }
            } else {
                output.append(Substring(segment))
            }
        }
        return "/" + output.joined(separator: "/") + Substring(text.utf8[path.endIndex...])
    }
}

extension WebURL {
    private static func split(authority: Substring.UTF8View) -> (host: String, port: Int?)? {
        var host = authority
        var port: Int?
        let bracket = authority.lastIndex(of: UInt8(ascii: "]"))
        let afterBracket = bracket.map { authority.index(after: $0) } ?? authority.startIndex
        if let colon = authority[afterBracket...].firstIndex(of: UInt8(ascii: ":")) {
            let digits = authority[authority.index(after: colon)...]
            host = authority[..<colon]
            if !digits.isEmpty {
                guard digits.allSatisfy(\.isASCIIDigit), let number = Int(Substring(digits)),
                    (1...65_535).contains(number)
                else { return nil }
                port = number
            }
        }
        guard isHost(host) else { return nil }
        return (Substring(host).lowercased(), port)
    }

    private static func isHost(_ text: Substring.UTF8View) -> Bool {
        if text.first == UInt8(ascii: "["), text.last == UInt8(ascii: "]"), text.count > 3 {
            return text.dropFirst().dropLast().allSatisfy { byte in
                byte.hexValue != nil || byte == UInt8(ascii: ":") || byte == UInt8(ascii: ".")
            }
        }
        return (1...253).contains(text.count)
            && text.allSatisfy { $0.isASCIIAlphanumeric || "-._".utf8.contains($0) }
    }

    /// Percent-encodes what is no ASCII and spaces; nil for a control character.
    private static func encode(_ text: Substring.UTF8View) -> String? {
        guard !text.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return String(Substring(text)) }
        var bytes: [UInt8] = []
        // A Location may have bytes that are not UTF-8.
        for byte in FieldBytes.unescaped(text) {
            switch byte {
            case 0..<0x20, 0x7F: return nil
            case 0x20, 0x80...: PercentCoding.append(byte, to: &bytes)
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

private let slash = UInt8(ascii: "/")
private let question = UInt8(ascii: "?")
private let numberSign = UInt8(ascii: "#")
