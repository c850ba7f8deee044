import Foundation

/// The files that are committed, as far as they are text.
struct Tree: Sendable {
    let files: [SourceFile]
    let paths: Set<String>

    init(files: [SourceFile]) {
        self.files = files
        paths = Set(files.map(\.path))
    }

    /// The tree that this file stands in.
    static let own = Tree(root: root(of: #filePath))

    static func root(of file: String) -> String {
        file.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()
    }

    private init(root: String) {
        let skipped: Set = [".build", ".git", ".swiftpm"]
        var files: [SourceFile] = []
        var folders = [""]
        while let folder = folders.popLast() {
            let names = try? FileManager.default.contentsOfDirectory(atPath: root + "/" + folder)
            for name in (names ?? []).sorted() where !skipped.contains(name) {
                let path = folder + name
                var isFolder: ObjCBool = false
                let isThere = FileManager.default.fileExists(
                    atPath: root + "/" + path,
                    isDirectory: &isFolder
                )
                if isThere, isFolder.boolValue {
                    folders.append(path + "/")
                } else if let bytes = FileManager.default.contents(atPath: root + "/" + path),
                    let text = String(validating: bytes, as: UTF8.self)
                {
                    files.append(SourceFile(path: path, text: text))
                }
            }
        }
        self.init(files: files)
    }
}
