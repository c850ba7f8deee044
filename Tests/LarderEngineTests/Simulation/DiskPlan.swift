import Glibc
import LarderStore
import LarderTestSupport
import Synchronization

/// What the disk does at the n-th operation of SQLite from now on: it is copied as it lies, which is
/// what a process leaves that is killed there; or it fails, once.
final class DiskPlan: FaultPlan {
    private enum Event {
        case copy(TemporaryDirectory)
        /// With this result code.
        case failure(Int32)
    }

    private struct State {
        var left: Int?
        var event: Event?
        var copy: Result<TemporaryDirectory, any Error>?
        var failed: String?
    }

    private let state = Mutex(State())

    func armCrash(_ n: Int, in directory: TemporaryDirectory) {
        state.withLock { $0 = State(left: n, event: .copy(directory)) }
    }

    func armFailure(_ n: Int, with code: Int32) {
        state.withLock { $0 = State(left: n, event: .failure(code)) }
    }

    /// Which operation has failed since it was armed.
    @discardableResult
    func disarm() -> String? {
        state.withLock { state in
            defer { state = State() }
            return state.failed
        }
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
            guard let left = state.left, let event = state.event else { return nil }
            state.left = left == 1 ? nil : left - 1
            guard left == 1 else { return nil }
            switch event {
            case .copy(let source):
                state.copy = Result { try source.copyOfFiles() }
                return nil
            case .failure(let code):
                state.failed = step
                return code
            }
        }
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
