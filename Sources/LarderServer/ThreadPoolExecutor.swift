import DequeModule
import Dispatch
import NIOCore
import NIOPosix
import Synchronization

/// A few threads, where every task of the process runs that belongs to no event loop.
///
/// Once a task has run on libdispatch, libdispatch wakes up each second, permanently, to count its
/// threads. The threads here wake up only for tasks, one thread for each task. `NIOThreadPool`
/// would wake all of its threads. Tasks inherit the executor from the task that began them
/// (SE-0417). The executor lives as long as the process.
package final class ThreadPoolExecutor: TaskExecutor {
    private let jobs = Mutex(Deque<UnownedJob>())
    /// Counts the jobs.
    private let isThere = DispatchSemaphore(value: 0)
    private let threads: NIOThreadPool

    /// Starts a thread for each processor, at least two, so that a long task leaves one free.
    package init() {
        let count = max(2, System.coreCount)
        threads = NIOThreadPool(numberOfThreads: count)
        threads.start()
        for _ in 0..<count { threads.submit { _ in self.work() } }
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
        isThere.signal()
    }

    private func work() {
        while true {
            isThere.wait()
            jobs.withLock { $0.popFirst() }?.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}
