import LarderModel
import LarderStrategy
import Testing

@Suite("Conflicts with other devices")
struct ConflictRulesTests {
    private func rules(
        _ rule: ModifierRules.ConflictRule,
        rounds: Int = 1,
        hasOwnCondition: Bool = false
    ) -> ConflictRules {
        var rules = ConflictRules(rule)
        (rules.rounds, rules.hasOwnCondition) = (rounds, hasOwnCondition)
        return rules
    }

    @Test("Before a round a change of another device is overwritten with `client` only (case 19)")
    func beforeRound() {
        let expected: [ModifierRules.ConflictRule: ConflictRules.Step?] = [
            .rebase: .wait, .manual: .wait, .server: .fail, .client: nil,
        ]
        for rule in ModifierRules.ConflictRule.allCases {
            #expect(rules(rule).beforeRound(isChanged: true) == expected[rule], "\(rule)")
            #expect(rules(rule).beforeRound(isChanged: false) == nil, "\(rule)")
            let own = rules(rule, hasOwnCondition: true)
            #expect(own.beforeRound(isChanged: true) == nil, "the origin checks it")
        }
    }

    @Test("After a 409, 412 or 428 the rule says what follows (case 19)")
    func afterAnswer() {
        let rows: [(ModifierRules.ConflictRule, isChanged: Bool, ConflictRules.Step)] = [
            (.rebase, false, .again), (.rebase, true, .wait), (.client, false, .again),
            (.client, true, .again), (.server, false, .fail), (.server, true, .fail),
            (.manual, false, .wait), (.manual, true, .wait),
        ]
        for (rule, isChanged, step) in rows {
            for status in [409, 412, 428] {
                let found = rules(rule)
                    .afterAnswer(status, isChanged: isChanged, isSameBase: false)
                #expect(found == step, "\(rule), \(isChanged), \(status)")
            }
        }
    }

    @Test("A rule ends the conflicts that it would not have left to a person (case 19)")
    func endsConflict() {
        let expected: [ModifierRules.ConflictRule: [Bool]] = [
            .rebase: [true, false], .manual: [false, false], .server: [true, true],
            .client: [true, true],
        ]
        for rule in ModifierRules.ConflictRule.allCases {
            let ends = [false, true].map { rules(rule).endsConflict(isChanged: $0) }
            #expect(ends == expected[rule], "\(rule)")
            let own = rules(rule, hasOwnCondition: true)
            #expect(own.endsConflict(isChanged: false) == (rule == .server), "\(rule)")
        }
    }

    @Test("A 409 while nothing has changed is a refusal, a 412 is not (case 19)")
    func sameBase() {
        for rule in ModifierRules.ConflictRule.allCases {
            #expect(rules(rule).afterAnswer(409, isChanged: false, isSameBase: true) == nil)
            // A read has brought the other version before the answer came.
            #expect(rules(rule).afterAnswer(409, isChanged: true, isSameBase: true) != nil)
            #expect(rules(rule).afterAnswer(412, isChanged: false, isSameBase: true) != nil)
            #expect(rules(rule).afterAnswer(428, isChanged: false, isSameBase: true) != nil)
        }
    }

    @Test("After three rounds the write fails (case 19)", arguments: [412, 409, 428])
    func rounds(status: Int) {
        for rule in [ModifierRules.ConflictRule.rebase, .client] {
            for (round, step) in [(1, ConflictRules.Step.again), (2, .again), (3, .fail)] {
                let found = rules(rule, rounds: round)
                    .afterAnswer(status, isChanged: false, isSameBase: false)
                #expect(found == step, "\(rule), \(round)")
            }
        }
    }

    @Test("The daemon never replaces a program's own condition (case 19)")
    func ownCondition() {
        for rule in [ModifierRules.ConflictRule.rebase, .client, .manual] {
            let own = rules(rule, hasOwnCondition: true)
            #expect(own.afterAnswer(412, isChanged: false, isSameBase: false) == .wait)
        }
        let server = rules(.server, hasOwnCondition: true)
        #expect(server.afterAnswer(412, isChanged: false, isSameBase: false) == .fail)
    }
}

@Suite("Conflicts in the modifier queue")
struct ConflictQueueTests {
    private var script: QueueScript
    private let number = ModifierNumber(1)

    init() throws {
        script = try QueueScript()
    }

    @Test("A conflict keeps its lanes, and a person's decision begins another round (case 19)")
    mutating func decided() throws {
        let later = try script.record(2, ["x"])
        #expect(script.add([try script.record(1, ["x"]), later]) == [1])
        #expect(script.finish(1, .conflict(.wait)).isEmpty)
        #expect(script.state(1) == .conflict)
        #expect(script.wait(1) == .decision)
        #expect(script.pass(.seconds(100_000)).isEmpty)
        let retried = try script.queue.retryAsked(number, now: script.now)
        #expect(retried == [script.change(1, .queued, round: .decided)])
        #expect(script.run(retried) == [1])
        #expect(script.finish(1, .confirmed(.none)) == [2])
    }

    @Test("A conflict can be cancelled although bytes have left (cases 18 and 19)")
    mutating func cancelled() throws {
        _ = script.add([try script.record(1, ["x"]), try script.record(2, ["x"])])
        _ = script.finish(1, .conflict(.wait))
        let ended = try script.queue.cancelAsked(number, withDependants: true, now: script.now)
        #expect(ended == [script.settle(1, .cancelled)])
        #expect(script.run(ended) == [2])
    }

    @Test("A conflict is not cancelled if an attempt before was perhaps applied (cases 18 and 19)")
    mutating func perhapsApplied() throws {
        let steps: [(ModifierVerdict, ConflictRules.Step)] = [
            (.serverFailed(retryAfter: nil), .wait), (.serverFailed(retryAfter: nil), .again),
            (.unclear(.gateway), .wait), (.unclear(.gateway), .again),
        ]
        for (first, step) in steps {
            script = try QueueScript()
            #expect(script.add([try script.record(1)]) == [1])
            #expect(script.finish(1, first).isEmpty)
            #expect(script.run(script.pass(.seconds(5))) == [1])
            _ = script.finish(1, .conflict(step))
            // Another round has another key, and the attempts of the one before remain.
            if step == .again { _ = script.finish(1, .notNow(retryAfter: nil)) }
            let now = script.now
            #expect(throws: ModifierQueue.Refusal.alreadySent) {
                try script.queue.cancelAsked(number, withDependants: true, now: now)
            }
            #expect(throws: ModifierQueue.Refusal.alreadySent) {
                try script.queue.editAsked(number, now: now)
            }
            let ended = try script.queue.discardAsked(number, now: now)
            #expect(ended == [script.settle(1, .failed(.discarded))])
        }
    }

    @Test("A conflict that is found before the send step frees the trial for others (case 19)")
    mutating func trial() throws {
        let (name, now) = (script.origin, script.now)
        _ = script.queue.originWentDown(name, isCaptive: false, randomUnit: 0.5, now: now)
        _ = script.add([try script.record(1), try script.record(2)])
        #expect(script.queue.originWoken(name, now: now) == [.commitSend(number)])
        let next = script.queue.sendConflicted(number, .wait, now: now)
        let sent = ModifierQueue.Action.commitSend(ModifierNumber(2))
        #expect(next == [script.change(1, .conflict, attempts: 0), sent])
        #expect(script.run(next) == [2])
        #expect(script.state(1) == .conflict)
    }

    @Test("With the rule `server` a conflict that is found before the send step fails (case 19)")
    mutating func failed() throws {
        _ = script.accept([try script.record(1, ["x"])])
        let ended = script.queue.sendConflicted(number, .fail, now: script.now)
        #expect(ended == [script.settle(1, .failed(.conflict))])
    }

    @Test("The next round counts as an attempt (case 19)")
    mutating func attempts() throws {
        var record = try script.record(1)
        record.attemptsMax = 2
        #expect(script.add([record]) == [1])
        #expect(script.finish(1, .conflict(.again)) == [1])
        #expect(script.end(1, .conflict(.again)) == [script.settle(1, .failed(.attempts))])
    }

    @Test("A read before the sending that fails is no attempt, and may be cancelled (19, 18)")
    mutating func readFailed() throws {
        let ends: [(ModifierVerdict, ModifierState)] = [
            (.authNeeded, .authWait), (.neverLeft, .queued), (.captive, .queued),
        ]
        for (verdict, state) in ends {
            script = try QueueScript()
            #expect(script.accept([try script.record(1)]).count == 1)
            let actions = script.queue.readFailed(
                ModifierNumber(1),
                verdict,
                rules: script.rules,
                randomUnit: QueueScript.randomUnit,
                now: script.now
            )
            #expect(actions == [script.change(1, state, attempts: 0)], "\(verdict)")
            _ = script.queue.changeCommitted(ModifierNumber(1), now: script.now)
            let ended = try script.queue.cancelAsked(
                ModifierNumber(1),
                withDependants: false,
                now: script.now
            )
            #expect(ended.contains(script.settle(1, .cancelled)), "\(verdict)")
        }
    }

    @Test("After a start a conflict waits for a person, unless a rule ends it by now (case 19)")
    mutating func restored() throws {
        var record = try script.record(1, ["x"])
        (record.state, record.attempts, record.mayHaveLeft) = (.conflict, 1, true)
        let later = try script.record(2, ["x"])
        #expect(script.run(script.restore([record, later])).isEmpty)
        #expect(script.wait(1) == .decision)
        script = try QueueScript()
        record.endsConflict = true
        #expect(script.run(script.restore([record, later])) == [1])
    }

    @Test("With an If-Match of the daemon a POST is repeated after no clear answer (case 22)")
    mutating func conditional() throws {
        _ = script.accept([try script.record(1, resends: false)])
        _ = script.queue.sendCommitted(number, isConditional: true, now: script.now)
        _ = script.finish(1, .unclear(.lost))
        #expect(script.run(script.pass(.seconds(60))) == [1])
    }
}
