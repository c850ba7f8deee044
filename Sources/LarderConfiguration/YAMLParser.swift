import CYAML
import LarderAPI
import LarderJSON
import LarderModel

/// Reads a text as one YAML 1.1 document, by libyaml's events (https://pyyaml.org/wiki/LibYAML).
///
/// The parser keeps both of two equal keys of a mapping. An alias becomes the node of its anchor.
struct YAMLParser: ~Copyable {
    private enum Event {
        case streamStart
        case streamEnd
        case documentStart
        case documentEnd
        case alias(String)
        case scalar(YAMLNode.Scalar, anchor: String?)
        case sequenceStart(anchor: String?)
        case sequenceEnd
        case mappingStart(anchor: String?)
        case mappingEnd
    }

    /// libyaml's state, which holds its own address and must not move.
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let file: String
    private let input: UnsafeMutableBufferPointer<UInt8>
    private var anchors: [String: YAMLNode] = [:]
    /// Where the last event began.
    private var mark = yaml_mark_t()

    /// The root; ``YAMLNode/empty`` where there is none, as in a file of comments.
    static func read(_ text: String, of file: String) throws(ConfigurationFinding) -> YAMLNode {
        let state = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
        guard yaml_parser_initialize(state) == 1 else {
            state.deallocate()
            throw fault("there is no memory to read it", in: file, line: 1, column: 1)
        }
        var parser = YAMLParser(state, text, file)
        return try parser.document()
    }

    private init(
        _ parser: UnsafeMutablePointer<yaml_parser_t>,
        _ text: String,
        _ file: String
    ) {
        (self.parser, self.file) = (parser, file)
        input = .allocate(capacity: text.utf8.count)
        _ = input.initialize(from: text.utf8)
        yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        yaml_parser_set_input_string(parser, input.baseAddress, input.count)
    }

    deinit {
        yaml_parser_delete(parser)
        parser.deallocate()
        input.deallocate()
    }

    private mutating func document() throws(ConfigurationFinding) -> YAMLNode {
        guard case .streamStart = try next(), case .documentStart = try next() else {
            return .empty
        }
        let root = try node(try next(), depth: 1)
        _ = try next()
        guard case .streamEnd = try next() else { throw fault("a second document begins") }
        return root
    }

    private mutating func node(_ event: Event, depth: Int) throws(ConfigurationFinding) -> YAMLNode
    {
        guard depth <= Limits.jsonDepthMax else {
            throw fault("it is nested more than \(Limits.jsonDepthMax) deep")
        }
        let (line, column) = (Int(mark.line) + 1, Int(mark.column) + 1)
        let (kind, anchor): (YAMLNode.Kind, String?)
        switch event {
        case .scalar(let scalar, let name):
            (kind, anchor) = (.scalar(scalar), name)
        case .sequenceStart(let name):
            (kind, anchor) = (.sequence(try sequence(depth)), name)
        case .mappingStart(let name):
            (kind, anchor) = (.mapping(try mapping(depth)), name)
        case .alias(let name):
            guard let node = anchors[name] else { throw fault("there is no anchor '\(name)'") }
            return node
        case .streamStart, .streamEnd, .documentStart, .documentEnd, .sequenceEnd, .mappingEnd:
            throw fault("a value is missing")
        }
        let node = YAMLNode(kind: kind, line: line, column: column)
        if let anchor { anchors[anchor] = node }
        return node
    }

    private mutating func sequence(_ depth: Int) throws(ConfigurationFinding) -> [YAMLNode] {
        var elements: [YAMLNode] = []
        while true {
            let event = try next()
            if case .sequenceEnd = event { return elements }
            elements.append(try node(event, depth: depth + 1))
        }
    }

    private mutating func mapping(_ depth: Int) throws(ConfigurationFinding) -> [YAMLNode.Pair] {
        var pairs: [YAMLNode.Pair] = []
        while true {
            let event = try next()
            if case .mappingEnd = event { return pairs }
            let key = try node(event, depth: depth + 1)
            pairs.append((key, try node(try next(), depth: depth + 1)))
        }
    }

    private mutating func next() throws(ConfigurationFinding) -> Event {
        var event = yaml_event_t()
        guard yaml_parser_parse(parser, &event) == 1 else { throw problem }
        defer { yaml_event_delete(&event) }
        mark = event.start_mark
        switch event.type {
        case YAML_STREAM_START_EVENT: return .streamStart
        case YAML_DOCUMENT_START_EVENT: return .documentStart
        case YAML_DOCUMENT_END_EVENT: return .documentEnd
        case YAML_ALIAS_EVENT: return .alias(Self.string(event.data.alias.anchor) ?? "")
        case YAML_SCALAR_EVENT:
            let scalar = event.data.scalar
            let bytes = UnsafeBufferPointer(start: scalar.value, count: scalar.length)
            return .scalar(
                YAMLNode.Scalar(
                    text: String(decoding: bytes, as: UTF8.self),
                    isPlain: scalar.style == YAML_PLAIN_SCALAR_STYLE
                ),
                anchor: Self.string(scalar.anchor)
            )
        case YAML_SEQUENCE_START_EVENT:
            return .sequenceStart(anchor: Self.string(event.data.sequence_start.anchor))
        case YAML_SEQUENCE_END_EVENT: return .sequenceEnd
        case YAML_MAPPING_START_EVENT:
            return .mappingStart(anchor: Self.string(event.data.mapping_start.anchor))
        case YAML_MAPPING_END_EVENT: return .mappingEnd
        default: return .streamEnd
        }
    }

    private static func string(_ name: UnsafeMutablePointer<yaml_char_t>?) -> String? {
        name.map { String(cString: $0) }
    }

    // MARK: Faults

    private static func fault(
        _ message: String,
        in file: String,
        line: Int,
        column: Int
    ) -> ConfigurationFinding {
        let place = ConfigurationPlace.file(file, line: line, column: column)
        return ConfigurationFinding(place, "this is not YAML: \(message)")
    }

    private func fault(_ message: String, at mark: yaml_mark_t? = nil) -> ConfigurationFinding {
        let mark = mark ?? self.mark
        let (line, column) = (Int(mark.line) + 1, Int(mark.column) + 1)
        return Self.fault(message, in: file, line: line, column: column)
    }

    /// The fault at which libyaml stopped.
    private var problem: ConfigurationFinding {
        let state = parser.pointee
        let message = state.problem.map { String(cString: $0) } ?? "there is no memory to read it"
        guard state.error == YAML_READER_ERROR else {
            return fault(message, at: state.problem_mark)
        }
        // A character that no YAML may have: all that is known of its place is its offset in bytes.
        let before = String(decoding: input.prefix(Int(state.problem_offset)), as: UTF8.self)
        let lines = before.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        let column = (lines.last?.unicodeScalars.count ?? 0) + 1
        return Self.fault(message, in: file, line: lines.count, column: column)
    }
}

/// A part of a YAML document, with where it begins.
struct YAMLNode: Sendable {
    struct Scalar: Sendable {
        let text: String
        /// Whether the text is unquoted, so that `null` means no value and not a word.
        let isPlain: Bool

        /// Whether it is YAML's way to say nothing: `null`, `~` or empty, unquoted.
        var isNull: Bool {
            isPlain && ["", "~", "null", "Null", "NULL"].contains(text)
        }
    }

    typealias Pair = (key: YAMLNode, value: YAMLNode)

    enum Kind: Sendable {
        case scalar(Scalar)
        case sequence([YAMLNode])
        /// In the order of the file; a key may occur twice.
        case mapping([Pair])
    }

    let kind: Kind
    /// Both count from 1; the column counts Unicode scalars.
    var line = 1
    var column = 1

    var text: String? {
        guard case .scalar(let scalar) = kind else { return nil }
        return scalar.text
    }

    /// The root of a file that has no node: an empty scalar.
    static let empty = YAMLNode(kind: .scalar(Scalar(text: "", isPlain: true)))
}

extension YAMLNode {
    /// An origin that a client defines.
    init(_ origin: OriginDefinition) { self = origin.json.map(YAMLNode.init) ?? .empty }

    /// A value of JSON as YAML would have it, but of any size and with any characters, and without
    /// members that are null.
    ///
    /// All nodes have line 1 and column 1.
    init(_ json: JSONValue) {
        switch json {
        case .null: self.init(plain: "null")
        case .bool(let bool): self.init(plain: "\(bool)")
        case .number(let number): self.init(plain: number.text)
        case .string(let text): self.init(quoted: text)
        case .array(let elements): self.init(kind: .sequence(elements.map(YAMLNode.init)))
        case .object(let members):
            let pairs = members.filter { !$0.value.isNull }
                .map { (key: YAMLNode(quoted: $0.name), value: YAMLNode($0.value)) }
            self.init(kind: .mapping(pairs))
        }
    }

    private init(plain text: String) { self.init(kind: .scalar(Scalar(text: text, isPlain: true))) }

    private init(quoted text: String) {
        self.init(kind: .scalar(Scalar(text: text, isPlain: false)))
    }
}

extension JSONValue {
    /// The value as YAML, a line for each member and element; what has no objects is on one line.
    var yamlLines: [String] {
        if isOneLine { return [yamlLine] }
        if let elements {
            return elements.flatMap { element in
                element.yamlLines.enumerated()
                    .map { ($0.offset == 0 ? "- " : "  ") + $0.element }
            }
        }
        return (members ?? []).flatMap { member in
            let (name, value) = (yamlText(member.name), member.value)
            if value.isOneLine { return ["\(name): \(value.yamlLine)"] }
            return ["\(name):"] + value.yamlLines.map { "  " + $0 }
        }
    }

    private var isOneLine: Bool {
        if let elements { return elements.allSatisfy { $0.members == nil && $0.elements == nil } }
        guard let members else { return true }
        return members.isEmpty || members.contains { $0.name.isLongKey }
    }

    private var yamlLine: String {
        switch self {
        case .null: return "null"
        case .bool(let bool): return "\(bool)"
        case .number(let number): return number.text
        case .string(let text): return Double(text) == nil ? yamlText(text) : quoted(text)
        case .array(let elements):
            return "[\(elements.map(\.yamlInBrackets).joined(separator: ", "))]"
        case .object(let members):
            let pairs = members.map { member in
                let name = quoted(member.name)
                let key = member.name.isLongKey ? "? \(name) " : name
                return "\(key): \(member.value.yamlInBrackets)"
            }
            return "{\(pairs.joined(separator: ", "))}"
        }
    }

    /// A text within brackets is better in quotes if it has a colon.
    private var yamlInBrackets: String {
        guard let text = string, text.contains(":") else { return yamlLine }
        return quoted(text)
    }
}

extension String {
    /// Whether it has to be announced as a key: of more than 1,024 characters (YAML 1.1, 7.4.2).
    fileprivate var isLongKey: Bool { quoted(self).unicodeScalars.count > 1_000 }
}

/// The text as a YAML scalar, in quotes unless it is plainly a text.
func yamlText(_ text: String) -> String { isPlainText(text) ? text : quoted(text) }

func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\"", "\\": quoted += "\\\(scalar)"
        // Characters that YAML refuses unescaped, or reads as a line's end (YAML 1.1, 4.1 and 4.2).
        case "\u{00}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{2028}", "\u{2029}", "\u{FEFF}",
            "\u{FFFE}", "\u{FFFF}":
            let digits = String(scalar.value + 0x1_0000, radix: 16).dropFirst()
            quoted += "\\u" + digits
        default: quoted.unicodeScalars.append(scalar)
        }
    }
    return quoted + "\""
}

/// Sizes, URLs, paths and words; no number, and none of YAML's words for something else.
private func isPlainText(_ text: String) -> Bool {
    let isSafe = text.utf8.allSatisfy { $0.isASCIIAlphanumeric || "/._-:".utf8.contains($0) }
    guard isSafe, let first = text.first, text.last != ":" else { return false }
    if first.isNumber {
        // A size, a count or a watermark: `512MiB`, `0.9`. A mode looks like one and is none.
        return !text.hasPrefix("0") || text.contains(".") || text == "0B" || text == "0"
    }
    let words = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
    return (first.isLetter || first == "/") && !words.contains(text.lowercased())
}

extension Configuration {
    /// The whole configuration as YAML that reads back to the same value, except for secrets.
    ///
    /// The values of origins' headers and the user of a proxy may be secrets and are printed as
    /// `***`.
    package func printed() -> String {
        var lines: [String] = []
        for section in ConfigurationKey.sections {
            lines.append("\(section):")
            for key in ConfigurationKey.keys(of: section) {
                let text = text(of: key)
                lines.append("  \(key.name): \(key.isTruth ? text : yamlText(text))")
            }
        }
        lines.append(origins.isEmpty ? "origins: {}" : "origins:")
        for origin in origins {
            lines.append("  \(yamlText(origin.name.text)):")
            lines += origin.yamlLines(coversSecrets: true).map { "    " + $0 }
        }
        return lines.map { $0 + "\n" }.joined()
    }
}

extension OriginSettings {
    /// The origin's settings as YAML that reads back to the same value unless secrets are covered.
    package func yamlLines(coversSecrets: Bool) -> [String] {
        OriginDefinition(self, coversSecrets: coversSecrets).json?.yamlLines ?? []
    }
}

extension OriginDefinition {
    /// Never nil: the encoder is our own.
    fileprivate var json: JSONValue? { try? JSONValue(parsing: APIEncoder().encode(self)) }
}
