import Glibc

/// A directory of its own under `$TMPDIR` or `/tmp`, there from init to deinit.
package final class TemporaryDirectory: Sendable {
    package let path: String
    private static let memory = "/dev/shm"

    /// `inMemory` has it on a file system in memory where the machine has one, for thousands of
    /// synced commits.
    package init(inMemory: Bool = false) throws {
        let parent =
            inMemory && access(Self.memory, W_OK) == 0
            ? Self.memory : getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(parent)/larder-test.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw TemporaryDirectoryError(errno: errno) }
        path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// The path of something in it.
    package func path(_ name: String) -> String { "\(path)/\(name)" }

    /// Writes a file in it, and makes the folders that it stands in.
    package func write(_ name: String, _ bytes: [UInt8]) throws {
        var folder = path
        for part in name.split(separator: "/").dropLast() {
            folder += "/\(part)"
            mkdir(folder, 0o700)
        }
        let descriptor = open(path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw TemporaryDirectoryError(errno: errno) }
        defer { close(descriptor) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { throw TemporaryDirectoryError(errno: errno) }
            rest = rest.dropFirst(count)
        }
    }

    package func write(_ name: String, _ text: String) throws {
        try write(name, Array(text.utf8))
    }

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

/// A call of the system failed.
package struct TemporaryDirectoryError: Error {
    package let errno: Int32
}

/// Everything in a file.
package func bytes(ofFile path: String) throws -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw TemporaryDirectoryError(errno: errno) }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 65_536)
    while true {
        let count = read(descriptor, &piece, piece.count)
        guard count >= 0 else { throw TemporaryDirectoryError(errno: errno) }
        if count == 0 { return bytes }
        bytes += piece[..<count]
    }
}

/// The permission bits of a file.
package func permissions(ofFile path: String) throws -> UInt32 {
    var status = stat()
    guard stat(path, &status) == 0 else { throw TemporaryDirectoryError(errno: errno) }
    return status.st_mode & 0o777
}
