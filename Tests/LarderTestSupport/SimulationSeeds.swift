import Glibc

/// The seeds that a simulation runs with.
package enum SimulationSeeds {
    /// From 0 on as many as given, unless the environment names others: `LARDER_SEEDS` how many,
    /// `LARDER_FIRST_SEED` from which on.
    package static func first(_ count: UInt64) -> Range<UInt64> {
        let first = number("LARDER_FIRST_SEED") ?? 0
        return first..<(first + (number("LARDER_SEEDS") ?? count))
    }

    /// Runs seeds in some tasks; throws the first failure with how its seed is run alone.
    ///
    /// A failure cancels no other seed: a fixture would end in the middle of it.
    package static func run(
        _ seeds: Range<UInt64>,
        tasks: UInt64 = 2,
        _ run: @escaping @Sendable (UInt64) async throws -> KeptCounts
    ) async throws -> KeptCounts {
        let failures = Recorder<FailedRun>()
        let kept = await withTaskGroup(of: KeptCounts.self) { group in
            for part in 0..<tasks {
                group.addTask {
                    var kept = KeptCounts()
                    for seed in seeds where seed % tasks == part && failures.all.isEmpty {
                        do {
                            kept += try await run(seed)
                        } catch {
                            failures.record(FailedRun(description: "\(advice(seed)): \(error)"))
                        }
                    }
                    return kept
                }
            }
            return await group.reduce(into: KeptCounts()) { $0 += $1 }
        }
        if let failure = failures.all.first { throw failure }
        return kept
    }

    /// How a seed is run alone, with everything that happens.
    ///
    /// Swift hashes with another seed in each process, and so does what goes through a dictionary in
    /// an order that means nothing.
    package static func advice(_ seed: UInt64) -> String {
        "seed \(seed), alone: SWIFT_DETERMINISTIC_HASHING=1 LARDER_FIRST_SEED=\(seed) LARDER_SEEDS=1"
    }

    private static func number(_ name: String) -> UInt64? {
        getenv(name).flatMap { UInt64(String(cString: $0)) }
    }
}

/// A run of a simulation that has failed, and its last steps.
package struct FailedRun: Error, CustomStringConvertible {
    package let description: String

    fileprivate init(description: String) {
        self.description = description
    }

    package init(_ error: any Error, after log: [String]) {
        description = "\(error), after\n\(log.suffix(14).joined(separator: "\n"))"
    }
}
