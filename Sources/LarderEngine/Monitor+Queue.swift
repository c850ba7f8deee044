import LarderModel
import LarderStore
import LarderWire

extension Monitor {
    /// How the queue is, and one sentence each on what somebody should look at.
    ///
    /// However long the queue is, this reads one row.
    func queueStatus() async -> (StatusReport.Queue, warnings: [String]) {
        let totals = store.modifiers.totals
        var queue = StatusReport.Queue()
        queue.byState = totals.byState
        queue.stalled = totals.stalled
        queue.maxModifiers = totals.maxModifiers
        queue.bytes = totals.bytes
        queue.maxBytes = totals.maxBytes
        var warnings = Self.warnings(of: totals)
        do throws(StoreError) {
            let now = clock.now()
            queue.oldestAge = try await store.modifiers.oldestAcceptedAt().map {
                max(now.since($0), .zero)
            }
        } catch {
            warnings.append("the queue was not read: \(error.message)")
        }
        return (queue, warnings)
    }

    private static func warnings(of totals: QueueTotals) -> [String] {
        var warnings: [String] = []
        if totals.stalled > 0 {
            warnings.append("\(totals.stalled) modifiers are stalled: their origins put them off")
        }
        if totals.isNearlyFull {
            warnings.append(
                "the queue is nearly full: \(totals.count) of \(totals.maxModifiers) modifiers, "
                    + "\(totals.bytes) of \(totals.maxBytes) bytes, dead letters too"
            )
        }
        return warnings
    }
}
