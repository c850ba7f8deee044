import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStrategy

@Suite("When origins are asked again for rows that are refreshed")
struct RefreshMachineTests {
    private typealias Row = RefreshMachine.Row
    private typealias Account = RefreshMachine.Account

    private let one: OriginName
    private let two: OriginName

    init() throws {
        one = try OriginName("one")
        two = try OriginName("two")
    }

    private func row(_ id: String, _ uid: UInt32 = 1_000) throws -> Row {
        Row(.own(uid: uid, account: .default), try EntryID(id))
    }

    private func follow(
        _ machine: inout RefreshMachine,
        _ row: Row,
        at origin: OriginName? = nil,
        every interval: Duration,
        age: Duration = .zero,
        now: Duration = .zero,
        _ randomUnit: Double = 0
    ) -> Bool {
        machine.followed(
            row,
            at: origin ?? one,
            every: interval,
            age: age,
            now: now,
            randomUnit: randomUnit
        )
    }

    private func look(
        _ machine: inout RefreshMachine,
        _ now: Duration,
        shut: Set<Account> = [],
        busy: Set<OriginName> = []
    ) -> [RefreshMachine.Poll] {
        machine.looked(
            now: now,
            isShut: { shut.contains($0) },
            isBusy: { origin, _ in busy.contains(origin) }
        )
    }

    @Test("The interval that an origin allows now bounds its rows, and a lower one frees them")
    func bounds() throws {
        var machine = RefreshMachine()
        let (first, other) = (try row("a"), try row("b"))
        #expect(follow(&machine, first, every: .seconds(10)))
        #expect(follow(&machine, other, at: two, every: .seconds(20)))
        machine.bounded(one, by: .seconds(60), now: .zero, randomUnit: 0)
        #expect(machine.schedule(of: first)?.interval == .seconds(60))
        #expect(machine.schedule(of: first)?.next == .seconds(60))
        #expect(machine.nextDue == .seconds(20))
        machine.bounded(one, by: .seconds(5), now: .zero, randomUnit: 0)
        #expect(machine.schedule(of: first)?.interval == .seconds(10))
        #expect(machine.nextDue == .seconds(10))
    }

    @Test("The shortest interval of followers and pin counts, and the last end stops it (S39)")
    func shortestInterval() throws {
        var machine = RefreshMachine()
        let row = try row("a")
        for _ in 0..<50 { #expect(follow(&machine, row, every: .seconds(30))) }
        #expect(machine.nextDue == .seconds(30))
        #expect(follow(&machine, row, every: .seconds(10)))
        #expect(machine.nextDue == .seconds(10))
        let isTaken = machine.pinned(
            row,
            at: one,
            every: .seconds(5),
            age: .zero,
            now: .zero,
            randomUnit: 0
        )
        #expect(isTaken)
        #expect(machine.nextDue == .seconds(5))
        machine.unpinned(row, now: .seconds(1), randomUnit: 0)
        #expect(machine.nextDue == .seconds(10))
        machine.unfollowed(row, every: .seconds(10), now: .seconds(1), randomUnit: 0)
        for _ in 0..<49 {
            machine.unfollowed(row, every: .seconds(30), now: .seconds(1), randomUnit: 0)
        }
        #expect(machine.nextDue == .seconds(30) && !machine.isEmpty)
        machine.unfollowed(row, every: .seconds(30), now: .seconds(1), randomUnit: 0)
        #expect(machine.isEmpty && machine.nextDue == nil)
        #expect(look(&machine, .seconds(100)) == [])
    }

    @Test("The interval counts from the last answer of any client, with a tenth of jitter (S39)")
    func lastAnswer() throws {
        var machine = RefreshMachine()
        let row = try row("a")
        #expect(follow(&machine, row, every: .seconds(100), age: .seconds(40)))
        #expect(machine.nextDue == .seconds(60))
        machine.answered(row.id, in: row.scope, now: .seconds(50), randomUnit: 0.5)
        #expect(machine.nextDue == .seconds(155))
        let other = Scope.own(uid: 1_001, account: .default)
        machine.answered(row.id, in: other, now: .seconds(60), randomUnit: 0)
        #expect(machine.nextDue == .seconds(155))
        // The row is the user's own, which an answer of the shared row does not change.
        machine.answered(row.id, in: .shared, now: .seconds(70), randomUnit: 0)
        #expect(machine.nextDue == .seconds(155))
        let polls = look(&machine, .seconds(155))
        machine.answered(row.id, in: .shared, now: .seconds(156), randomUnit: 0)
        machine.pollEnded(polls[0].number, .answered, now: .seconds(156), randomUnit: 0)
        machine.answered(row.id, in: .shared, now: .seconds(160), randomUnit: 0)
        #expect(machine.nextDue == .seconds(260), "its own request gave the shared row")
    }

    @Test("An answer of the shared row counts for all users without an own one (S39)")
    func sharedAnswer() throws {
        var machine = RefreshMachine()
        let row = try row("a")
        #expect(follow(&machine, row, every: .seconds(100), age: .seconds(40)))
        machine.answered(row.id, in: .shared, now: .seconds(20), randomUnit: 0)
        #expect(machine.nextDue == .seconds(120))
    }

    @Test("A row whose URL another origin has now waits for that one (S41)")
    func moved() throws {
        var machine = RefreshMachine()
        let (row, shop) = (try row("a"), try OriginName("shop"))
        #expect(follow(&machine, row, every: .seconds(10)))
        let polls = look(&machine, .seconds(10))
        machine.moved(row, to: shop)
        machine.pollEnded(polls[0].number, .shut, now: .seconds(11), randomUnit: 0)
        #expect(Array(machine.pausedAccounts) == [RefreshMachine.Account(shop, row.scope)])
        machine.moved(row, to: try OriginName("other"))
        #expect(machine.schedule(of: row)?.account.origin == shop, "it is not asked")
    }

    @Test("A row that is polled is asked by one poll, whose answer sets the next one (S39)")
    func onePoll() throws {
        var machine = RefreshMachine()
        let row = try row("a")
        #expect(follow(&machine, row, every: .seconds(10)))
        #expect(look(&machine, .seconds(9)) == [])
        let polls = look(&machine, .seconds(10))
        #expect(polls.map(\.row) == [row])
        #expect(follow(&machine, row, every: .seconds(5), now: .seconds(11)))
        #expect(look(&machine, .seconds(100)) == [])
        machine.pollEnded(polls[0].number, .answered, now: .seconds(101), randomUnit: 0)
        #expect(machine.nextDue == .seconds(106))
    }

    @Test("Errors double the wait, up to an hour or the interval, and success resets it (S41)")
    func doubles() throws {
        for (interval, waits) in [
            (600, [600, 1_200, 2_400, 3_600, 3_600]), (7_200, [7_200, 7_200, 7_200]),
        ] as [(Int, [Int])] {
            var machine = RefreshMachine()
            let row = try row("a")
            #expect(follow(&machine, row, every: .seconds(interval)))
            var now = Duration.zero
            for wait in waits {
                #expect(machine.nextDue == now + .seconds(wait))
                now += .seconds(wait)
                let poll = try #require(look(&machine, now).first)
                machine.pollEnded(poll.number, .failed, now: now, randomUnit: 0)
            }
            now = try #require(machine.nextDue)
            let poll = try #require(look(&machine, now).first)
            machine.pollEnded(poll.number, .answered, now: now, randomUnit: 0)
            #expect(machine.nextDue == now + .seconds(interval))
        }
    }

    @Test("No poll leaves through a shut account; then each row is asked once, in a minute (S41)")
    func shutAccount() throws {
        var machine = RefreshMachine()
        let account = Account(one, try row("0").scope)
        for n in 0..<100 {
            #expect(follow(&machine, try row("\(n)"), every: .seconds(n < 50 ? 20 : 3_600)))
        }
        var now = Duration.zero
        while now < .seconds(36_000) {
            #expect(look(&machine, now, shut: [account]) == [])
            now += .seconds(300)
        }
        #expect(machine.isHeldUp && machine.nextDue == nil)
        machine.accountOpened(account, now: now, randomUnit: 0.25)
        var asked: [Row: Duration] = [:]
        let end = now + .seconds(60)
        while now <= end {
            for poll in look(&machine, now) {
                if Int(poll.row.id.text).map({ $0 >= 50 }) == true {
                    #expect(asked[poll.row] == nil, "\(poll.row)")
                }
                asked[poll.row] = asked[poll.row] ?? now
                machine.pollEnded(poll.number, .answered, now: now, randomUnit: 0)
            }
            now += .milliseconds(100)
        }
        #expect(asked.count == 100)
        for (row, moment) in asked {
            let most = Int(row.id.text).map { $0 < 50 ? 20 : 60 } ?? 0
            #expect(moment <= end - .seconds(60 - most), "\(row)")
        }
        // The rows are spread: no second has more than a tenth of them.
        let seconds = Dictionary(grouping: asked.values) { $0.components.seconds }
        #expect(seconds.values.allSatisfy { $0.count <= 10 })
    }

    @Test("A poll that fails as its account is shut waits for it, whatever its errors were (S41)")
    func failsWithAccount() throws {
        var machine = RefreshMachine()
        let row = try row("a")
        let account = Account(one, row.scope)
        #expect(follow(&machine, row, every: .seconds(3_600)))
        let poll = try #require(look(&machine, .seconds(3_600)).first)
        machine.pollEnded(poll.number, .shut, now: .seconds(3_601), randomUnit: 0)
        #expect(Array(machine.pausedAccounts) == [account])
        #expect(machine.schedule(of: row)?.next == nil)
        #expect(look(&machine, .seconds(10_000), shut: [account]) == [])
        machine.accountOpened(account, now: .seconds(10_000), randomUnit: 0.5)
        #expect(machine.nextDue == .seconds(10_030))
    }

    @Test("The time of a suspend counts, and late rows are asked once each, in a minute (S41)")
    func suspend() throws {
        var machine = RefreshMachine()
        for n in 0..<20 {
            #expect(follow(&machine, try row("\(n)"), every: .seconds(n < 10 ? 30 : 7_200)))
        }
        machine.slept(for: .seconds(3_600), now: .seconds(1), randomUnit: 0)
        var late = Set<Row>()
        for second in 1...31 {
            for poll in look(&machine, .seconds(second)) {
                late.insert(poll.row)
                machine.pollEnded(
                    poll.number,
                    .answered,
                    now: .seconds(second),
                    randomUnit: 0
                )
            }
        }
        #expect(Set(late.map(\.id.text)) == Set((0..<10).map(String.init)))
        // Rows of two hours have half of it behind them.
        #expect(look(&machine, .seconds(3_599)).allSatisfy { late.contains($0.row) })
        #expect(machine.schedule(of: try row("10"))?.next == .seconds(3_600))
    }

    @Test("At most two polls are in flight to an origin, and none while clients need it (S40)")
    func places() throws {
        var machine = RefreshMachine()
        for n in 0..<5 { #expect(follow(&machine, try row("\(n)"), every: .seconds(5))) }
        #expect(follow(&machine, try row("b"), at: two, every: .seconds(5)))
        #expect(look(&machine, .seconds(5), busy: [one]).map(\.row.id.text) == ["b"])
        #expect(machine.isHeldUp)
        let polls = look(&machine, .seconds(6))
        #expect(polls.count == 2)
        #expect(look(&machine, .seconds(7)) == [])
        machine.pollEnded(polls[0].number, .answered, now: .seconds(7), randomUnit: 0)
        #expect(look(&machine, .seconds(7)).count == 1)
    }

    @Test("The 1,000 rows of one user hold up another user's row by one poll at most (S40)")
    func fairness() throws {
        var machine = RefreshMachine()
        for n in 0..<1_000 { #expect(follow(&machine, try row("\(n)"), every: .seconds(5))) }
        #expect(!follow(&machine, try row("one more"), every: .seconds(5)))
        // Another follower of a row that is polled takes no place.
        #expect(follow(&machine, try row("7"), every: .seconds(5)))
        let other = try row("a", 1_001)
        #expect(follow(&machine, other, every: .seconds(6)))
        var polls = look(&machine, .seconds(5))
        #expect(polls.count == 2)
        machine.pollEnded(polls[0].number, .answered, now: .seconds(6), randomUnit: 0)
        polls = look(&machine, .seconds(6))
        machine.pollEnded(polls[0].number, .answered, now: .seconds(7), randomUnit: 0)
        let next = look(&machine, .seconds(7))
        #expect((polls + next).map(\.row).contains(other))
    }

    @Test("The slow origins of one user take at most 16 places (S40)")
    func placesOfUser() throws {
        var machine = RefreshMachine()
        for n in 0..<40 {
            let origin = try OriginName("o\(n)")
            #expect(follow(&machine, try row("\(n)"), at: origin, every: .seconds(5)))
        }
        #expect(look(&machine, .seconds(5)).count == 16)
        #expect(follow(&machine, try row("a", 1_001), at: two, every: .seconds(5)))
        #expect(look(&machine, .seconds(6)).map(\.row.id.text) == ["a"])
    }

    @Test("Any order of events keeps the invariants, and each row is asked in time (S39, S40, S41)")
    func simulation() throws {
        for seed in SimulationSeeds.first(40) { try simulate(seed) }
    }
}

extension RefreshMachineTests {
    private func simulate(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var machine = RefreshMachine()
        var now = Duration.zero
        var (shut, followers, inFlight) = (Set<Account>(), [(Row, Duration)](), [Int]())
        var asked: [Row: Duration] = [:]
        func unit() -> Double { Double(random.next() >> 11) / 9_007_199_254_740_992 }
        for _ in 0..<600 {
            now += .milliseconds(Int64(random.next() % 3_000))
            let row = try row("\(random.next() % 6)", 1_000 + UInt32(random.next() % 2))
            let origin = Int(row.id.text).map { $0 % 2 == 0 } == true ? one : two
            let account = Account(origin, row.scope)
            let interval = Duration.seconds([5, 7, 60][Int(random.next() % 3)])
            switch random.next() % 9 {
            case 0, 1:
                if follow(&machine, row, at: origin, every: interval, now: now, unit()) {
                    followers.append((row, interval))
                }
            case 2 where !followers.isEmpty:
                let (row, interval) = followers.remove(
                    at: Int(random.next() % UInt64(followers.count))
                )
                machine.unfollowed(row, every: interval, now: now, randomUnit: unit())
            case 3: shut.insert(account)
            case 4:
                shut.remove(account)
                machine.accountOpened(account, now: now, randomUnit: unit())
            case 5 where !inFlight.isEmpty:
                let outcomes: [RefreshMachine.Outcome] = [.answered, .failed, .shut]
                let number = inFlight.remove(at: Int(random.next() % UInt64(inFlight.count)))
                let outcome = outcomes[Int(random.next() % 3)]
                machine.pollEnded(number, outcome, now: now, randomUnit: unit())
            case 6: machine.answered(row.id, in: row.scope, now: now, randomUnit: unit())
            case 7: machine.slept(for: .seconds(random.next() % 90), now: now, randomUnit: unit())
            default: break
            }
            for poll in look(&machine, now, shut: shut) {
                let account = try #require(machine.schedule(of: poll.row)).account
                #expect(!shut.contains(account), "seed \(seed)")
                inFlight.append(poll.number)
                asked[poll.row] = now
            }
        }
        // Everything that is polled goes on once nothing is in its way.
        for account in Array(machine.pausedAccounts) {
            machine.accountOpened(account, now: now, randomUnit: 0.5)
        }
        for number in inFlight { machine.pollEnded(number, .answered, now: now, randomUnit: 0) }
        asked = [:]
        let polled = Set(followers.map(\.0))
        let end = now + .seconds(3_700)
        while now < end {
            for poll in look(&machine, now) {
                asked[poll.row] = now
                machine.pollEnded(poll.number, .answered, now: now, randomUnit: unit())
            }
            now += .seconds(10)
        }
        #expect(Set(asked.keys) == polled, "seed \(seed)")
        for (row, interval) in followers {
            machine.unfollowed(row, every: interval, now: now, randomUnit: 0)
        }
        #expect(machine.isEmpty && machine.nextDue == nil && !machine.isHeldUp, "seed \(seed)")
    }
}
