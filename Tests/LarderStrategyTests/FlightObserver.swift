import LarderModel
import LarderStrategy

/// Sees what a flight asks, waits, stores and tells, and holds the contract from outside.
///
/// It knows nothing of the machine's states.
struct FlightObserver {
    /// What the shell is doing for the flight.
    private enum Duty: Equatable {
        case asking
        case waiting
        case reading
        case refreshing
        case storing
        case passing
    }

    private let isOriginDown: Bool
    private let isPassedOn: Bool
    /// The URL that gave the cached answer; nil if there is none with validators.
    private let validatedURL: WebURL?
    private var isConditionLost = false
    private var lastAttempt: FlightMachine.Attempt
    private var duty: Duty? = .asking
    private var pauses = 0
    private var redirects = 0
    private var overtakes = 0
    private var identities = 0
    private(set) var endings = 0
    private(set) var complaints: [String] = []

    init(
        _ first: FlightMachine.Attempt,
        validatedURL: WebURL?,
        isOriginDown: Bool,
        isPassedOn: Bool = false
    ) {
        lastAttempt = first
        self.validatedURL = validatedURL
        self.isPassedOn = isPassedOn
        self.isOriginDown = isOriginDown
        expectCondition(first)
    }

    mutating func saw(_ event: FlightEvent, _ reaction: FlightReaction, remaining: Duration) {
        let wasOver = endings > 0
        switch reaction {
        case .head(let action): head(action, event, remaining)
        case .failure(.pause(let pause)): paused(pause, remaining, after: [.asking, .reading])
        case .failure(.ask(let attempt)):
            identities += 1
            expect(event == .undecodable && identities == 1, "plain bytes are asked for once")
            expect(!attempt.isConditional, "the whole body is needed")
            asked(attempt, after: .reading)
        case .failure(.giveUp): ended(after: [.asking, .reading, .passing])
        case .attempt(let attempt?): asked(attempt, after: .waiting)
        case .body(.store): turn(to: .storing, after: .reading)
        case .body(.report): ended(after: [.reading])
        case .refresh(.tell): ended(after: [.refreshing])
        case .refresh(.ask(let attempt)):
            isConditionLost = true
            asked(attempt, after: .refreshing)
        case .told(true) where event == .stored: ended(after: [.storing])
        case .told(true) where event == .passed: ended(after: [.passing])
        case .told(true):
            ended(after: [.asking, .waiting, .reading, .refreshing, .storing, .passing])
        case .overtake(.ask(let attempt)):
            overtakes += 1
            expect(overtakes <= Limits.overtakesMax, "overtakes are bounded")
            isConditionLost = true
            asked(attempt, after: .storing)
        case .overtake(.tellCached): ended(after: [.storing])
        case .failure(.nothing), .attempt(nil), .body(.nothing), .refresh(.nothing), .told(false),
            .overtake(.nothing):
            return
        }
        expect(!wasOver || reaction == .head(.nothing), "nothing follows the end")
    }

    private mutating func head(
        _ action: FlightMachine.HeadAction,
        _ event: FlightEvent,
        _ remaining: Duration
    ) {
        switch action {
        case .nothing: return
        case .receive:
            expect(event == .ok && !isPassedOn, "only a 2xx is stored, and not what is passed on")
            turn(to: .reading, after: .asking)
        case .pass:
            expect(isPassedOn, "what is kept is not passed on")
            turn(to: .passing, after: .asking)
        case .quote:
            expect(!isPassedOn, "what is passed on is not quoted")
            expect(event == .serverError || event == .unavailable, "only a refusal is quoted")
            turn(to: .reading, after: .asking)
        case .refresh:
            expect(lastAttempt.isConditional && !isConditionLost, "a 304 answers a condition")
            turn(to: .refreshing, after: .asking)
        case .writeTombstone:
            expect(event == .notFound, "only 404 and 410 write a tombstone")
            turn(to: .storing, after: .asking)
        case .ask(let attempt):
            redirects += 1
            expect(redirects <= Limits.redirectsMax, "redirects are bounded")
            asked(attempt, after: .asking)
        case .pause(let pause):
            paused(pause, remaining, after: [.asking])
        case .giveUp:
            ended(after: [.asking])
        }
    }

    private mutating func asked(_ attempt: FlightMachine.Attempt, after expected: Duty) {
        expect(!(attempt.isConditional && isConditionLost), "nothing is left to confirm")
        expect(!(attempt.isConditional && isPassedOn), "what is passed on confirms nothing")
        expectCondition(attempt)
        lastAttempt = attempt
        turn(to: .asking, after: expected)
    }

    private mutating func expectCondition(_ attempt: FlightMachine.Attempt) {
        let isOfURL = attempt.url == validatedURL
        expect(!attempt.isConditional || isOfURL, "a condition asks the URL of the validators")
    }

    private mutating func paused(_ pause: Duration, _ remaining: Duration, after: [Duty]) {
        pauses += 1
        expect(pauses <= Limits.retriesMax, "repetitions are bounded")
        expect(!isOriginDown, "an origin that is down is asked once")
        expect(pause < remaining && pause <= Limits.retryAfterMax, "within the deadline")
        expect(duty.map(after.contains) == true, "a pause follows a failure")
        duty = .waiting
    }

    private mutating func ended(after: [Duty]) {
        endings += 1
        expect(endings == 1, "one end")
        expect(duty.map(after.contains) == true, "an end follows what was going on")
        duty = nil
    }

    private mutating func turn(to next: Duty, after expected: Duty) {
        expect(duty == expected, "\(next) follows \(expected)")
        duty = next
    }

    private mutating func expect(_ holds: Bool, _ rule: String) {
        if !holds { complaints.append(rule) }
    }

    /// The events that can happen to what is going on; none after the end.
    var likelyEvents: [FlightEvent] {
        switch duty {
        case .asking:
            [
                .ok, .notModified, .redirect, .foreignRedirect, .notFound, .unavailable,
                .serverError, .portal, .connectionFailed, .failedForGood, .large, .part,
            ]
        case .waiting: [.pauseEnded]
        case .reading: [.bodyArrived, .connectionFailed, .failedForGood]
        case .refreshing: [.refreshed, .refreshedGone]
        case .storing: [.stored, .overtaken]
        case .passing: [.passed, .connectionFailed, .failedForGood]
        case nil: []
        }
    }
}
