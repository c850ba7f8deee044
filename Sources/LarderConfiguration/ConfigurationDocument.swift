import LarderJSON

/// A file's text as a tree of YAML nodes that know where they stand.
struct ConfigurationDocument {
    let file: String
    /// Nil for a file that says nothing.
    let root: YAMLNode?

    init(text: String, file: String) throws(ConfigurationFinding) {
        self.file = file
        do throws(YAMLFault) {
            root = try YAMLParser.read(text)
        } catch {
            throw ConfigurationFinding(
                .file(file, line: error.line, column: error.column),
                "this is not YAML: \(error.message)"
            )
        }
    }

    /// A text that is JSON, whose values all stand at the beginning of `file`.
    init(json: JSONValue, file: String) {
        self.file = file
        root = YAMLNode(json)
    }

    /// Where `node` begins.
    func place(of node: YAMLNode) -> ConfigurationPlace {
        .file(file, line: node.line, column: node.column)
    }
}
