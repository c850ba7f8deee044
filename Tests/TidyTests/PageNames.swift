import Foundation

/// Names of types and files in the code spans of pages for contributors.
struct PageNames {
    /// Pages that a contributor goes by: each name in them is one of the tree.
    static let pages = [
        "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "docs/concurrency.md",
        "docs/decisions.md", "docs/normalization.md", "docs/request-paths.md", "docs/storage.md",
        "docs/testing.md",
    ]

    /// Words that are not types of the tree: header fields, types and calls of others, and names
    /// in examples.
    private static let others: Set = [
        "Accept", "Age", "Article", "Authorization", "Cookie", "Date", "LoadCredential", "Mutex",
        "NIOThreadPool", "Package", "Sources", "Task", "Tests", "Vary", "XMachine",
    ]

    private let types: Set<String>
    private let paths: Set<String>
    private let tree: Tree

    init(_ tree: Tree) {
        self.tree = tree
        paths = tree.paths
        let swift = tree.files.filter(\.isSwift)
        // Modules and folders of tests are named like types.
        let folders = tree.paths.flatMap { $0.split(separator: "/").dropLast().map(String.init) }
        types = Set(swift.flatMap { Self.declarations(in: $0) } + folders)
    }

    /// Names in the pages that are not in the tree.
    var unknown: [Rule.Finding] {
        tree.files.filter { Self.pages.contains($0.path) }.flatMap { page in
            Self.spans(of: page).compactMap { span in
                let message = fault(of: span.text)
                return message.map {
                    Rule.Finding(path: page.path, line: span.line, message: $0)
                }
            }
        }
    }

    /// Links of all pages to files that are not there.
    var danglingLinks: [Rule.Finding] {
        tree.files.filter { TextKind.isPage($0.path) }.flatMap { page in
            let folder = page.path.split(separator: "/").dropLast()
            return Self.links(of: page).compactMap { link in
                let path = Self.resolved(link.text, from: folder.map(String.init))
                let isThere = paths.contains(path) || paths.contains { $0.hasPrefix(path + "/") }
                return isThere
                    ? nil
                    : Rule.Finding(
                        path: page.path,
                        line: link.line,
                        message: "there is no '\(path)'"
                    )
            }
        }
    }

    private func fault(of span: String) -> String? {
        if span.wholeMatch(of: /[\w+\/.-]+\.(?:swift|sql|yaml|sh)/) != nil {
            let isExample = span.contains("XMachine") || span == "larder.yaml"
            let isThere = paths.contains { $0 == span || $0.hasSuffix("/" + span) }
            return isThere || isExample ? nil : "there is no file '\(span)'"
        }
        // `Store`, `Store.read(on:_:)`, `LARDER_SEEDS` is none.
        guard let match = span.wholeMatch(of: /([A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]*)(?:[.(<].*)?/)
        else { return nil }
        let name = String(match.output.1)
        return types.contains(name) || Self.others.contains(name)
            ? nil : "there is no type '\(name)'"
    }

    private static func declarations(in file: SourceFile) -> [String] {
        let kinds: Set = ["struct", "class", "enum", "actor", "protocol", "typealias"]
        return file.code.flatMap { line in
            let words = line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }
            return zip(words, words.dropFirst())
                .filter { kinds.contains(String($0.0)) }.map { String($0.1) }
        }
    }

    private static func spans(of page: SourceFile) -> [Paragraph] {
        unfenced(page).flatMap { line in
            line.text.matches(of: /`([^`]+)`/).map {
                Paragraph(line: line.line, text: String($0.output.1))
            }
        }
    }

    /// Targets of links within the tree, without their anchors.
    private static func links(of page: SourceFile) -> [Paragraph] {
        unfenced(page).flatMap { line in
            line.text.matches(of: /\]\(([^)#\s]+)(?:#[^)]*)?\)/).compactMap { match in
                let target = String(match.output.1)
                return target.contains(":") ? nil : Paragraph(line: line.line, text: target)
            }
        }
    }

    private static func unfenced(_ page: SourceFile) -> [Paragraph] {
        var isFenced = false
        return page.lines.enumerated().compactMap { index, line in
            if line.hasPrefix("```") { isFenced.toggle() }
            return isFenced ? nil : Paragraph(line: index + 1, text: line)
        }
    }

    private static func resolved(_ target: String, from folder: [String]) -> String {
        var parts = folder
        for part in target.split(separator: "/") where part != "." {
            if part == ".." { _ = parts.popLast() } else { parts.append(String(part)) }
        }
        return parts.joined(separator: "/")
    }
}
