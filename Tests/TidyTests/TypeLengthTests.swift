import Testing

@Suite("How long types are")
struct TypeLengthTests {
    private static let most = 500

    @Test("A type of store and engine ends at 500 lines in all its files")
    func types() {
        let modules = ["LarderStore", "LarderEngine"]
        let files = Tree.own.files.filter { file in
            file.isSource && modules.contains(file.target)
        }
        let lengths = Self.lengths(in: files)
        #expect(lengths.count > 100)
        let long = lengths.filter { $0.value > Self.most }
        #expect(long.isEmpty, "\(long)")
    }

    @Test("Declaration and extensions of a type are one length")
    func counting() {
        let first = SourceFile(
            path: "Sources/A/A.swift",
            text: "package struct A {\n\n}\n\nlet b = 1\n"
        )
        let second = SourceFile(
            path: "Sources/A/A+B.swift",
            text: "extension A {\n}\n\nenum C {}\n"
        )
        #expect(Self.lengths(in: [first, second]) == ["A": 5, "C": 1])
    }

    /// The lines of each type that is declared at the top of files, with its extensions.
    private static func lengths(in files: [SourceFile]) -> [String: Int] {
        let modifiers: Set = ["package", "public", "private", "fileprivate", "final", "indirect"]
        let kinds: Set = ["class", "struct", "enum", "actor", "extension", "protocol"]
        var lengths: [String: Int] = [:]
        for file in files {
            var current: String?
            for line in file.code {
                let words = line.split(separator: " ").drop { modifiers.contains(String($0)) }
                if line.first?.isLetter == true, let kind = words.first,
                    kinds.contains(String(kind)), let name = words.dropFirst().first
                {
                    current = String(name.prefix { $0.isLetter || $0.isNumber || $0 == "_" })
                }
                if let current { lengths[current, default: 0] += 1 }
                if line.hasPrefix("}") || line.first?.isLetter == true && line.hasSuffix("{}") {
                    current = nil
                }
            }
        }
        return lengths
    }
}
