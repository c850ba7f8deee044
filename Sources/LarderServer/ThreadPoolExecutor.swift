import NIOCore
import NIOPosix

/// A few threads, where every task of the process runs that belongs to no event loop.
///
/// libdispatch wakes up each second for good, to count its threads, once a task has run on them; these
/// wake up for tasks alone. Tasks inherit it from the one that began them (SE-0417).
package final class ThreadPoolExecutor: TaskExecutor {
    private let pool: NIOThreadPool

    /// One thread for each processor, two at least, so that a long piece of work leaves one free.
    package init() {
        pool = NIOThreadPool(numberOfThreads: max(2, System.coreCount))
        pool.start()
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        pool.submit { _ in job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
