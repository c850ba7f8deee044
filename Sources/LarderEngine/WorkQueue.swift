import Synchronization

/// Work that is begun in one place and run in the task group of another, which owns it.
package struct WorkQueue: Sendable {
    private let jobs: AsyncStream<@Sendable () async -> Void>
    private let continuation: AsyncStream<@Sendable () async -> Void>.Continuation

    package init() {
        (jobs, continuation) = AsyncStream.makeStream()
    }

    package func add(_ job: @escaping @Sendable () async -> Void) -> Bool {
        switch continuation.yield(job) {
        case .enqueued: true
        case .dropped, .terminated: false
        @unknown default: false
        }
    }

    /// Runs every job until ``finish()``, then waits for those that still run, cancelled or not.
    package func run(cancellingTheRest isCancelling: Bool) async {
        await withDiscardingTaskGroup { group in
            for await job in jobs {
                group.addTask { await job() }
            }
            if isCancelling { group.cancelAll() }
        }
    }

    package func finish() {
        continuation.finish()
    }
}

/// Lets so many through at a time, in the order in which they come; guarded by a lock.
final class Turnstile: Sendable {
    private struct State {
        var free: Int
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    init(places: Int) {
        state = Mutex(State(free: places))
    }

    /// Does some work in a place of its own; whoever waits for one waits to the end, as all work here
    /// has one.
    func pass<Value, Failure: Error>(
        _ work: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        await enter()
        defer { leave() }
        return try await work()
    }

    private func enter() async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                guard state.free > 0 else {
                    state.waiting.append(continuation)
                    return false
                }
                state.free -= 1
                return true
            }
            if isFree { continuation.resume() }
        }
    }

    private func leave() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard !state.waiting.isEmpty else {
                state.free += 1
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.resume()
    }
}
