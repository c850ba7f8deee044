import LarderTestSupport
import Testing

@Suite("The store and its model")
struct StoreModelTests {
    /// Full hashes; 32 of them for 48 ids, half of them negative.
    @Test(
        "The store holds what the model holds, in the same order of use and with the same sums",
        arguments: [UInt64.max, 0xF800_0000_0000_0000]
    )
    func agrees(hashMask: UInt64) async {
        let kept = await withTaskGroup(of: KeptCounts.self) { group in
            for part in 0..<4 {
                group.addTask { await simulate(0..<30, part, hashMask) }
            }
            return await group.reduce(into: KeptCounts()) { $0 += $1 }
        }
        #expect(kept.held > 0 && kept.void > 0)
    }

    /// How often what was kept of reads counted.
    private func simulate(
        _ numbers: Range<Int>,
        _ part: Int,
        _ hashMask: UInt64
    ) async -> KeptCounts {
        var kept = KeptCounts()
        for number in numbers {
            let seed = UInt64(number * 4 + part)
            do {
                let simulation = try StoreSimulation(seed: seed, hashMask: hashMask)
                do {
                    try await simulation.run(steps: 100)
                    kept += simulation.kept.counts
                } catch {
                    let steps = simulation.log.suffix(12).joined(separator: "\n")
                    Issue.record("seed \(seed): \(error), after\n\(steps)")
                    return kept
                }
            } catch {
                Issue.record("seed \(seed): \(error)")
                return kept
            }
        }
        return kept
    }
}
