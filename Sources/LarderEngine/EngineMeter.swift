import LarderModel
import LarderWire
import Synchronization

/// Counts what fetches and flights came to, and how long they took.
///
/// Guarded by a lock, which is taken twice a fetch and nowhere on the way of a hit.
final class EngineMeter: Sendable {
    /// Ways in which a fetch can end: there are few, whatever clients do.
    struct Ending: Hashable {
        let policy: FetchPolicy
        let source: FetchSource
        let outcome: FetchResolution
    }

    struct Counts: Sendable {
        fileprivate(set) var endings: [Ending: Int64] = [:]
        fileprivate(set) var fetch = Histogram()
        fileprivate(set) var network = Histogram()
        fileprivate(set) var flightsStarted: Int64 = 0
        fileprivate(set) var flightsJoined: Int64 = 0
        fileprivate(set) var modifiers = StatsReport.Modifiers()
    }

    private let state = Mutex(Counts())

    var counts: Counts { state.withLock { $0 } }

    /// A fetch is over; `firstAnswer` is nil when its client left before there was one.
    func fetchEnded(_ ending: Ending, firstAnswer: Duration?) {
        state.withLock { counts in
            counts.endings[ending, default: 0] += 1
            if let firstAnswer { counts.fetch.record(firstAnswer) }
        }
    }

    func flightStarted() {
        state.withLock { $0.flightsStarted += 1 }
    }

    /// A fetch came along on another's flight.
    func flightJoined() {
        state.withLock { $0.flightsJoined += 1 }
    }

    func modifiersAccepted(_ count: Int) {
        state.withLock { $0.modifiers.accepted += Int64(count) }
    }

    /// A request of a modifier was sent, or may have been.
    func modifierSent() {
        state.withLock { $0.modifiers.attempts += 1 }
    }

    func modifierConfirmed() {
        state.withLock { $0.modifiers.confirmed += 1 }
    }

    func modifierCancelled() {
        state.withLock { $0.modifiers.cancelled += 1 }
    }

    /// A modifier became a dead letter; `isRevert` when it had changed something here.
    func modifierDied(isRevert: Bool) {
        state.withLock { counts in
            counts.modifiers.dead += 1
            if isRevert { counts.modifiers.reverts += 1 }
        }
    }

    func flightLanded(after time: Duration) {
        state.withLock { $0.network.record(time) }
    }
}

/// What one fetch shows, as far as it is counted.
struct FetchTally {
    private let started: Duration
    private var firstAnswer: Duration?
    private var source = FetchSource.none
    private var outcome: FetchResolution?

    init(started: Duration) {
        self.started = started
    }

    mutating func saw(_ frame: FetchFrame, at now: Duration) {
        if firstAnswer == nil { firstAnswer = now - started }
        switch frame {
        case .snapshot(let frame): source = frame.source == .network ? .network : .cache
        case .end(let frame): outcome = FetchResolution(frame.outcome)
        case .unchanged, .deleted, .error, .origin, .heartbeat: break
        }
    }

    /// Counts it; `refusal` is what the client gets instead of any frame.
    func end(
        _ policy: FetchPolicy,
        refusal: Problem?,
        at now: Duration,
        in meter: EngineMeter
    ) {
        let ending = EngineMeter.Ending(
            policy: policy,
            source: source,
            outcome: refusal != nil ? .problem : outcome ?? .abandoned
        )
        let answered = firstAnswer ?? (refusal != nil ? now - started : nil)
        meter.fetchEnded(ending, firstAnswer: answered)
    }
}
