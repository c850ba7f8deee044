import CSQLite
import LarderModel

extension CacheWriter {
    /// What is done between two groups of commands, a small step at a time.
    enum Housekeeping {
        /// Eviction on its way to the low watermark.
        case shrink
        /// Chunks of bodies that nobody names and nobody reads.
        case removeBodies
        /// Entities that nothing refers to any more.
        case sweep
    }

    var nextHousekeeping: Housekeeping? {
        if state.isShrinking { return .shrink }
        if state.bodies.hasRemovable(shared.leases) { return .removeBodies }
        return state.orphans.isEmpty ? nil : .sweep
    }

    func keepHouse(_ step: Housekeeping, now: Timestamp) throws(StoreError) {
        switch step {
        case .shrink: try shrinkStep(now: now)
        case .removeBodies: try bodies.removeStep(shared.leases, &state.bodies)
        case .sweep: try sweepStep()
        }
    }
}
