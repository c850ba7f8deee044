import LarderModel
import LarderStrategy
import Testing

@Suite("The modifier queue under any order of events")
struct ModifierQueueSimulationTests {
    private static let runs: UInt64 = 50

    @Test(
        "A judge from outside finds the rules kept, and everything settled at the end",
        arguments: 0..<UInt64(20)
    )
    func random(batch: UInt64) throws {
        for seed in (batch * Self.runs)..<((batch + 1) * Self.runs) {
            var world = try QueueWorld(seed: seed)
            var events: UInt64 = 0
            while events < 20 + seed % 100, world.judge.complaints.isEmpty {
                world.step()
                events += 1
            }
            if world.judge.complaints.isEmpty { world.settleAll() }
            let complaints = world.judge.complaints
            #expect(complaints.isEmpty, "seed \(seed), event \(events)")
            guard complaints.isEmpty else { return }
        }
    }

    @Test("The judge complains about what breaks the rules")
    func judge() throws {
        typealias Action = ModifierQueue.Action
        let numbers = (1...9).map { ModifierNumber($0) }
        let broken: [[Action]] = [
            // Behind another in its lane; before what it depends on; never accepted; in a hold.
            [.commitSend(numbers[1])], [.commitSend(numbers[2])], [.commitSend(ModifierNumber(99))],
            [.commitSend(numbers[3])],
            // Before its step is committed, or twice.
            [.send(numbers[0])], [.commitSend(numbers[0]), .commitSend(numbers[0])],
            // Without those that depend on it, and with one that does not.
            [.settle(numbers[0], .failed(.refused), dependants: [])],
            [.settle(numbers[1], .cancelled, dependants: [numbers[3]])],
            // One that may be sent is not.
            [],
        ]
        for actions in broken {
            var world = try QueueWorld(seed: 1)
            for number in numbers {
                var record = ModifierRecord(
                    number: number,
                    scope: world.scopes[0],
                    origin: world.origins[0],
                    lanes: number <= numbers[1] ? [world.lanes[0]] : [],
                    resends: true
                )
                if number == numbers[2] { record.dependsOn = [numbers[0]] }
                if number == numbers[3] { record.state = .held }
                let lanes = record.lanes.reduce(0) { $0 | world.bit($1, record.scope) }
                var row = QueueJudge.Row(record: record, lanes: lanes)
                row.isTold = true
                world.judge.accepted(row)
            }
            world.judge.saw(actions, .zero)
            world.judge.look(world.queue, .zero)
            // That the machine is empty is one complaint, as is each that waits for nothing.
            let own = world.judge.complaints.filter {
                !$0.hasSuffix("in the queue, not 9") && !$0.hasSuffix("waits for nothing")
            }
            #expect(!own.isEmpty, "\(actions)")
        }
    }
}
