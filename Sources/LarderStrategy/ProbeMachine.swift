import LarderModel

/// Decides when to ask an origin that is down whether it is back.
///
/// The daemon asks only while a client waits for the origin, and less and less often.
///
/// # Terms
///
/// - *waiting*: tasks that want to be told when the origin is back.
/// - *down*: the last requests failed, or a captive portal answered them. An origin that an
///   operator set offline does not count as down here: it is not asked at all.
///
/// # States
///
/// ```
///              interestBegan, wentDown                pauseEnded
///    idle ──────────────────────────────► pausing ───────────────► asking
///     ▲                                   │    ▲                     │  │
///     └──── pauseEnded, none waits ◄──────┘    └──── probeEnded ─────┘  │
///     └──────────────── probeEnded, it is back or none waits ◄──────────┘
/// ```
///
/// The loop that sleeps and asks runs exactly while the state is not `idle`. A `.pause` begins it;
/// at its next step it learns that no task waits any more.
///
/// # Invariants (``checkInvariants()``)
///
/// 1. The number of waiting tasks is never negative, and the failures are at most ``failuresMax``.
/// 2. A probe begins only while the origin is down, and while a task waits whose account the origin
///    has not asked for a rest.
/// 3. A pause is at most 1 s × 2^n, n being the probes since a client's request was answered, and
///    never longer than ``Limits/probePauseMax``.
package struct ProbeMachine: Equatable, Sendable {
    package enum State: Equatable, Sendable {
        case idle
        case pausing
        case asking
    }

    package private(set) var state = State.idle
    package private(set) var waiting = 0
    package private(set) var isDown: Bool
    /// Probes since the origin last answered a client's request; they make the pauses longer.
    package private(set) var failures = 0

    package init(isDown: Bool) { self.isDown = isDown }

    package var isForgettable: Bool { state == .idle && waiting == 0 && !isDown }

    package enum LoopAction: Equatable, Sendable {
        case nothing
        /// Begin or continue the loop with a pause of up to this; then call ``pauseEnded(rest:)``.
        case pause(upTo: Duration)
    }

    // MARK: Waiting tasks

    package mutating func interestBegan() -> LoopAction {
        defer { checkInvariants() }
        waiting += 1
        return begin()
    }

    package mutating func interestEnded() {
        precondition(waiting > 0, "an interest ends once")
        defer { checkInvariants() }
        waiting -= 1
    }

    // MARK: State of the origin

    package mutating func wentDown() -> LoopAction {
        defer { checkInvariants() }
        isDown = true
        return begin()
    }

    /// The origin is not down, or an operator set it offline.
    package mutating func cameBack() {
        defer { checkInvariants() }
        isDown = false
    }

    /// The origin answered a client's request: the next outage begins with a short pause again.
    ///
    /// The answer to a probe has no such effect, as the origin may still fail every other request.
    package mutating func requestAnswered() {
        defer { checkInvariants() }
        failures = 0
    }

    private mutating func begin() -> LoopAction {
        guard state == .idle, waiting > 0, isDown else { return .nothing }
        state = .pausing
        return .pause(upTo: Self.ceiling(after: failures))
    }

    // MARK: The loop

    package enum PauseAction: Equatable, Sendable {
        case ask
        /// Pause for this long, then call ``pauseEnded(rest:)``.
        case rest(for: Duration)
        case stop
    }

    /// The pause is over; `rest` is the remaining rest that all waiting tasks have to respect.
    package mutating func pauseEnded(rest: Duration = .zero) -> PauseAction {
        precondition(state == .pausing, "a pause ends once")
        defer { checkInvariants() }
        guard waiting > 0, isDown else {
            state = .idle
            return .stop
        }
        guard rest <= .zero else { return .rest(for: rest) }
        state = .asking
        return .ask
    }

    /// The probe has ended, and its result was noted.
    package mutating func probeEnded() -> LoopAction {
        precondition(state == .asking, "a probe ends once")
        defer { checkInvariants() }
        failures = min(failures + 1, Self.failuresMax)
        state = .idle
        return begin()
    }

    /// The number of failures after which the pause no longer grows.
    static let failuresMax = 5

    /// The longest pause after so many failures in a row.
    package static func ceiling(after failures: Int) -> Duration {
        min(Limits.probePauseBase.doubled(min(failures, failuresMax)), Limits.probePauseMax)
    }

    /// A random pause between half of `ceiling` and all of it, as `randomUnit` in 0..<1 draws.
    ///
    /// So many daemons do not probe an origin at the same moment.
    package static func pause(upTo ceiling: Duration, randomUnit: Double) -> Duration {
        ceiling * (0.5 + 0.5 * randomUnit)
    }
}

extension ProbeMachine {
    /// Checks the numbered invariants of the type's documentation; called after each change.
    func checkInvariants() {
        // 1
        assert(waiting >= 0, "an interest ends once")
        assert((0...Self.failuresMax).contains(failures), "the failures are bounded")
        // 3
        assert(
            Limits.probePauseBase * (1 << Self.failuresMax) >= Limits.probePauseMax,
            "the pause reaches its limit"
        )
    }
}
