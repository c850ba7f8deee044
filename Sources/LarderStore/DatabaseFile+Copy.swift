import Glibc

/// Copies of a file beside it.
extension DatabaseFile {
    /// The path of the copy from before the last migration.
    var copyPath: String { path + ".before-migration" }

    /// The path of the last snapshot; see ``StateSnapshots``.
    var snapshotPath: String { path + ".snapshot" }

    /// Writes the file as it is, its WAL included, to ``copyPath``, and syncs it there.
    ///
    /// What fails here fails the start: without a copy nothing is migrated.
    func copyBeforeMigration(_ connection: SQLiteConnection) throws(StoreError) {
        do throws(StoreError) {
            try copy(connection, to: copyPath)
        } catch {
            if case .corrupt = error { throw error }
            let reason = "\(path) is not migrated without a copy of it: \(error.message)"
            throw .cannotOpen(path: copyPath, reason: reason)
        }
    }

    /// Writes what a connection to the file sees to another one, which only its owner may read, and
    /// syncs it there; an earlier one stays until the new one is whole.
    func copy(_ connection: SQLiteConnection, to place: String) throws(StoreError) {
        let new = place + ".new"
        unlink(new)
        do throws(StoreError) {
            // VACUUM INTO is told the path as a value, so that any folder's name will do.
            let statement = try connection.prepare("VACUUM INTO :path")
            try statement.run((":path", new))
            guard chmod(new, 0o600) == 0, sync(new), rename(new, place) == 0, sync(folder)
            else { throw .system(new) }
        } catch {
            unlink(new)
            throw error
        }
    }

    var folder: String {
        let end = path.lastIndex(of: "/") ?? path.startIndex
        return end == path.startIndex ? "/" : String(path[..<end])
    }

    /// Has the kernel write a file or a folder down (fsync(2)).
    func sync(_ path: String) -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return fsync(descriptor) == 0
    }
}
