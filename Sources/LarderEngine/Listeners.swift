import Synchronization

/// Who is told when something has happened, with nothing said about what; guarded by a lock.
final class Listeners: Sendable {
    private struct State {
        var next = 0
        var tell: [Int: @Sendable () -> Void] = [:]
        var isOver = false
    }

    private let state = Mutex(State())

    /// Has `tell` called whenever it happens, until ``remove(_:)``; nil where it has happened for the
    /// last time.
    ///
    /// It must be quick.
    func add(_ tell: @escaping @Sendable () -> Void) -> Int? {
        state.withLock { state in
            guard !state.isOver else { return nil }
            state.next += 1
            state.tell[state.next] = tell
            return state.next
        }
    }

    func remove(_ number: Int?) {
        guard let number else { return }
        state.withLock { _ = $0.tell.removeValue(forKey: number) }
    }

    /// It has happened; `isLast`: it will not happen again.
    func tell(isLast: Bool = false) {
        let listeners = state.withLock { state in
            state.isOver = state.isOver || isLast
            return Array(state.tell.values)
        }
        for tell in listeners { tell() }
    }

    var count: Int { state.withLock { $0.tell.count } }
}
