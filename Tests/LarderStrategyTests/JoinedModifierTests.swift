import LarderModel
import LarderStrategy
import Testing

@Suite("The modifier queue: joined modifiers (case 17)")
struct JoinedModifierTests {
    private var script: QueueScript
    private let first = ModifierNumber(1)
    private let second = ModifierNumber(2)
    private let third = ModifierNumber(3)

    init() throws {
        script = try QueueScript()
        _ = script.queue.originSetOffline(script.origin, now: script.now)
    }

    private func record(
        _ number: Int64,
        _ lanes: [String] = ["x"],
        dependsOn: [Int64] = []
    ) throws -> ModifierRecord {
        var record = try script.record(number, lanes, dependsOn: dependsOn)
        (record.mayLead, record.mayFollow) = (true, true)
        return record
    }

    /// Accepts while the origin is offline, and wakes it.
    private mutating func begin(_ records: [ModifierRecord]) -> [ModifierQueue.Action] {
        #expect(script.accept(records).isEmpty)
        return script.queue.originWoken(script.origin, now: script.now)
    }

    /// The attempt ends, and the origin counts as back a while later; what was sent.
    private mutating func finish(_ number: Int64, _ verdict: ModifierVerdict) -> [Int64] {
        script.finish(number, verdict) + script.run(script.pass(.seconds(60)))
    }

    private mutating func beginThree() throws {
        let actions = begin([try record(1), try record(2), try record(3)])
        #expect(actions == [.commitSend(first, joining: [second, third])])
        #expect(script.run(actions) == [1])
    }

    @Test("Only neighbours that were never sent, and of which nothing else depends, are joined")
    mutating func candidates() throws {
        var held = try record(2)
        (held.state, held.holdUntil) = (.held, .start.advanced(by: .seconds(60)))
        var sent = try record(2)
        sent.mayHaveLeft = true
        var only = try record(2)
        only.mayFollow = false
        let rows: [([ModifierRecord], [Int64])] = [
            ([try record(2), try record(3)], [2, 3]),
            ([try record(2, ["x", "y"]), try record(3)], []),
            ([held, try record(3)], []),
            ([sent, try record(3)], []),
            ([only, try record(3)], []),
            ([try record(2), try record(3, dependsOn: [2])], [2, 3]),
            ([try record(2), try record(3, ["y"], dependsOn: [2])], []),
            ([try record(2), try record(3), try record(4, ["z"], dependsOn: [3])], [2]),
            ([try record(2, ["y"]), try record(3)], [3]),
            ([try record(2), try record(3, dependsOn: [4])], [2, 3]),
        ]
        for (others, joined) in rows {
            script = try QueueScript()
            _ = script.queue.originSetOffline(script.origin, now: script.now)
            let actions = begin([try record(1)] + others)
            let numbers = joined.map { ModifierNumber($0) }
            let expected = ModifierQueue.Action.commitSend(first, joining: numbers)
            #expect(actions.first == expected, "\(others.map(\.lanes))")
        }
    }

    @Test("Joined modifiers settle with the first, and with its dependants if it fails")
    mutating func settle() throws {
        try beginThree()
        #expect(script.state(2) == .queued)
        let confirmed = script.end(1, .confirmed(.none))
        let both = [second, third]
        #expect(confirmed == [.settle(first, .confirmed, joined: both, dependants: [])])
        #expect(script.run(confirmed).isEmpty)
        #expect(script.queue.count == 0)

        self = try JoinedModifierTests()
        try beginThree()
        #expect(script.accept([try record(4, ["y"], dependsOn: [3])]).isEmpty)
        let failed = script.end(1, .refused)
        let group = ModifierQueue.Action.settle(
            first,
            .failed(.refused),
            joined: both,
            dependants: [ModifierNumber(4)]
        )
        #expect(failed == [group])
        #expect(script.run(failed).isEmpty)
        #expect(script.queue.count == 0)
    }

    @Test("The shell may join fewer, which are sent after the first")
    mutating func fewer() throws {
        _ = begin([try record(1), try record(2), try record(3)])
        let sent = script.queue.sendCommitted(first, joined: [second], now: script.now)
        #expect(sent == [.send(first)])
        #expect(finish(1, .confirmed(.none)) == [3])
    }

    @Test("Modifiers that need no request are cancelled, and nothing is sent")
    mutating func needless() throws {
        _ = begin([try record(1), try record(2), try record(3)])
        let actions = script.queue.sendNeedless(first, joined: [second], now: script.now)
        let cancelled = ModifierQueue.Action.settle(
            first,
            .cancelled,
            joined: [second],
            dependants: []
        )
        #expect(actions.contains(cancelled))
        #expect(script.run(actions) == [3])
    }

    @Test("A dependant that is accepted while a group cancels out fails, and is not cancelled")
    mutating func lateDependant() throws {
        _ = begin([try record(1), try record(2, dependsOn: [1])])
        #expect(script.accept([try record(3, dependsOn: [1])]).isEmpty)
        let actions = script.queue.sendNeedless(first, joined: [second], now: script.now)
        let cancelled = ModifierQueue.Action.settle(
            first,
            .cancelled,
            joined: [second],
            dependants: []
        )
        #expect(actions == [script.settle(3, .failed(.parentFailed)), cancelled])
        #expect(script.accept([try record(4, dependsOn: [2])]).isEmpty)
        let last = script.queue.settleCommitted(first, now: script.now)
        #expect(last == [script.settle(4, .failed(.parentFailed))])
        #expect(script.run(last + actions).isEmpty)
        #expect(script.queue.count == 0)
    }

    @Test("A group of which no byte has left is joined again with those that came since")
    mutating func neverLeft() throws {
        try beginThree()
        #expect(script.finish(1, .neverLeft).isEmpty)
        #expect(script.accept([try record(4)]).isEmpty)
        let actions = script.queue.originWoken(script.origin, now: script.now)
        #expect(actions == [.commitSend(first, joining: [second, third, ModifierNumber(4)])])
        _ = script.queue.sendNotCommitted(first, randomUnit: 1, now: script.now)
        #expect(
            script.run(try script.queue.cancelAsked(third, withDependants: true, now: script.now))
                .isEmpty
        )
        let left = [second, ModifierNumber(4)]
        #expect(script.pass(.seconds(5)).contains(.commitSend(first, joining: left)))
    }

    @Test("A group stays one after an answer that it was not applied, and none is joined to it")
    mutating func repeats() throws {
        for verdict: ModifierVerdict in [.serverFailed(retryAfter: nil), .notNow(retryAfter: nil)] {
            self = try JoinedModifierTests()
            try beginThree()
            #expect(script.finish(1, verdict).isEmpty)
            #expect(script.accept([try record(4)]).isEmpty)
            let actions = script.pass(.seconds(600))
            #expect(actions == [.commitSend(first)])
            _ = script.queue.sendCommitted(first, joined: [second, third], now: script.now)
            #expect(script.finish(1, .confirmed(.none)) == [4])
        }
    }

    @Test("A conflict takes the group apart")
    mutating func conflict() throws {
        try beginThree()
        #expect(finish(1, .conflict(.again)) == [1])
        #expect(script.end(1, .confirmed(.none)) == [script.settle(1, .confirmed)])
    }

    @Test("After a 500 and a conflict none of the group is cancelled or joined again (case 18)")
    mutating func perhapsApplied() throws {
        try beginThree()
        #expect(script.finish(1, .serverFailed(retryAfter: nil)).isEmpty)
        #expect(script.pass(.seconds(600)) == [.commitSend(first)])
        _ = script.queue.sendCommitted(first, joined: [second, third], now: script.now)
        #expect(script.finish(1, .conflict(.wait)).isEmpty)
        let now = script.now
        for number in [first, second, third] {
            #expect(throws: ModifierQueue.Refusal.alreadySent) {
                try script.queue.cancelAsked(number, withDependants: true, now: now)
            }
        }
        let actions = try script.queue.discardAsked(first, now: now)
        #expect(actions == [script.settle(1, .failed(.discarded))])
        #expect(script.run(actions) == [2])
    }

    @Test("None of a confirmed group that is not shown yet is cancelled (cases 18, 29)")
    mutating func answered() throws {
        try beginThree()
        _ = script.end(1, .confirmed(.none))
        for number in [first, second, third] {
            _ = script.queue.answerCommitted(number, now: script.now)
        }
        let now = script.now
        for number in [first, second, third] {
            #expect(script.queue.state(of: number) == .accepted)
            #expect(throws: ModifierQueue.Refusal.alreadySent) {
                try script.queue.cancelAsked(number, withDependants: true, now: now)
            }
        }
    }

    @Test("A modifier that leaves its group after a 500 is not cancelled (case 18)")
    mutating func partedAtSend() throws {
        try beginThree()
        #expect(script.finish(1, .serverFailed(retryAfter: nil)).isEmpty)
        #expect(script.pass(.seconds(600)) == [.commitSend(first)])
        _ = script.queue.sendCommitted(first, joined: [], now: script.now)
        let now = script.now
        #expect(throws: ModifierQueue.Refusal.alreadySent) {
            try script.queue.cancelAsked(second, withDependants: true, now: now)
        }
        #expect(finish(1, .confirmed(.none)) == [2])
    }

    @Test("To cancel one where that is allowed takes the group apart (case 18)")
    mutating func cancel() throws {
        for number in [first, second] {
            self = try JoinedModifierTests()
            try beginThree()
            let now = script.now
            #expect(throws: ModifierQueue.Refusal.inFlight) {
                try script.queue.cancelAsked(number, withDependants: true, now: now)
            }
            #expect(script.finish(1, .notNow(retryAfter: .seconds(60))).isEmpty)
            let actions = try script.queue.cancelAsked(number, withDependants: true, now: now)
            #expect(actions == [script.settle(number.value, .cancelled)])
            #expect(script.pass(.seconds(600)).isEmpty, "the first waits for the step")
            let sent = script.run(actions)
            #expect(sent == (number == first ? [2] : [1]))
            #expect(script.queue.count == 2)
        }
    }

    @Test("A modifier that may have been applied is discarded with its group, and not cancelled")
    mutating func discard() throws {
        try beginThree()
        #expect(script.finish(1, .serverFailed(retryAfter: nil)).isEmpty)
        let now = script.now
        #expect(throws: ModifierQueue.Refusal.alreadySent) {
            try script.queue.cancelAsked(second, withDependants: true, now: now)
        }
        #expect(throws: ModifierQueue.Refusal.alreadySent) {
            try script.queue.editAsked(second, now: now)
        }
        let actions = try script.queue.discardAsked(third, now: now)
        let both = [second, third]
        let outcome = ModifierQueue.Outcome.failed(.discarded)
        #expect(actions == [.settle(first, outcome, joined: both, dependants: [])])
    }

    @Test("An edit of one takes the group apart once it is written")
    mutating func edit() throws {
        for isWritten in [true, false] {
            self = try JoinedModifierTests()
            try beginThree()
            #expect(script.finish(1, .notNow(retryAfter: .seconds(60))).isEmpty)
            #expect(try script.queue.editAsked(second, now: script.now).isEmpty)
            #expect(script.pass(.seconds(600)).isEmpty)
            let edited = isWritten ? try record(2) : nil
            let actions = script.queue.editEnded(second, edited, now: script.now)
            #expect(actions == [.commitSend(first)])
            let joined = isWritten ? [] : [second, third]
            _ = script.queue.sendCommitted(first, joined: joined, now: script.now)
            #expect(script.finish(1, .confirmed(.none)) == (isWritten ? [2] : []))
        }
    }

    @Test("A 202 puts all of them out of their lanes (case 7)")
    mutating func accepted() throws {
        try beginThree()
        #expect(script.accept([try record(4)]).isEmpty)
        #expect(finish(1, .accepted) == [4])
        #expect([1, 2, 3].allSatisfy { script.state($0) == .accepted })
        #expect(script.run(script.queue.readConfirmed(third, now: script.now)).isEmpty)
        #expect(script.queue.count == 3)
    }

    @Test("After a restart a group is one, and none of it expires")
    mutating func restart() throws {
        script = try QueueScript()
        var sent = try record(1)
        (sent.state, sent.attempts, sent.nextAttemptAt) = (.unknown, 1, .start)
        var joined = try record(2)
        (joined.joinedInto, joined.expiresAt) = (first, .start.advanced(by: .seconds(5)))
        let actions = script.restore([sent, joined])
        #expect(actions + script.pass(.seconds(10)) == [.commitSend(first)])
        _ = script.queue.sendCommitted(first, joined: [second], now: script.now)
        let ended = script.end(1, .confirmed(.none))
        #expect(ended == [.settle(first, .confirmed, joined: [second], dependants: [])])
    }

    @Test("A retry of a joined modifier is one of its first")
    mutating func retry() throws {
        try beginThree()
        #expect(script.finish(1, .unclear(.refusedRepeat)).isEmpty)
        let actions = try script.queue.retryAsked(third, now: script.now)
        #expect(actions == [script.change(1, .queued, isPerhapsApplied: true)])
    }
}
