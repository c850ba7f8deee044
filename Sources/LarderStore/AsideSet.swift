import Glibc

/// A damaged `state.db` that was set aside, with its WAL and its copy: kept until a person removes it.
package struct AsideSet: Equatable, Sendable {
    package let paths: [String]
    package let bytes: Int64

    package var removal: String { "rm " + paths.map { "'\($0)'" }.joined(separator: " ") }

    package var sentence: String {
        let files = paths.count == 1 ? "one file" : "\(paths.count) files"
        return "\(paths[0]) (\(bytes) bytes in \(files)) is a damaged state.db that was set aside, "
            + "for who looks for what could not be read of it"
    }
}

extension DatabaseFile {
    /// Where the n-th file that was set aside lies; its WAL is beside it.
    func asidePath(_ number: Int) -> String {
        number == 1 ? path + ".aside" : path + ".aside.\(number)"
    }

    var asideSets: [AsideSet] {
        let named = asideNames
        return Set(named.map(\.number)).sorted().map { number in
            let paths = named.filter { $0.number == number }.map { folder + "/" + $0.name }.sorted()
            let bytes = paths.reduce(0) { $0 + DiskSpace.fileBytes(at: $1) }
            return AsideSet(paths: paths, bytes: bytes)
        }
    }

    var nextAsideNumber: Int { (asideNames.map(\.number).max() ?? 0) + 1 }

    private var asideNames: [(name: String, number: Int)] {
        let start = name + ".aside"
        return folder.names.compactMap { name in
            guard name.hasPrefix(start) else { return nil }
            let rest = name.dropFirst(start.count)
            guard rest.hasPrefix(".") else { return (name, 1) }
            // `.2`, `.2-wal`, `.2.snapshot`; that of the first is `.snapshot`.
            return (name, Int32(rest.dropFirst().prefix { $0.isNumber }).map(Int.init) ?? 1)
        }
    }
}

extension String {
    var names: [String] {
        guard let stream = opendir(self) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            names.append(name)
        }
        return names
    }
}
