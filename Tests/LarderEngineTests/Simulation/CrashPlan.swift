import Glibc
import LarderStore
import LarderTestSupport
import Synchronization

/// Copies the files as they lie before the n-th operation of SQLite from now on: what a process
/// leaves that is killed there.
final class CrashPlan: FaultPlan {
    private struct State {
        var left: Int?
        var source: TemporaryDirectory?
        var copy: Result<TemporaryDirectory, any Error>?
    }

    private let state = Mutex(State())

    func arm(_ n: Int, in directory: TemporaryDirectory) {
        state.withLock { $0 = State(left: n, source: directory) }
    }

    func disarm() {
        state.withLock { $0 = State() }
    }

    /// What was copied, once.
    func takeCopy() throws -> TemporaryDirectory? {
        try state.withLock { state in
            defer { state = State() }
            return try state.copy?.get()
        }
    }

    var hasCopied: Bool { state.withLock { $0.copy != nil } }

    func failure(before step: String) -> Int32? {
        state.withLock { state in
            guard let left = state.left, let source = state.source else { return }
            state.left = left == 1 ? nil : left - 1
            if left == 1 { state.copy = Result { try source.copyOfFiles() } }
        }
        return nil
    }
}

extension TemporaryDirectory {
    /// Another directory with the files of a store as they lie; nobody has closed them there.
    func copyOfFiles() throws -> TemporaryDirectory {
        let copy = try TemporaryDirectory(inMemory: true)
        for folder in ["cache", "state"] {
            guard mkdir(copy.path(folder), 0o700) == 0 else { throw CopyError(errno: errno) }
            for suffix in ["", "-wal"] {
                let name = "\(folder)/\(folder).db\(suffix)"
                try copyFile(path(name), to: copy.path(name))
            }
        }
        return copy
    }
}
