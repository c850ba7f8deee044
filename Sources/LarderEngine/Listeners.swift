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
        // Cancelled as this returns.
        async let _: Void = clock.post(.timeIsOver, after: time, in: mailbox)
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

extension EngineClock {
    fileprivate func post(
        _ end: Wait.End,
        after time: Duration,
        in box: Mailbox<Wait.End?>
    ) async {
        if (try? await sleep(for: time)) != nil { box.post(end) }
    }
}

extension Problem {
    static let daemonEnds = Problem(.shuttingDown, "the daemon is ending")
}
