import Glibc

/// The folder of `cache.db`, made before anything is opened.
///
/// One that is there and cannot be written to may be again later: the daemon goes on without a
/// cache. One that cannot be made is a mistake of the configuration.
enum CacheFolder {
    /// Makes the folder and those above it; why it cannot be, or nil.
    static func fault(making path: String) -> String? {
        var made = ""
        for part in path.split(separator: "/") {
            made += "/" + part
            guard mkdir(made, 0o700) != 0, errno != EEXIST else { continue }
            // A full disk has room again some day.
            guard errno != ENOSPC, errno != EDQUOT else { return nil }
            return
                "storage.cache_directory: \(made) cannot be made: \(String(cString: strerror(errno)))"
        }
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFDIR else { return nil }
        return "storage.cache_directory: \(path) is no folder"
    }
}
