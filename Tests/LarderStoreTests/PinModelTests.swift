import LarderTestSupport
import Testing

@Suite("Pins and their model")
struct PinModelTests {
    /// P-07: no pinned row is hurt by the loss of `cache.db`, a crash, or a failing disk.
    @Test("What is pinned reads as it was last given, whatever befalls the cache")
    func agrees() async {
        await withTaskGroup(of: Void.self) { group in
            for part in 0..<2 {
                group.addTask { await simulate(part) }
            }
        }
    }

    private func simulate(_ part: Int) async {
        for seed in SimulationSeeds.first(120) where seed % 2 == UInt64(part) {
            do {
                let simulation = try PinSimulation(seed: seed)
                do {
                    try await simulation.run(steps: 60)
                } catch {
                    let steps = simulation.log.suffix(12).joined(separator: "\n")
                    Issue.record("seed \(seed): \(error), after\n\(steps)")
                    return
                }
            } catch {
                Issue.record("seed \(seed): \(error)")
                return
            }
        }
    }
}
