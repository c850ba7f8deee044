import Glibc
import Synchronization

/// The right of one process to a folder, by a lock on a file in it that the kernel releases with
/// the process.
final class DirectoryLock: Sendable {
    private let descriptor: Int32
    private let path: String

    /// Makes the folder (0700) where it is missing, and locks it.
    init(directory: String) throws(StoreError) {
        try Self.makeDirectory(directory)
        path = directory + "/lock"
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .system(path) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            // `deinit` closes the descriptor, because every property is set by now.
            throw errno == EWOULDBLOCK ? .inUse(path: directory) : .system(path)
        }
    }

    deinit {
        // A process that is just being begun has the descriptor, too, until it runs its own
        // program.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Whether the locked file is still in the folder, which may have been emptied or removed.
    var isInPlace: Bool {
        var here = stat()
        var there = stat()
        return fstat(descriptor, &here) == 0 && lstat(path, &there) == 0
            && here.st_dev == there.st_dev && here.st_ino == there.st_ino
    }

    private static func makeDirectory(_ path: String) throws(StoreError) {
        var made = ""
        for part in path.split(separator: "/") {
            made += (made.isEmpty && !path.hasPrefix("/") ? "" : "/") + part
            guard mkdir(made, 0o700) == 0 || errno == EEXIST else { throw .system(made) }
        }
    }
}

/// The lock on the cache's folder, taken again after the folder was removed or emptied.
///
/// The store owns it, so the folder is free as soon as the store is gone.
final class CacheDirectoryLock: Sendable {
    private let directory: String
    private let lock = Mutex<DirectoryLock?>(nil)

    /// Holds nothing until ``ensure()``.
    init(_ directory: String) { self.directory = directory }

    func ensure() throws(StoreError) {
        try lock.withLock { lock throws(StoreError) in
            if lock?.isInPlace ?? false { return }
            lock = nil
            lock = try DirectoryLock(directory: directory)
        }
    }
}
