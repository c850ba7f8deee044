import LarderTestSupport
import Testing

@Suite("The whole engine, simulated", .timeLimit(.minutes(60)))
struct EngineSimulationTests {
    /// Lives of a daemon and its clients.
    struct Lives: CustomTestStringConvertible, Sendable {
        /// About what a core runs in two minutes and a half, or in half a minute, in a debug build.
        let seedCount: UInt64
        let steps: Int
        /// Whether they have a list of entities.
        var hasList = false
        /// Whether each of them also meets a fault of lists.
        var hasFaults = false

        var testDescription: String {
            let kind = hasFaults ? " with a list and a fault" : hasList ? " with a list" : ""
            return "\(steps) steps\(kind)"
        }
    }

    /// Many short ones, for all that may be near a start, and some in which much comes together.
    private static let lives = [
        Lives(seedCount: 2_000, steps: 8), Lives(seedCount: 100, steps: 40),
        Lives(seedCount: 100, steps: 8, hasList: true),
        Lives(seedCount: 50, steps: 40, hasList: true),
        Lives(seedCount: ListFault.roundSeeds, steps: 8, hasList: true, hasFaults: true),
        Lives(seedCount: 12, steps: 40, hasList: true, hasFaults: true),
    ]

    /// A fault that most seeds meet ends the run, one that few meet does not hide the others.
    private static let failuresMax = 20

    /// P-01 to P-07.
    @Test(
        "Each accepted write ends once, in order, and each view is base with the unsettled writes",
        arguments: lives
    )
    func agrees(lives: Lives) async {
        let seeds = SimulationSeeds.first(lives.seedCount)
        let joined = Recorder<String>()
        let kept = await withTaskGroup(of: KeptCounts.self) { group in
            for part in 0..<UInt64(2) {
                group.addTask {
                    var kept = KeptCounts()
                    var failures = 0
                    for seed in seeds where seed % 2 == part {
                        let isAlone = seeds.count == 1
                        let counts = Self.run(seed, lives, joined, showingAll: isAlone)
                        if let counts { kept += counts } else { failures += 1 }
                        guard failures < Self.failuresMax else { break }
                        // A life holds one of the few threads that all tests run on, and those
                        // that wait for one have time limits.
                        await Task.yield()
                    }
                    return kept
                }
            }
            return await group.reduce(into: KeptCounts()) { $0 += $1 }
        }
        #expect(seeds.count == 1 || kept.held > 0 && kept.void > 0)
        #expect(seeds.count < 100 || joined.all.count > seeds.count / 100)
    }

    /// The most seeds until a judge has to notice that a rule is missing.
    private static let seedsWithoutRule: UInt64 = 40

    @Test("The judge fails without one rule of its model", arguments: PlainRule.shownSoon)
    func isNeeded(rule: PlainRule) async throws {
        for seed in 0..<Self.seedsWithoutRule {
            await Task.yield()
            do {
                let life = try EngineSimulation(
                    seed: seed,
                    withList: rule.isOfLists,
                    without: rule
                )
                try life.run(steps: 40)
            } catch {
                return try EngineSimulation(seed: seed, withList: rule.isOfLists).run(steps: 40)
            }
        }
        Issue.record("nothing fails without \(rule)")
    }

    @Test("The judge fails without a rule in a life about it", arguments: PlainRule.shownAlone)
    func isDecisive(rule: PlainRule) throws {
        try EngineSimulation(showing: rule).live(showing: rule)
        #expect(throws: SimulationJudge.Complaint.self) {
            try EngineSimulation(showing: rule, without: rule).live(showing: rule)
        }
    }

    /// P-03, P-05.
    @Test(
        "The judge refuses a request that a rule forbids, and passes it without the rule",
        arguments: PlainRule.keptApart + PlainRule.keptBack
    )
    func refusesForged(rule: PlainRule) throws {
        let forged = ForgedRequest(against: rule)
        #expect(throws: SimulationJudge.Complaint.self) { try forged.look() }
        try ForgedRequest(against: rule, without: rule).look()
    }

    /// P-06, P-07.
    @Test("A write without an effect keeps no read from confirming a write that was answered 202")
    func withoutEffect() throws {
        try EngineSimulation(showing: .readConfirmsAccepted).liveWithoutEffect()
    }

    /// How often what was kept of reads counted; nil for a life that failed.
    ///
    /// `joined` gets the writes that were in the request of another one.
    private static func run(
        _ seed: UInt64,
        _ lives: Lives,
        _ joined: Recorder<String>,
        showingAll: Bool
    ) -> KeptCounts? {
        do {
            let fault = lives.hasFaults ? ListFault(ofSeed: seed) : nil
            let simulation = try EngineSimulation(
                seed: seed,
                withList: lives.hasList,
                fault: fault
            )
            do {
                try simulation.run(steps: lives.steps)
                for queue in simulation.judges.compactMap(\.queues.first) {
                    for id in queue.joinedInto.keys { joined.record(id) }
                }
                return simulation.kept.counts
            } catch {
                let log = showingAll ? simulation.log[...] : simulation.log.suffix(60)
                let kind = lives.testDescription + (fault.map { ", \($0)" } ?? "")
                let life = "\(kind), \(SimulationSeeds.advice(seed))"
                Issue.record("\(life): \(error), after\n\(log.joined(separator: "\n"))")
            }
        } catch {
            Issue.record("\(SimulationSeeds.advice(seed)): \(error)")
        }
        return nil
    }
}
