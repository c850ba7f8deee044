import Glibc
import LarderStore
import LarderTestSupport
import Synchronization

/// What the disk does at the n-th operation of SQLite from now on, or at a commit of one file: it is
/// copied as it lies, which is what a process leaves that is killed there; or it fails, once.
final class DiskPlan: FaultPlan {
    enum File: Hashable {
        case state
        case cache
    }

    /// Which operations count.
    enum Step {
        case any
        case onCache
        /// The writer's commits of `state.db`.
        case stateCommit
        /// The writer's commits of `cache.db` behind one of `state.db`, which that group has changed, too.
        case cacheCommit
    }

    private enum Event {
        case copy(TemporaryDirectory)
        /// With this result code, and then the copy before the n-th operation behind it.
        case failure(Int32, copy: (n: Int, source: TemporaryDirectory)?)
    }

    private struct State {
        var step = Step.any
        var left: Int?
        var event: Event?
        var copy: Result<TemporaryDirectory, any Error>?
        var failed: String?
        /// The files over which the writer has a transaction open, and its thread.
        var open: [File: pthread_t] = [:]
        /// Whether the present group has committed `state.db`.
        var hasCommittedState = false

        /// Whether an operation is one of those that count.
        mutating func counts(_ operation: String, of file: File) -> Bool {
            var isCommit = false
            if operation == "BEGIN IMMEDIATE" {
                open[file] = pthread_self()
                hasCommittedState = false
            } else if operation == "COMMIT" {
                // Else it is a reader's.
                isCommit = open[file] == pthread_self()
                if isCommit { open[file] = nil }
            }
            let isBehindState = hasCommittedState
            if isCommit, file == .state { hasCommittedState = true }
            return switch step {
            case .any: true
            case .onCache: file == .cache
            case .stateCommit: isCommit && file == .state
            case .cacheCommit: isCommit && file == .cache && isBehindState
            }
        }
    }

    private let state = Mutex(State())

    /// With readers on other threads, a copy counts only at the writer's commits.
    func armCrash(_ n: Int, of step: Step = .any, in directory: TemporaryDirectory) {
        state.withLock { $0 = State(step: step, left: n, event: .copy(directory)) }
    }

    /// `copy` is for a process that is killed soon after the failure.
    func armFailure(
        _ n: Int,
        of step: Step = .any,
        with code: Int32,
        copy: (n: Int, source: TemporaryDirectory)? = nil
    ) {
        state.withLock { $0 = State(step: step, left: n, event: .failure(code, copy: copy)) }
    }

    /// Which operation has failed since it was armed.
    @discardableResult
    func disarm() -> String? {
        state.withLock { state in
            defer { state = State() }
            return state.failed
        }
    }

    /// Which operation has failed since it was armed; whatever comes still comes.
    var failed: String? { state.withLock { $0.failed } }

    /// What was copied, once.
    func takeCopy() throws -> TemporaryDirectory? {
        try state.withLock { state in
            defer { state = State() }
            return try state.copy?.get()
        }
    }

    /// Whether something is still to come.
    var isArmed: Bool { state.withLock { $0.left != nil } }

    var hasCopied: Bool { state.withLock { $0.copy != nil } }

    func failure(before step: String, of path: String) -> Int32? {
        let file: File = path.hasSuffix("/state.db") ? .state : .cache
        return state.withLock { state in
            guard state.counts(step, of: file), let left = state.left, let event = state.event
            else { return nil }
            state.left = left == 1 ? nil : left - 1
            guard left == 1 else { return nil }
            switch event {
            case .copy(let source):
                state.copy = Result { try source.copyOfFiles() }
                return nil
            case .failure(let code, let copy):
                state.failed = "\(step) of \(file).db"
                if let copy {
                    (state.step, state.left, state.event) = (.any, copy.n, .copy(copy.source))
                }
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
