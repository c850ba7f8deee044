package import LarderModel

/// Decides when the daemon asks origins for the answers that pins wait for.
///
/// Terms: an origin is *asked* while a task goes through its waiting pins. It *rests* after one of
/// them could not be fetched, or while it has asked the accounts of all of them for a rest. An
/// origin in neither state is not known here.
///
/// Invariants:
/// 1. An origin is asked by one task at a time.
/// 2. A rest is ``Limits/pinRetryBase`` · 2^n after n + 1 failures in a row, at most
///    ``Limits/pinRetryMax``. It is longer if the origin has asked for a longer one.
/// 3. Once an origin has answered any request, its rest ends, and its failures are forgotten.
///
/// ```
///            looked, a pin of the origin waits
///   (none) ──────────────────────────────────────────► asked ◄──┐ looked, the rest is over
///     ▲  ▲                                    reached │   │ not reached
///     │  └────────────────────────────────────────────┘   ▼     │
///     └────────── originAnswered, or no pin waits ──── resting ──┘
/// ```
package struct PinRetryMachine: Equatable, Sendable {
    package enum State: Equatable, Sendable {
        case asked(failures: Int)
        /// Until a moment of the monotonic clock.
        case paused(failures: Int, until: Duration)
    }

    package private(set) var origins: [OriginName: State] = [:]

    package init() {}

    /// The shell has looked up the origins of pins that wait; returns the origins to ask now, in
    /// order.
    ///
    /// `resting` are the origins at which only resting accounts have pins that wait, with the first
    /// end of such a rest.
    package mutating func looked(
        _ wanted: Set<OriginName>,
        resting: [OriginName: Duration] = [:],
        now: Duration
    ) -> [OriginName] {
        var due: [OriginName] = []
        for (name, end) in resting where !wanted.contains(name) {
            switch origins[name] {
            case nil: origins[name] = .paused(failures: 1, until: end)
            case .paused(let failures, let own):
                origins[name] = .paused(failures: failures, until: max(own, end))
            case .asked: break
            }
        }
        for name in wanted {
            switch origins[name] {
            case nil:
                origins[name] = .asked(failures: 0)
                due.append(name)
            case .paused(let failures, let end) where end <= now:
                origins[name] = .asked(failures: failures)
                due.append(name)
            case .asked, .paused:
                break
            }
        }
        for (name, state) in origins where !wanted.contains(name) && resting[name] == nil {
            if case .paused = state { origins[name] = nil }
        }
        checkInvariants()
        return due.sorted()
    }

    /// All pins that waited for the origin are settled.
    package mutating func reached(_ name: OriginName) { origins[name] = nil }

    /// A request of any kind could not reach the origin.
    package mutating func notReached(_ name: OriginName, now: Duration) {
        let failures =
            switch origins[name] {
            case nil: 1
            case .asked(let failures), .paused(let failures, _): failures + 1
            }
        origins[name] = .paused(failures: failures, until: now + Self.rest(after: failures))
        checkInvariants()
    }

    /// The origin has answered a request of any kind, so its pins may be fetched.
    package mutating func originAnswered(_ name: OriginName) {
        switch origins[name] {
        case .paused: origins[name] = nil
        case .asked: origins[name] = .asked(failures: 0)
        case nil: break
        }
    }

    /// The end of the next rest; nil while no origin rests.
    package var nextDue: Duration? {
        origins.values.compactMap { state in
            if case .paused(_, let end) = state { end } else { nil }
        }.min()
    }

    static func rest(after failures: Int) -> Duration {
        // Above the longest rest, and far below an overflow.
        let doublings = min(max(failures, 1) - 1, 16)
        return min(Limits.pinRetryMax, Limits.pinRetryBase * (1 << doublings))
    }
}
