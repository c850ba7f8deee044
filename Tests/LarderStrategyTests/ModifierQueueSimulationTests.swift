import LarderModel
import LarderStrategy
import Testing

@Suite("The modifier queue under any order of events")
struct ModifierQueueSimulationTests {
    private static let runs: UInt64 = 25

    @Test(
        "A judge from outside finds the rules kept, and everything settled at the end",
        arguments: 0..<UInt64(20)
    )
    func random(batch: UInt64) throws {
        for seed in (batch * Self.runs)..<((batch + 1) * Self.runs) {
            var world = try QueueWorld(seed: seed)
            var events = 0
            while events < 120, world.judge.complaints.isEmpty {
                world.step()
                events += 1
            }
            if world.judge.complaints.isEmpty { world.settleAll() }
            let complaints = world.judge.complaints
            #expect(complaints.isEmpty, "seed \(seed), event \(events)")
            guard complaints.isEmpty else { return }
        }
    }
}
