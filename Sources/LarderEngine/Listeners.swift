import Synchronization

/// Who is told when something has happened, with nothing said about what; guarded by a lock.
final class Listeners: Sendable {
    private struct State {
        var next = 0
        var tell: [Int: @Sendable () -> Void] = [:]
    }

    private let state = Mutex(State())

    /// Has `tell` called whenever it happens, until ``remove(_:)``; it must be quick.
    func add(_ tell: @escaping @Sendable () -> Void) -> Int {
        state.withLock { state in
            state.next += 1
            state.tell[state.next] = tell
            return state.next
        }
    }

    func remove(_ ear: Int) {
        state.withLock { _ = $0.tell.removeValue(forKey: ear) }
    }

    func tell() {
        for tell in state.withLock({ Array($0.tell.values) }) { tell() }
    }
}
