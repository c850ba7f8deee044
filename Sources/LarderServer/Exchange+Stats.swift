import LarderAPI
import LarderEngine
import LarderWire

extension Exchange {
    /// What the engine and the event loops have counted since the start.
    func stats() async throws(Problem) -> StatsReport {
        var report = engine.monitor.stats()
        report.connections = server.connections.counts
        do {
            try await server.meters.sum().fill(&report)
        } catch {
            throw Problem(.internal, "an event loop does not tell what it counted")
        }
        return report
    }
}
