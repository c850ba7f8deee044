import LarderModel
import LarderWire
import Synchronization

/// Callbacks for one kind of event, without data about it; guarded by a lock.
final class Listeners: Sendable {
    private struct State {
        var next = 0
        var tell: [Int: @Sendable () -> Void] = [:]
        var isFinished = false
    }

    private let state = Mutex(State())

    /// Calls `tell` at each event, until ``remove(_:)``; nil if the last event is over.
    ///
    /// `tell` must be quick.
    func add(_ tell: @escaping @Sendable () -> Void) -> Int? {
        state.withLock { state in
            guard !state.isFinished else { return nil }
            state.next += 1
            state.tell[state.next] = tell
            return state.next
        }
    }

    func remove(_ number: Int?) {
        guard let number else { return }
        state.withLock { _ = $0.tell.removeValue(forKey: number) }
    }

    /// Tells all listeners of the event; with `isLast`, no other event follows.
    func tell(isLast: Bool = false) {
        let listeners = state.withLock { state in
            state.isFinished = state.isFinished || isLast
            return Array(state.tell.values)
        }
        for tell in listeners { tell() }
    }

    var count: Int { state.withLock { $0.tell.count } }
}

/// A flag that a notifier raises and a reader lowers, however often it is raised.
///
/// The reader lowers it before it looks, so that a change meanwhile raises it again.
final class Flag: Sendable {
    // Both orders: the reader that lowers the flag sees what was done before it was raised.
    private let flag = Atomic<Bool>(false)

    var isUp: Bool { flag.load(ordering: .acquiring) }

    /// Returns true if the flag was down: then the caller has to notify the reader.
    @discardableResult
    func raise() -> Bool {
        !flag.exchange(true, ordering: .acquiringAndReleasing)
    }

    func lower() {
        _ = flag.exchange(false, ordering: .acquiringAndReleasing)
    }
}

/// A client's cancellation in an answer, until it hangs up; guarded by a lock.
package final class ClientCancellation: Sendable {
    private let state = Mutex<(isGivenUp: Bool, tell: (@Sendable () -> Void)?)>((false, nil))

    package init() {}

    package var isGivenUp: Bool { state.withLock { $0.isGivenUp } }

    package func giveUp() {
        let tell = state.withLock { state in
            state.isGivenUp = true
            defer { state.tell = nil }
            return state.tell
        }
        tell?()
    }

    /// Calls `tell` when the client hangs up; immediately if it already has.
    package func whenGivenUp(_ tell: @escaping @Sendable () -> Void) {
        let isLate = state.withLock { state in
            if !state.isGivenUp { state.tell = tell }
            return state.isGivenUp
        }
        if isLate { tell() }
    }
}

enum Wait {
    enum End: Sendable {
        case timeIsOver
        case clientLeft
        case daemonEnds
    }

    enum Outcome<Value> {
        case came(Value)
        case ended(End)
    }
}

extension EngineContext {
    /// Calls `look` immediately and after each event of `news`, until it finds something or the
    /// wait ends.
    ///
    /// The wait ends with its time, its client or the daemon, whichever comes first.
    ///
    /// Any number of events between two looks causes one look. When this returns, no listener and
    /// no timer of it is left.
    func wait<Value>(
        upTo time: Duration,
        _ cancellation: ClientCancellation,
        on news: Listeners,
        until look: () async throws(Problem) -> Value?
    ) async throws(Problem) -> Wait.Outcome<Value> {
        // Nil: look again.
        let mailbox = Mailbox<Wait.End?>()
        guard let seat = sessions.add({ mailbox.post(.daemonEnds) }) else {
            return .ended(.daemonEnds)
        }
        defer { sessions.remove(seat) }
        cancellation.whenGivenUp { mailbox.post(.clientLeft) }
        let hasUpdates = Flag()
        let ear = news.add { if hasUpdates.raise() { mailbox.post(nil) } }
        defer { news.remove(ear) }
        @Sendable
        func watchTime() async {
            if (try? await clock.sleep(for: time)) != nil { mailbox.post(.timeIsOver) }
        }
        // Cancelled as this returns.
        async let _: Void = watchTime()
        var events = mailbox.events.makeAsyncIterator()
        while true {
            hasUpdates.lower()
            if let value = try await look() { return .came(value) }
            guard let event = await events.next(isolation: #isolation) else {
                return .ended(.clientLeft)
            }
            if let end = event { return .ended(end) }
        }
    }
}

extension Problem {
    static let daemonEnds = Problem(.shuttingDown, "the daemon is ending")
}

/// Work that is begun in one place and run in the task group of another, which owns it.
package struct WorkQueue: Sendable {
    private let jobs: Mailbox<@Sendable () async -> Void>

    package init() {
        jobs = Mailbox()
    }

    /// False once the queue has ended.
    package func add(_ job: @escaping @Sendable () async -> Void) -> Bool {
        jobs.post(job)
    }

    /// Runs every job until ``finish()``, then waits for those that still run, cancelled or not.
    package func run(cancellingTheRest isCancelling: Bool) async {
        await withDiscardingTaskGroup { group in
            for await job in jobs.events {
                group.addTask { await job() }
            }
            if isCancelling { group.cancelAll() }
        }
    }

    package func finish() {
        _ = jobs.ended()
    }
}

/// Lets so many through at a time, in the order in which they come; guarded by a lock.
final class AsyncSemaphore: Sendable {
    private let state: Mutex<(free: Int, waiting: [CheckedContinuation<Void, Never>])>

    init(places: Int) {
        state = Mutex((places, []))
    }

    /// Waits for a free place, and does some work in it.
    ///
    /// Cancellation does not end the wait: all work here ends, so a place becomes free.
    func pass<Value, Failure: Error>(
        _ work: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        await enter()
        defer { leave() }
        return try await work()
    }

    private func enter() async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                guard state.free > 0 else {
                    state.waiting.append(continuation)
                    return false
                }
                state.free -= 1
                return true
            }
            if isFree { continuation.resume() }
        }
    }

    private func leave() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard !state.waiting.isEmpty else {
                state.free += 1
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.resume()
    }
}

/// Events from anywhere for one task, in the order in which they came.
///
/// The mailbox needs no bound, because its senders have one:
/// - An end, an answer or a landing comes once.
/// - A change of an id or an origin, and a heartbeat, come once until the task looks at them.
///
/// ``PinFetchRunner`` and ``ModifierQueueRunner`` wait for no client, and take events as fast as requests and
/// answers come.
struct Mailbox<Event: Sendable>: Sendable {
    let events: AsyncStream<Event>
    private let continuation: AsyncStream<Event>.Continuation

    init() {
        (events, continuation) = AsyncStream.makeStream()
    }

    /// False once its task has ended.
    @discardableResult
    func post(_ event: Event) -> Bool {
        if case .terminated = continuation.yield(event) { return false }
        return true
    }

    /// Ends the mailbox, and returns the events that its task has left.
    ///
    /// An event may hold the engine's context, which holds the mailbox: the two would never be
    /// freed.
    func ended() -> AsyncStream<Event> {
        continuation.finish()
        return events
    }
}

/// Timers and jobs of a session; each posts an event into its mailbox.
struct SessionTimers<Event: Sendable>: Sendable {
    let clock: any EngineClock
    let mailbox: Mailbox<Event>
    let jobs = WorkQueue()
    /// Keeps beats from piling up; the task lowers it when it takes one.
    let beats = Flag()

    /// Posts an event once, when a time is over that runs from here on.
    func set(_ time: Duration, _ event: Event) {
        if time > .zero {
            set(until: clock.monotonic() + time, event)
        } else {
            mailbox.post(event)
        }
    }

    /// Posts an event once, at a moment of the monotonic clock.
    func set(until due: Duration, _ event: Event) {
        _ = jobs.add { [clock, mailbox] in
            if (try? await clock.sleep(until: due)) != nil { mailbox.post(event) }
        }
    }

    /// Posts an event after each pause, unless the one before still waits for its task.
    func beat(every pause: Duration, _ event: Event) {
        _ = jobs.add { [clock, mailbox, beats] in
            while (try? await clock.sleep(for: pause)) != nil {
                if beats.raise() { mailbox.post(event) }
            }
        }
    }
}

/// An alarm for one task; each setting replaces the one before.
struct DeadlineTimer: Sendable {
    private let settings: AsyncStream<Duration?>
    private let setting: AsyncStream<Duration?>.Continuation

    init() {
        // Only the last setting counts.
        (settings, setting) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Has it ring at a moment of the monotonic clock, and at no other; nil: not at all.
    func set(_ due: Duration?) {
        setting.yield(due)
    }

    func run(_ clock: any EngineClock, ring: @escaping @Sendable () -> Void) async {
        var settings = settings.makeAsyncIterator()
        var due: Duration?
        while true {
            let next = await withDiscardingTaskGroup(returning: Duration??.self) { group in
                if let due {
                    group.addTask {
                        if (try? await clock.sleep(until: due)) != nil { ring() }
                    }
                }
                defer { group.cancelAll() }
                return await settings.next(isolation: #isolation)
            }
            guard let next else { return }
            due = next
        }
    }
}
