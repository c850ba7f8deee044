import LarderAPI
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

    /// An origin that a client defines, which has no file.
    init(_ origin: OriginDefinition) {
        file = ""
        // Our own encoder's.
        root = (try? JSONValue(parsing: APIEncoder().encode(origin))).map(YAMLNode.init)
    }
}
