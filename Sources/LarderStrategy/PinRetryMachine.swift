package import LarderModel

/// Decides when the origins are asked for what pins wait for.
///
/// Terms: an origin is *asked* while a task goes through the pins that want something of it, and
/// *rests* after one of them could not be fetched, or while it has asked all whose pins they are for
/// a rest. An origin that is neither is not known here.
///
/// Invariants:
/// 1. An origin is asked by one task at a time.
/// 2. A rest is ``Limits/pinRetryBase`` · 2^n after n + 1 failures in a row, at most
///    ``Limits/pinRetryMax``, or as long as the origin has asked for, if that is longer.
/// 3. Once an origin has answered anybody, its rest is over, and the failures before are forgotten.
///
/// ```
///            looked, somebody wants something of it
///   (none) ──────────────────────────────────────────► asked ◄──┐ looked, the rest is over
///     ▲  ▲                                    reached │   │ not reached
///     │  └────────────────────────────────────────────┘   ▼     │
///     └────────── originAnswered, or nobody wants ──── resting ──┘
/// ```
package struct PinRetryMachine: Equatable, Sendable {
    package enum State: Equatable, Sendable {
        case asked(failures: Int)
        /// Until a moment of the monotonic clock.
        case resting(failures: Int, until: Duration)
    }

    package private(set) var origins: [OriginName: State] = [:]

    package init() {}

    /// It was looked up of which origins something is wanted; who is to be asked now, in order.
    ///
    /// `resting` are those of which only such things are wanted as the origin has asked for a rest
    /// of, with the first end of one.
    package mutating func looked(
        _ wanted: Set<OriginName>,
        resting: [OriginName: Duration] = [:],
        now: Duration
    ) -> [OriginName] {
        var due: [OriginName] = []
        for (name, end) in resting where !wanted.contains(name) {
            switch origins[name] {
            case nil: origins[name] = .resting(failures: 1, until: end)
            case .resting(let failures, let own):
                origins[name] = .resting(failures: failures, until: max(own, end))
            case .asked: break
            }
        }
        for name in wanted {
            switch origins[name] {
            case nil:
                origins[name] = .asked(failures: 0)
                due.append(name)
            case .resting(let failures, let end) where end <= now:
                origins[name] = .asked(failures: failures)
                due.append(name)
            case .asked, .resting:
                break
            }
        }
        for (name, state) in origins where !wanted.contains(name) && resting[name] == nil {
            if case .resting = state { origins[name] = nil }
        }
        checkInvariants()
        return due.sorted()
    }

    /// Everything that was wanted of an origin has been settled.
    package mutating func reached(_ name: OriginName) {
        origins[name] = nil
    }

    /// An origin could not be asked, by whoever it was.
    package mutating func notReached(_ name: OriginName, now: Duration) {
        let failures =
            switch origins[name] {
            case nil: 1
            case .asked(let failures), .resting(let failures, _): failures + 1
            }
        origins[name] = .resting(failures: failures, until: now + Self.rest(after: failures))
        checkInvariants()
    }

    /// An origin has answered somebody: what is wanted of it may be had.
    package mutating func originAnswered(_ name: OriginName) {
        switch origins[name] {
        case .resting: origins[name] = nil
        case .asked: origins[name] = .asked(failures: 0)
        case nil: break
        }
    }

    /// When the next rest is over; nil while nobody rests.
    package var nextDue: Duration? {
        origins.values.compactMap { state in
            if case .resting(_, let end) = state { end } else { nil }
        }.min()
    }

    static func rest(after failures: Int) -> Duration {
        // Far past the longest rest, and far from the end of the number's range.
        let doublings = min(max(failures, 1) - 1, 16)
        return min(Limits.pinRetryMax, Limits.pinRetryBase * (1 << doublings))
    }
}
