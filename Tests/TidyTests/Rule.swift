import Testing

/// One habit of this codebase that a machine can hold.
struct Rule: Sendable, CustomTestStringConvertible {
    let name: String
    /// What is wrong with a file that stands in a tree with these paths.
    let findings: @Sendable (_ file: SourceFile, _ paths: Set<String>) -> [Finding]

    var testDescription: String { name }

    struct Finding: Equatable, Sendable, CustomStringConvertible {
        let path: String
        let line: Int
        let message: String

        var description: String { "\(path):\(line): \(message)" }
    }

    init(
        _ name: String,
        findings: @escaping @Sendable (_ file: SourceFile, _ paths: Set<String>) -> [Finding]
    ) {
        self.name = name
        self.findings = findings
    }

    /// A rule that looks at the lines of code one by one and says what is wrong with one.
    init(
        _ name: String,
        in applies: @escaping @Sendable (SourceFile) -> Bool,
        line check: @escaping @Sendable (String) -> String?
    ) {
        self.init(name) { file, _ in
            guard applies(file) else { return [] }
            return file.code.enumerated().compactMap { index, line in
                check(line).map { Finding(path: file.path, line: index + 1, message: $0) }
            }
        }
    }

    /// What is wrong with the tree, exemptions left out.
    func findings(in tree: Tree) -> [Finding] {
        tree.files.flatMap { file in
            Exemption.all.contains { $0.covers(file, from: self) }
                ? [] : findings(file, tree.paths)
        }
    }
}
