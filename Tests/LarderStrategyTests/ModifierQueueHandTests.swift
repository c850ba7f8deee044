import LarderModel
import LarderStrategy
import Testing

@Suite("The modifier queue: people, credentials, clocks and crashes")
struct ModifierQueueHandTests {
    private var script: QueueScript
    private let number = ModifierNumber(1)

    init() throws {
        script = try QueueScript()
    }

    @Test("An unsent modifier is cancelled, together with its dependants or not at all (case 18)")
    mutating func cancel() throws {
        _ = script.queue.originSetOffline(script.origin, now: script.now)
        let records = [
            try script.record(1, ["x"]), try script.record(2, dependsOn: [1]),
            try script.record(3, ["x"]),
        ]
        #expect(script.add(records).isEmpty)
        let now = script.now
        #expect(throws: ModifierQueue.Refusal.hasDependants([ModifierNumber(2)])) {
            try script.queue.cancelAsked(number, withDependants: false, now: now)
        }
        let actions = try script.queue.cancelAsked(number, withDependants: true, now: now)
        #expect(actions == [script.settle(1, .cancelled, [2])])
        #expect(ModifierQueue.Outcome.cancelled.ofDependants == .cancelled)
        #expect(throws: ModifierQueue.Refusal.notNow) {
            try script.queue.cancelAsked(number, withDependants: true, now: now)
        }
        #expect(script.run(actions).isEmpty)
        #expect(throws: ModifierQueue.Refusal.notFound) {
            try script.queue.cancelAsked(number, withDependants: true, now: now)
        }
        #expect(script.wait(3) == .setOffline)
    }

    @Test("A sent modifier can only be discarded, and not while it is in flight (case 18)")
    mutating func discard() throws {
        let now = script.now
        let records = [try script.record(1), try script.record(2, dependsOn: [1])]
        let steps = script.accept(records)
        #expect(throws: ModifierQueue.Refusal.inFlight) {
            try script.queue.discardAsked(number, now: now)
        }
        #expect(script.run(steps) == [1])
        #expect(throws: ModifierQueue.Refusal.inFlight) {
            try script.queue.discardAsked(number, now: now)
        }
        #expect(script.finish(1, .notNow(retryAfter: nil, isSure: false)).isEmpty)
        #expect(throws: ModifierQueue.Refusal.alreadySent) {
            try script.queue.cancelAsked(number, withDependants: true, now: now)
        }
        let actions = try script.queue.discardAsked(number, now: now)
        #expect(actions == [script.settle(1, .failed(.discarded), [2])])
    }

    @Test("A modifier can be cancelled until an answer leaves open if it was applied (case 18)")
    mutating func cancelAfterAnswers() throws {
        let now = script.now
        let denials: [ModifierVerdict] = [
            .notNow(retryAfter: nil), .authNeeded, .captive, .neverLeft,
        ]
        let others: [ModifierVerdict] = [
            .notNow(retryAfter: nil, isSure: false), .serverFailed(retryAfter: nil),
            .unclear(.lost), .accepted,
        ]
        for (verdicts, mayCancel) in [(denials, true), (others, false)] {
            for verdict in verdicts {
                script = try QueueScript()
                #expect(script.add([try script.record(1)]) == [1])
                #expect(script.finish(1, verdict).isEmpty)
                let actions = try? script.queue.cancelAsked(number, withDependants: true, now: now)
                #expect(actions == (mayCancel ? [script.settle(1, .cancelled)] : nil), "\(verdict)")
            }
        }
        for isPerhapsApplied in [false, true] {
            script = try QueueScript()
            var record = try script.record(1)
            (record.attempts, record.state) = (1, .authWait)
            record.isPerhapsApplied = isPerhapsApplied
            _ = script.restore([record])
            let actions = try? script.queue.cancelAsked(number, withDependants: true, now: now)
            #expect((actions == nil) == isPerhapsApplied, "after a restart")
        }
    }

    @Test("A held modifier can be cancelled, and is queued when its hold ends (case 18)")
    mutating func hold() throws {
        var record = try script.record(1, ["x"])
        record.state = .held
        record.holdUntil = .start.advanced(by: .seconds(10))
        #expect(script.add([record, try script.record(2, ["x"])]).isEmpty)
        #expect(script.wait(1) == .hold(until: script.now + .seconds(10)))
        var other = script
        #expect(script.pass(.seconds(10)) == [script.change(1, .queued, attempts: 0)])
        #expect(script.run([script.change(1, .queued, attempts: 0)]) == [1])
        let actions = try other.queue.cancelAsked(number, withDependants: false, now: other.now)
        #expect(other.run(actions) == [2])
    }

    @Test("A repeatable write is sent again after a pause, another waits for a person (case 22)")
    mutating func unknown() throws {
        for verdict in [ModifierVerdict.unclear(.lost), .unclear(.gateway)] {
            script = try QueueScript()
            let records = [try script.record(1), try script.record(2, ["x"], resends: false)]
            #expect(script.add(records + [try script.record(3, ["x"])]) == [1, 2])
            let until = script.now + .milliseconds(500)
            #expect(script.end(1, verdict) == [script.change(1, .unknown, until: until)])
            #expect(script.run([script.change(1, .unknown, until: until)]).isEmpty)
            #expect(script.end(2, verdict) == [script.change(2, .unknown)])
            #expect(script.run([script.change(2, .unknown)]).isEmpty)
            #expect(script.wait(2) == .decision)
            #expect(script.run(script.pass(.seconds(86_400))) == [1])
            #expect(script.wait(3) == .lane(try lane("x"), after: ModifierNumber(2)))
            let actions = try script.queue.retryAsked(ModifierNumber(2), now: script.now)
            #expect(script.run(actions) == [2])
        }
    }

    private func lane(_ name: String) throws -> Lane { .name(try LaneName(name)) }

    @Test("A resend that does not leave remains unknown, and is not queued (case 22)")
    mutating func unknownStays() throws {
        #expect(script.add([try script.record(1)]) == [1])
        #expect(script.finish(1, .unclear(.lost)).isEmpty)
        #expect(script.run(script.pass(.milliseconds(500))) == [1])
        let change = script.change(1, .unknown, until: script.now, attempts: 1)
        #expect(script.end(1, .neverLeft) == [change])
    }

    @Test("At start a modifier that was in flight is unknown (case 22)")
    mutating func restored() throws {
        var resent = try script.record(1)
        var doubtful = try script.record(2, resends: false)
        (resent.state, resent.attempts) = (.inFlight, 1)
        (doubtful.state, doubtful.attempts) = (.inFlight, 1)
        let actions = script.restore([resent, doubtful])
        let changes = [script.change(1, .unknown, until: script.now), script.change(2, .unknown)]
        #expect(actions == changes)
        #expect(script.run(actions) == [1])
        #expect(script.wait(2) == .decision)
    }

    @Test("At start a write whose last attempt was in flight fails, and so does what depends on it")
    mutating func lastAttemptLost() throws {
        var last = try script.record(1)
        (last.state, last.attempts, last.attemptsMax) = (.inFlight, 2, 2)
        var other = try script.record(2)
        (other.state, other.attempts, other.attemptsMax) = (.inFlight, 1, 2)
        var doubtful = try script.record(3, resends: false)
        (doubtful.state, doubtful.attempts, doubtful.attemptsMax) = (.inFlight, 1, 1)
        let actions = script.restore([last, other, doubtful, try script.record(4, dependsOn: [1])])
        #expect(
            actions == [
                script.settle(1, .failed(.attempts), [4]),
                script.change(2, .unknown, until: script.now), script.change(3, .unknown),
            ]
        )
        #expect(script.run(actions) == [2])
    }

    @Test("At start a group whose last attempt was in flight fails together")
    mutating func lastAttemptOfGroupLost() throws {
        var first = try script.record(1, ["x"])
        (first.state, first.attempts, first.attemptsMax) = (.inFlight, 1, 1)
        var joined = try script.record(2, ["x"])
        joined.joinedInto = number
        let second = ModifierNumber(2)
        #expect(
            script.restore([first, joined]) == [
                .settle(number, .failed(.attempts), joined: [second], dependants: [])
            ]
        )
    }

    @Test("After a 401, uncounted, other lanes go on one at a time (case 23)")
    mutating func oneAtATime() throws {
        let foreign = ModifierRecord(
            number: ModifierNumber(4),
            scope: .own(uid: 1_001, account: .default),
            origin: script.origin,
            lanes: [],
            resends: true
        )
        #expect(script.add([try script.record(1)]) == [1])
        #expect(script.finish(1, .authNeeded).isEmpty)
        #expect(script.state(1) == .authWait)
        #expect(script.wait(1) == .credential)
        let others = [try script.record(2), try script.record(3), foreign]
        #expect(Set(script.add(others)) == [2, 4])
        #expect(script.wait(3) == .turn)
        #expect(script.finish(2, .confirmed(.none)) == [3])
        #expect(script.state(1) == .authWait)
    }

    @Test("After three 401 in a row the account's writes wait, a success begins the row again")
    mutating func threeInARow() throws {
        #expect(script.add([try script.record(1)]) == [1])
        #expect(script.finish(1, .authNeeded).isEmpty)
        #expect(script.add([try script.record(2)]) == [2])
        #expect(script.finish(2, .refused).isEmpty)
        let more = try (3...6).map { try script.record($0) }
        #expect(script.add(more) == [3])
        #expect(script.finish(3, .authNeeded) == [4])
        // A write that was not sent is no answer.
        #expect(script.finish(4, .noCredential) == [5])
        #expect(script.finish(5, .authNeeded) == [6])
        #expect(script.finish(6, .authNeeded).isEmpty)
        #expect(script.add([try script.record(7)]).isEmpty)
        #expect(script.wait(7) == .credential)
    }

    @Test("Another credential sends one write first, and its success the rest (case 23)")
    mutating func oneFirst() throws {
        #expect(Set(script.add(try (1...3).map { try script.record($0) })) == [1, 2, 3])
        for number in 1...3 { #expect(script.finish(Int64(number), .authNeeded).isEmpty) }
        let wake = { (script: inout QueueScript) -> [Int64] in
            script.run(
                script.queue.credentialChanged(
                    at: script.origin,
                    of: script.scope,
                    now: script.now
                )
            )
        }
        #expect(wake(&script) == [1])
        #expect(script.finish(1, .authNeeded) == [2])
        // The first write is put into the queue again meanwhile.
        #expect(wake(&script) == [3])
        // An answer to the credential before says nothing of this one.
        #expect(script.finish(2, .authNeeded).isEmpty)
        #expect(script.state(2) == .queued)
        #expect(Set(script.finish(3, .confirmed(.none))) == [1, 2])
    }

    @Test("A write whose credential is gone is not sent, nor counted (case 23)")
    mutating func missing() throws {
        #expect(script.add([try script.record(1)]) == [1])
        #expect(script.finish(1, .noCredential).isEmpty)
        #expect(script.state(1) == .authWait)
        let actions = try script.queue.cancelAsked(
            ModifierNumber(1),
            withDependants: false,
            now: script.now
        )
        #expect(actions.count == 1)
    }

    @Test("When the last refused write is dropped, the next one tests the credential (case 23)")
    mutating func refusedGivenUp() throws {
        #expect(Set(script.add(try (1...3).map { try script.record($0) })) == [1, 2, 3])
        for number in 1...3 { #expect(script.finish(Int64(number), .authNeeded).isEmpty) }
        #expect(script.add([try script.record(4)]).isEmpty)
        for number in 1...2 {
            let given = ModifierNumber(Int64(number))
            let actions = try script.queue.discardAsked(given, now: script.now)
            #expect(script.run(actions).isEmpty)
        }
        let actions = try script.queue.discardAsked(ModifierNumber(3), now: script.now)
        #expect(script.run(actions) == [4])
    }

    @Test("A credential that comes while the refusal is being written is not missed (case 23)")
    mutating func credentialRace() throws {
        #expect(script.add([try script.record(1)]) == [1])
        let actions = script.end(1, .authNeeded)
        let none = script.queue.credentialChanged(at: script.origin, of: nil, now: script.now)
        #expect(none.isEmpty)
        #expect(script.run(actions) == [1])
    }

    @Test("After a restart the account still waits for a credential (case 23)")
    mutating func credentialRestored() throws {
        var record = try script.record(1)
        record.state = .authWait
        #expect(script.run(script.restore([record, try script.record(2)])).isEmpty)
        #expect(script.wait(2) == .credential)
    }

    @Test("A portal's answer does not count as an answer, and makes the origin captive (case 25)")
    mutating func captive() throws {
        #expect(script.add([try script.record(1, resends: false)]) == [1])
        #expect(script.finish(1, .captive).isEmpty)
        #expect(script.wait(1) == .captive(until: script.now + .milliseconds(750)))
        #expect(script.add([try script.record(2)]).isEmpty)
        #expect(script.wait(2) == .captive(until: script.now + .milliseconds(750)))
    }

    @Test("A captive origin is tried with a GET or with a repeatable write (case 25)")
    mutating func captiveTrial() throws {
        #expect(script.add([try script.record(1, resends: false)]) == [1])
        #expect(script.finish(1, .captive).isEmpty)
        #expect(script.add([try script.record(2)]).isEmpty)
        for _ in 0..<3 {
            #expect(script.pass(.seconds(60)) == [.probe(script.origin)])
        }
        let woken = script.queue.originAnswered(script.origin, randomUnit: 0, now: script.now)
        #expect(script.run(woken) == [1, 2])
        #expect(script.finish(1, .confirmed(.none)).isEmpty)
        #expect(script.finish(2, .captive).isEmpty)
        #expect(script.run(script.pass(.seconds(60))) == [2], "a PUT may be sent twice")
    }

    @Test("An unsent modifier that expires is dead, with its dependants (case 27)")
    mutating func expires() throws {
        _ = script.queue.originSetOffline(script.origin, now: script.now)
        var record = try script.record(1)
        record.expiresAt = .start.advanced(by: .seconds(60))
        #expect(script.add([record, try script.record(2, dependsOn: [1])]).isEmpty)
        #expect(script.queue.nextWake == script.now + .seconds(60))
        #expect(script.pass(.seconds(60)) == [script.settle(1, .failed(.expired), [2])])
    }

    @Test("A modifier that may have left does not expire, whatever the answer was (case 27)")
    mutating func expiresNoMore() throws {
        for (number, verdict) in [
            (1, .notNow(retryAfter: nil)), (2, .unclear(.lost)), (3, .authNeeded),
        ] as [(Int64, ModifierVerdict)] {
            var record = try script.record(number)
            record.expiresAt = .start.advanced(by: .seconds(60))
            #expect(script.add([record]) == [number])
            _ = script.finish(number, verdict)
        }
        let actions = script.pass(.seconds(60))
        #expect(!actions.contains { if case .settle = $0 { true } else { false } })
        var sent = try script.record(4)
        sent.mayHaveLeft = true
        sent.expiresAt = .start.advanced(by: .seconds(120))
        _ = script.queue.originSetOffline(script.origin, now: script.now)
        _ = script.restore([sent])
        #expect(script.pass(.seconds(600)).isEmpty)
    }

    @Test("A stored attempt time is at most the longest pause ahead, whatever the clock (case 27)")
    mutating func clamped() throws {
        for (state, cap) in [(ModifierState.retryWait, 3_600), (.unknown, 300), (.accepted, 600)] {
            for (stored, pause) in [(-86_400, 0), (20, 20), (10_000_000, cap)] {
                script = try QueueScript()
                _ = script.queue.originSetOffline(script.origin, now: script.now)
                var record = try script.record(1)
                record.state = state
                record.attempts = 20
                record.nextAttemptAt = .start.advanced(by: .seconds(stored))
                let actions = script.restore([record])
                if pause > 0 {
                    #expect(actions.isEmpty)
                    #expect(script.queue.nextWake == script.now + .seconds(pause))
                } else {
                    #expect(script.queue.nextWake == nil)
                }
            }
        }
    }

    @Test("A paused lane sends nothing, also after a restart, until it is resumed")
    mutating func paused() throws {
        let lane = try lane("x")
        #expect(script.queue.lanePaused(lane, of: script.scope, now: script.now).isEmpty)
        let records = [try script.record(1, ["x"]), try script.record(2, ["y"])]
        #expect(script.add(records) == [2])
        #expect(script.wait(1) == .pausedLane(lane))
        var restarted = try QueueScript()
        let actions = restarted.queue.restored(
            records,
            paused: [(script.scope, lane)],
            acceptedLimit: { _ in .zero },
            now: script.now,
            wall: .start
        )
        #expect(restarted.run(actions) == [2])
        let resumed = restarted.queue.laneResumed(lane, of: script.scope, now: script.now)
        #expect(restarted.run(resumed) == [1])
    }

    @Test("At start nothing is sent to an origin that was set offline")
    mutating func restoredOffline() throws {
        #expect(script.queue.originSetOffline(script.origin, now: script.now).isEmpty)
        #expect(script.restore([try script.record(1)]).isEmpty)
        #expect(script.wait(1) == .setOffline)
        #expect(script.run(script.queue.originWoken(script.origin, now: script.now)) == [1])
    }

    @Test("Dependants of a dead letter die at start")
    mutating func orphan() throws {
        let actions = script.queue.restored(
            [try script.record(2, dependsOn: [1]), try script.record(3, dependsOn: [2])],
            failed: [number],
            acceptedLimit: { _ in .zero },
            now: script.now,
            wall: .start
        )
        #expect(actions == [script.settle(2, .failed(.parentFailed), [3])])
    }
}
