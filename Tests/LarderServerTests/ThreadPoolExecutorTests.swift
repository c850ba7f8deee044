import Dispatch
import Glibc
import NIOCore
import Synchronization
import Testing

@testable import LarderServer

@Suite("The threads that tasks run on")
struct ThreadPoolExecutorTests {
    private final class Seen: Sendable {
        private let threads = Mutex(Set<pthread_t>())
        private let flag = Mutex(false)

        var threadCount: Int { threads.withLock { $0.count } }
        var isFinished: Bool { flag.withLock { $0 } }

        func noteThread() { _ = threads.withLock { $0.insert(pthread_self()) } }
        func end() { flag.withLock { $0 = true } }
    }

    @Test("Every task runs, on no more threads than there are processors")
    func all() async {
        let seen = Seen()
        let count = await withTaskExecutorPreference(ThreadPoolExecutor()) {
            await withTaskGroup(of: Int.self) { group in
                for _ in 0..<1_000 {
                    group.addTask {
                        await Task.yield()
                        seen.noteThread()
                        return 1
                    }
                }
                return await group.reduce(0, +)
            }
        }
        #expect(count == 1_000)
        #expect(seen.threadCount <= max(2, System.coreCount))
    }

    @Test("A task that keeps its thread for long does not stop other tasks")
    func blocked() async {
        let (seen, goOn) = (Seen(), DispatchSemaphore(value: 0))
        await withTaskExecutorPreference(ThreadPoolExecutor()) {
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    wait(for: goOn)
                    seen.end()
                }
                group.addTask {
                    for _ in 0..<100 { await Task.yield() }
                    goOn.signal()
                }
            }
        }
        #expect(seen.isFinished)
    }
}

/// Keeps the thread, as a long piece of work does.
private func wait(for semaphore: DispatchSemaphore) {
    semaphore.wait()
}
