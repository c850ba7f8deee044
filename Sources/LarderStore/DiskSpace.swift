import Glibc

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

/// What a file looks like from outside; two looks that differ tell that somebody has touched it.
struct FileStamp: Equatable {
    private let device: UInt64
    private let node: UInt64
    let bytes: Int64
    private let modifiedSeconds: Int
    private let modifiedNanoseconds: Int

    /// Nil where there is no ordinary file; a symbolic link is none.
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
