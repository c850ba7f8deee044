import Glibc

/// What a file system and its files say of their sizes.
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

    /// The length of a file; 0 where there is none.
    package static func fileBytes(at path: String) -> Int64 {
        var answer = stat()
        guard stat(path, &answer) == 0 else { return 0 }
        return Int64(answer.st_size)
    }
}
