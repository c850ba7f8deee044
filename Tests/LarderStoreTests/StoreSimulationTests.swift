import LarderTestSupport
import Testing

@Suite("The store, simulated", .timeLimit(.minutes(60)))
struct StoreSimulationTests {
    /// Full hashes; 32 of them for 48 ids, half of them negative.
    @Test(
        "The store holds what the model holds, in the same order of use and with the same sums",
        arguments: [UInt64.max, 0xF800_0000_0000_0000]
    )
    func evictable(hashMask: UInt64) async throws {
        let kept = try await SimulationSeeds.run(SimulationSeeds.first(120), tasks: 4) { seed in
            try await StoreSimulation(seed: seed, hashMask: hashMask).run(steps: 100)
        }
        #expect(kept.held > 0 && kept.void > 0)
    }

    /// P-02, P-04, P-07.
    @Test("A base or pin is the last thing said, and nothing accepted is lost, over all faults")
    func durable() async throws {
        let kept = try await SimulationSeeds.run(SimulationSeeds.first(120)) { seed in
            try await DurableSimulation(seed: seed).run(steps: 60)
        }
        #expect(kept.held > 0 && kept.void > 0)
    }

    // MARK: A state.db that is harmed by meaning: P-02, P-13

    @Test("Damaged rows and pages of state.db cost those rows only, and the store goes on")
    func small() async throws {
        _ = try await SimulationSeeds.run(SimulationSeeds.first(12)) { seed in
            try await StateFuzz(seed: seed).run()
        }
    }

    @Test("The same of a file too large to be read through at start")
    func large() async throws {
        for seed in SimulationSeeds.first(1) where seed < 1 || seed % 20 == 0 {
            _ = try await SimulationSeeds.run(seed..<(seed + 1), tasks: 1) { seed in
                try await StateFuzz(seed: seed, isLarge: true).run()
            }
        }
    }
}
