import LarderModel
import LarderStrategy
import LarderTestSupport
import Testing

@Suite("Repetitions of a flight")
struct FlightRetryTests {
    private let script: FlightScript

    init() throws {
        script = try FlightScript()
    }

    private func refused(
        _ machine: inout FlightMachine,
        retryAfter: String? = nil,
        remaining: Duration = .seconds(30),
        randomUnit: Double = FlightScript.randomUnit
    ) -> FlightMachine.HeadAction {
        let head = ResponseHead.of(503, retryAfter: retryAfter)
        return machine.headArrived(head, remaining: remaining, randomUnit: randomUnit)
    }

    @Test("502, 503 and 504 are asked again, twice, then quoted", arguments: [502, 503, 504])
    func statuses(status: Int) {
        var machine = script.started()
        let pauses = (0..<Limits.retriesMax).map { _ in
            let action = machine.headArrived(.of(status), remaining: .seconds(30), randomUnit: 0.5)
            #expect(machine.pauseEnded() == script.attempt(script.home, conditional: false))
            return action
        }
        #expect(pauses == [.pause(.milliseconds(100)), .pause(.milliseconds(200))])
        let last = machine.headArrived(.of(status), remaining: .seconds(30), randomUnit: 0.5)
        #expect(last == .quote(status: status))
    }

    @Test("Failures of the connection are asked again, twice")
    func failures() {
        let failures: [FlightFailure] = [.unreachable("refused"), .brokenOff("reset")]
        for failure in failures {
            var machine = script.started(conditional: true)
            for pause in [Duration.milliseconds(100), .milliseconds(200)] {
                let action = machine.attemptFailed(
                    failure,
                    remaining: .seconds(30),
                    randomUnit: 0.5
                )
                #expect(action == .pause(pause))
                #expect(machine.pauseEnded() == script.attempt(script.home, conditional: true))
            }
            let last = machine.attemptFailed(failure, remaining: .seconds(30), randomUnit: 0.5)
            #expect(last == .giveUp(failure))
            #expect(machine.state == .finished)
        }
    }

    @Test("A failure that a repetition cannot help is not repeated")
    func final() {
        let failures: [FlightFailure] = [
            .addressRefused("10.0.0.1"), .timeout, .badAnswer("x"), .undecodable("x"),
            .captive(host: "a"), .redirectRefused(host: "a"), .tooLarge, .shuttingDown, .overloaded,
        ]
        for failure in failures {
            var machine = script.started()
            let action = machine.attemptFailed(failure, remaining: .seconds(30), randomUnit: 0)
            #expect(action == .giveUp(failure))
        }
    }

    @Test("A body that broke off is requested again, without a condition")
    func brokenBody() {
        var machine = script.started(conditional: true)
        _ = machine.headArrived(.of(200), remaining: .seconds(30), randomUnit: 0)
        let action = machine.attemptFailed(.brokenOff("x"), remaining: .seconds(30), randomUnit: 0)
        #expect(action == .pause(Limits.retryMin))
        #expect(machine.pauseEnded() == script.attempt(script.home, conditional: false))
    }

    @Test("A body that cannot be decoded is requested once more, as plain bytes (S48)")
    func undecodable() {
        var machine = script.started(conditional: true)
        _ = machine.headArrived(.of(200), remaining: .seconds(30), randomUnit: 0)
        #expect(!machine.wantsIdentity)
        let failure = FlightFailure.undecodable("x")
        let again = machine.attemptFailed(failure, remaining: .seconds(30), randomUnit: 0)
        #expect(again == .ask(script.attempt(script.home, conditional: false)))
        #expect(machine.wantsIdentity)
        _ = machine.headArrived(.of(200), remaining: .seconds(30), randomUnit: 0)
        let last = machine.attemptFailed(failure, remaining: .seconds(30), randomUnit: 0)
        #expect(last == .giveUp(failure))
    }

    @Test("A failure after the head was handed over ends the flight (S47)")
    func handedOver() {
        for failure in [FlightFailure.brokenOff("x"), .undecodable("x")] {
            var machine = script.started()
            machine.handedOver()
            #expect(!machine.isHandedOver, "there is no head yet")
            _ = machine.headArrived(.of(200), remaining: .seconds(30), randomUnit: 0)
            machine.handedOver()
            let action = machine.attemptFailed(failure, remaining: .seconds(30), randomUnit: 0)
            #expect(action == .giveUp(failure))
            #expect(machine.state == .finished)
        }
    }

    @Test("The pause is anywhere from next to nothing to twice the one before")
    func jitter() {
        var random = SeededRandom(seed: 7)
        for _ in 0..<200 {
            var machine = script.started()
            var ceiling = Limits.retryBase
            for _ in 0..<Limits.retriesMax {
                let randomUnit = Double.random(in: 0..<1, using: &random)
                guard case .pause(let pause) = refused(&machine, randomUnit: randomUnit) else {
                    Issue.record("no pause")
                    return
                }
                #expect(pause >= .zero && pause < ceiling)
                #expect(pause == max(Limits.retryMin, ceiling * randomUnit))
                _ = machine.pauseEnded()
                ceiling *= 2
            }
        }
    }

    @Test("Retry-After is waited for, in seconds or as a date")
    func retryAfter() {
        let date = Timestamp.start.advanced(by: .seconds(4)).httpDate
        for (value, pause) in [
            ("3", .seconds(3)), ("0", .milliseconds(100)), ("10", .seconds(10)),
            (date, .milliseconds(3_880)), ("soon", .milliseconds(100)),
            ("-3", .milliseconds(100)), ("+3", .milliseconds(100)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", .milliseconds(100)),
        ] as [(String, Duration)] {
            var machine = script.started()
            #expect(refused(&machine, retryAfter: value) == .pause(pause), "\(value)")
        }
    }

    @Test("A Retry-After that is a date counts from the answer's own Date, whatever our clock says")
    func skewedRetryAfter() {
        for skew in [Duration.seconds(-3_600), .zero, .seconds(3_600)] {
            let date = Timestamp.start.advanced(by: skew)
            var headers = HeaderFields()
            headers.append("Date", date.httpDate)
            headers.append("Retry-After", date.advanced(by: .seconds(4)).httpDate)
            let head = ResponseHead(status: 503, headers: headers, now: .start)
            #expect(head.retryAfter == .seconds(4), "\(skew)")
        }
    }

    @Test(
        "A Retry-After that is too long is not waited for",
        arguments: ["11", "86400", "99999999999999999999", "Fri, 20 Nov 2026 19:43:27 GMT"]
    )
    func longRetryAfter(value: String) {
        var machine = script.started()
        #expect(refused(&machine, retryAfter: value) == .quote(status: 503))
    }

    @Test("An origin that is to be left alone is asked again after that, or not at all")
    func rest() {
        for (rest, pause) in [(3, Duration.seconds(3)), (11, nil)] {
            var machine = script.started()
            let asked = Duration.seconds(rest)
            let head = machine.headArrived(
                .of(503),
                remaining: .seconds(30),
                rest: asked,
                randomUnit: 0
            )
            #expect(head == (pause.map { .pause($0) } ?? .quote(status: 503)))
            machine = script.started()
            let failure = FlightFailure.unreachable("refused")
            let action = machine.attemptFailed(
                failure,
                remaining: .seconds(30),
                rest: asked,
                randomUnit: 0
            )
            #expect(action == (pause.map { .pause($0) } ?? .giveUp(failure)))
        }
    }

    @Test("An origin that was down at the start is asked once")
    func originDown() {
        var machine = script.started(isOriginDown: true)
        #expect(refused(&machine) == .quote(status: 503))
        machine = script.started(isOriginDown: true)
        let failure = FlightFailure.unreachable("refused")
        let action = machine.attemptFailed(failure, remaining: .seconds(30), randomUnit: 0)
        #expect(action == .giveUp(failure))
    }

    @Test("Nothing is asked again past the deadline")
    func deadline() {
        for (remaining, retryAfter, isRepeated) in [
            (.milliseconds(101), nil, true), (.milliseconds(100), nil, false),
            (.zero, nil, false), (.seconds(3), "3", false), (.milliseconds(3_001), "3", true),
        ] as [(Duration, String?, Bool)] {
            var machine = script.started()
            let action = refused(&machine, retryAfter: retryAfter, remaining: remaining)
            #expect((action != .quote(status: 503)) == isRepeated, "\(remaining)")
        }
        var machine = script.started()
        let failure = FlightFailure.unreachable("refused")
        let action = machine.attemptFailed(failure, remaining: .zero, randomUnit: 0)
        #expect(action == .giveUp(failure))
    }
}
