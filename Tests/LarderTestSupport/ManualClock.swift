package import LarderEngine
import LarderModel
import Synchronization

/// A clock whose time moves only by ``advance(by:)``, and that tells when somebody sleeps on it.
///
/// The two clocks go together, except in ``suspend(for:)``: the wall clock began at `start`, the
/// monotonic one at zero.
package final class ManualClock: EngineClock {
    private typealias Waiter = CheckedContinuation<Result<Void, CancellationError>, Never>

    private struct Sleeper {
        let due: Duration
        let waiter: Waiter
    }

    private struct State {
        var elapsed = Duration.zero
        var slept = Duration.zero
        var sleepers: [Int: Sleeper] = [:]
        var cancelled: Set<Int> = []
        var nextSleeperID = 0
    }

    /// The wall clock's time at the beginning: 2023-11-14T22:13:20Z.
    package static let start = Timestamp(milliseconds: 1_700_000_000_000)

    private let state = Mutex(State())
    /// The moments until which somebody has gone to sleep, in the order of going.
    private let sleeps = Recorder<Duration>()

    package init() {}

    package func now() -> Timestamp {
        Self.start.advanced(by: state.withLock { $0.elapsed + $0.slept })
    }

    package func monotonic() -> Duration { state.withLock { $0.elapsed } }

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
            let due = state.sleepers.filter { $0.value.due <= state.elapsed }
                .sorted { ($0.value.due, $0.key) < ($1.value.due, $1.key) }
            for (id, _) in due { state.sleepers[id] = nil }
            return due.map(\.value.waiter)
        }
        for waiter in woken { waiter.resume(returning: .success(())) }
    }

    /// Lets the device sleep: only the wall clock goes on, and no sleeper wakes.
    package func suspend(for duration: Duration) {
        state.withLock { $0.slept += duration }
    }

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
        let id = state.withLock { state in
            state.nextSleeperID += 1
            return state.nextSleeperID
        }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                self.fallAsleep(id, until: due, waiter)
            }
        } onCancel: {
            self.cancel(id)
        }
        try result.get()
    }

    private func fallAsleep(_ id: Int, until due: Duration, _ waiter: Waiter) {
        let result = state.withLock { state -> Result<Void, CancellationError>? in
            if state.cancelled.remove(id) != nil { return .failure(CancellationError()) }
            guard due > state.elapsed else { return .success(()) }
            state.sleepers[id] = Sleeper(due: due, waiter: waiter)
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
