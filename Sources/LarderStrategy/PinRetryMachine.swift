package import LarderModel

/// The pins of one user that wait for answers of one origin.
package struct PinLine: Hashable, Comparable, Sendable {
    package let origin: OriginName
    package let uid: UInt32?

    package init(_ origin: OriginName, _ uid: UInt32?) {
        (self.origin, self.uid) = (origin, uid)
    }

    package static func < (left: PinLine, right: PinLine) -> Bool {
        (left.origin, left.uid ?? 0) < (right.origin, right.uid ?? 0)
    }
}

/// Decides when the daemon asks origins for the answers that pins wait for.
///
/// Terms: a line is *asked* while a task goes through its pins. The line *rests* after one of them
/// could not be fetched, or while the origin has asked the accounts of all of them for a rest. A
/// line in neither state is not known here. Lines of one origin do not wait for each other.
///
/// Invariants:
/// 1. A line is asked by one task at a time, also while clients ask for its pins themselves.
/// 2. A rest is ``Limits/pinRetryBase`` · 2^n after n + 1 failures in a row, at most
///    ``Limits/pinRetryMax``. It is longer if the origin has asked for a longer one.
/// 3. Once an origin is back or answers a client's pin, the rests of its lines end, and their
///    failures are forgotten.
///
/// ```
///             looked, a pin of the line waits
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

    package private(set) var lines: [PinLine: State] = [:]

    package init() {}

    /// The shell has looked up the lines of pins that wait; returns the lines to ask now, in order.
    ///
    /// `resting` are the lines in which only resting accounts have pins that wait, with the first
    /// end of such a rest.
    package mutating func looked(
        _ wanted: Set<PinLine>,
        resting: [PinLine: Duration] = [:],
        now: Duration
    ) -> [PinLine] {
        var due: [PinLine] = []
        for (line, end) in resting where !wanted.contains(line) {
            switch lines[line] {
            case nil: lines[line] = .paused(failures: 1, until: end)
            case .paused(let failures, let own):
                lines[line] = .paused(failures: failures, until: max(own, end))
            case .asked: break
            }
        }
        for line in wanted {
            switch lines[line] {
            case nil:
                lines[line] = .asked(failures: 0)
                due.append(line)
            case .paused(let failures, let end) where end <= now:
                lines[line] = .asked(failures: failures)
                due.append(line)
            case .asked, .paused:
                break
            }
        }
        for (line, state) in lines where !wanted.contains(line) && resting[line] == nil {
            if case .paused = state { lines[line] = nil }
        }
        checkInvariants()
        return due.sorted()
    }

    /// The task that asked has come to its end, and its pins are settled.
    package mutating func reached(_ line: PinLine) { lines[line] = nil }

    /// A pin could not be fetched by the task that asked, which has come to its end.
    package mutating func notReached(_ line: PinLine, now: Duration) {
        let failures =
            switch lines[line] {
            case nil: 1
            case .asked(let failures), .paused(let failures, _): failures + 1
            }
        lines[line] = .paused(failures: failures, until: now + Self.rest(after: failures))
        checkInvariants()
    }

    /// A client's own attempt for a pin has failed; a task that asks goes on.
    package mutating func clientFailed(_ line: PinLine, now: Duration) {
        if case .asked = lines[line] { return }
        notReached(line, now: now)
    }

    /// The origin is back, or has answered a client's own attempt, so its pins may be fetched.
    ///
    /// With `uid` these are the pins of one user, who has given another credential.
    package mutating func originAnswered(_ name: OriginName, of uid: UInt32? = nil) {
        for (line, state) in lines where line.origin == name && (uid == nil || line.uid == uid) {
            switch state {
            case .paused: lines[line] = nil
            case .asked: lines[line] = .asked(failures: 0)
            }
        }
    }

    /// The end of the next rest; nil while no line rests.
    package var nextDue: Duration? {
        lines.values.compactMap { state in
            if case .paused(_, let end) = state { end } else { nil }
        }.min()
    }

    static func rest(after failures: Int) -> Duration {
        min(Limits.pinRetryMax, Limits.pinRetryBase.doubled(failures - 1))
    }
}

extension PinRetryMachine {
    /// Checks the invariants of the machine's documentation; costs nothing in release.
    func checkInvariants() {
        for state in lines.values {
            switch state {
            case .asked(let failures):
                assert(failures >= 0)
            case .paused(let failures, let end):
                assert(failures >= 1, "a rest follows a failure")
                assert(end > .zero, "a rest has a length")
            }
        }
    }
}
