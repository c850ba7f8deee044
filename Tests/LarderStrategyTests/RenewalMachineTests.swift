import LarderModel
import Testing

@testable import LarderStrategy

@Suite("Clients that renew a credential")
struct RenewalMachineTests {
    private let refused = RenewalMachine.Need(.refused, due: .zero)

    private func machine(waiting clients: Int...) -> RenewalMachine {
        var machine = RenewalMachine()
        for client in clients { machine.clientCame(client) }
        return machine
    }

    @Test("The client that has waited longest gets the order, and no other while it has the lease")
    func oneAtATime() {
        var machine = machine(waiting: 1, 2)
        #expect(machine.next(for: 1, nil, lease: "a", now: .zero) == .wait(until: nil))
        #expect(machine.next(for: 2, refused, lease: "a", now: .zero) == .wait(until: nil))
        #expect(machine.next(for: 1, refused, lease: "a", now: .zero) == .renew(.refused))
        #expect(machine.isHeld("a"))
        let later = Duration.seconds(3_600)
        #expect(machine.next(for: 2, refused, lease: "b", now: later) == .wait(until: nil))
        machine.leaseEnded("a")
        #expect(!machine.isHeld("a"))
        #expect(machine.next(for: 2, refused, lease: "b", now: later) == .renew(.refused))
        machine.leaseEnded("a")
        #expect(machine.isHeld("b"), "the end of another lease changes nothing")
    }

    @Test("A client is told the moment from which the credential has to be renewed")
    func expiring() {
        var machine = machine(waiting: 1)
        let need = RenewalMachine.Need(.expiring, due: .seconds(9))
        #expect(machine.next(for: 1, need, lease: "a", now: .zero) == .wait(until: .seconds(9)))
        #expect(machine.next(for: 1, need, lease: "a", now: .seconds(9)) == .renew(.expiring))
    }

    @Test("A client that leaves the line makes room for the next")
    func left() {
        var machine = machine(waiting: 1, 2)
        machine.clientLeft(1)
        #expect(machine.next(for: 2, refused, lease: "a", now: .zero) == .renew(.refused))
    }

    @Test("A lease is good until another order, another credential or its own comes")
    func leases() {
        var machine = machine(waiting: 1, 2)
        #expect(machine.saving(under: "a") == false)
        _ = machine.next(for: 1, refused, lease: "a", now: .zero)
        machine.leaseEnded("a")
        #expect(machine.saving(under: "a") == true, "no other client has an order yet")
        #expect(machine.next(for: 2, refused, lease: "b", now: .seconds(60)) == .wait(until: nil))
        machine.notSaved()
        #expect(machine.next(for: 2, refused, lease: "b", now: .seconds(60)) == .renew(.refused))
        #expect(machine.saving(under: "a") == false)
        #expect(machine.saving(under: "b") == true)
        machine.credentialChanged()
        #expect(machine.saving(under: "b") == false)
        #expect(machine.lease == .none)
    }

    @Test("Orders without success come 1 s, 2 s, 4 s after each other, at most 5 min")
    func pauses() {
        var machine = RenewalMachine()
        var now = Duration.zero
        for (client, seconds) in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300].enumerated() {
            machine.clientCame(client)
            #expect(machine.next(for: client, refused, lease: "a", now: now) == .renew(.refused))
            #expect(machine.saving(under: "a") == true)
            machine.credentialChanged()
            #expect(machine.rest == now + .seconds(seconds))
            #expect(!machine.isIdle(now: now))
            machine.credentialTaken(now: now)
            now = machine.rest
            #expect(machine.isIdle(now: now))
        }
        machine.credentialTaken(now: now)
        machine.clientCame(99)
        #expect(machine.next(for: 99, refused, lease: "a", now: now) == .renew(.refused))
        #expect(machine.rest == now + .seconds(1), "a success was the end of the failures")
    }

    @Test("Clients that always have to renew soon get one order in a minute after seven")
    func bounded() {
        var machine = RenewalMachine()
        let need = RenewalMachine.Need(.expiring, due: .zero)
        var moments: [Duration] = []
        for client in 0..<10 {
            machine.clientCame(client)
            let now = machine.rest
            #expect(machine.next(for: client, need, lease: "a", now: now) == .renew(.expiring))
            moments.append(now)
            if client.isMultiple(of: 2) { #expect(machine.saving(under: "a") == true) }
            machine.credentialChanged()
            machine.credentialTaken(now: machine.rest)
        }
        let seconds = [0, 1, 2, 3, 4, 5, 6, 66, 126, 186]
        #expect(moments == seconds.map { .seconds($0) })
    }

    @Test("A user's own login, and a renewal before the end, are successes")
    func successes() {
        var machine = machine(waiting: 1, 2, 3)
        _ = machine.next(for: 1, refused, lease: "a", now: .zero)
        machine.credentialChanged()
        #expect(machine.orders == 0)
        let need = RenewalMachine.Need(.expiring, due: .zero)
        #expect(machine.next(for: 2, need, lease: "b", now: .seconds(1)) == .renew(.expiring))
        #expect(machine.saving(under: "b") == true)
        machine.credentialChanged()
        #expect(machine.orders == 0)
        #expect(
            machine.next(for: 3, need, lease: "c", now: .seconds(1)) == .wait(until: .seconds(2))
        )
    }
}
