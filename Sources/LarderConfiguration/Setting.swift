import LarderJSON
import LarderModel
import LarderWire

/// A value as it was written, with its place.
struct Setting {
    let text: String
    let place: ConfigurationPlace
    let isNull: Bool

    init(text: String, place: ConfigurationPlace) {
        self.text = text
        self.place = place
        isNull = false
    }

    init(_ scalar: YAMLNode.Scalar, place: ConfigurationPlace) {
        text = scalar.text
        self.place = place
        isNull = scalar.isNull
    }

    private func refusal(_ message: String, suggestion: String? = nil) -> ConfigurationFinding {
        ConfigurationFinding(place, message, suggestion: suggestion)
    }
}

extension Setting {
    func size(_ range: ClosedRange<ByteSize>) throws(ConfigurationFinding) -> ByteSize {
        let size = try model { () throws(ModelError) in try ByteSize(unit: text) }
        guard range.contains(size) else {
            let (low, high) = (range.lowerBound.unitText, range.upperBound.unitText)
            throw refusal("\(text) is out of range: \(low) to \(high)")
        }
        return size
    }

    func fraction(_ range: ClosedRange<Double>) throws(ConfigurationFinding) -> Double {
        let isPlain = text.utf8.allSatisfy { $0 == UInt8(ascii: ".") || $0.isASCIIDigit }
        guard isPlain, let number = Double(text) else {
            throw refusal("'\(text)' is not a number such as 0.9")
        }
        guard range.contains(number) else {
            throw refusal("\(text) is out of range: \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    func wholeNumber(_ range: ClosedRange<Int>) throws(ConfigurationFinding) -> Int {
        let isPlain = text.utf8.allSatisfy(\.isASCIIDigit)
        // YAML 1.1 has octal numbers begin with a zero.
        guard isPlain, !text.isEmpty, text == "0" || !text.hasPrefix("0") else {
            throw refusal("'\(text)' is not a whole number such as 10000")
        }
        guard let number = Int(text), range.contains(number) else {
            throw refusal("\(text) is out of range: \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    func truth() throws(ConfigurationFinding) -> Bool {
        switch text {
        case "true": return true
        case "false": return false
        case "yes", "Yes", "YES", "on", "On", "ON", "True", "TRUE":
            throw refusal("'\(text)' is neither true nor false", suggestion: "true")
        case "no", "No", "NO", "off", "Off", "OFF", "False", "FALSE":
            throw refusal("'\(text)' is neither true nor false", suggestion: "false")
        default: throw refusal("'\(text)' is neither true nor false")
        }
    }

    func string() throws(ConfigurationFinding) -> String { text }

    static func duration(
        in range: ClosedRange<Duration>
    ) -> (Setting) -> () throws(ConfigurationFinding) -> Duration {
        { setting in
            { () throws(ConfigurationFinding) in
                let duration = try setting.model { () throws(ModelError) in
                    try Duration(unit: setting.text)
                }
                guard range.contains(duration) else {
                    let (low, high) = (range.lowerBound.unitText, range.upperBound.unitText)
                    throw setting.refusal("\(setting.text) is out of range: \(low) to \(high)")
                }
                return duration
            }
        }
    }

    static func wholeNumber(
        in range: ClosedRange<Int>
    ) -> (Setting) -> () throws(ConfigurationFinding) -> Int {
        { setting in { () throws(ConfigurationFinding) in try setting.wholeNumber(range) } }
    }

    func choice<Word: RawRepresentable<String> & CaseIterable>()
        throws(ConfigurationFinding) -> Word
    {
        if let word = Word(rawValue: text) { return word }
        let names = Word.allCases.map(\.rawValue)
        throw refusal(
            "'\(text)' is none of \(names.joined(separator: ", "))",
            suggestion: nearestName(to: text, among: names)
        )
    }

    /// Permission bits as chmod(1) spells them.
    func mode() throws(ConfigurationFinding) -> Int {
        guard text.utf8.count == 4, text.hasPrefix("0"), let mode = Int(text, radix: 8) else {
            throw refusal("'\(text)' is not a mode: 0 and three octal digits, such as \"0660\"")
        }
        return mode
    }

    /// A group's name as group(5) can hold it, or its number.
    func groupName() throws(ConfigurationFinding) -> String {
        let isPlain = text.unicodeScalars.allSatisfy {
            $0.value > 0x20 && $0.value != 0x7F && $0 != ":" && $0 != "," && $0 != "/"
        }
        guard isPlain, (1...Limits.groupNameBytesMax).contains(text.utf8.count) else {
            throw refusal("'\(text)' is not the name or the number of a group")
        }
        return text
    }

    func path(bytesMax: Int = .max) throws(ConfigurationFinding) -> String {
        guard text.hasPrefix("/"), !text.utf8.contains(0) else {
            throw refusal("'\(text)' is not an absolute path")
        }
        guard text.utf8.count <= bytesMax else {
            throw refusal("the path has \(text.utf8.count) bytes, at most \(bytesMax) are taken")
        }
        return text
    }
}

extension Setting {
    func baseURL() throws(ConfigurationFinding) -> WebURL {
        let url = try model { () throws(ModelError) in try WebURL(text) }
        guard !text.contains("?"), !text.contains("#") else {
            throw refusal("'\(text)' cannot be a base_url: it has a query or a fragment")
        }
        return url
    }

    func hostPort() throws(ConfigurationFinding) -> HostPort {
        try model { () throws(ModelError) in try HostPort(text) }
    }

    /// The address of a proxy, which may hold a password and is not repeated.
    func proxy() throws(ConfigurationFinding) -> ProxySettings {
        try model { () throws(ModelError) in try ProxySettings(text) }
    }

    /// A file of certificates or keys, with what is in it now.
    func pemFile() throws(ConfigurationFinding) -> PEMFile {
        let path = try path()
        return PEMFile(path: path, bytes: try contents(of: path, bytesMax: Limits.pemFileBytesMax))
    }

    private func contents(
        of path: String,
        bytesMax: Int
    ) throws(ConfigurationFinding) -> [UInt8] {
        let bytes: [UInt8]?
        do throws(FileFault) {
            bytes = try fileBytes(of: path, bytesMax: bytesMax)
        } catch {
            throw refusal("\(path) cannot be read: \(error.reason)")
        }
        guard let bytes else { throw refusal("there is no file \(path)") }
        return bytes
    }

    /// Content of the file that holds the value, without the end of its line.
    func secretFile() throws(ConfigurationFinding) -> Setting {
        let path = try path()
        let bytes = try contents(of: path, bytesMax: Limits.requestHeaderBytesMax)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw refusal("\(path) is not UTF-8")
        }
        return Setting(
            text: String(text.reversed().drop(while: \.isNewline).reversed()),
            place: place
        )
    }

    func originName() throws(ConfigurationFinding) -> OriginName {
        try model { () throws(ModelError) in try OriginName(text) }
    }

    /// Place of a value in an object, as a JSON pointer.
    func memberPath() throws(ConfigurationFinding) -> MemberPath {
        do throws(JSONPointerError) {
            return MemberPath(tokens: try JSONPointer(text).tokens)
        } catch {
            let meant = error == .noSlash ? try? JSONPointer("/\(text)") : nil
            throw refusal(
                "'\(text)' cannot be read: \(error.message)",
                suggestion: meant?.text
            )
        }
    }

    /// A place in a JSON text (RFC 6901); never nil.
    func pointer() throws(ConfigurationFinding) -> String? {
        JSONPointer(tokens: try memberPath().tokens).text
    }

    /// The name of a header that holds a credential.
    func credentialHeader() throws(ConfigurationFinding) -> String {
        try checked(header: text, value: "-")
        return text
    }

    /// The value of such a header, which no finding repeats.
    func credential(in header: String) throws(ConfigurationFinding) -> String {
        try checked(header: header, value: text)
        return text
    }

    private func checked(header: String, value: String) throws(ConfigurationFinding) {
        do throws(Problem) {
            try RequestHeaderRules.credential(header, value)
        } catch {
            throw refusal(error.detail)
        }
    }

    /// A header's name (RFC 9110 5.1) that an origin's headers may hold.
    func headerName() throws(ConfigurationFinding) -> String {
        guard RequestHeaderRules.isToken(text) else {
            throw refusal("'\(text)' is not a header's name: letters, digits and !#$%&'*+-.^_`|~")
        }
        guard !framingHeaders.contains(text.lowercased()) else {
            throw refusal("'\(text)' cannot be set: the daemon writes it by itself")
        }
        return text
    }

    /// The name of the header that carries a modifier's key, one that says nothing else.
    func idempotencyHeaderName() throws(ConfigurationFinding) -> String {
        let name = try headerName()
        let lowercased = name.lowercased()
        guard !meaningfulHeaders.contains(lowercased),
            !["content-", "if-", "proxy-"].contains(where: { lowercased.hasPrefix($0) })
        else {
            throw refusal("'\(name)' cannot carry a key: it says something else to a server")
        }
        return name
    }

    /// The name of a header that the daemon keeps of answers, so that no secret is one of them.
    func keptHeaderName() throws(ConfigurationFinding) -> String {
        let name = try headerName()
        guard name.lowercased() != "set-cookie", !HeaderFields.holdsSecret(name) else {
            throw refusal("'\(name)' is not kept: it may carry a secret")
        }
        return name
    }

    /// A path after the base URL, which may have `*` for any segment.
    func readPath() throws(ConfigurationFinding) -> String {
        guard text.hasPrefix("/"), !text.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F }),
            !text.contains("?"), !text.contains("#"), text.utf8.count <= Limits.readPathBytesMax
        else { throw refusal("'\(text)' is no path such as /graphql or /search/*") }
        return text
    }

    /// A header's value (RFC 9110 5.5).
    func headerValue() throws(ConfigurationFinding) -> String {
        // The text may be a secret and is not repeated.
        guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
            throw refusal("a header's value cannot contain control characters")
        }
        guard text.first?.isWhitespace != true, text.last?.isWhitespace != true else {
            throw refusal("a header's value cannot begin or end with a space")
        }
        return text
    }

    private func model<Value>(
        _ read: () throws(ModelError) -> Value
    ) throws(ConfigurationFinding) -> Value {
        do {
            return try read()
        } catch {
            throw refusal(error.message)
        }
    }
}

/// The fields that frame a message or name its receiver (RFC 9112; RFC 9110 7.2, 7.6.1).
private let framingHeaders: Set = [
    "connection", "content-length", "host", "keep-alive", "te", "trailer", "transfer-encoding",
    "upgrade",
]

/// Headers with another meaning to an origin, which cannot carry a modifier's key.
///
/// Headers that begin with `Content-`, `If-` and `Proxy-` cannot either.
private let meaningfulHeaders: Set = [
    "accept", "accept-encoding", "accept-language", "authorization", "cache-control", "cookie",
    "date", "expect", "forwarded", "origin", "pragma", "prefer", "range", "referer", "user-agent",
    "via",
]
