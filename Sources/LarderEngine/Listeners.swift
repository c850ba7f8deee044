import LarderModel
import LarderWire
import Synchronization

/// Who is told when something has happened, with nothing said about what; guarded by a lock.
final class Listeners: Sendable {
    private struct State {
        var next = 0
        var tell: [Int: @Sendable () -> Void] = [:]
        var isOver = false
    }

    private let state = Mutex(State())

    /// Has `tell` called whenever it happens, until ``remove(_:)``; nil where it has happened for the
    /// last time.
    ///
    /// It must be quick.
    func add(_ tell: @escaping @Sendable () -> Void) -> Int? {
        state.withLock { state in
            guard !state.isOver else { return nil }
            state.next += 1
            state.tell[state.next] = tell
            return state.next
        }
    }

    func remove(_ number: Int?) {
        guard let number else { return }
        state.withLock { _ = $0.tell.removeValue(forKey: number) }
    }

    /// It has happened; `isLast`: it will not happen again.
    func tell(isLast: Bool = false) {
        let listeners = state.withLock { state in
            state.isOver = state.isOver || isLast
            return Array(state.tell.values)
        }
        for tell in listeners { tell() }
    }

    var count: Int { state.withLock { $0.tell.count } }
}

/// One flag, however often it is raised.
///
/// Whoever is told of something raises it, and whoever looks lowers it before that, so that what
/// changes meanwhile raises it anew.
final class Flag: Sendable {
    // Both orders: what was done before it was raised is seen by whoever lowers it.
    private let flag = Atomic<Bool>(false)

    var isUp: Bool { flag.load(ordering: .acquiring) }

    /// True when it was down: then whoever looks has to be told.
    @discardableResult
    func raise() -> Bool {
        !flag.exchange(true, ordering: .acquiringAndReleasing)
    }

    func lower() {
        _ = flag.exchange(false, ordering: .acquiringAndReleasing)
    }
}

/// A client's interest in an answer, until it hangs up; guarded by a lock.
package final class Interest: Sendable {
    private struct State {
        var isGivenUp = false
        var tell: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

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

    /// Has `tell` called when the client hangs up; at once if it has.
    package func whenGivenUp(_ tell: @escaping @Sendable () -> Void) {
        let isLate = state.withLock { state in
            if !state.isGivenUp { state.tell = tell }
            return state.isGivenUp
        }
        if isLate { tell() }
    }
}

/// One client's wait for something to come about; guarded by a lock.
///
/// It is over with its time, with its client, or with the daemon, whichever comes first. Of what
/// happens meanwhile it keeps one flag, however much it is: look again.
final class Wait: Sendable {
    /// Why it is over although nothing has come about.
    enum End: Sendable {
        case timeIsOver
        case clientLeft
        case daemonEnds
    }

    /// What it came to.
    enum Outcome<Value> {
        case came(Value)
        case ended(End)
    }

    private struct State {
        /// Who begins looks once, even where the wait is over already.
        var isNew = true
        var mustLook = true
        var end: End?
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    /// Something may have come about.
    func lookAgain() {
        change { $0.mustLook = true }
    }

    /// The first end counts.
    func end(_ end: End) {
        change { $0.end = $0.end ?? end }
    }

    /// Ends it when a time is over, unless the task is cancelled before.
    func end(after time: Duration, _ clock: any EngineClock) async {
        if (try? await clock.sleep(for: time)) != nil { end(.timeIsOver) }
    }

    private func change(_ change: (inout State) -> Void) {
        let waiter = state.withLock { state in
            change(&state)
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    /// Returns once there is something to look at, or it is over, and why; called by one task.
    func next() async -> End? {
        await withCheckedContinuation { continuation in
            let isTime = state.withLock { state in
                if state.mustLook || state.end != nil { return true }
                state.waiter = continuation
                return false
            }
            if isTime { continuation.resume() }
        }
        return state.withLock { state in
            defer { (state.isNew, state.mustLook) = (false, false) }
            return state.isNew ? nil : state.end
        }
    }
}

extension EngineContext {
    /// Looks at once, and again whenever `news` tells of some, until `look` finds something or the
    /// wait is over.
    ///
    /// When it returns, nothing of it is left: nobody tells it anything, and nobody sleeps for it.
    func wait<Value>(
        upTo time: Duration,
        _ interest: Interest,
        on news: Listeners,
        until look: () async throws(Problem) -> Value?
    ) async throws(Problem) -> Wait.Outcome<Value> {
        let wait = Wait()
        guard let seat = sessions.add({ wait.end(.daemonEnds) }) else { return .ended(.daemonEnds) }
        defer { sessions.remove(seat) }
        interest.whenGivenUp { wait.end(.clientLeft) }
        let ear = news.add { wait.lookAgain() }
        defer { news.remove(ear) }
        // Cancelled as this returns.
        async let _: Void = wait.end(after: time, clock)
        while true {
            if let end = await wait.next() { return .ended(end) }
            if let value = try await look() { return .came(value) }
        }
    }
}

extension Problem {
    static let daemonEnds = Problem(.shuttingDown, "the daemon is ending")
}
