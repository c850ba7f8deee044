import CYAML
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

    /// The root; nil where there is none, as in a file of comments.
    static func read(_ text: String, of file: String) throws(ConfigurationFinding) -> YAMLNode? {
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

    private mutating func document() throws(ConfigurationFinding) -> YAMLNode? {
        guard case .streamStart = try next(), case .documentStart = try next() else { return nil }
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
