import LarderModel
import Testing

@testable import LarderStrategy

@Suite("When origins are asked for what pins wait for")
struct PinRetryMachineTests {
    private let one: PinLine
    private let two: PinLine

    init() throws {
        one = PinLine(try OriginName("one"), 1_000)
        two = PinLine(try OriginName("two"), 1_000)
    }

    @Test("An origin is asked immediately, and by one task at a time")
    func asksOnce() {
        var machine = PinRetryMachine()
        #expect(machine.looked([two, one], now: .zero) == [one, two])
        #expect(machine.looked([two, one], now: .seconds(100)) == [])
        #expect(machine.nextDue == nil)
        machine.reached(one)
        #expect(machine.looked([two, one], now: .seconds(100)) == [one])
    }

    @Test("An origin rests 1 s, then twice as long each time, and at most 30 s")
    func rests() {
        var machine = PinRetryMachine()
        var now = Duration.zero
        for seconds in [1, 2, 4, 8, 16, 30, 30, 30] {
            #expect(machine.looked([one], now: now) == [one])
            machine.notReached(one, now: now)
            let due = now + .seconds(seconds)
            #expect(machine.nextDue == due)
            #expect(machine.looked([one], now: due - .milliseconds(1)) == [])
            now = due
        }
        for _ in 0..<100 { machine.notReached(one, now: now) }
        #expect(machine.nextDue == now + .seconds(30))
    }

    @Test("An origin that has asked all for a rest is asked after it, and no sooner")
    func askedForRest() {
        var machine = PinRetryMachine()
        #expect(machine.looked([], resting: [one: .seconds(60)], now: .zero) == [])
        #expect(machine.nextDue == .seconds(60))
        #expect(machine.looked([], resting: [one: .seconds(60)], now: .seconds(1)) == [])
        #expect(machine.looked([one], now: .seconds(60)) == [one])
        // Its own answer asks for one.
        machine.notReached(one, now: .seconds(60))
        #expect(machine.looked([], resting: [one: .seconds(90)], now: .seconds(60)) == [])
        #expect(machine.nextDue == .seconds(90))
        // Others' pins are asked for meanwhile.
        #expect(machine.looked([one], resting: [one: .seconds(90)], now: .seconds(90)) == [one])
    }

    @Test("An origin that answers any client is asked immediately, and its failures are forgotten")
    func comesBack() {
        var machine = PinRetryMachine()
        for _ in 0..<5 { machine.notReached(one, now: .zero) }
        machine.originAnswered(one.origin)
        #expect(machine.nextDue == nil)
        #expect(machine.looked([one], now: .zero) == [one])
        // It answers while it is asked, and what is asked fails all the same.
        machine.originAnswered(one.origin)
        #expect(machine.looked([one], now: .zero) == [])
        machine.notReached(one, now: .zero)
        #expect(machine.nextDue == .seconds(1))
    }

    @Test("An origin that rests does not hold up another")
    func apart() {
        var machine = PinRetryMachine()
        machine.notReached(one, now: .zero)
        #expect(machine.looked([one, two], now: .zero) == [two])
        machine.notReached(two, now: .milliseconds(500))
        #expect(machine.nextDue == .seconds(1))
        #expect(machine.looked([one, two], now: .seconds(1)) == [one])
        #expect(machine.nextDue == .milliseconds(1_500))
    }

    @Test("The lines of users at one origin are asked apart, and its answer ends the rests of all")
    func users() {
        let other = PinLine(one.origin, 1_001)
        var machine = PinRetryMachine()
        #expect(machine.looked([one], now: .zero) == [one])
        #expect(machine.looked([other, one], now: .zero) == [other])
        machine.notReached(other, now: .zero)
        machine.reached(one)
        #expect(machine.looked([other, one], now: .zero) == [one])
        machine.notReached(one, now: .zero)
        #expect(machine.looked([other, one, two], now: .zero) == [two])
        machine.originAnswered(one.origin)
        #expect(machine.looked([other, one, two], now: .zero) == [one, other])
    }

    @Test("A client's own attempt for a pin starts no second task for a line that is asked")
    func clients() {
        var machine = PinRetryMachine()
        #expect(machine.looked([one], now: .zero) == [one])
        machine.clientFailed(one, now: .zero)
        #expect(machine.looked([one], now: .seconds(100)) == [])
        machine.originAnswered(one.origin)
        #expect(machine.looked([one], now: .seconds(100)) == [])
        machine.reached(one)
        machine.clientFailed(one, now: .seconds(100))
        #expect(machine.nextDue == .seconds(101))
    }

    @Test("An origin without waiting pins is forgotten, unless a task is asking it")
    func forgets() {
        var machine = PinRetryMachine()
        machine.notReached(one, now: .zero)
        #expect(machine.looked([two], now: .zero) == [two])
        #expect(machine.looked([], now: .zero) == [])
        #expect(machine.lines == [two: .asked(failures: 0)])
        machine.originAnswered(one.origin)
        machine.reached(two)
        #expect(machine == PinRetryMachine())
    }

    @Test("A user's new credential ends the rests of that user's pins only")
    func credentialOfUser() {
        var machine = PinRetryMachine()
        let other = PinLine(one.origin, 1_001)
        #expect(machine.looked([one, other], now: .zero) == [one, other])
        machine.notReached(one, now: .zero)
        machine.notReached(other, now: .zero)
        machine.originAnswered(one.origin, of: 1_000)
        #expect(machine.looked([one, other], now: .zero) == [one])
    }
}
