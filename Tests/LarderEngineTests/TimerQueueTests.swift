import LarderModel
import LarderTestSupport
import Testing

@testable import LarderEngine

@Suite("A timer queue")
struct TimerQueueTests {
    private let clock = SystemClock()

    @Test("Each is woken, and never before its moment")
    func moments() async throws {
        let timers = TimerQueue(clock)
        let began = clock.monotonic()
        let woken = Recorder<Int>()
        await withTaskGroup { group in
            for number in [3, 1, 2, 0, 4] {
                group.addTask {
                    let due = began + .milliseconds(60 * number)
                    try? await timers.wait(until: due)
                    #expect(clock.monotonic() >= due)
                    woken.record(number)
                }
            }
        }
        #expect(woken.all.sorted() == [0, 1, 2, 3, 4])
        #expect(timers.count == 0)
    }

    @Test("A cancelled task wakes immediately, also if it is cancelled before it waits")
    func cancelled() async throws {
        let timers = TimerQueue(clock)
        let far = clock.monotonic() + .seconds(100_000)
        let waiting = Task { try await timers.wait(until: far) }
        while timers.count == 0 { await Task.yield() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        let late = Task {
            while !Task.isCancelled { await Task.yield() }
            try await timers.wait(until: far)
        }
        late.cancel()
        await #expect(throws: CancellationError.self) { try await late.value }
        // What is over already is over for both.
        try await timers.wait(until: .zero)
        #expect(timers.count == 1)
    }

    @Test("Cancelled waits do not pile up, and end no other waits")
    func bound() async throws {
        let timers = TimerQueue(clock)
        let far = clock.monotonic() + .seconds(100_000)
        let stays = Task { try await timers.wait(until: far) }
        while timers.count == 0 { await Task.yield() }
        let soon = Task { try await timers.wait(until: clock.monotonic() + .seconds(2)) }
        for _ in 0..<10 {
            let before = timers.count
            let crowd = (0..<TimerQueue.cancelledMax / 2).map { _ in
                Task { try await timers.wait(until: far) }
            }
            // As far as they have come: what is over goes at any time.
            for _ in 0..<10_000 where timers.count < before + crowd.count { await Task.yield() }
            for task in crowd { task.cancel() }
            for task in crowd {
                await #expect(throws: CancellationError.self) { try await task.value }
            }
            #expect(timers.count <= 2 * (TimerQueue.cancelledMax + 2))
        }
        try await soon.value
        stays.cancel()
        await #expect(throws: CancellationError.self) { try await stays.value }
    }

    @Test("The timer is set again for a wait that is due earlier than all others")
    func earlier() async throws {
        let timers = TimerQueue(clock)
        let far = Task { try await timers.wait(until: clock.monotonic() + .seconds(100_000)) }
        while timers.count == 0 { await Task.yield() }
        try await timers.wait(until: clock.monotonic() + .milliseconds(20))
        far.cancel()
        _ = await far.result
    }
}
