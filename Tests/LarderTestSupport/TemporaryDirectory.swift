import Glibc

/// A directory of its own under `$TMPDIR` or `/tmp`, there from init to deinit.
package final class TemporaryDirectory: Sendable {
    package let path: String

    package init() throws {
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(parent)/larder-test.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw TemporaryDirectoryError(errno: errno) }
        path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// The path of something in it.
    package func path(_ name: String) -> String { "\(path)/\(name)" }

    deinit {
        Self.removeTree(path)
    }

    /// Removes what is in a directory before itself; a link is removed, not followed.
    private static func removeTree(_ path: String) {
        var names: [String] = []
        if let stream = opendir(path) {
            while let entry = readdir(stream) {
                names.append(
                    withUnsafePointer(to: &entry.pointee.d_name) { name in
                        name.withMemoryRebound(to: CChar.self, capacity: 256) {
                            String(cString: $0)
                        }
                    }
                )
            }
            closedir(stream)
        }
        for name in names where name != "." && name != ".." {
            let child = "\(path)/\(name)"
            if unlink(child) != 0 { removeTree(child) }
        }
        rmdir(path)
    }
}

/// mkdtemp failed.
package struct TemporaryDirectoryError: Error {
    package let errno: Int32
}
