import LarderAPI

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Where `-o` writes: a file that takes its place once it is whole, so that nothing half is there.
///
/// What is no ordinary file (a pipe, `/dev/null`) is written to as it is.
final class OutputFile {
    let descriptor: Int32
    private let path: String
    /// Nil where it is written to in its place.
    private let temporary: String?
    private var hasTakenPlace = false

    /// Opens the file; `-` is stdout.
    init(_ path: String) throws(CommandFailure) {
        self.path = path
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
            descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
        }
        guard descriptor >= 0 else { throw Self.failure(path) }
    }

    deinit {
        if descriptor > STDERR_FILENO { close(descriptor) }
        // What could not be made is another's.
        if let temporary, descriptor >= 0, !hasTakenPlace { unlink(temporary) }
    }

    /// Has what was written take the place of the path.
    func finish() throws(CommandFailure) {
        guard let temporary else { return }
        guard rename(temporary, path) == 0 else { throw Self.failure(path) }
        hasTakenPlace = true
    }

    private static func failure(_ path: String) -> CommandFailure {
        CommandFailure(.failed, "\(path): \(String(cString: strerror(errno)))")
    }
}
