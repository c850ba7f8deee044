import NIOPosix
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A temporary file in the folder of a path, renamed to the path when it is complete.
///
/// An instance that is released before ``takePlace()`` succeeds removes its file. One task uses the
/// file at a time. Blocking calls run on a thread pool.
final class DownloadFile: Sendable {
    private let path: String
    private let temporary: String
    private let descriptor: Int32
    /// Whether the temporary name is already renamed or removed.
    // Relaxed: only one task at a time, or `deinit`, reads it.
    private let hasLeft = Atomic<Bool>(false)

    /// Creates the temporary file for `path`.
    init(for path: String) throws(LarderError) {
        self.path = path
        let end = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
        let (folder, name) = (path[..<end], path[end...])
        guard !name.isEmpty, name != ".", name != ".." else {
            throw .fileFailed(path: path, reason: "it names no file")
        }
        // Skips the names of files that an earlier process with the same pid has left.
        for _ in 0..<Self.namesMax {
            let number = Self.names.wrappingAdd(1, ordering: .relaxed).newValue
            let temporary = "\(folder).\(name.prefix(Self.nameLettersMax)).\(getpid()).\(number)"
            let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
            let descriptor = open(temporary, flags, 0o666)
            if descriptor >= 0 {
                self.temporary = temporary
                self.descriptor = descriptor
                return
            }
            guard errno == EEXIST else { throw Self.failure(path) }
        }
        throw .fileFailed(path: path, reason: "its folder has too many unfinished files")
    }

    // Relaxed: the numbers must be unique, and order no other memory.
    private static let names = Atomic<Int>(0)
    private static let namesMax = 1_000
    /// Keeps the temporary name within the 255 bytes that file systems allow.
    private static let nameLettersMax = 40

    deinit {
        close(descriptor)
        remove()
    }

    private func remove() {
        if !hasLeft.exchange(true, ordering: .relaxed) { unlink(temporary) }
    }

    func write(_ bytes: [UInt8]) async throws(LarderError) {
        try await offTheCaller { [descriptor, path] in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { writeSome($0, to: descriptor) }
                if count >= 0 {
                    rest = rest.dropFirst(count)
                } else if errno != EINTR {
                    return Self.failure(path)
                }
            }
            return nil
        }
    }

    /// Syncs the file, renames it to `path` and syncs the folder.
    func takePlace() async throws(LarderError) {
        try await offTheCaller { [self] in
            guard fsync(descriptor) == 0, rename(temporary, path) == 0 else {
                let failure = Self.failure(path)
                // The caller may get the failure before this thread releases the file in `deinit`.
                remove()
                return failure
            }
            hasLeft.store(true, ordering: .relaxed)
            let end = path.lastIndex(of: "/")
            let folder = end.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
            let opened = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard opened >= 0 else { return Self.failure(folder) }
            defer { close(opened) }
            // A file system that cannot sync a folder says EINVAL (fsync(2)).
            return fsync(opened) == 0 || errno == EINVAL ? nil : Self.failure(folder)
        }
    }

    private func offTheCaller(
        _ work: @escaping @Sendable () -> LarderError?
    ) async throws(LarderError) {
        let failure: LarderError?
        do {
            failure = try await NIOThreadPool.singleton.runIfActive { work() }
        } catch {
            throw .cancelled
        }
        if let failure { throw failure }
    }

    private static func failure(_ path: String) -> LarderError {
        .fileFailed(path: path, reason: String(cString: strerror(errno)))
    }
}

/// Outside of the type, whose own method would hide write(2).
private func writeSome(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int {
    write(descriptor, bytes.baseAddress, bytes.count)
}
