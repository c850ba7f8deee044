import LarderAPI
import LarderJSON

/// A part of a YAML document, with where it begins.
struct YAMLNode: Sendable {
    struct Scalar: Sendable {
        let text: String
        /// Whether the text is unquoted, so that `null` means no value and not a word.
        let isPlain: Bool
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

    private init(plain text: String) {
        self.init(kind: .scalar(Scalar(text: text, isPlain: true)))
    }

    private init(quoted text: String) {
        self.init(kind: .scalar(Scalar(text: text, isPlain: false)))
    }
}

/// A file's text as a tree of YAML nodes with their lines and columns.
struct ConfigurationDocument {
    let file: String
    /// Nil for a file that says nothing.
    let root: YAMLNode?

    init(text: String, file: String) throws(ConfigurationFinding) {
        self.file = file
        root = try YAMLParser.read(text, of: file)
    }

    /// An origin that a client defines, which has no file.
    init(_ origin: OriginDefinition) {
        file = ""
        // Our own encoder's.
        root = (try? JSONValue(parsing: APIEncoder().encode(origin))).map(YAMLNode.init)
    }
}
