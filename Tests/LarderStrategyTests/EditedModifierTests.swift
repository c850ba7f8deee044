import LarderModel
import LarderStrategy
import Testing

@Suite("The modifier queue: edits (case 18)")
struct EditedModifierTests {
    private var script: QueueScript
    private let number = ModifierNumber(1)

    init() throws {
        script = try QueueScript()
    }

    private func lane(_ name: String) throws -> Lane { .name(try LaneName(name)) }

    /// Edits a modifier that waits; what was sent by that.
    private mutating func edit(
        _ number: Int64,
        _ lanes: [String],
        dependsOn: [Int64] = []
    ) throws -> [Int64] {
        let number = ModifierNumber(number)
        let asked = script.run(try script.queue.editAsked(number, now: script.now))
        let record = try script.record(number.value, lanes, dependsOn: dependsOn)
        return asked + script.run(script.queue.editEnded(number, record, now: script.now))
    }

    @Test("A modifier is not sent while its edit is written")
    mutating func written() throws {
        _ = script.queue.originSetOffline(script.origin, now: script.now)
        #expect(script.add([try script.record(1, ["x"]), try script.record(2, ["x"])]).isEmpty)
        #expect(script.run(try script.queue.editAsked(number, now: script.now)).isEmpty)
        #expect(script.state(1) == .queued)
        #expect(script.run(script.queue.originWoken(script.origin, now: script.now)).isEmpty)
        let now = script.now
        for _ in 0..<2 {
            #expect(throws: ModifierQueue.Refusal.notNow) {
                try script.queue.editAsked(number, now: now)
            }
            #expect(throws: ModifierQueue.Refusal.notNow) {
                try script.queue.cancelAsked(number, withDependants: true, now: now)
            }
        }
        #expect(script.run(script.queue.editEnded(number, nil, now: now)) == [1])
        #expect(script.run(script.queue.editEnded(number, nil, now: now)).isEmpty)
    }

    @Test("A modifier can be edited until an answer leaves open if it was applied")
    mutating func afterAnswers() throws {
        let denials: [ModifierVerdict] = [
            .notNow(retryAfter: nil), .authNeeded, .captive, .neverLeft,
        ]
        let others: [ModifierVerdict] = [
            .notNow(retryAfter: nil, isSure: false), .serverFailed(retryAfter: nil),
            .unclear(.lost), .accepted,
        ]
        for (verdicts, mayEdit) in [(denials, true), (others, false)] {
            for verdict in verdicts {
                script = try QueueScript()
                let now = script.now
                #expect(script.add([try script.record(1)]) == [1])
                #expect(throws: ModifierQueue.Refusal.inFlight) {
                    try script.queue.editAsked(number, now: now)
                }
                #expect(script.finish(1, verdict).isEmpty)
                let state = script.state(1)
                guard mayEdit else {
                    #expect(throws: ModifierQueue.Refusal.alreadySent, "\(verdict)") {
                        try script.queue.editAsked(number, now: now)
                    }
                    continue
                }
                #expect(try edit(1, ["x"]).isEmpty, "\(verdict)")
                #expect(script.state(1) == state, "\(verdict)")
            }
        }
    }

    @Test("A held modifier stays held, and is queued when its hold ends")
    mutating func held() throws {
        var record = try script.record(1, ["x"])
        record.state = .held
        record.holdUntil = .start.advanced(by: .seconds(10))
        #expect(script.add([record]).isEmpty)
        #expect(try edit(1, ["y"]).isEmpty)
        #expect(script.wait(1) == .hold(until: script.now + .seconds(10)))
        // Nor does the end of the hold send it while the edit is written.
        #expect(script.run(try script.queue.editAsked(number, now: script.now)).isEmpty)
        #expect(script.pass(.seconds(10)).isEmpty)
        let next = script.queue.editEnded(number, nil, now: script.now)
        #expect(next == [script.change(1, .queued, attempts: 0)])
    }

    @Test("In its new lanes a modifier has the place of its number")
    mutating func lanes() throws {
        _ = script.queue.originSetOffline(script.origin, now: script.now)
        let records = [
            try script.record(1, ["a"]), try script.record(2, ["b"]), try script.record(3, ["a"]),
            try script.record(4, ["b"]),
        ]
        #expect(script.add(records).isEmpty)
        #expect(try edit(2, ["a"]).isEmpty)
        #expect(script.wait(3) == .lane(try lane("a"), after: ModifierNumber(2)))
        #expect(script.wait(4) == .setOffline)
        let woken = script.queue.originWoken(script.origin, now: script.now)
        #expect(script.run(woken) == [1])
        _ = script.finish(1, .confirmed(.none))
        #expect(script.run(script.pass(.seconds(2))) == [2, 4])
    }

    @Test("A modifier waits for a later one that is being sent, and goes before its repeat")
    mutating func underWay() throws {
        _ = script.queue.lanePaused(try lane("a"), of: script.scope, now: script.now)
        let records = [try script.record(1, ["a"]), try script.record(2, ["b"])]
        #expect(script.add(records) == [2])
        #expect(try edit(1, ["b"]).isEmpty)
        #expect(script.wait(1) == .lane(try lane("b"), after: ModifierNumber(2)))
        #expect(script.finish(2, .notNow(retryAfter: nil)) == [1])
        #expect(script.run(script.pass(.seconds(60))).isEmpty)
        #expect(script.wait(2) == .lane(try lane("b"), after: number))
        #expect(script.finish(1, .confirmed(.none)) == [2])
    }

    @Test("Dependants stay, and what an edit depends on is confirmed first")
    mutating func dependencies() throws {
        _ = script.queue.lanePaused(try lane("a"), of: script.scope, now: script.now)
        let records = [
            try script.record(1, ["a"]), try script.record(2, ["a"]),
            try script.record(3, dependsOn: [2]),
        ]
        #expect(script.add(records).isEmpty)
        #expect(try edit(2, ["b"], dependsOn: [1]).isEmpty)
        #expect(script.wait(2) == .dependency(number))
        #expect(script.queue.dependants(of: number) == [2, 3].map { ModifierNumber($0) })
        let actions = try script.queue.cancelAsked(number, withDependants: true, now: script.now)
        #expect(actions == [script.settle(1, .cancelled, [2, 3])])
    }

    @Test("An edit that depends on one which was cancelled meanwhile fails")
    mutating func lateDependency() throws {
        _ = script.queue.lanePaused(try lane("a"), of: script.scope, now: script.now)
        let records = [try script.record(1, ["a"]), try script.record(2, ["a"])]
        #expect(script.add(records).isEmpty)
        let two = ModifierNumber(2)
        #expect(script.run(try script.queue.editAsked(two, now: script.now)).isEmpty)
        let gone = try script.queue.cancelAsked(number, withDependants: true, now: script.now)
        #expect(script.run(gone).isEmpty)
        let record = try script.record(2, ["b"], dependsOn: [1])
        let actions = script.queue.editEnded(two, record, now: script.now)
        #expect(actions == [script.settle(2, .failed(.parentFailed))])
    }

    @Test("A new credential that came while an edit was written sends the modifier")
    mutating func credential() throws {
        #expect(script.add([try script.record(1)]) == [1])
        #expect(script.finish(1, .authNeeded).isEmpty)
        #expect(script.run(try script.queue.editAsked(number, now: script.now)).isEmpty)
        let scope = script.scope
        let changed = script.queue.credentialChanged(
            at: script.origin,
            of: scope,
            now: script.now
        )
        #expect(script.run(changed).isEmpty)
        #expect(script.run(script.queue.editEnded(number, nil, now: script.now)) == [1])
    }
}
