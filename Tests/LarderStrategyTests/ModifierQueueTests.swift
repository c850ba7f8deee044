import LarderModel
import LarderStrategy
import Testing

@Suite("The modifier queue")
struct ModifierQueueTests {
    private var script: QueueScript

    init() throws {
        script = try QueueScript()
    }

    @Test("Nothing is sent before its send step is committed, and nothing leaves before its settle")
    mutating func steps() throws {
        let number = ModifierNumber(1)
        #expect(script.accept([try script.record(1, ["x"])]) == [.commitSend(number)])
        #expect(script.accept([try script.record(2, ["x"])]).isEmpty)
        #expect(script.queue.sendCommitted(number, now: script.now) == [.send(number)])
        #expect(script.end(1, .confirmed(.none)) == [script.settle(1, .confirmed)])
        #expect(script.queue.count == 2)
        let next = script.queue.settleCommitted(number, now: script.now)
        #expect(next == [.commitSend(ModifierNumber(2))])
        #expect(script.queue.count == 1)
    }

    @Test("An answered modifier leaves its lanes and counts as confirmed, until shown (case 29)")
    mutating func answered() throws {
        let number = ModifierNumber(1)
        #expect(script.add([try script.record(1, ["x"])]) == [1])
        var child = try script.record(3, ["y"])
        child.dependsOn = [number]
        #expect(script.accept([try script.record(2, ["x"]), child]).isEmpty)
        #expect(script.end(1, .confirmed(.none)) == [script.settle(1, .confirmed)])
        let next = script.queue.answerCommitted(number, now: script.now)
        #expect(next == [.commitSend(ModifierNumber(2)), .commitSend(ModifierNumber(3))])
        #expect(script.queue.state(of: number) == .accepted)
        #expect(script.queue.waitingFor(number) == .confirmation(until: nil))
        #expect(script.queue.nextWake == nil, "no time limit ends it")
        #expect(script.queue.readConfirmed(number, now: script.now).isEmpty)
        #expect(script.queue.answerShown(number, now: script.now).isEmpty)
        #expect(script.queue.state(of: number) == nil)
        #expect(script.queue.answerCommitted(number, now: script.now).isEmpty)
    }

    @Test("A modifier that was answered 202 leaves with a later one of its target (case 7)")
    mutating func beneath() throws {
        #expect(script.add([try script.record(1, ["x"])]) == [1])
        var child = try script.record(3, ["y"])
        child.dependsOn = [ModifierNumber(1)]
        #expect(script.accept([child]).isEmpty)
        _ = script.end(1, .accepted)
        _ = script.queue.changeCommitted(ModifierNumber(1), now: script.now)
        let next = script.queue.answerShown(ModifierNumber(1), now: script.now)
        #expect(next == [.commitSend(ModifierNumber(3))])
        #expect(script.queue.state(of: ModifierNumber(1)) == nil)
    }

    @Test("After a start an answered modifier is still answered, and its child is sent (case 29)")
    mutating func answeredBefore() throws {
        var parent = try script.record(1, ["x"])
        (parent.state, parent.isAnswered) = (.accepted, true)
        var child = try script.record(2, ["x"])
        child.dependsOn = [ModifierNumber(1)]
        let actions = script.queue.restored(
            [parent, child],
            acceptedLimit: { _ in .seconds(1) },
            now: script.now,
            wall: Timestamp(milliseconds: 0)
        )
        #expect(actions == [.commitSend(ModifierNumber(2))])
        let ended = try script.queue.discardAsked(ModifierNumber(1), now: script.now)
        #expect(ended == [.endWait(ModifierNumber(1))], "it only shows no more")
    }

    @Test("A send step that the disk refuses is tried again after a pause, and counts nothing")
    mutating func sendNotCommitted() throws {
        let number = ModifierNumber(1)
        _ = script.accept([try script.record(1)])
        let actions = script.queue.sendNotCommitted(number, randomUnit: 0.5, now: script.now)
        #expect(actions.isEmpty)
        #expect(script.queue.nextWake == script.now + .milliseconds(750))
        #expect(script.pass(.milliseconds(750)) == [.commitSend(number)])
        #expect(script.run([.commitSend(number)]) == [1])
        #expect(script.end(1, .authNeeded) == [script.change(1, .authWait, attempts: 0)])
    }

    @Test("If the trial of an origin that is down cannot be committed, another tries (case 9)")
    mutating func trialNotCommitted() throws {
        let (name, now) = (script.origin, script.now)
        _ = script.queue.originWentDown(name, isCaptive: false, randomUnit: 0.5, now: now)
        #expect(script.add([try script.record(1), try script.record(2)]).isEmpty)
        let (first, second) = (ModifierNumber(1), ModifierNumber(2))
        #expect(script.queue.originWoken(name, now: now) == [.commitSend(first)])
        let next = script.queue.sendNotCommitted(first, randomUnit: 0.5, now: now)
        #expect(next == [.commitSend(second)])
        #expect(script.run(next) == [2])
        #expect(script.finish(2, .confirmed(.none)).isEmpty)
        #expect(script.run(script.pass(.milliseconds(750))) == [1])
    }

    @Test("After a 500 a repeatable write goes on, another needs a person after 5 (case 10)")
    mutating func serverFailed() throws {
        let failure = ModifierVerdict.serverFailed(retryAfter: nil)
        var once = try script.record(1)
        once.resends = false
        #expect(script.add([once]) == [1])
        for attempt in 1...4 {
            _ = script.finish(1, failure)
            #expect(script.queue.state(of: ModifierNumber(1)) == .retryWait, "\(attempt)")
            #expect(script.run(script.pass(.seconds(300))) == [1])
        }
        _ = script.finish(1, failure)
        #expect(script.queue.state(of: ModifierNumber(1)) == .unknown)
        #expect(script.queue.waitingFor(ModifierNumber(1)) == .decision)
    }

    @Test("After a 500 to its last attempt only a repeatable write fails (case 10)")
    mutating func lastServerFailed() throws {
        for isRepeatable in [true, false] {
            script = try QueueScript()
            var record = try script.record(1, resends: isRepeatable)
            record.attemptsMax = 1
            #expect(script.add([record]) == [1])
            let unknown = script.change(1, .unknown, notApplied: 1)
            let expected = isRepeatable ? script.settle(1, .failed(.attempts)) : unknown
            #expect(script.end(1, .serverFailed(retryAfter: nil)) == [expected])
        }
    }

    @Test("With after_unknown: hold a person decides after the first 500 (case 10)")
    mutating func heldServerFailed() throws {
        var held = try script.record(1)
        (held.resends, held.holds) = (false, true)
        #expect(script.add([held]) == [1])
        _ = script.finish(1, .serverFailed(retryAfter: nil))
        #expect(script.queue.waitingFor(ModifierNumber(1)) == .decision)
    }

    @Test("A portal's answer to a POST puts it back into the queue, uncounted (case 25)")
    mutating func portal() throws {
        var post = try script.record(1)
        post.resends = false
        #expect(script.add([post]) == [1])
        #expect(script.end(1, .captive) == [script.change(1, .queued, attempts: 0)])
    }

    @Test("A 202 leaves its lanes once committed; a read or time confirms it (case 7)")
    mutating func accepted() throws {
        let records = [
            try script.record(1, ["x"]), try script.record(2, ["x"]),
            try script.record(3, dependsOn: [1]),
        ]
        #expect(script.add(records) == [1])
        let end = script.now + .seconds(600)
        let actions = script.end(1, .accepted)
        #expect(actions == [script.change(1, .accepted, until: end)])
        #expect(script.run(actions) == [2])
        #expect(script.wait(1) == .confirmation(until: end))
        #expect(script.wait(3) == .dependency(ModifierNumber(1)))
        var other = script
        #expect(script.pass(.seconds(600)) == [script.settle(1, .confirmed)])
        let read = other.queue.readConfirmed(ModifierNumber(1), now: other.now)
        #expect(read == [other.settle(1, .confirmed)])
        #expect(other.run(read) == [3])
    }

    @Test("If no byte can have left, no attempt counts, and one modifier tries first (case 9)")
    mutating func neverLeft() throws {
        let lanes = ["x", "y", "z"].map { [$0] }
        let records = try lanes.enumerated().map { try script.record(Int64($0) + 1, $1) }
        #expect(script.add(records) == [1, 2, 3])
        for number in 1...3 {
            let actions = script.end(Int64(number), .neverLeft)
            #expect(actions == [script.change(Int64(number), .queued, attempts: 0)])
            #expect(script.run(actions).isEmpty)
        }
        // Between the half of 1 s and all of it.
        let trial = script.now + .milliseconds(750)
        #expect(script.wait(2) == .offline(until: trial))
        #expect(script.queue.nextWake == trial)
        #expect(script.run(script.pass(.milliseconds(750))) == [1])
        #expect(script.wait(2) == .probe(ModifierNumber(1)))
        #expect(script.finish(1, .neverLeft).isEmpty)
        #expect(script.queue.nextWake == script.now + .milliseconds(1_500))
        #expect(script.run(script.pass(.milliseconds(1_500))) == [1])
        #expect(script.finish(1, .confirmed(.none)).isEmpty)
        #expect(script.wait(2) == .offline(until: script.now + .milliseconds(500)))
        #expect(script.run(script.pass(.milliseconds(500))) == [2, 3])
    }

    @Test("An answer or an operator wakes an origin, unless it is set offline (case 9)")
    mutating func woken() throws {
        let name = script.origin
        let now = script.now
        _ = script.queue.originWentDown(name, isCaptive: false, randomUnit: 0.5, now: now)
        #expect(script.add([try script.record(1), try script.record(2)]).isEmpty)
        var other = script
        #expect(script.queue.originAnswered(name, randomUnit: 0, now: now).count == 2)
        #expect(other.run(other.queue.originWoken(name, now: now)) == [1])
        #expect(other.queue.originSetOffline(name, now: now).isEmpty)
        #expect(other.finish(1, .confirmed(.none)).isEmpty)
        #expect(other.wait(2) == .setOffline)
        #expect(other.queue.originAnswered(name, randomUnit: 0, now: now).isEmpty)
        #expect(other.run(other.pass(.seconds(3_600))).isEmpty)
        #expect(other.run(other.queue.originWoken(name, now: other.now)) == [2])
    }

    @Test("Pauses double to five minutes; Retry-After is a floor, at most an hour (case 10)")
    mutating func backoff() throws {
        script.rules.stalledAfter = 3
        #expect(script.add([try script.record(1)]) == [1])
        let halves = [500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 150_000]
        for (index, pause) in (halves + [150_000]).enumerated() {
            let until = script.now + .milliseconds(pause)
            let change = script.change(
                1,
                .retryWait,
                until: until,
                attempts: index + 1,
                notApplied: index + 1,
                isStalled: index >= 2
            )
            let actions = script.end(1, .notNow(retryAfter: nil))
            #expect(actions == [change])
            #expect(script.run(actions).isEmpty)
            #expect(script.wait(1) == .backoff(until: until))
            #expect(script.run(script.pass(.milliseconds(pause - 1))).isEmpty)
            #expect(script.run(script.pass(.milliseconds(1))) == [1])
        }
        for (asked, pause) in [(200, 200), (7_200, 3_600), (-1, 150), (10, 150)] {
            #expect(script.finish(1, .notNow(retryAfter: .seconds(asked))).isEmpty)
            #expect(script.queue.nextWake == script.now + .seconds(pause))
            #expect(script.run(script.pass(.seconds(pause))) == [1])
        }
    }

    @Test("The last counted attempt that is not applied fails the modifier (case 10)")
    mutating func attempts() throws {
        var record = try script.record(1)
        record.attemptsMax = 2
        #expect(script.add([record]) == [1])
        #expect(script.finish(1, .neverLeft).isEmpty)
        #expect(script.run(script.pass(.seconds(1))) == [1])
        #expect(script.finish(1, .notNow(retryAfter: nil)).isEmpty)
        #expect(script.run(script.pass(.seconds(1))) == [1])
        #expect(script.end(1, .notNow(retryAfter: nil)) == [script.settle(1, .failed(.attempts))])
    }

    @Test("Dependants of a refused modifier leave in its step, the others are sent (case 13)")
    mutating func dependants() throws {
        let records = [
            try script.record(1, ["x"]), try script.record(2, dependsOn: [1]),
            try script.record(3, ["x"]), try script.record(4, dependsOn: [2]),
            try script.record(5, dependsOn: [3]),
        ]
        #expect(script.add(records) == [1])
        let actions = script.end(1, .refused)
        #expect(actions == [script.settle(1, .failed(.refused), [2, 4])])
        #expect(ModifierQueue.Outcome.failed(.refused).ofDependants == .failed(.parentFailed))
        #expect(script.run(actions) == [3])
        #expect(script.queue.count == 2)
        #expect(script.finish(3, .confirmed(.none)) == [5])
    }

    @Test("A dependant accepted while its parent was failing fails after it (case 13)")
    mutating func lateDependant() throws {
        #expect(script.add([try script.record(1)]) == [1])
        let actions = script.end(1, .refused)
        #expect(actions == [script.settle(1, .failed(.refused))])
        #expect(script.accept([try script.record(2, dependsOn: [1])]).isEmpty)
        let number = ModifierNumber(1)
        let next = script.queue.settleCommitted(number, now: script.now)
        #expect(next == [script.settle(2, .failed(.parentFailed))])
        let orphan = script.accept([try script.record(3, dependsOn: [1])])
        #expect(orphan == [script.settle(3, .failed(.parentFailed))])
        #expect(script.run(next + orphan).isEmpty)
        #expect(script.queue.count == 0)
    }

    @Test("Order is by number within each lane of an account, whatever the origin (case 14)")
    mutating func order() throws {
        var elsewhere = try script.record(3, ["y"])
        elsewhere = ModifierRecord(
            number: elsewhere.number,
            scope: script.scope,
            origin: script.other,
            lanes: elsewhere.lanes,
            resends: true
        )
        let foreign = ModifierRecord(
            number: ModifierNumber(4),
            scope: .own(uid: 1_001, account: .default),
            origin: script.origin,
            lanes: try script.record(1, ["x"]).lanes,
            resends: true
        )
        let records = [
            try script.record(1, ["x"]), try script.record(2, ["x", "y", "x"]), elsewhere, foreign,
            try script.record(5, ["z"]),
        ]
        #expect(Set(script.add(records)) == [1, 4, 5])
        #expect(script.wait(3) == .lane(elsewhere.lanes[0], after: ModifierNumber(2)))
        #expect(script.finish(1, .confirmed(.none)) == [2])
        #expect(script.finish(2, .confirmed(.none)) == [3])
    }

    @Test(
        "Eight modifiers of an origin are in flight together, and numbers order the rest (case 14)"
    )
    mutating func eight() throws {
        #expect(script.add(try (1...20).map { try script.record($0) }) == Array(1...8))
        #expect(script.wait(9) == .turn)
        #expect(script.finish(5, .confirmed(.none)) == [9])
        #expect(script.finish(1, .notNow(retryAfter: nil)) == [10])
    }

    @Test("A user's modifier is sent next, however many another user's wait before it (case 14)")
    mutating func fairTurns() throws {
        #expect(script.add(try (1...20).map { try script.record($0) }) == Array(1...8))
        let others = try [Int64(21), 22].map { number in
            ModifierRecord(
                number: ModifierNumber(number),
                scope: .own(uid: 1_001, account: .default),
                origin: script.origin,
                lanes: try script.record(1, ["\(number)"]).lanes,
                resends: true
            )
        }
        #expect(script.add(others).isEmpty)
        #expect(script.wait(21) == .turn)
        #expect(script.finish(5, .confirmed(.none)) == [21])
        #expect(script.finish(1, .confirmed(.none)) == [22])
        #expect(script.finish(21, .confirmed(.none)) == [9])
        #expect(script.finish(22, .confirmed(.none)) == [10])
    }

    @Test("A user's modifier is sent next, however many accounts another user names (case 14)")
    mutating func turnsOfUsers() throws {
        let origin = script.origin
        func records(_ numbers: ClosedRange<Int64>, of uid: UInt32) throws -> [ModifierRecord] {
            try numbers.map { number in
                ModifierRecord(
                    number: ModifierNumber(number),
                    scope: .own(uid: uid, account: try AccountName("a\(number)")),
                    origin: origin,
                    lanes: [],
                    resends: true
                )
            }
        }
        let (first, later) = (try records(1...20, of: 1_000), try records(21...22, of: 1_001))
        #expect(script.add(first) == Array(1...8))
        #expect(script.add(later).isEmpty)
        #expect(script.finish(5, .confirmed(.none)) == [21])
        #expect(script.finish(1, .confirmed(.none)) == [22])
        #expect(script.finish(21, .confirmed(.none)) == [9])
        #expect(script.finish(22, .confirmed(.none)) == [10])
    }

    @Test("An account without a turn goes before those that have had one")
    mutating func lateAccount() throws {
        // Eight accounts with three modifiers each, then one more account.
        let records = try (1...25).map { (number: Int64) in
            ModifierRecord(
                number: ModifierNumber(number),
                scope: .own(uid: 1_000 + UInt32(number - 1) / 3, account: .default),
                origin: script.origin,
                lanes: try script.record(1, ["\(number)"]).lanes,
                resends: true
            )
        }
        #expect(script.add(records) == [1, 4, 7, 10, 13, 16, 19, 22])
        #expect(script.finish(1, .confirmed(.none)) == [25])
        #expect(script.finish(25, .confirmed(.none)) == [2])
    }

    @Test("Accounts whose modifiers come one at a time do not go before one that waits")
    mutating func newAccounts() throws {
        let lanes = try (1...12).map { try script.record(1, ["\($0)"]).lanes }
        let origin = script.origin
        func record(_ number: Int, of user: UInt32) -> ModifierRecord {
            ModifierRecord(
                number: ModifierNumber(Int64(number)),
                scope: .own(uid: 1_000 + user, account: .default),
                origin: origin,
                lanes: lanes[number - 1],
                resends: true
            )
        }
        let first = (1...9).map { record($0, of: UInt32($0)) } + [record(10, of: 9)]
        #expect(script.add(first) == Array(1...8))
        #expect(script.finish(1, .confirmed(.none)) == [9])
        #expect(script.add([record(11, of: 10)]).isEmpty)
        #expect(script.finish(2, .confirmed(.none)) == [11])
        #expect(script.add([record(12, of: 1)]).isEmpty)
        #expect(script.finish(9, .confirmed(.none)) == [10])
        #expect(script.finish(3, .confirmed(.none)) == [12])
    }

    @Test("A modifier that cannot be sent holds up its lanes only, however long (case 15)")
    mutating func poison() throws {
        script.rules.stalledAfter = 1
        let records = [
            try script.record(1, ["x"]), try script.record(2, ["x"]), try script.record(3, ["y"]),
        ]
        #expect(script.add(records) == [1, 3])
        for _ in 0..<50 {
            #expect(script.finish(1, .notNow(retryAfter: nil)).isEmpty)
            #expect(script.run(script.pass(.seconds(300))) == [1])
        }
        #expect(script.finish(3, .confirmed(.none)).isEmpty)
        #expect(script.state(1) == .inFlight)
        #expect(script.finish(1, .refused) == [2])
    }
}
