import NIOCore

/// An event loop as the place where tasks run, actors' and their own alike.
///
/// A task that prefers it (SE-0417) comes back to its loop from a writer's thread at once, without
/// the pool's threads between, and goes from one actor of the loop to another on the same thread.
final class LoopExecutor: TaskExecutor, SerialExecutor {
    private let eventLoop: any EventLoop

    init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        eventLoop.execute {
            job.runSynchronously(
                isolatedTo: self.asUnownedSerialExecutor(),
                taskExecutor: self.asUnownedTaskExecutor()
            )
        }
    }

    func checkIsolated() {
        eventLoop.preconditionInEventLoop()
    }
}
