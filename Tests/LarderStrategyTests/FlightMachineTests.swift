import LarderModel
import LarderStrategy
import Testing

@Suite("A flight")
struct FlightMachineTests {
    private let script: FlightScript

    init() throws {
        script = try FlightScript()
    }

    private func head(
        _ machine: inout FlightMachine,
        _ head: ResponseHead
    ) -> FlightMachine.HeadAction {
        machine.headArrived(head, remaining: .seconds(30), randomUnit: FlightScript.randomUnit)
    }

    @Test("Every event in every state does what the table says")
    func table() {
        for row in FlightTable(script).rows {
            var machine = script.machine(in: row.place)
            #expect(machine.state == script.state(row.place))
            #expect(script.react(&machine, row.event) == row.reaction, "\(row.place), \(row.event)")
            #expect(machine.state == row.next, "\(row.place), \(row.event)")
        }
    }

    @Test("The table has every event in every state once")
    func tableIsComplete() {
        let rows = FlightTable(script).rows
        for place in FlightPlace.allCases {
            for event in FlightEvent.allCases {
                let found = rows.filter { $0.place == place && $0.event == event }
                #expect(found.count == 1, "\(place), \(event)")
            }
        }
        #expect(rows.count == FlightPlace.allCases.count * FlightEvent.allCases.count)
    }

    @Test("A flight gives up in every state, once", arguments: FlightPlace.allCases)
    func gaveUp(place: FlightPlace) {
        var machine = script.machine(in: place)
        #expect(machine.gaveUp() == (place != .finished))
        #expect(machine.state == .finished)
        for event in FlightEvent.allCases {
            let before = machine
            _ = script.react(&machine, event)
            #expect(machine == before, "\(event)")
        }
    }

    @Test("A flight asks with a condition if a cached answer has validators")
    func start() {
        for isConditional in [false, true] {
            var machine = script.machine()
            let attempt = machine.started(at: script.home, hasValidators: isConditional)
            #expect(attempt == script.attempt(script.home, conditional: isConditional))
            #expect(machine.state == .asking(attempt))
        }
    }

    @Test("The body of every 2xx is received", arguments: [200, 201, 203, 204, 226, 299])
    func success(status: Int) {
        var machine = script.started()
        #expect(head(&machine, .of(status)) == .receive)
        #expect(machine.bodyArrived() == .store)
        #expect(machine.stored() == true)
        #expect(machine.state == .finished)
    }

    @Test("A 404 and a 410 write a tombstone over a cached answer", arguments: [404, 410])
    func writeTombstone(status: Int) {
        var machine = script.started(conditional: true)
        #expect(head(&machine, .of(status, type: "text/html")) == .writeTombstone(status: status))
        #expect(machine.stored() == true)
        #expect(machine.state == .finished)
    }

    @Test(
        "Any other status is quoted and reported",
        arguments: [300, 305, 400, 401, 403, 405, 409, 429, 451, 500, 501, 505, 599]
    )
    func refusal(status: Int) {
        var machine = script.started(conditional: true)
        #expect(head(&machine, .of(status, type: "text/html")) == .quote(status: status))
        #expect(machine.bodyArrived() == .report(status: status))
        #expect(machine.state == .finished)
    }

    @Test("An answer that a 304 confirmed is reported")
    func refreshed() {
        var machine = script.started(conditional: true)
        #expect(head(&machine, .of(304, location: "/elsewhere")) == .refresh)
        #expect(machine.refreshed(isGone: false) == .tell)
        #expect(machine.state == .finished)
    }

    @Test("A 304 for what was evicted meanwhile is asked again without the validator")
    func refreshedGone() {
        var machine = script.started(conditional: true)
        let plain = script.attempt(script.home, conditional: false)
        #expect(head(&machine, .of(304)) == .refresh)
        #expect(machine.refreshed(isGone: true) == .ask(plain))
        // It stays so over pauses and redirects, so a second 304 cannot go round for ever.
        #expect(head(&machine, .of(503)) == .pause(FlightScript.pause))
        #expect(machine.pauseEnded() == plain)
        let moved = script.attempt(script.moved, conditional: false)
        #expect(head(&machine, .of(307, location: "/moved")) == .ask(moved))
        #expect(head(&machine, .of(304)) == .giveUp(.badAnswer("304 to a plain request")))
    }

    @Test("An answer that writes overtook is requested once more; then the cached one is told")
    func overtaken() {
        var machine = script.started(conditional: true)
        let plain = script.attempt(script.home, conditional: false)
        for _ in 0..<Limits.overtakesMax {
            #expect(head(&machine, .of(200)) == .receive)
            #expect(machine.bodyArrived() == .store)
            #expect(machine.overtaken() == .ask(plain))
        }
        #expect(head(&machine, .of(404)) == .writeTombstone(status: 404))
        #expect(machine.overtaken() == .tellCached)
        #expect(machine.state == .finished)
    }

    @Test("A 304 to a plain request is a bad answer")
    func plainNotModified() {
        var machine = script.started()
        #expect(head(&machine, .of(304)) == .giveUp(.badAnswer("304 to a plain request")))
        #expect(machine.state == .finished)
    }

    @Test("A portal is neither stored nor quoted")
    func captive() throws {
        let portal = FlightMachine.HeadAction.giveUp(.captive(host: "a.example"))
        var machine = script.started()
        #expect(head(&machine, .of(511)) == portal)

        machine = script.machine(accept: "application/json")
        _ = machine.started(at: script.home, hasValidators: false)
        #expect(head(&machine, .of(200, type: "text/html; charset=utf-8")) == portal)
        #expect(machine.state == .finished)
    }
}
