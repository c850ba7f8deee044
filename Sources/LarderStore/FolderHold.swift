import Synchronization

/// The right to the cache's folder, taken anew when the folder was removed or emptied.
///
/// Owned by the store, so that the folder is free as soon as the store is gone.
final class FolderHold: Sendable {
    private let directory: String
    private let lock = Mutex<DirectoryLock?>(nil)

    /// Holds nothing until ``ensure()``.
    init(_ directory: String) { self.directory = directory }

    /// Makes the folder where it is missing, and sees to it that it is ours.
    func ensure() throws(StoreError) {
        try lock.withLock { lock throws(StoreError) in
            if lock?.isInPlace ?? false { return }
            lock = nil
            lock = try DirectoryLock(directory: directory)
        }
    }
}
