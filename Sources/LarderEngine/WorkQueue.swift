/// Work that is begun in one place and run in the task group of another, which owns it.
package struct WorkQueue: Sendable {
    private let jobs: AsyncStream<@Sendable () async -> Void>
    private let continuation: AsyncStream<@Sendable () async -> Void>.Continuation

    package init() {
        (jobs, continuation) = AsyncStream.makeStream()
    }

    /// Has `job` run; false when the queue has ended.
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
