import Glibc
import LarderModel
import Synchronization

/// Space on a disk that is given up when the disk is full: even a row's deletion has to be written
/// down first.
///
/// The reserve is a preallocated file, `reserve`, in the folder of a database. A full disk makes
/// the store release it, so that the store can make room and settle work in progress. The store
/// takes it again when there is room. While it is not held, the store begins no new work that would
/// need it.
final class Reserve: Sendable {
    private let directory: String
    private let bytes: Int64
    private let expendable: String?
    private let freeBytes: @Sendable (String) -> Int64?
    private let allocate: @Sendable (_ file: Int32, _ bytes: Int64) -> Bool
    private let held = Mutex(false)

    init(
        directory: String,
        bytes: Int64,
        expendable: String? = nil,
        freeBytes: @escaping @Sendable (String) -> Int64?,
        allocate: @escaping @Sendable (_ file: Int32, _ bytes: Int64) -> Bool = {
            posix_fallocate($0, 0, off_t($1)) == 0
        }
    ) {
        (self.directory, self.bytes) = (directory, bytes)
        (self.expendable, self.freeBytes, self.allocate) = (expendable, freeBytes, allocate)
    }

    private var path: String { directory + "/reserve" }

    var isHeld: Bool { bytes == 0 || held.withLock { $0 } }

    var bytesNeeded: Int64 { bytes == 0 ? 0 : bytes + Limits.reserveSpareBytes }

    func fitsInPlace(of database: DatabaseFile) -> Bool {
        bytesNeeded > 0 && database.bytes >= bytesNeeded
    }

    @discardableResult func take() -> Bool {
        guard bytes > 0 else { return true }
        return held.withLock { isHeld in
            if isHeld, isAllocated { return true }
            isHeld = isAllocated || make()
            return isHeld
        }
    }

    func release() -> Bool {
        let hasGivenWay = expendable.map { unlink($0) == 0 } ?? false
        guard bytes > 0 else { return hasGivenWay }
        return held.withLock { isHeld in
            guard isHeld || isAllocated else { return hasGivenWay }
            isHeld = false
            return unlink(path) == 0 || hasGivenWay
        }
    }

    /// Runs what settles something, a second time with the released space if the disk is full.
    func settle<Value>(_ work: () throws(StoreError) -> Value) throws(StoreError) -> Value {
        do throws(StoreError) {
            return try work()
        } catch {
            guard case .diskFull = error, release() else { throw error }
            return try work()
        }
    }

    func look() -> ReserveFinding? {
        guard bytes > 0 else { return nil }
        return ReserveFinding(path: path, bytes: bytes, state: held.withLock { state(isHeld: $0) })
    }

    private func state(isHeld: Bool) -> ReserveFinding.State {
        if isHeld, FileStamp(path)?.bytes ?? 0 >= bytes { return .held }
        if path.isThere, FileStamp(path) == nil { return .obstructed }
        let free = freeBytes(directory) ?? bytesNeeded
        return free < bytesNeeded ? .noRoom(short: bytesNeeded - free) : .missing
    }

    /// Whether the file is there with blocks under every byte of it: a sparse one holds no space.
    private var isAllocated: Bool {
        var answer = stat()
        guard lstat(path, &answer) == 0, answer.st_mode & S_IFMT == S_IFREG else { return false }
        return Int64(answer.st_size) >= bytes && Int64(answer.st_blocks) * 512 >= bytes
    }

    private func make() -> Bool {
        if let free = freeBytes(directory), free < bytesNeeded { return false }
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        // Where the file system cannot preallocate, the C library writes into every block. ZFS
        // allocates nothing and only checks for room: there each look at the reserve repeats that.
        guard allocate(descriptor, bytes) else {
            unlink(path)
            return false
        }
        return true
    }

    static func ofFolders(_ configuration: StoreConfiguration) -> (cache: Reserve, state: Reserve) {
        func reserve(_ directory: String, expendable: String? = nil) -> Reserve {
            Reserve(
                directory: directory,
                bytes: configuration.reserveBytes,
                expendable: expendable,
                freeBytes: configuration.freeBytes
            )
        }
        let folder = configuration.stateDirectory
        let state = reserve(folder, expendable: StateFile.database(in: folder, nil).snapshotPath)
        let isOne = folder == configuration.cacheDirectory
        return (isOne ? state : reserve(configuration.cacheDirectory), state)
    }
}

package struct ReserveFinding: Equatable, Sendable {
    package let path: String
    package let bytes: Int64
    package let state: State

    package enum State: Equatable, Sendable {
        case held
        /// The file is missing, or too short, and there is room for it.
        case missing
        /// The file is missing, and its disk needs `short` more free bytes.
        case noRoom(short: Int64)
        /// Something else has the file's name.
        case obstructed
    }
}

package enum DiskSpace {
    /// As good as without a limit, and far from the ends of the number's range.
    private static let unlimited: Int64 = 1 << 60

    /// Bytes that an ordinary user can still write where `path` lies; nil where it cannot be told.
    package static func freeBytes(at path: String) -> Int64? {
        var answer = statvfs()
        // A file system without blocks, such as ramfs, does not know how much there is.
        guard statvfs(path, &answer) == 0, answer.f_blocks > 0 else { return nil }
        let blocks = UInt64(answer.f_bavail)
        let (bytes, isTooMuch) = blocks.multipliedReportingOverflow(by: UInt64(answer.f_frsize))
        return isTooMuch ? unlimited : min(unlimited, Int64(clamping: bytes))
    }

    package static func fileBytes(at path: String) -> Int64 {
        var answer = stat()
        guard stat(path, &answer) == 0 else { return 0 }
        return Int64(answer.st_size)
    }
}

/// Identity, length and time of a file; different stamps mean that a process has changed it.
struct FileStamp: Equatable {
    private let device: UInt64
    private let node: UInt64
    let bytes: Int64
    private let modifiedSeconds: Int
    private let modifiedNanoseconds: Int

    /// Nil if there is no ordinary file; a symbolic link does not count as one.
    init?(_ path: String) {
        var answer = stat()
        guard lstat(path, &answer) == 0, answer.st_mode & S_IFMT == S_IFREG else { return nil }
        device = UInt64(answer.st_dev)
        node = UInt64(answer.st_ino)
        bytes = Int64(answer.st_size)
        modifiedSeconds = answer.st_mtim.tv_sec
        modifiedNanoseconds = answer.st_mtim.tv_nsec
    }

    func isSameFile(as other: FileStamp) -> Bool { device == other.device && node == other.node }
}
