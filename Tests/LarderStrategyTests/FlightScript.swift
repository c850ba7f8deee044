import LarderModel

@testable import LarderStrategy

/// What happens to a flight after its start.
enum FlightEvent: CaseIterable, Hashable, Sendable {
    case ok
    case notModified
    case redirect
    case foreignRedirect
    case notFound
    case unavailable
    case serverError
    case portal
    case connectionFailed
    /// The body was not in the coding that its head named.
    case undecodable
    case failedForGood
    case pauseEnded
    case bodyArrived
    case refreshed
    case refreshedGone
    case stored
    case overtaken
    /// A 2xx that announces more than is kept.
    case large
    /// A 206.
    case part
    case passed
    case gaveUp
}

/// What a flight answers to an event.
enum FlightReaction: Equatable, Sendable {
    case head(FlightMachine.HeadAction)
    case failure(FlightMachine.FailureAction)
    case attempt(FlightMachine.Attempt?)
    case body(FlightMachine.BodyAction)
    case refresh(FlightMachine.RefreshAction)
    case overtake(FlightMachine.OvertakenAction)
    case told(Bool)
}

/// The states, told apart where they answer differently.
enum FlightPlace: CaseIterable, Hashable, Sendable {
    case idle
    case asking
    case askingConditional
    case pausing
    case receiving
    case receivingRefusal
    case refreshing
    case storing
    case finished
    /// Asking for what is passed on and not kept.
    case askingToPass
    case passing

    var isPassedOn: Bool { self == .askingToPass || self == .passing }
}

/// The URLs of the scripts, and machines brought to their states with them.
struct FlightScript: Sendable {
    let home: WebURL
    let moved: WebURL

    /// Half of the jitter is drawn: the first pause is 100 ms.
    static let randomUnit = 0.5
    static let pause = Duration.milliseconds(100)
    static let remaining = Duration.seconds(30)

    init() throws {
        home = try WebURL("https://a.example/x")
        moved = try WebURL("https://a.example/moved")
    }

    func attempt(_ url: WebURL, conditional: Bool) -> FlightMachine.Attempt {
        FlightMachine.Attempt(url: url, isConditional: conditional)
    }

    func state(_ place: FlightPlace) -> FlightMachine.State {
        switch place {
        case .idle: .idle
        case .asking, .askingToPass: .asking(attempt(home, conditional: false))
        case .askingConditional: .asking(attempt(home, conditional: true))
        case .pausing: .pausing(attempt(home, conditional: false))
        case .receiving: .receiving(.answer)
        case .receivingRefusal: .receiving(.refusal(status: 500))
        case .refreshing: .refreshing(attempt(home, conditional: true))
        case .storing: .storing
        case .passing: .passing
        case .finished: .finished
        }
    }

    static let bytesMax: Int64 = 1_000

    func machine(
        isOriginDown: Bool = false,
        accept: String? = nil,
        bodyHandling: FlightRules.BodyHandling = .stored(bytesMax: bytesMax)
    ) -> FlightMachine {
        FlightMachine(
            FlightRules(url: home, cachedIsJSON: false, accept: accept, bodyHandling: bodyHandling),
            isOriginDown: isOriginDown
        )
    }

    /// A flight that has set out.
    func started(conditional: Bool = false, isOriginDown: Bool = false) -> FlightMachine {
        var machine = machine(isOriginDown: isOriginDown)
        _ = machine.started(at: home, hasValidators: conditional)
        return machine
    }

    func machine(in place: FlightPlace) -> FlightMachine {
        var machine = place.isPassedOn ? machine(bodyHandling: .passThrough) : machine()
        guard place != .idle else { return machine }
        let isConditional = place == .askingConditional || place == .refreshing
        _ = machine.started(at: home, hasValidators: isConditional)
        let events: [FlightEvent] =
            switch place {
            case .idle, .asking, .askingConditional, .askingToPass: []
            case .pausing: [.unavailable]
            case .receiving, .passing: [.ok]
            case .receivingRefusal: [.serverError]
            case .refreshing: [.notModified]
            case .storing: [.notFound]
            case .finished: [.gaveUp]
            }
        for event in events { _ = react(&machine, event) }
        return machine
    }

    func react(
        _ machine: inout FlightMachine,
        _ event: FlightEvent,
        remaining: Duration = remaining,
        randomUnit: Double = randomUnit
    ) -> FlightReaction {
        func head(
            _ status: Int,
            to location: String? = nil,
            length: Int64? = nil
        ) -> FlightReaction {
            .head(
                machine.headArrived(
                    .of(status, location: location, length: length),
                    remaining: remaining,
                    randomUnit: randomUnit
                )
            )
        }
        func failed(_ failure: FlightFailure) -> FlightReaction {
            .failure(machine.attemptFailed(failure, remaining: remaining, randomUnit: randomUnit))
        }
        return switch event {
        case .ok: head(200)
        case .notModified: head(304)
        case .redirect: head(302, to: "/moved")
        case .foreignRedirect: head(302, to: "https://b.example/")
        case .notFound: head(404)
        case .unavailable: head(503)
        case .serverError: head(500)
        case .portal: head(511)
        case .connectionFailed: failed(.unreachable("refused"))
        case .undecodable: failed(.undecodable("x"))
        case .failedForGood: failed(.tooLarge)
        case .pauseEnded: .attempt(machine.pauseEnded())
        case .bodyArrived: .body(machine.bodyArrived())
        case .refreshed: .refresh(machine.refreshed(isGone: false))
        case .refreshedGone: .refresh(machine.refreshed(isGone: true))
        case .stored: .told(machine.stored())
        case .overtaken: .overtake(machine.overtaken())
        case .large: head(200, length: Self.bytesMax + 1)
        case .part: head(206)
        case .passed: .told(machine.passed())
        case .gaveUp: .told(machine.gaveUp())
        }
    }
}

extension ResponseHead {
    static func of(
        _ status: Int,
        location: String? = nil,
        type: String? = nil,
        retryAfter: String? = nil,
        length: Int64? = nil
    ) -> ResponseHead {
        var headers = HeaderFields()
        if let location { headers.append("Location", location) }
        if let type { headers.append("Content-Type", type) }
        if let length { headers.append("Content-Length", String(length)) }
        if let retryAfter { headers.append("Retry-After", retryAfter) }
        return ResponseHead(status: status, headers: headers, now: .start)
    }
}
