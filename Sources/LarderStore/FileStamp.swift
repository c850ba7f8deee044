import Glibc

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

    /// Whether it is one file, whatever it holds now.
    func isSameFile(as other: FileStamp) -> Bool {
        device == other.device && node == other.node
    }
}
