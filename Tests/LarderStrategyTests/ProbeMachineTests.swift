import LarderModel
import LarderStrategy
import LarderTestSupport
import Testing

@Suite("When an origin that is down is probed")
struct ProbeMachineTests {
    /// A machine that has gone down while `waiting` wait, and whose loop has begun if it may.
    private func down(waiting: Int) -> ProbeMachine {
        var machine = ProbeMachine(isDown: false)
        for _ in 0..<waiting { _ = machine.interestBegan() }
        _ = machine.wentDown()
        return machine
    }

    @Test("An origin is not probed during the rest that it asked all waiting clients for")
    func rest() {
        var machine = ProbeMachine(isDown: true)
        #expect(machine.interestBegan() == .pause(upTo: .seconds(1)))
        #expect(machine.pauseEnded(rest: .seconds(40)) == .rest(for: .seconds(40)))
        #expect(machine.state == .pausing)
        #expect(machine.pauseEnded() == .ask)
    }

    @Test("No probe is sent while no client waits or the origin is not down")
    func idle() {
        var machine = ProbeMachine(isDown: false)
        #expect(machine.interestBegan() == .nothing)
        machine.interestEnded()
        #expect(machine.wentDown() == .nothing)
        #expect(machine.state == .idle)
        machine.cameBack()
        #expect(machine.isForgettable)
    }

    @Test("The loop begins with whichever comes last: who waits, or the failure")
    func begins() {
        var machine = ProbeMachine(isDown: false)
        _ = machine.interestBegan()
        #expect(machine.wentDown() == .pause(upTo: .seconds(1)))
        machine = ProbeMachine(isDown: true)
        #expect(machine.interestBegan() == .pause(upTo: .seconds(1)))
        #expect(machine.state == .pausing)
        #expect(machine.interestBegan() == .nothing)
        #expect(machine.wentDown() == .nothing)
    }

    @Test("Pauses double up to half a minute")
    func pauses() {
        var machine = down(waiting: 1)
        var pauses: [Duration] = []
        for _ in 0..<8 {
            #expect(machine.pauseEnded() == .ask)
            guard case .pause(let pause) = machine.probeEnded() else {
                Issue.record("it stopped")
                return
            }
            pauses.append(pause)
        }
        #expect(pauses == [2, 4, 8, 16, 30, 30, 30, 30].map { .seconds($0) })
    }

    @Test("Chance draws a pause between its half and all of it")
    func randomUnit() {
        #expect(ProbeMachine.pause(upTo: .seconds(8), randomUnit: 0) == .seconds(4))
        #expect(ProbeMachine.pause(upTo: .seconds(8), randomUnit: 0.5) == .seconds(6))
        #expect(ProbeMachine.pause(upTo: .seconds(8), randomUnit: 0.9999) < .seconds(8))
    }

    @Test("The loop ends at its next step once no client waits")
    func nobodyWaits() {
        var machine = down(waiting: 1)
        machine.interestEnded()
        #expect(machine.pauseEnded() == .stop)
        #expect(machine.state == .idle)
        machine = down(waiting: 1)
        _ = machine.pauseEnded()
        machine.interestEnded()
        #expect(machine.probeEnded() == .nothing)
        #expect(machine.state == .idle)
    }

    @Test("A client that comes while the loop still pauses is served by it")
    func sameLoop() {
        var machine = down(waiting: 1)
        machine.interestEnded()
        #expect(machine.interestBegan() == .nothing)
        #expect(machine.pauseEnded() == .ask)
    }

    @Test("The loop ends when the origin is back, by a probe or otherwise")
    func back() {
        var machine = down(waiting: 2)
        machine.cameBack()
        #expect(machine.pauseEnded() == .stop)
        machine = down(waiting: 2)
        _ = machine.pauseEnded()
        machine.cameBack()
        #expect(machine.probeEnded() == .nothing)
        #expect(!machine.isForgettable)
    }

    @Test("A probe's answer alone does not make the next pause short again, a request's does")
    func flapping() {
        var machine = down(waiting: 1)
        for expected in [2, 4, 8] {
            _ = machine.pauseEnded()
            machine.cameBack()
            #expect(machine.probeEnded() == .nothing)
            #expect(machine.wentDown() == .pause(upTo: .seconds(expected)))
        }
        machine.requestAnswered()
        machine.cameBack()
        _ = machine.pauseEnded()
        #expect(machine.wentDown() == .pause(upTo: .seconds(1)))
    }

    @Test("In any order of events a probe goes out only while it is wanted", arguments: 0..<200)
    func random(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var machine = ProbeMachine(isDown: false)
        var waiting = 0
        var isDown = false
        for _ in 0..<500 {
            switch Int.random(in: 0..<7, using: &random) {
            case 0:
                let begins = machine.state == .idle && isDown
                waiting += 1
                #expect((machine.interestBegan() != .nothing) == begins)
            case 1 where waiting > 0:
                waiting -= 1
                machine.interestEnded()
            case 2:
                let begins = machine.state == .idle && waiting > 0
                isDown = true
                #expect((machine.wentDown() != .nothing) == begins)
            case 3:
                isDown = false
                machine.cameBack()
            case 4 where machine.state == .pausing:
                #expect((machine.pauseEnded() == .ask) == (waiting > 0 && isDown))
            case 5 where machine.state == .asking:
                let action = machine.probeEnded()
                #expect((action != .nothing) == (waiting > 0 && isDown))
                if case .pause(let ceiling) = action { #expect(ceiling <= .seconds(30)) }
            case 6:
                machine.requestAnswered()
            default: break
            }
            #expect(machine.waiting == waiting)
            // Whoever waits for an origin that is down is served by a loop.
            if waiting > 0, isDown { #expect(machine.state != .idle) }
        }
    }
}
