import LarderModel
import LarderStrategy
import LarderTestSupport
import Testing

@Suite("The modifier queue under any order of events")
struct ModifierQueueSimulationTests {
    private static let seeds = SimulationSeeds.first(1_000)
    private static let batches = UInt64(20)

    @Test(
        "A judge from outside finds the rules kept, and everything settled at the end",
        arguments: 0..<batches
    )
    func random(batch: UInt64) throws {
        for seed in Self.seeds where seed % Self.batches == batch {
            guard let complaint = try Self.life(seed).judge.complaints.first else { continue }
            let log = try Self.life(seed, logs: true).log ?? []
            let last = log.suffix(20).joined(separator: "\n")
            Issue.record("\(SimulationSeeds.advice(seed)): \(complaint), after\n\(last)")
            return
        }
    }

    private static func life(_ seed: UInt64, logs: Bool = false) throws -> QueueWorld {
        var world = try QueueWorld(seed: seed)
        if logs { world.log = [] }
        for _ in 0..<(20 + seed % 100) where world.judge.complaints.isEmpty { world.step() }
        if world.judge.complaints.isEmpty { world.settleAll() }
        return world
    }

    @Test("Groups of joined modifiers go each way that they can go (case 17)")
    func groups() throws {
        var shown: Set<GroupEvent> = []
        for seed in 0..<UInt64(1_000) where shown.count < GroupEvent.allCases.count {
            var world = try QueueWorld(seed: seed)
            world.isPatient = true
            for _ in 0..<120 where world.judge.complaints.isEmpty { world.step() }
            #expect(world.judge.complaints.isEmpty, "seed \(seed)")
            shown.formUnion(world.groupEvents)
        }
        let missing = Set(GroupEvent.allCases).subtracting(shown)
        #expect(missing.isEmpty)
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
            #expect(!Self.complaints(of: world).isEmpty, "\(actions)")
        }
    }

    /// Without those about the machine, which is empty.
    private static func complaints(of world: QueueWorld) -> [String] {
        world.judge.complaints.filter {
            !$0.contains("in the queue, not") && !$0.hasSuffix("waits for nothing")
        }
    }

    @Test("The judge complains about what breaks the rules of joined modifiers (case 17)")
    func joiningJudge() throws {
        typealias Action = ModifierQueue.Action
        let numbers = (0...10).map { ModifierNumber($0) }
        let (lead, again) = (numbers[1], numbers[7])
        func sent(_ joining: [Int]) -> Action {
            .commitSend(lead, joining: joining.map { numbers[$0] })
        }
        let first = sent([2, 3, 4])
        let refused = ModifierQueue.Outcome.failed(.refused)
        func settle(_ joined: [Int], _ dependants: [Int], confirmed: Bool = false) -> Action {
            let (same, others) = (joined.map { numbers[$0] }, dependants.map { numbers[$0] })
            let outcome = confirmed ? .confirmed : refused
            return .settle(again, outcome, joined: same, dependants: others)
        }
        let kept: [[Action]] = [
            [first, .commitSend(again)], [first, settle([8], [10])],
            [first, settle([8], [], confirmed: true)],
        ]
        let broken: [[Action]] = [
            // Alone, with fewer, with one that another depends on, not in their order.
            [.commitSend(lead), .commitSend(again)], [sent([2]), .commitSend(again)],
            [sent([2, 3, 4, 5]), .commitSend(again)], [sent([3, 2, 4]), .commitSend(again)],
            // With another one after bytes have left.
            [first, .commitSend(again, joining: [numbers[9]])],
            // A joined one is sent by itself, or settles before the first.
            [first, .commitSend(again), .commitSend(numbers[2])],
            [first, .settle(numbers[8], .failed(.expired), dependants: [numbers[10]])],
            // The first settles without it, with another one, or twice.
            [first, .settle(again, .confirmed, dependants: [])], [first, settle([8, 9], [10])],
            [first, settle([8], [10]), settle([8], [10])],
            // What depends on it stays, or leaves though it is confirmed.
            [first, settle([8], [])], [first, settle([8], [10], confirmed: true)],
        ]
        for actions in kept + broken {
            var world = try QueueWorld(seed: 1)
            for number in numbers.dropFirst() {
                let lane = number < numbers[6] ? 0 : number < again ? 1 : 2
                var record = ModifierRecord(
                    number: number,
                    scope: world.scopes[0],
                    origin: world.origins[0],
                    lanes: number == numbers[10] ? [] : [world.lanes[lane]],
                    resends: true
                )
                (record.mayLead, record.mayFollow) = (true, true)
                if number == numbers[6] { record.dependsOn = [numbers[5]] }
                if number == again { record.mayHaveLeft = true }
                if number == numbers[10] { record.dependsOn = [numbers[8]] }
                var row = QueueJudge.Row(record: record, lanes: world.bits(of: record))
                row.isTold = true
                if number == numbers[8] { row.joinedTo = again }
                world.judge.accepted(row)
            }
            world.judge.saw(actions, .zero)
            world.judge.look(world.queue, .zero)
            let complaints = Self.complaints(of: world)
            #expect(complaints.isEmpty == kept.contains(actions), "\(actions): \(complaints)")
        }
    }
}
