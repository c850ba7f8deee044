import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("Bases and modifiers under faults")
struct QueueSimulationTests {
    /// P-02, P-04, P-07.
    @Test("A base is the last thing said and nothing accepted is lost, whatever befalls the files")
    func agrees() async {
        let kept = await withTaskGroup(of: KeptCounts.self) { group in
            for part in 0..<2 {
                group.addTask { await simulate(part) }
            }
            return await group.reduce(into: KeptCounts()) { $0 += $1 }
        }
        #expect(kept.held > 0 && kept.void > 0)
    }

    /// How often what was kept of reads counted.
    private func simulate(_ part: Int) async -> KeptCounts {
        var kept = KeptCounts()
        for seed in SimulationSeeds.first(50) where seed % 2 == UInt64(part) {
            do {
                let simulation = try QueueSimulation(seed: seed)
                do {
                    try await simulation.run(steps: 60)
                    kept += simulation.kept.counts
                } catch {
                    let steps = simulation.log.suffix(14).joined(separator: "\n")
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

    /// A step whose every operation is made to fail.
    struct Step: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// Of the bases, with which it begins.
        let text: String
        let run: @Sendable (TemporaryStore) async throws(StoreError) -> Void
    }

    private static let long = "\"" + String(repeating: "x", count: 150_000) + "\""

    static let steps = ["[1]", long].flatMap { text in
        [
            Step(testDescription: "an accept over \(text.utf8.count) bytes", text: text) {
                temporary throws(StoreError) in
                try await temporary.accept("two", "a", "b")
            },
            Step(testDescription: "a settlement of \(text.utf8.count) bytes", text: text) {
                temporary throws(StoreError) in
                try await temporary.confirm(ModifierNumber(1), text + " ")
            },
            Step(testDescription: "giving \(text.utf8.count) bytes back", text: text) {
                temporary throws(StoreError) in
                try await temporary.confirm(ModifierNumber(1))
                try await temporary.store.maintain()
            },
        ]
    }

    @Test(
        "A step is done or not done, whichever operation fails, and after a crash the same",
        arguments: steps,
        [FaultInjection.Code.inputOutput, .full]
    )
    func everyOperationFails(step: Step, code: FaultInjection.Code) async throws {
        for n in 1... {
            let faults = FaultInjection()
            let temporary = try TemporaryStore(configure: { $0.faults = faults })
            try await temporary.answer("a", step.text)
            try await temporary.answer("b", "[0]")
            try await temporary.accept("one", "a")
            faults.arm(n, with: code)
            do throws(StoreError) { try await step.run(temporary) } catch {
                #expect(faults.failures > 0, "n \(n): \(error)")
            }
            let failures = faults.failures
            faults.disarm()
            try await check(temporary, step.text, "n \(n)")
            try temporary.crash()
            try await check(temporary, step.text, "crash, n \(n)")
            try await temporary.store.maintain()
            try await check(temporary, step.text, "maintained, n \(n)")
            if failures == 0 { return }
        }
    }

    private func check(_ temporary: TemporaryStore, _ text: String, _ when: String) async throws {
        let found = try await temporary.store.modifiers.unsettled(after: nil)
        let names = found.compactMap { found -> String? in
            if case .readable(let modifier) = found { modifier.id.text } else { nil }
        }
        let target = try temporary.target("a")
        #expect(target?.1 ?? [] == names, "\(when)")
        let isSettled = !names.contains("one")
        let base = try await temporary.text("a")
        // Without a modifier the cache may have dropped it.
        #expect(
            base == text || isSettled && (base == text + " " || base == nil),
            "\(when): \(base?.prefix(9) ?? "nothing")"
        )
        #expect(try temporary.target("b")?.1 ?? [] == names.filter { $0 == "two" }, "\(when)")
        let other = try await temporary.text("b")
        #expect(other == "[0]" || other == nil && names == ["one"], "\(when)")
    }
}
