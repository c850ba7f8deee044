import LarderAPI

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

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
        guard descriptor >= 0 else { throw Self.failure(path) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw Self.failure(path) }
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

    func makeAsyncIterator() -> Iterator {
        Iterator(file: self)
    }

    struct Iterator: AsyncIteratorProtocol {
        /// A copy of this size is short beside the system call.
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

    private static func failure(_ path: String) -> CommandFailure {
        CommandFailure(.failed, "\(path): \(String(cString: strerror(errno)))")
    }
}

/// read(2) failed.
struct ReadError: Error, CustomStringConvertible {
    let errno: Int32

    var description: String { String(cString: strerror(errno)) }
}

extension InputFile {
    /// The path as another process finds it, whatever its working directory.
    static func absolutePath(_ path: String) -> String {
        guard !path.hasPrefix("/"), let folder = getcwd(nil, 0) else { return path }
        defer { free(folder) }
        return "\(String(cString: folder))/\(path)"
    }
}
