import LarderModel
import LarderStrategy
import Testing

@Suite("Modifiers of a thing that gets its real id (case 16)")
struct RenamedLaneTests {
    private var script: QueueScript
    private let old: EntryID
    private let new: EntryID

    init() throws {
        script = try QueueScript()
        old = try EntryID("tmp")
        new = try EntryID("real")
    }

    private func record(
        _ number: Int64,
        _ id: EntryID,
        dependsOn: [Int64] = []
    ) throws
        -> ModifierRecord
    {
        var record = try script.record(number, dependsOn: dependsOn)
        record.lanes = [.id(id)]
        return record
    }

    private mutating func rename(_ numbers: Int64...) -> [ModifierQueue.Action] {
        let moved = numbers.map { (number: ModifierNumber($0), lanes: [Lane.id(new)]) }
        defer { script.queue.checkInvariants() }
        return script.queue.renamed([(old, new)], moved, of: script.scope, now: script.now)
    }

    @Test("An edit from before goes first in the lane of the real id")
    mutating func order() throws {
        #expect(script.add([try record(1, old)]) == [1])
        #expect(script.accept([try record(2, old, dependsOn: [1])]).isEmpty)
        #expect(script.end(1, .confirmed(.none)) == [script.settle(1, .confirmed)])
        #expect(rename(1, 2).isEmpty)
        #expect(script.accept([try record(3, new)]).isEmpty)
        let next = script.queue.settleCommitted(ModifierNumber(1), now: script.now)
        #expect(next == [.commitSend(ModifierNumber(2))])
        #expect(script.queue.waitingFor(ModifierNumber(3)) != nil)
    }

    @Test("A renamed write waits for a later write of the real id that is being sent")
    mutating func underWay() throws {
        #expect(script.add([try record(1, old)]) == [1])
        #expect(script.accept([try record(2, old, dependsOn: [1])]).isEmpty)
        #expect(script.add([try record(3, new)]) == [3])
        #expect(script.end(1, .confirmed(.none)) == [script.settle(1, .confirmed)])
        #expect(rename(1, 2).isEmpty)
        #expect(script.queue.settleCommitted(ModifierNumber(1), now: script.now).isEmpty)
        #expect(script.end(3, .confirmed(.none)) == [script.settle(3, .confirmed)])
        let next = script.queue.settleCommitted(ModifierNumber(3), now: script.now)
        #expect(next == [.commitSend(ModifierNumber(2))])
    }

    @Test("A paused lane stays paused under the real id")
    mutating func paused() throws {
        #expect(script.accept([try record(1, old), try record(2, old)]).count == 1)
        let (now, scope) = (script.now, script.scope)
        _ = script.queue.lanePaused(.id(old), of: scope, now: now)
        _ = rename(2)
        #expect(script.queue.laneResumed(.id(old), of: scope, now: now).isEmpty)
        let next = script.queue.laneResumed(.id(new), of: scope, now: now)
        #expect(next == [.commitSend(ModifierNumber(2))])
    }

    @Test("A write that is not sent lets another try the credential")
    mutating func trial() throws {
        #expect(script.add([try script.record(1)]) == [1])
        #expect(script.finish(1, .authNeeded).isEmpty)
        let second = ModifierNumber(2)
        let records = [try script.record(2), try script.record(3)]
        #expect(script.accept(records) == [.commitSend(second)])
        let actions = script.queue.sendConflicted(second, .wait, now: script.now)
        #expect(actions.contains(.commitSend(ModifierNumber(3))))
        script.queue.checkInvariants()
    }
}
