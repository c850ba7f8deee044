import LarderTestSupport
import Testing

@testable import LarderStore

/// P-02, P-13.
@Suite("A state.db that is harmed by meaning", .timeLimit(.minutes(60)))
struct StateFuzzTests {
    @Test("Whatever its rows and pages say costs those rows, and the store goes on")
    func small() async {
        await withTaskGroup(of: Void.self) { group in
            for part in 0..<2 {
                group.addTask {
                    for seed in SimulationSeeds.first(12) where seed % 2 == UInt64(part) {
                        guard await passes(seed, isLarge: false) else { return }
                    }
                }
            }
        }
    }

    @Test("The same of a file too large to be read through at start")
    func large() async {
        for seed in SimulationSeeds.first(1) where seed < 1 || seed % 20 == 0 {
            guard await passes(seed, isLarge: true) else { return }
        }
    }

    private func passes(_ seed: UInt64, isLarge: Bool) async -> Bool {
        do {
            let fuzz = try StateFuzz(seed: seed, isLarge: isLarge)
            do {
                try await fuzz.run()
                return true
            } catch {
                let steps = fuzz.log.joined(separator: "\n")
                Issue.record("\(SimulationSeeds.advice(seed)): \(error), after\n\(steps)")
            }
        } catch {
            Issue.record("\(SimulationSeeds.advice(seed)): \(error)")
        }
        return false
    }
}
