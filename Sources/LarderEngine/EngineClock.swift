import CTimex
import Dispatch
import Glibc
import HeapModule
import LarderModel
import Synchronization

/// The two clocks of the engine and its timer: the system's, or a test's.
package protocol EngineClock: Sendable {
    /// Wall time, which labels rows and decides freshness.
    func now() -> Timestamp
    /// Time since an arbitrary moment, which never jumps; for deadlines and durations.
    func monotonic() -> Duration
    /// The same clock, with a monotonic time that goes on while the machine is suspended.
    var boot: any EngineClock { get }
    /// Sleeps until a moment of the monotonic clock; returns immediately if that has passed.
    ///
    /// Throws only if the calling task is cancelled.
    func sleep(until due: Duration) async throws(CancellationError)
}

extension EngineClock {
    package func sleep(for duration: Duration) async throws(CancellationError) {
        try await sleep(until: monotonic() + duration)
    }

    /// The moment of ``boot`` at which a moment of this clock comes, without a suspend until then.
    func bootMoment(of moment: Duration) -> Duration { moment - monotonic() + boot.monotonic() }
}

package struct SystemClock: EngineClock {
    private static let timers = TimerQueue(SystemClock())
    private static let bootTimers = TimerQueue(SystemClock().boot, ringsAfterSuspend: true)

    private var countsSuspends = false

    package init() {}

    package var boot: any EngineClock {
        var clock = self
        clock.countsSuspends = true
        return clock
    }

    package func now() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000)
    }

    package func monotonic() -> Duration {
        var time = timespec()
        clock_gettime(countsSuspends ? CLOCK_BOOTTIME : CLOCK_MONOTONIC, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// Whether the wall clock was synchronized since the machine started.
    ///
    /// The kernel says so (adjtimex(2)), if the sandbox lets the daemon ask, or systemd-timesyncd
    /// does.
    @Sendable
    package static func isSynchronized() -> Bool {
        larder_clock_is_synchronized() != 0
            || access("/run/systemd/timesync/synchronized", F_OK) == 0
    }

    package func sleep(until due: Duration) async throws(CancellationError) {
        let timers = countsSuspends ? Self.bootTimers : Self.timers
        try await timers.wait(until: due)
    }
}

/// Tasks that wait for moments of the monotonic clock, with one timer for all; guarded by a lock.
///
/// `Task.sleep` leaves its timer with libdispatch until it is due, even if its task was cancelled
/// long before. Most waits here are cancelled: they are the time limits of requests that were
/// answered.
///
/// Invariants:
/// 1. The timer is set for no later moment than that of the earliest wait.
/// 2. At most half of the entries, plus ``cancelledMax``, are of cancelled waits.
final class TimerQueue: Sendable {
    /// Number of entries of cancelled waits below which they are not removed.
    static let cancelledMax = 1_024
    /// The longest time for which the timer is set; for longer waits it is set again.
    private static let restMax = Duration.seconds(3_600)

    private struct Entry: Comparable {
        let due: Duration
        let number: Int

        static func < (left: Self, right: Self) -> Bool { left.due < right.due }
    }

    private struct State {
        var entries = Heap<Entry>()
        /// Continuations by the numbers of their entries, until they are due or cancelled.
        var waiting: [Int: CheckedContinuation<Bool, Never>] = [:]
        var count = 0
        /// How many were cancelled since the last look through all entries.
        var cancelledCount = 0
        /// The moment for which the timer is set; nil if it is not set.
        var alarm: Duration?
        var timer: (any DispatchSourceTimer)?
        /// Rings when a suspend ends, which ``timer`` does not count.
        var wallTimer: (any DispatchSourceTimer)?
    }

    private let state = Mutex(State())
    private let clock: any EngineClock

    init(_ clock: any EngineClock, ringsAfterSuspend: Bool = false) {
        self.clock = clock
        state.withLock { state in
            let queue = DispatchQueue(label: "larder.timers", qos: .userInitiated)
            let timer = DispatchSource.makeTimerSource(queue: queue)
            timer.setEventHandler { [weak self] in self?.ring() }
            timer.activate()
            state.timer = timer
            guard ringsAfterSuspend else { return }
            let wallTimer = DispatchSource.makeTimerSource(queue: queue)
            wallTimer.setEventHandler { [weak self] in self?.ring() }
            wallTimer.activate()
            state.wallTimer = wallTimer
        }
    }

    deinit {
        state.withLock { state in
            state.timer?.cancel()
            state.wallTimer?.cancel()
        }
    }

    var count: Int { state.withLock { $0.entries.count } }

    func wait(until due: Duration) async throws(CancellationError) {
        guard !Task.isCancelled else { throw CancellationError() }
        guard due > clock.monotonic() else { return }
        let number = state.withLock { state in
            state.count += 1
            return state.count
        }
        let isDue = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                state.withLock { state in
                    state.waiting[number] = continuation
                    state.entries.insert(Entry(due: due, number: number))
                    setTimer(&state)
                }
                // Cancelled before it waited.
                if Task.isCancelled { cancel(number) }
            }
        } onCancel: {
            cancel(number)
        }
        guard isDue else { throw CancellationError() }
    }

    private func cancel(_ number: Int) {
        let continuation = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard let continuation = state.waiting.removeValue(forKey: number) else { return nil }
            state.cancelledCount += 1
            if state.cancelledCount > state.entries.count / 2 + Self.cancelledMax {
                let left = state.entries.unordered.filter { state.waiting[$0.number] != nil }
                state.entries = Heap(left)
                state.cancelledCount = 0
            }
            return continuation
        }
        continuation?.resume(returning: false)
    }

    private func ring() {
        let now = clock.monotonic()
        let due = state.withLock { state in
            state.alarm = nil
            var due: [CheckedContinuation<Bool, Never>] = []
            while let first = state.entries.min,
                first.due <= now || state.waiting[first.number] == nil
            {
                let number = state.entries.removeMin().number
                if let waiting = state.waiting.removeValue(forKey: number) { due.append(waiting) }
            }
            setTimer(&state)
            return due
        }
        for continuation in due { continuation.resume(returning: true) }
    }

    private func setTimer(_ state: inout State) {
        guard let first = state.entries.min, state.alarm.map({ first.due < $0 }) ?? true else {
            return
        }
        state.alarm = first.due
        let rest = min(max(.zero, first.due - clock.monotonic()), Self.restMax)
        // Rounded up, so that it does not ring before the moment.
        let pause = DispatchTimeInterval.milliseconds(Int(rest / .milliseconds(1)) + 1)
        state.timer?.schedule(deadline: .now() + pause)
        state.wallTimer?.schedule(wallDeadline: .now() + pause)
    }
}
