import Glibc

/// How a `cache.db` that is of no use gets out of the way of a new one.
extension DatabaseFile {
    /// The file, its WAL and the index of the WAL, in the order in which they go: without its file
    /// a WAL is nobody's, while a file without its WAL would pass for whole.
    static let suffixes = ["", "-wal", "-shm"]

    /// Removes a file with its WAL, whatever is there of them.
    static func removeFiles(_ path: String) {
        for suffix in suffixes { unlink(path + suffix) }
    }

    private func asidePath(_ suffix: String) -> String { path + ".aside" + suffix }

    /// Renames the file and its WAL, over the copy that an earlier time left.
    ///
    /// Processes that have them open go on with them under their new names.
    func setAside() throws(StoreError) {
        for suffix in Self.suffixes {
            try check(before: "set aside \(path + suffix)")
            let old = asidePath(suffix)
            if unlink(old) != 0, errno == EISDIR { rmdir(old) }
            guard (path + suffix).isThere else { continue }
            guard rename(path + suffix, old) == 0 else { throw .system(path + suffix) }
        }
    }

    /// What the file and its WAL take.
    var bytes: Int64 {
        Self.suffixes.dropLast().reduce(0) { $0 + DiskSpace.fileBytes(at: path + $1) }
    }

    /// Removes what was set aside; true when there was something.
    @discardableResult
    func removeAside() -> Bool {
        Self.suffixes.reduce(false) { unlink(asidePath($1)) == 0 || $0 }
    }

    /// Removes the file and its WAL, so that their space is free at once.
    ///
    /// They are cut first: a process that has them open would keep the space. It finds them damaged.
    func remove() throws(StoreError) {
        for suffix in Self.suffixes where (path + suffix).isThere {
            if suffix != "-shm" { truncate(path + suffix, 0) }
            guard unlink(path + suffix) == 0 else { throw .system(path + suffix) }
        }
    }
}

extension String {
    /// Whether there is anything under this path, a link that leads nowhere included.
    var isThere: Bool {
        var answer = stat()
        return lstat(self, &answer) == 0
    }
}
