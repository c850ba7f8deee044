import LarderModel
import LarderWire
import Synchronization

/// Counts what fetches and flights came to, and how long they took.
final class EngineMeter: Sendable {
    /// Ways in which a fetch can end: there are few, whatever clients do.
    struct Ending: Hashable {
        let policy: FetchPolicy
        let source: FetchSource
        let outcome: FetchResolution
    }

    struct Counts: Sendable {
        var endings: [Ending: Int64] = [:]
        var fetch = Histogram()
        var network = Histogram()
        var flightsStarted: Int64 = 0
        var flightsJoined: Int64 = 0
        var modifiers = StatsReport.Modifiers()
    }

    private let state = Mutex(Counts())

    var counts: Counts { state.withLock { $0 } }

    func count(_ event: (inout Counts) -> Void) { state.withLock { event(&$0) } }
}

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
    func end(_ policy: FetchPolicy, refusal: Problem?, at now: Duration, in meter: EngineMeter) {
        let ending = EngineMeter.Ending(
            policy: policy,
            source: source,
            outcome: refusal != nil ? .problem : outcome ?? .abandoned
        )
        let answered = firstAnswer ?? (refusal != nil ? now - started : nil)
        meter.count { counts in
            counts.endings[ending, default: 0] += 1
            if let answered { counts.fetch.record(answered) }
        }
    }
}
