import ArgumentParser
import Glibc
import LarderAPI
import LarderModel

/// A file or stdin, read in chunks while they are asked for; to be read once.
final class InputFile: AsyncSequence, Sendable {
    /// The size of a regular file that is read from its beginning.
    let byteCount: Int?
    private let descriptor: Int32

    /// Opens `path`; `-` is stdin.
    init(_ path: String) throws(CommandFailure) {
        guard path != "-" else {
            descriptor = STDIN_FILENO
            byteCount = nil
            return
        }
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .lastError(of: path) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .lastError(of: path) }
        switch status.st_mode & S_IFMT {
        case S_IFREG: byteCount = Int(status.st_size)
        case S_IFDIR:
            throw CommandFailure(.failed, "\(path): it is a directory", hint: "Give a file.")
        default: byteCount = nil
        }
    }

    deinit {
        if descriptor > STDERR_FILENO { close(descriptor) }
    }

    func makeAsyncIterator() -> Iterator { Iterator(file: self) }

    struct Iterator: AsyncIteratorProtocol {
        /// A copy of this size takes little time compared with the system call.
        private static let chunkBytes = 65_536
        let file: InputFile

        /// Blocks its thread while nothing comes: the command has nothing else to do.
        func next() async throws -> [UInt8]? {
            while true {
                var count = 0
                let chunk = [UInt8](unsafeUninitializedCapacity: Self.chunkBytes) { buffer, used in
                    count = read(file.descriptor, buffer.baseAddress, buffer.count)
                    used = Swift.max(0, count)
                }
                if count >= 0 { return chunk.isEmpty ? nil : chunk }
                guard errno == EINTR else { throw ReadError(errno: errno) }
            }
        }
    }
}

struct ReadError: Error, CustomStringConvertible {
    let errno: Int32

    var description: String { String(cString: strerror(errno)) }
}

/// Where `-o` writes: a file that takes its place once it is whole, so that nothing half is there.
///
/// A path that is not a regular file (a pipe, `/dev/null`) is written to directly.
final class OutputFile {
    let descriptor: Int32
    /// The path in messages, too; `stdout` for `-`.
    let path: String
    /// Nil where it is written to in its place.
    private let temporary: String?
    private var hasTakenPlace = false

    /// Opens the file; `-` is stdout.
    init(_ path: String) throws(CommandFailure) {
        self.path = path == "-" ? "stdout" : path
        var status = stat()
        if path == "-" {
            temporary = nil
            descriptor = STDOUT_FILENO
        } else if stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
            temporary = nil
            descriptor = open(path, O_WRONLY | O_CLOEXEC)
        } else {
            let name = "\(path).\(getpid()).part"
            temporary = name
            // The rights of the file that it replaces; without one the status is all zeros.
            let rights = status.st_mode == 0 ? 0o666 : status.st_mode & 0o777
            descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, rights)
        }
        guard descriptor >= 0 else { throw .lastError(of: path) }
    }

    deinit {
        if descriptor > STDERR_FILENO { close(descriptor) }
        // A file that this process could not create belongs to another process.
        if let temporary, descriptor >= 0, !hasTakenPlace { unlink(temporary) }
    }

    /// Has what was written take the place of the path.
    ///
    /// A file system may report only then that it had no room, and a rename may reach the disk first.
    func finish() throws(CommandFailure) {
        guard let temporary else { return }
        guard fsync(descriptor) == 0, rename(temporary, path) == 0 else {
            throw .lastError(of: path)
        }
        hasTakenPlace = true
    }
}

/// Values that may be secrets, which all users see among a command's arguments (ps(1)): `@FILE` and
/// `-` read them from a file or stdin.
enum SecretLines {
    /// The argument itself, or the lines of what it names that are not empty.
    static func read(_ argument: String) async throws -> [String] {
        guard isNamed(argument) else { return [argument] }
        let path = argument == "-" ? argument : String(argument.dropFirst())
        var bytes: [UInt8] = []
        for try await chunk in try InputFile(path) {
            bytes += chunk
            guard bytes.count <= Limits.requestHeaderBytesMax else {
                throw CommandFailure(
                    .failed,
                    "\(name(argument)) has more than \(Limits.requestHeaderBytesMax) bytes"
                )
            }
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandFailure(.failed, "\(name(argument)) is not UTF-8")
        }
        let lines = text.split(whereSeparator: \.isNewline).map(String.init)
        guard !lines.isEmpty else { throw CommandFailure(.failed, "\(name(argument)) is empty") }
        return lines
    }

    /// The only line of what the argument names, which is `kind`: `a proxy`.
    static func line(_ argument: String, of kind: String) async throws -> String {
        let lines = try await read(argument)
        guard lines.count == 1 else {
            let reason = "\(name(argument)) has \(lines.count) lines, \(kind) is one"
            throw CommandFailure(.failed, reason)
        }
        return lines[0]
    }

    /// Refuses a second `-` among the arguments of a command.
    static func check(_ arguments: [String]) throws {
        guard arguments.count(where: { $0 == "-" }) <= 1 else {
            throw ValidationError("- is given twice; stdin can be read once.")
        }
    }

    /// Whether the argument names where the values are.
    static func isNamed(_ argument: String) -> Bool { argument == "-" || argument.hasPrefix("@") }

    /// The place in words, for messages that do not repeat a secret.
    static func name(_ argument: String) -> String {
        argument == "-" ? "stdin" : String(argument.dropFirst())
    }
}

/// Arguments as they are meant, where `-` stands for the lines of stdin.
enum StandardInput {
    /// Each argument, and in the place of `-` each line that is not empty.
    ///
    /// A line that is not UTF-8 is refused: with U+FFFD in it, two ids could become one.
    static func lines(_ arguments: [String]) async throws -> [String] {
        try SecretLines.check(arguments)
        var lines: [String] = []
        for argument in arguments {
            guard argument == "-" else {
                lines.append(argument)
                continue
            }
            var bytes: [UInt8] = []
            for try await chunk in try InputFile(argument) { bytes += chunk }
            let feed = UInt8(ascii: "\n")
            let parts = bytes.split(separator: feed, omittingEmptySubsequences: false)
            for (index, part) in parts.enumerated() {
                let text = part.last == UInt8(ascii: "\r") ? part.dropLast() : part
                guard let line = String(validating: text, as: UTF8.self) else {
                    throw CommandFailure(.usage, "line \(index + 1) of stdin is not UTF-8")
                }
                if !line.isEmpty { lines.append(line) }
            }
        }
        return lines
    }
}
