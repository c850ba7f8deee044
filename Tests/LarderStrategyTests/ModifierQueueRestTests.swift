import LarderModel
import LarderStrategy
import Testing

@Suite("Effects of an origin's Retry-After and outage on other modifiers")
struct ModifierQueueRestTests {
    private var script: QueueScript

    init() throws {
        script = try QueueScript()
    }

    private mutating func rest(_ time: Duration) -> [ModifierQueue.Action] {
        let end = script.now + time
        return script.queue.originAskedToWait(
            script.origin,
            for: script.scope,
            until: end,
            now: script.now
        )
    }

    /// Some of the account, each in a lane of its own, of which the first was told to wait.
    private mutating func told(_ count: Int64, wait time: Duration) throws {
        #expect(script.add([try script.record(1, ["1"])]) == [1])
        #expect(script.run(rest(time)).isEmpty)
        #expect(script.finish(1, .notNow(retryAfter: .seconds(3_600))).isEmpty)
        for number in 2...count {
            #expect(script.add([try script.record(number, ["\(number)"])]).isEmpty)
        }
    }

    @Test("After a rest one modifier tries, and its success releases the others (case 10)")
    mutating func trial() throws {
        try told(4, wait: .seconds(60))
        let end = script.now + .seconds(60)
        #expect(script.wait(2) == .rest(until: end))
        #expect(script.queue.nextWake == end)
        #expect(script.run(script.pass(.seconds(59))).isEmpty)
        #expect(script.run(script.pass(.seconds(1))) == [2])
        #expect(script.wait(3) == .rest(until: nil))
        #expect(script.finish(2, .confirmed(.none)).isEmpty)
        #expect(script.wait(3) == .rest(until: script.now + .milliseconds(500)))
        #expect(script.run(script.pass(.milliseconds(500))) == [3, 4])
        // Its own Retry-After is the floor of the one that was told, whatever the others do.
        #expect(script.wait(1) == .backoff(until: QueueScript.start + .seconds(3_600)))
        #expect(script.finish(3, .confirmed(.none)).isEmpty)
        #expect(script.run(script.pass(.seconds(3_538))).isEmpty)
        #expect(script.run(script.pass(.seconds(1.5))) == [1])
    }

    @Test("After a 429 without Retry-After the account rests shortly, and one tries (case 10)")
    mutating func limited() throws {
        let limited = ModifierVerdict.notNow(retryAfter: nil, rest: .zero)
        #expect(script.add(try (1...20).map { try script.record($0) }) == Array(1...8))
        for number in 1...8 { #expect(script.finish(Int64(number), limited).isEmpty) }
        #expect(script.wait(9) == .rest(until: script.now + .milliseconds(500)))
        #expect(script.run(script.pass(.milliseconds(500))) == [1])
        #expect(script.finish(1, limited).isEmpty)
        #expect(script.run(script.pass(.milliseconds(500))) == [2])
        #expect(script.finish(2, .confirmed(.none)).isEmpty)
        #expect(script.run(script.pass(.milliseconds(500))).first == 1)
    }

    @Test("If the trial gets the same answer, the others rest again (case 10)")
    mutating func sameAnswer() throws {
        try told(3, wait: .seconds(60))
        for _ in 0..<3 {
            #expect(script.run(script.pass(.seconds(60))) == [2])
            #expect(script.run(rest(.seconds(60))).isEmpty)
            #expect(script.finish(2, .notNow(retryAfter: .seconds(60))).isEmpty)
            #expect(script.wait(3) == .rest(until: script.now + .seconds(60)))
        }
        // One that says nothing of a time has the next one wait as long as it would itself.
        #expect(script.run(script.pass(.seconds(60))) == [2])
        #expect(script.finish(2, .notNow(retryAfter: nil)).isEmpty)
        #expect(script.wait(3) == .rest(until: script.now + .seconds(4)))
        #expect(script.run(script.pass(.seconds(4))) == [2])
        #expect(script.finish(2, .neverLeft).isEmpty)
        #expect(script.wait(3) == .offline(until: script.now + .milliseconds(750)))
    }

    @Test("Another account goes on, and a modifier accepted during a rest waits (case 10)")
    mutating func otherAccount() throws {
        try told(2, wait: .seconds(60))
        let other = ModifierRecord(
            number: ModifierNumber(3),
            scope: .own(uid: 1_001, account: .default),
            origin: script.origin,
            lanes: [],
            resends: true
        )
        #expect(script.add([other]) == [3])
        #expect(script.add([try script.record(4)]).isEmpty)
        var alone = try QueueScript()
        let end = alone.now + .seconds(60)
        let actions = alone.queue.accepted(
            [try alone.record(1)],
            now: alone.now,
            wall: .start,
            retryAfterEnd: { _, _ in end }
        )
        #expect(actions.isEmpty)
        #expect(alone.wait(1) == .rest(until: end))
    }

    @Test("An operator's retry sends one modifier immediately, during a rest or not (case 10)")
    mutating func byHand() throws {
        try told(2, wait: .seconds(60))
        let now = script.now
        let actions = try script.queue.retryAsked(ModifierNumber(1), now: now)
        // Two wait, and one of them shows whether more may go.
        #expect(script.run(actions) == [2])
        #expect(script.finish(2, .confirmed(.none)).isEmpty)
        #expect(script.run(script.pass(.milliseconds(500))) == [1])
    }

    @Test("A send that is not committed is not a trial, and the next modifier tries")
    mutating func notCommitted() throws {
        try told(3, wait: .seconds(60))
        let actions = script.pass(.seconds(60))
        #expect(actions == [.commitSend(ModifierNumber(2))])
        let number = ModifierNumber(2)
        #expect(script.queue.sendNotCommitted(number, randomUnit: 0.5, now: script.now).isEmpty)
        #expect(script.wait(3) == .rest(until: script.now + .milliseconds(750)))
        #expect(script.run(script.pass(.milliseconds(750))) == [2])
    }

    @Test("After an outage a success ends the backoffs of its origin, not twice in a row")
    mutating func outage() throws {
        let records = try (1...3).map { try script.record($0, ["\($0)"]) }
        #expect(script.add(records) == [1, 2, 3])
        for _ in 0..<8 {
            for number in 1...2 { _ = script.finish(Int64(number), .notNow(retryAfter: nil)) }
            #expect(Set(script.run(script.pass(.seconds(300)))) == [1, 2])
        }
        for number in 1...2 { _ = script.finish(Int64(number), .unclear(.gateway)) }
        #expect(script.wait(1) == .backoff(until: script.now + .seconds(128)))
        #expect(script.finish(3, .confirmed(.none)).isEmpty)
        #expect(script.wait(1) == .backoff(until: script.now + .milliseconds(500)))
        #expect(Set(script.run(script.pass(.milliseconds(500)))) == [1, 2])
        for number in 1...2 { _ = script.finish(Int64(number), .unclear(.gateway)) }
        #expect(script.add([try script.record(4)]) == [4])
        #expect(script.finish(4, .confirmed(.none)).isEmpty)
        #expect(script.wait(1) == .backoff(until: script.now + .seconds(150)))
    }

    @Test("No success ends what an origin has asked for itself, and none is an outage's end alone")
    mutating func floors() throws {
        let records = try (1...3).map { try script.record($0, ["\($0)"]) }
        #expect(script.add(records) == [1, 2, 3])
        _ = script.finish(1, .notNow(retryAfter: .seconds(40)))
        #expect(script.finish(2, .confirmed(.none)).isEmpty)
        #expect(script.wait(1) == .backoff(until: script.now + .seconds(40)))
        let name = script.origin
        let now = script.now
        _ = script.queue.originWentDown(name, isCaptive: false, randomUnit: 0.5, now: now)
        _ = script.queue.originAnswered(name, randomUnit: 0.5, now: now)
        #expect(script.wait(1) == .backoff(until: now + .seconds(40)))
    }

    @Test("The first pause is never zero, whatever the jitter (case 10)")
    mutating func floorOfJitter() throws {
        #expect(script.add([try script.record(1)]) == [1])
        let actions = script.queue.attemptEnded(
            ModifierNumber(1),
            .notNow(retryAfter: nil),
            rules: script.rules,
            randomUnit: 0,
            now: script.now
        )
        let end = script.now + .milliseconds(500)
        #expect(actions == [script.change(1, .retryWait, until: end, notApplied: 1)])
    }

    // MARK: The reason to wait is gone

    @Test("New settings of an origin end a refusal, a rest, a Retry-After and an outage")
    mutating func settingsChanged() throws {
        let reasons: [ModifierVerdict] = [
            .authNeeded, .notNow(retryAfter: .seconds(3_600)),
            .notNow(retryAfter: .seconds(3_600), rest: .seconds(3_600)), .captive, .neverLeft,
        ]
        for reason in reasons {
            script = try QueueScript()
            #expect(script.add([try script.record(1)]) == [1])
            #expect(script.finish(1, reason).isEmpty, "\(reason)")
            let actions = script.queue.originChanged(script.origin, now: script.now)
            #expect(script.run(actions) == [1], "\(reason)")
        }
    }

    @Test("An answer to an attempt with earlier settings makes no modifier wait")
    mutating func earlierSettings() throws {
        for answer in [
            ModifierVerdict.authNeeded, .notNow(retryAfter: .seconds(60), rest: .seconds(60)),
        ] {
            script = try QueueScript()
            #expect(script.add([try script.record(1)]) == [1])
            #expect(script.queue.originChanged(script.origin, now: script.now).isEmpty)
            let sent = script.finish(1, answer) + script.run(script.pass(.milliseconds(500)))
            #expect(sent == [1], "\(answer)")
        }
    }

    @Test("A pause ends with other settings while the disk still writes it")
    mutating func pauseBeingWritten() throws {
        #expect(script.add([try script.record(1)]) == [1])
        let writing = script.end(1, .notNow(retryAfter: .seconds(3_600)))
        #expect(script.queue.originChanged(script.origin, now: script.now).isEmpty)
        #expect(script.run(writing) == [1])
    }

    @Test("A corrected rule sends again what waits for a person, up to its number of attempts")
    mutating func correctedRule() throws {
        var last = try script.record(2, resends: false)
        last.attemptsMax = 1
        #expect(script.add([try script.record(1, resends: false), last]) == [1, 2])
        #expect(script.finish(1, .unclear(.lost)).isEmpty)
        #expect(script.finish(2, .unclear(.lost)).isEmpty)
        let resending = [try script.record(1), try script.record(2)]
        let origin = script.origin
        let actions = script.queue.originChanged(origin, records: resending, now: script.now)
        #expect(script.run(actions) == [1])
        #expect(script.wait(2) == .decision)
        let back = [try script.record(1, resends: false)]
        #expect(script.queue.originChanged(origin, records: back, now: script.now).isEmpty)
        #expect(script.finish(1, .unclear(.lost)).isEmpty)
        #expect(script.wait(1) == .decision)
    }

    @Test("A corrected rule ends a conflict, also while the disk still writes it (case 19)")
    mutating func correctedConflict() throws {
        var record = try script.record(1)
        #expect(script.add([record]) == [1])
        #expect(script.finish(1, .conflict(.wait)).isEmpty)
        #expect(script.wait(1) == .decision)
        let (origin, now) = (script.origin, script.now)
        #expect(script.queue.originChanged(origin, records: [record], now: now).isEmpty)
        record.endsConflict = true
        let actions = script.queue.originChanged(origin, records: [record], now: now)
        #expect(script.run(actions) == [1])
        let writing = script.end(1, .conflict(.wait))
        #expect(script.queue.originChanged(origin, records: [record], now: now).isEmpty)
        #expect(script.run(writing) == [1])
    }

    @Test("A corrected rule to hold makes a server's failure a person's decision (cases 10, 22)")
    mutating func correctedHold() throws {
        var record = try script.record(1, resends: false)
        #expect(script.add([record]) == [1])
        record.holds = true
        let (origin, now) = (script.origin, script.now)
        #expect(script.queue.originChanged(origin, records: [record], now: now).isEmpty)
        #expect(script.finish(1, .serverFailed(retryAfter: nil)).isEmpty)
        #expect(script.wait(1) == .decision)
    }

    @Test("An origin set online ends backoffs, and no time that it has asked for")
    mutating func setOnline() throws {
        let origin = script.origin
        #expect(script.add([try script.record(1), try script.record(2)]) == [1, 2])
        #expect(script.finish(1, .unclear(.lost)).isEmpty)
        #expect(script.finish(2, .notNow(retryAfter: .seconds(60))).isEmpty)
        #expect(script.queue.originSetOffline(origin, now: script.now).isEmpty)
        #expect(script.run(script.queue.originWoken(origin, now: script.now)) == [1])
        #expect(script.finish(1, .confirmed(.none)).isEmpty)
        #expect(script.run(script.pass(.seconds(59))).isEmpty)
        #expect(script.run(script.pass(.seconds(1))) == [2])
    }

    @Test("An origin that is set offline stays so with other settings")
    mutating func changedOffline() throws {
        #expect(script.queue.originSetOffline(script.origin, now: script.now).isEmpty)
        #expect(script.add([try script.record(1)]).isEmpty)
        #expect(script.queue.originChanged(script.origin, now: script.now).isEmpty)
        #expect(script.wait(1) == .setOffline)
    }
}
