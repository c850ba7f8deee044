import LarderModel
import LarderStrategy
import Testing

@Suite("Redirects of a flight")
struct FlightRedirectTests {
    private let script: FlightScript

    init() throws {
        script = try FlightScript()
    }

    private func head(
        _ machine: inout FlightMachine,
        _ status: Int,
        _ location: String?
    ) -> FlightMachine.HeadAction {
        machine.headArrived(
            .of(status, location: location),
            remaining: .seconds(30),
            randomUnit: FlightScript.randomUnit
        )
    }

    @Test("A redirect within the origin is followed, with the condition", arguments: [false, true])
    func followed(conditional: Bool) {
        for status in [301, 302, 303, 307, 308] {
            var machine = script.started(conditional: conditional)
            let next = script.attempt(script.moved, conditional: conditional)
            #expect(head(&machine, status, "/moved") == .ask(next))
            #expect(machine.state == .asking(next))
        }
    }

    @Test("A redirect to another host over TLS is refused with its name")
    func refused() {
        var machine = script.started()
        let failure = FlightFailure.redirectRefused(host: "b.example")
        #expect(head(&machine, 302, "//b.example/x") == .giveUp(failure))
        #expect(machine.state == .finished)
    }

    @Test("A redirect to another host over plain http is a captive portal's")
    func captive() throws {
        let url = try WebURL("http://a.example/x")
        var machine = FlightMachine(
            FlightRules(url: url, cachedIsJSON: false, accept: nil),
            isOriginDown: false
        )
        _ = machine.started(at: url, hasValidators: false)
        let portal = FlightFailure.captive(host: "portal.example")
        #expect(head(&machine, 302, "http://portal.example/login") == .giveUp(portal))
    }

    @Test("A loop ends after the limit")
    func loop() {
        var machine = script.started()
        let next = script.attempt(script.home, conditional: false)
        for _ in 0..<Limits.redirectsMax {
            #expect(head(&machine, 302, "/x") == .ask(next))
        }
        let message = "more than \(Limits.redirectsMax) redirects"
        #expect(head(&machine, 302, "/x") == .giveUp(.badAnswer(message)))
        #expect(machine.state == .finished)
    }

    @Test("A redirect without a usable Location is a bad answer")
    func nowhere() {
        var machine = script.started()
        #expect(head(&machine, 302, nil) == .giveUp(.badAnswer("302 without a Location")))
        machine = script.started()
        #expect(
            head(&machine, 302, "android-app://c/d")
                == .giveUp(.badAnswer("a redirect to 'android-app://c/d', which is no URL"))
        )
    }

    @Test("A repetition asks where the redirect led to")
    func repeated() {
        var machine = script.started(conditional: true)
        let next = script.attempt(script.moved, conditional: true)
        _ = head(&machine, 302, "/moved")
        #expect(head(&machine, 503, nil) == .pause(FlightScript.pause))
        #expect(machine.pauseEnded() == next)
    }
}
