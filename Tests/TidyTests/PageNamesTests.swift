import Testing

@Suite("Names in pages")
struct PageNamesTests {
    private let names = PageNames(.own)

    @Test("Each page for contributors is in the tree", arguments: PageNames.pages)
    func pages(path: String) {
        #expect(Tree.own.paths.contains(path))
    }

    @Test("Each type and file that a page for contributors names is in the tree")
    func own() {
        let unknown = names.unknown
        #expect(unknown.isEmpty, "\(unknown.map(\.description).joined(separator: "\n"))")
    }

    @Test("Each link of a page leads to a file of the tree")
    func links() {
        let dangling = names.danglingLinks
        #expect(dangling.isEmpty, "\(dangling.map(\.description).joined(separator: "\n"))")
    }

    @Test("ARCHITECTURE ends at 250 lines")
    func length() throws {
        let page = try #require(Tree.own.files.first { $0.path == "ARCHITECTURE.md" })
        #expect(page.lines.count <= 251)
    }

    @Test("Unknown names and dangling links are found, and known ones are not")
    func findings() {
        let tree = Tree(files: [
            SourceFile(path: "Sources/Shop/Till.swift", text: "struct Till {\n    enum Kind {}\n}"),
            SourceFile(path: "docs/other.md", text: "[a](storage.md) `Nothing`"),
            SourceFile(
                path: "docs/storage.md",
                text: """
                    `Till`, `Kind.open`, `Shop`, `Till.swift`, `Shop/Till.swift`, `A_B`, `open()`
                    `Ware`, `Ware.swift`
                    [a](other.md#b) [c](../docs) [d](https://e.f/g) [h](i.md)
                    ```
                    `Nothing` [a](b)
                    ```
                    """
            ),
        ])
        let names = PageNames(tree)
        #expect(
            names.unknown.map(\.description) == [
                "docs/storage.md:2: there is no type 'Ware'",
                "docs/storage.md:2: there is no file 'Ware.swift'",
            ]
        )
        #expect(
            names.danglingLinks.map(\.description) == [
                "docs/storage.md:3: there is no 'docs/i.md'"
            ]
        )
    }
}
