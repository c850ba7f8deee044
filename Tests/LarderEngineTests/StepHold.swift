import Dispatch
import LarderStore
import LarderTestSupport
import Synchronization

/// Holds up the store at a step of SQLite, whichever thread takes it, and tells of it.
final class StepHold: FaultPlan {
    /// The steps that were held.
    let reached = Recorder<String>()
    private let armed = Mutex<(part: String, left: Int)?>(nil)
    private let open = DispatchSemaphore(value: 0)

    /// Holds the n-th step from now on that contains `step`; preparing a statement counts.
    func arm(_ step: String, n: Int = 1) {
        armed.withLock { $0 = (step, n) }
    }

    func release() {
        open.signal()
    }

    func failure(before step: String, of path: String) -> Int32? {
        let isHeld = armed.withLock { armed in
            guard let (part, left) = armed, step.contains(part) else { return false }
            armed = left == 1 ? nil : (part, left - 1)
            return left == 1
        }
        guard isHeld else { return nil }
        reached.record(step)
        open.wait()
        return nil
    }
}
