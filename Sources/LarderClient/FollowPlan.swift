import LarderModel

/// Decides which updates a follower passes to its program, and when it connects again.
///
/// After a break, the follower skips the updates that the program already has. It does not report
/// the first break of a stream that gave an update. It reports a longer outage once.
struct FollowPlan: Equatable {
    enum UpdateStep: Equatable {
        case tell
        case skip
    }

    enum BreakStep: Equatable {
        /// Connect again after the pause; `isTold` says whether the program hears of it.
        case tryAgain(after: Duration, isTold: Bool)
        case giveUp
    }

    /// Revision of the last snapshot that the program got.
    private var shown: Int64?
    /// Whether the last update was a deletion.
    private var isDeleted = false
    /// Attempts that failed in a row.
    private var failures = 0
    private var wasConnected = false
    private var isOutageTold = false

    init() {}

    /// A snapshot has arrived, over this connection or a new one.
    mutating func snapshotArrived(_ revision: Int64, _ source: AnswerSource) -> UpdateStep {
        streamSpoke()
        if let shown, revision == shown { return .skip }
        // An older cached snapshot: the program already has a newer one that is no longer cached.
        if let shown, revision < shown, source != .network { return .skip }
        shown = revision
        isDeleted = false
        return .tell
    }

    /// A deletion has arrived.
    mutating func deletionArrived() -> UpdateStep {
        streamSpoke()
        defer { isDeleted = true }
        return isDeleted ? .skip : .tell
    }

    /// Another update has arrived.
    mutating func streamSpoke() {
        failures = 0
        wasConnected = true
        isOutageTold = false
    }

    /// The stream has ended or could not be opened.
    ///
    /// `randomUnit` in 0..<1 is the random number for full jitter.
    mutating func streamFailed(_ error: LarderError, randomUnit: Double) -> BreakStep {
        let mayHeal: Bool
        switch error {
        case .deleted:
            // The daemon answers; only the entry is gone, and it may come back.
            let isTold = deletionArrived() == .tell
            failures = 1
            return .tryAgain(after: Limits.followRetryMax, isTold: isTold)
        case .unreachable, .timedOut, .cutOff:
            mayHeal = true
        case .miss(let problem), .unknownOrigin(let problem), .notPermitted(let problem),
            .offline(let problem), .originFailed(let problem), .tooLarge(let problem),
            .invalid(let problem), .tooLate(let problem), .unavailable(let problem),
            .other(let problem):
            mayHeal = problem.retryable
        case .socketRefused, .badAnswer, .decoding, .bodyFailed, .fileFailed, .cancelled:
            mayHeal = false
        }
        guard mayHeal else { return .giveUp }
        let isSilent = isOutageTold || (wasConnected && failures == 0)
        if !isSilent { isOutageTold = true }
        let doubled = Limits.followRetryBase * (1 << min(failures, 10))
        failures += 1
        return .tryAgain(after: min(doubled, Limits.followRetryMax) * randomUnit, isTold: !isSilent)
    }
}
