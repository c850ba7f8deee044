import Glibc

/// The copy of a file as it was before it was brought to a later version.
extension DatabaseFile {
    /// Where the copy lies: one, of the last migration.
    var copyPath: String { path + ".before-migration" }

    /// Writes the file as it is, its WAL included, to ``copyPath``, and syncs it there.
    ///
    /// The earlier copy stays until the new one is whole. What fails here fails the start: without
    /// a copy nothing is migrated.
    func copyBeforeMigration(
        _ connection: SQLiteConnection
    ) throws(StoreError) {
        let new = copyPath + ".new"
        unlink(new)
        do throws(StoreError) {
            // VACUUM INTO is told the path as a value, so that any folder's name will do.
            let statement = try connection.prepare("VACUUM INTO ?1")
            statement.bind(1, new)
            try statement.run()
            guard chmod(new, 0o600) == 0, sync(new), rename(new, copyPath) == 0, sync(folder)
            else { throw .cannotOpen(path: new, reason: lastSystemError()) }
        } catch .corrupt(let step) {
            unlink(new)
            throw .corrupt(step: step)
        } catch {
            unlink(new)
            throw .cannotOpen(
                path: copyPath,
                reason: "\(path) is not migrated without a copy of it: \(error.message)"
            )
        }
    }

    private var folder: String {
        let end = path.lastIndex(of: "/") ?? path.startIndex
        return end == path.startIndex ? "/" : String(path[..<end])
    }

    /// Has the kernel write a file or a folder down (fsync(2)).
    private func sync(_ path: String) -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return fsync(descriptor) == 0
    }
}
