import Dispatch
import HeapModule
import LarderModel
import Synchronization

/// Those who wait for moments of the monotonic clock, with one timer for all; guarded by a lock.
///
/// `Task.sleep` leaves its timer with libdispatch until it is due, also where its task was cancelled
/// long before. Nearly all are here: they are the time limits of requests that were answered.
///
/// Invariants: the timer is set for no later moment than anybody's; of the entries at most half, and
/// ``cancelledMax`` besides, wait no more.
final class TimerQueue: Sendable {
    /// Entries of cancelled ones for which it is not worth it to look through all.
    static let cancelledMax = 1_024
    /// The longest for which the timer is set; who waits longer has it set again.
    private static let restMax = Duration.seconds(3_600)

    private final class Waiter: Sendable {
        private enum State {
            case new
            case waiting(CheckedContinuation<Bool, Never>)
            case ended
        }

        private let state = Mutex(State.new)

        /// False where it was cancelled already.
        func begin(_ continuation: CheckedContinuation<Bool, Never>) -> Bool {
            let isBegun = state.withLock { state in
                guard case .new = state else { return false }
                state = .waiting(continuation)
                return true
            }
            if !isBegun { continuation.resume(returning: false) }
            return isBegun
        }

        func end(isDue: Bool) {
            let last = state.withLock { state in
                defer { state = .ended }
                return state
            }
            if case .waiting(let continuation) = last { continuation.resume(returning: isDue) }
        }

        var hasEnded: Bool { state.withLock { if case .ended = $0 { true } else { false } } }
    }

    private struct Entry: Comparable {
        let due: Duration
        let waiter: Waiter

        static func < (left: Self, right: Self) -> Bool { left.due < right.due }
        static func == (left: Self, right: Self) -> Bool { left.due == right.due }
    }

    private struct State {
        var entries = Heap<Entry>()
        /// How many were cancelled since the last look through all entries.
        var cancelledCount = 0
        /// For when the timer is set; nil where it is not.
        var alarm: Duration?
        var timer: (any DispatchSourceTimer)?
    }

    private let state = Mutex(State())
    private let clock: any EngineClock

    init(_ clock: any EngineClock) {
        self.clock = clock
        state.withLock { state in
            let queue = DispatchQueue(label: "larder.timers", qos: .userInitiated)
            let timer = DispatchSource.makeTimerSource(queue: queue)
            timer.setEventHandler { [weak self] in self?.ring() }
            timer.activate()
            state.timer = timer
        }
    }

    deinit { state.withLock { $0.timer?.cancel() } }

    var count: Int { state.withLock { $0.entries.count } }

    func wait(until due: Duration) async throws(CancellationError) {
        guard !Task.isCancelled else { throw CancellationError() }
        guard due > clock.monotonic() else { return }
        let waiter = Waiter()
        let isDue = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                guard waiter.begin(continuation) else { return }
                add(Entry(due: due, waiter: waiter))
            }
        } onCancel: {
            waiter.end(isDue: false)
            noteCancelled()
        }
        guard isDue else { throw CancellationError() }
    }

    private func add(_ entry: Entry) {
        state.withLock { state in
            state.entries.insert(entry)
            setTimer(&state)
        }
    }

    private func noteCancelled() {
        state.withLock { state in
            state.cancelledCount += 1
            let limit = state.entries.count / 2 + Self.cancelledMax
            guard state.cancelledCount > limit else { return }
            state.entries = Heap(state.entries.unordered.filter { !$0.waiter.hasEnded })
            state.cancelledCount = 0
        }
    }

    private func ring() {
        let now = clock.monotonic()
        let due = state.withLock { state in
            state.alarm = nil
            var due: [Waiter] = []
            while let first = state.entries.min, first.due <= now || first.waiter.hasEnded {
                due.append(state.entries.removeMin().waiter)
            }
            setTimer(&state)
            return due
        }
        for waiter in due { waiter.end(isDue: true) }
    }

    private func setTimer(_ state: inout State) {
        guard let first = state.entries.min, state.alarm.map({ first.due < $0 }) ?? true else {
            return
        }
        state.alarm = first.due
        let rest = min(max(.zero, first.due - clock.monotonic()), Self.restMax)
        // Rounded up, so that it does not ring before the moment.
        state.timer?.schedule(deadline: .now() + .milliseconds(Int(rest / .milliseconds(1)) + 1))
    }
}
