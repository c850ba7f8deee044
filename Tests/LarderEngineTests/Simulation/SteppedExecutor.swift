import LarderTestSupport
import Synchronization

/// Runs tasks one step at a time, on the thread that asks for it, in an order that a seed draws.
///
/// Whatever a task begins runs here too, so that whoever holds this sees every interleaving and
/// knows when nothing is left to be done.
final class SteppedExecutor: TaskExecutor {
    private let ready = Mutex<[UnownedJob]>([])

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        ready.withLock { $0.append(job) }
    }

    /// Runs one of the steps that can be taken; false when there is none.
    func step(_ random: inout SeededRandom) -> Bool {
        let drawn = random.next()
        let job = ready.withLock { ready in
            ready.isEmpty ? nil : ready.remove(at: Int(drawn % UInt64(ready.count)))
        }
        guard let job else { return false }
        job.runSynchronously(on: asUnownedTaskExecutor())
        return true
    }
}
