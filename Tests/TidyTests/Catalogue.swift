/// The DocC catalogue of a library, held against what the library declares.
struct Catalogue {
    let pages: [SourceFile]
    let module: String
    /// `LarderClient/fetch(_:options:)`.
    let symbols: Set<String>
    /// Symbols of the modules that the library exports as its own.
    private let exported: Set<String>

    init(of module: String, exporting others: [String] = [], in tree: Tree) {
        self.module = module
        let folder = "Sources/\(module)/"
        pages = tree.files.filter {
            $0.path.hasPrefix("\(folder)\(module).docc/") && $0.path.hasSuffix(".md")
        }
        func declared(in module: String) -> Set<String> {
            let files = tree.files.filter { $0.isSwift && $0.path.hasPrefix("Sources/\(module)/") }
            return Set(files.flatMap(publicSymbols))
        }
        symbols = declared(in: module)
        exported = Set(others.flatMap(declared))
    }

    /// Links to what is not declared.
    var danglingLinks: [Rule.Finding] {
        links.filter { !names($0.text) }.map {
            Rule.Finding(
                path: $0.path,
                line: $0.line,
                message: "``\($0.text)`` is nothing public of \(module)"
            )
        }
    }

    /// Types, and members of the type that is called as the module is, that stand under no topic.
    var unlisted: [String] {
        let listed = Set(links.filter(\.isTopic).map { $0.text.dropPrefix("\(module)/") })
        return symbols.filter { symbol in
            let parts = symbol.split(separator: "/")
            return parts.count == 1 || (parts.count == 2 && parts[0] == module)
        }
        .subtracting(listed).sorted()
    }

    private struct Link {
        let path: String
        let line: Int
        let text: String
        /// Whether it is an item of a list under a topic.
        let isTopic: Bool
    }

    private var links: [Link] {
        pages.flatMap { page in
            var isAmongTopics = false
            return page.lines.enumerated().flatMap { index, line in
                if line.hasPrefix("## ") { isAmongTopics = line == "## Topics" }
                return line.matches(of: /``([^`]+)``/).map {
                    Link(
                        path: page.path,
                        line: index + 1,
                        text: String($0.output.1),
                        isTopic: isAmongTopics && line.hasPrefix("- ")
                    )
                }
            }
        }
    }

    private func names(_ link: String) -> Bool {
        link == module || symbols.contains(link) || exported.contains(link)
            || (link.hasPrefix("\(module)/") && symbols.contains(link.dropPrefix("\(module)/")))
    }
}

extension String {
    fileprivate func dropPrefix(_ prefix: String) -> String {
        hasPrefix(prefix) ? String(dropFirst(prefix.count)) : self
    }
}
