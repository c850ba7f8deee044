import LarderTestSupport
import Testing

@Suite("The whole engine, simulated", .timeLimit(.minutes(60)))
struct EngineSimulationTests {
    /// What one core runs in a minute, in a debug build.
    private static let seedCount: UInt64 = 200
    private static let steps = 40

    /// P-01 to P-07.
    @Test("What is accepted ends once, in order, and what is shown is base with the rest of it")
    func agrees() async {
        let seeds = SimulationSeeds.first(Self.seedCount)
        await withTaskGroup(of: Void.self) { group in
            for part in 0..<UInt64(2) {
                group.addTask {
                    for seed in seeds where seed % 2 == part {
                        guard Self.agrees(seed, showingAll: seeds.count == 1) else { return }
                    }
                }
            }
        }
    }

    private static func agrees(_ seed: UInt64, showingAll: Bool) -> Bool {
        do {
            let simulation = try EngineSimulation(seed: seed)
            do {
                try simulation.run(steps: steps)
                return true
            } catch let complaint as SimulationJudge.Complaint {
                let log = showingAll ? simulation.log[...] : simulation.log.suffix(60)
                let steps = log.joined(separator: "\n")
                Issue.record("\(SimulationSeeds.advice(seed)): \(complaint.text), after\n\(steps)")
            }
        } catch {
            Issue.record("\(SimulationSeeds.advice(seed)): \(error)")
        }
        return false
    }
}
