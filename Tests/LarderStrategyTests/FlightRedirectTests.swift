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

    /// Redirects to the moved URL.
    private func redirect(_ machine: inout FlightMachine, _ status: Int, _ control: String?) {
        var headers = HeaderFields()
        headers.append("Location", "/moved")
        if let control { headers.append("Cache-Control", control) }
        let head = ResponseHead(status: status, headers: headers, now: .start)
        let next = script.attempt(script.moved, conditional: false)
        let action = machine.headArrived(head, remaining: .seconds(30), randomUnit: 0)
        #expect(action == .ask(next))
    }

    @Test(
        "A redirect within the origin is followed, without the condition",
        arguments: [false, true]
    )
    func followed(conditional: Bool) {
        for status in [301, 302, 303, 307, 308] {
            var machine = script.started(conditional: conditional)
            let next = script.attempt(script.moved, conditional: false)
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

    @Test("The validators of an answer after a redirect go only to the URL that gave it")
    func source() {
        var machine = script.machine()
        let first = machine.started(at: script.home, hasValidators: true, from: script.moved)
        #expect(first == script.attempt(script.home, conditional: false))
        let moved = script.attempt(script.moved, conditional: true)
        #expect(head(&machine, 302, "/moved") == .ask(moved))
        #expect(machine.source == script.moved)
        #expect(head(&machine, 304, nil) == .refresh)
        let plain = script.attempt(script.moved, conditional: false)
        #expect(machine.refreshed(isGone: true) == .ask(plain))
    }

    @Test("A GET after a 303 to another method has no condition")
    func otherMethod() {
        let rules = FlightRules(
            url: script.home,
            method: .query,
            cachedIsJSON: false,
            accept: nil
        )
        var machine = FlightMachine(rules, isOriginDown: false)
        #expect(machine.started(at: script.home, hasValidators: true).isConditional)
        let plain = script.attempt(script.home, conditional: false)
        #expect(head(&machine, 303, "/x") == .ask(plain))
        #expect(machine.source == nil)
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

    @Test(
        "An answer is as fresh as the redirects to it",
        arguments: [
            (302, "no-cache", nil), (302, nil, nil), (303, nil, nil), (307, nil, nil),
            (302, "max-age=60", 60), (301, "max-age=60", 60), (308, "no-cache", nil),
            (301, "no-store", nil), (302, "no-store, max-age=60", nil),
            (301, nil, 31_536_000), (308, "public", 31_536_000),
        ] as [(Int, String?, Int?)]
    )
    func freshness(status: Int, control: String?, expected: Int?) {
        var machine = script.started()
        redirect(&machine, status, control)
        // A later permanent redirect takes nothing off.
        _ = head(&machine, 308, "/moved")
        #expect(head(&machine, 200, nil) == .receive)
        var answer = HeaderFields()
        answer.append("Cache-Control", "max-age=31536000, immutable")
        let freshness = machine.freshness(of: 200, answer, FetchSettings(), now: .start)
        let left = freshness.until.map { Int($0.since(.start).components.seconds) }
        #expect(left == expected)
        #expect(freshness.mayBeStored)
        // The operator's lifetime goes before that of redirects, too.
        var settings = FetchSettings()
        settings.ttl = .seconds(7)
        let own = machine.freshness(of: 200, answer, settings, now: .start)
        #expect(own.until == Timestamp.start.advanced(by: .seconds(7)))
    }

    @Test("Only no-store of the last answer forbids storing it")
    func noStore() {
        var machine = script.started()
        redirect(&machine, 301, "no-store")
        _ = head(&machine, 308, "/moved")
        _ = head(&machine, 200, nil)
        var answer = HeaderFields()
        #expect(machine.freshness(of: 200, answer, FetchSettings(), now: .start).mayBeStored)
        answer.append("Cache-Control", "no-store")
        #expect(!machine.freshness(of: 200, answer, FetchSettings(), now: .start).mayBeStored)
    }

    @Test("A flight that begins again forgets the redirects of before")
    func beginsAgain() {
        var machine = script.started()
        _ = head(&machine, 302, "/moved")
        _ = head(&machine, 200, nil)
        #expect(machine.bodyArrived() == .store)
        #expect(machine.overtaken() == .ask(script.attempt(script.home, conditional: false)))
        _ = head(&machine, 200, nil)
        var answer = HeaderFields()
        answer.append("Cache-Control", "max-age=60")
        let freshness = machine.freshness(of: 200, answer, FetchSettings(), now: .start)
        #expect(freshness.until == Timestamp.start.advanced(by: .seconds(60)))
    }

    @Test("A repetition asks where the redirect led to")
    func repeated() {
        var machine = script.started(conditional: true)
        let next = script.attempt(script.moved, conditional: false)
        _ = head(&machine, 302, "/moved")
        #expect(head(&machine, 503, nil) == .pause(FlightScript.pause))
        #expect(machine.pauseEnded() == next)
    }
}
