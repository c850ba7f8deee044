import DequeModule
import Dispatch
import NIOCore
import NIOPosix
import Synchronization

/// A few threads, where every task of the process runs that belongs to no event loop.
///
/// libdispatch wakes up each second for good, to count its threads, once a task has run on them; these
/// wake up for tasks alone, and one for each task, where `NIOThreadPool` wakes all of its threads. Tasks
/// inherit it from the one that began them (SE-0417). It lives as long as the process.
package final class ThreadPoolExecutor: TaskExecutor {
    private let jobs = Mutex(Deque<UnownedJob>())
    /// Counts the jobs.
    private let isThere = DispatchSemaphore(value: 0)
    private let threads: NIOThreadPool

    /// One thread for each processor, two at least, so that a long piece of work leaves one free.
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
