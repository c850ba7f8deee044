import Glibc
package import LarderEngine
import LarderModel
package import LarderStore

/// A real store in a directory of its own, which can be closed and opened again, or crash.
package final class TemporaryStore {
    package private(set) var directory: TemporaryDirectory
    private let configure: (inout StoreConfiguration) -> Void
    private let now: @Sendable () -> Timestamp
    private var opened: Store?
    private weak var dropped: Store?
    /// Which operations of SQLite fail; `configure` may set another plan.
    package let faults = FaultInjection()

    /// The files' keys are made of the number 1, so that a run can be repeated.
    package init(
        now: @escaping @Sendable () -> Timestamp = { Timestamp(milliseconds: 0) },
        configure: @escaping (inout StoreConfiguration) -> Void = { _ in }
    ) throws {
        directory = try TemporaryDirectory()
        self.configure = configure
        self.now = now
        try open()
    }

    /// One with the defaults, for a suite that has one in each test.
    package static func new() -> TemporaryStore {
        do { return try TemporaryStore() } catch { preconditionFailure("no store: \(error)") }
    }

    /// The open store; whoever keeps it beyond ``drop()`` keeps its directory locked.
    package var store: Store {
        guard let opened else { preconditionFailure("the store was dropped") }
        return opened
    }

    package var cachePath: String { directory.path("cache/cache.db") }
    package var statePath: String { directory.path("state/state.db") }

    package func open() throws(StoreError) {
        precondition(opened == nil)
        // A thread of the dropped store may be about to let go of it, and of its directory's lock.
        for _ in 0..<100_000 where dropped != nil { sched_yield() }
        var configuration = StoreConfiguration(
            cacheDirectory: directory.path("cache"),
            stateDirectory: directory.path("state")
        )
        // Thousands of stores are made; who tests the reserve says so.
        configuration.reserveBytes = 0
        configuration.viewChange = TargetViews.change
        configuration.sentBases = .byValue
        configuration.faults = faults
        configure(&configuration)
        opened = try Store(configuration, now: now, newKeySeed: { 1 })
    }

    /// Opens files that were copied as a process left them that was killed.
    package func open(_ copy: TemporaryDirectory) throws(StoreError) {
        directory = copy
        try open()
    }

    /// Lets go of the store without closing it.
    package func drop() {
        (dropped, opened) = (opened, nil)
    }

    /// Closes the store as the daemon does, and lets go of it.
    package func close() async throws {
        try await store.close()
        drop()
    }

    /// An orderly end and a new start.
    package func reopen() async throws {
        try await close()
        try open()
    }

    /// Goes on as after `kill -9`: everything that was written to the files is there, what was only
    /// in memory is not.
    ///
    /// The files are copied as they lie and the copy is opened: nobody closes it, so its WAL is
    /// still to be recovered. The store must be at rest, as a copy is no snapshot. `damage` does to
    /// the copy what the power's loss may do to the files.
    package func crash(_ damage: (TemporaryDirectory) throws -> Void = { _ in }) throws {
        let copy = try TemporaryDirectory()
        for folder in ["cache", "state"] {
            guard mkdir(copy.path(folder), 0o700) == 0 else { throw CopyError(errno: errno) }
            for suffix in ["", "-wal"] {
                let name = "\(folder)/\(folder).db\(suffix)"
                try copyFile(directory.path(name), to: copy.path(name))
            }
        }
        try damage(copy)
        drop()
        directory = copy
        try open()
    }

    /// Goes on as after `kill -9` without what `cache.db` had.
    package func loseCache() throws {
        try crash { folder in
            for suffix in ["", "-wal"] { unlink(folder.path("cache/cache.db" + suffix)) }
        }
    }
}

/// A file could not be copied.
package struct CopyError: Error {
    package let errno: Int32

    package init(errno: Int32) {
        self.errno = errno
    }
}

/// Copies a file that is there, byte for byte.
package func copyFile(_ from: String, to: String) throws(CopyError) {
    let source = Glibc.open(from, O_RDONLY | O_CLOEXEC)
    guard source >= 0 else {
        guard errno == ENOENT else { throw CopyError(errno: errno) }
        return
    }
    defer { Glibc.close(source) }
    let target = Glibc.open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard target >= 0 else { throw CopyError(errno: errno) }
    defer { Glibc.close(target) }
    while true {
        let count = sendfile(target, source, nil, 1 << 30)
        guard count >= 0 else { throw CopyError(errno: errno) }
        if count == 0 { return }
    }
}
