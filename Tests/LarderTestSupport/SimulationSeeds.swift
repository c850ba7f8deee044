import Glibc

/// The seeds that a simulation runs with.
package enum SimulationSeeds {
    /// From 0 on as many as given, unless the environment names others: `LARDER_SEEDS` how many,
    /// `LARDER_FIRST_SEED` from which on.
    package static func first(_ count: UInt64) -> Range<UInt64> {
        let first = number("LARDER_FIRST_SEED") ?? 0
        return first..<(first + (number("LARDER_SEEDS") ?? count))
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
