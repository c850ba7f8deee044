package import LarderEngine
import LarderModel
import Synchronization

/// A clock whose time moves only by ``advance(by:)``, and that tells when somebody sleeps on it.
///
/// The two clocks go together, except in ``suspend(for:)`` and ``setForward(by:)``: the wall clock
/// began at `start`, the monotonic one at zero. That of ``boot`` counts what is suspended, too.
package final class ManualClock: EngineClock {
    private typealias Waiter = CheckedContinuation<Result<Void, CancellationError>, Never>

    private struct Sleeper {
        let due: Duration
        let countsSuspends: Bool
        let waiter: Waiter
    }

    private struct State {
        var elapsed = Duration.zero
        var slept = Duration.zero
        var step = Duration.zero
        var sleepers: [Int: Sleeper] = [:]
        var cancelled: Set<Int> = []
        var nextSleeperID = 0

        /// Removes the sleepers whose time has come, and returns them, the earliest first.
        mutating func takeDue() -> [Waiter] {
            let due = sleepers.filter { $0.value.due <= time($0.value.countsSuspends) }
                .sorted { ($0.value.due, $0.key) < ($1.value.due, $1.key) }
            for (id, _) in due { sleepers[id] = nil }
            return due.map(\.value.waiter)
        }

        func time(_ countsSuspends: Bool) -> Duration {
            countsSuspends ? elapsed + slept : elapsed
        }
    }

    private struct BootClock: EngineClock {
        let clock: ManualClock

        var boot: any EngineClock { self }
        func now() -> Timestamp { clock.now() }
        func monotonic() -> Duration { clock.state.withLock { $0.time(true) } }
        func sleep(until due: Duration) async throws(CancellationError) {
            try await clock.wait(until: due, countsSuspends: true)
        }
    }

    /// The wall clock's time at the beginning: 2023-11-14T22:13:20Z.
    package static let start = Timestamp(milliseconds: 1_700_000_000_000)

    private let state = Mutex(State())
    /// The moments until which somebody has gone to sleep, in the order of going.
    private let sleeps = Recorder<Duration>()

    package init() {}

    package func now() -> Timestamp {
        Self.start.advanced(by: state.withLock { $0.elapsed + $0.slept + $0.step })
    }

    package func monotonic() -> Duration { state.withLock { $0.elapsed } }

    package var boot: any EngineClock { BootClock(clock: self) }

    /// When the first of those who sleep is to be woken, since the start; nil while nobody sleeps.
    package var nextDue: Duration? {
        state.withLock { state in state.sleepers.values.map(\.due).min() }
    }

    /// When those who sleep are to be woken, since the start, in that order.
    package var dues: [Duration] {
        state.withLock { state in state.sleepers.values.map(\.due).sorted() }
    }

    /// Moves the time on and wakes whoever's time has come, the earliest first.
    ///
    /// Each finds the whole of the time gone by. Who goes to sleep for a time only after this sleeps
    /// from the new time on, so a test first awaits ``sleepers(_:until:)``.
    package func advance(by duration: Duration) {
        precondition(duration >= .zero)
        let woken = state.withLock { state in
            state.elapsed += duration
            return state.takeDue()
        }
        for waiter in woken { waiter.resume(returning: .success(())) }
    }

    /// Lets the device sleep: the wall clock and ``boot`` go on, and only sleepers of that wake.
    package func suspend(for duration: Duration) {
        let woken = state.withLock { state in
            state.slept += duration
            return state.takeDue()
        }
        for waiter in woken { waiter.resume(returning: .success(())) }
    }

    /// Sets the wall clock forward, or back by a negative duration, and no other.
    package func setForward(by duration: Duration) { state.withLock { $0.step += duration } }

    /// Returns once somebody has gone to sleep until exactly `due` since the start, `count` times.
    package func sleepers(
        _ count: Int = 1,
        until due: Duration
    ) async throws(CancellationError) {
        var found = 0
        var index = 0
        while found < count {
            if try await sleeps.element(index) == due { found += 1 }
            index += 1
        }
    }

    package func sleep(until due: Duration) async throws(CancellationError) {
        try await wait(until: due, countsSuspends: false)
    }

    private func wait(until due: Duration, countsSuspends: Bool) async throws(CancellationError) {
        let id = state.withLock { state in
            state.nextSleeperID += 1
            return state.nextSleeperID
        }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                self.fallAsleep(id, until: due, countsSuspends, waiter)
            }
        } onCancel: {
            self.cancel(id)
        }
        try result.get()
    }

    private func fallAsleep(
        _ id: Int,
        until due: Duration,
        _ countsSuspends: Bool,
        _ waiter: Waiter
    ) {
        let result = state.withLock { state -> Result<Void, CancellationError>? in
            if state.cancelled.remove(id) != nil { return .failure(CancellationError()) }
            guard due > state.time(countsSuspends) else { return .success(()) }
            let sleeper = Sleeper(due: due, countsSuspends: countsSuspends, waiter: waiter)
            state.sleepers[id] = sleeper
            return nil
        }
        sleeps.record(due)
        if let result { waiter.resume(returning: result) }
    }

    private func cancel(_ id: Int) {
        let waiter = state.withLock { state -> Waiter? in
            if let sleeper = state.sleepers.removeValue(forKey: id) { return sleeper.waiter }
            state.cancelled.insert(id)
            return nil
        }
        waiter?.resume(returning: .failure(CancellationError()))
    }
}
