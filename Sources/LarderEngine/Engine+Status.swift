import LarderModel
import LarderStore
import LarderStrategy
package import LarderWire
import Synchronization

extension Engine {
    /// How the daemon is, in numbers and words.
    package func status(connections: Int) -> StatusReport {
        updateMeter()
        let totals = store.totals
        let files = store.fileSizes
        let now = clock.monotonic()
        let (hits, misses, rates) = meter.withLock { meter in
            (meter.hits, meter.misses, [1, 10, 60].map { meter.rate(overMinutes: $0, at: now) })
        }
        let warnings = warnings(totals)
        let cache = StatusReport.Cache(
            bytes: totals.bytes,
            maxBytes: maxBytes,
            entries: Int(totals.entries),
            databaseBytes: files.database,
            walBytes: files.wal,
            evictions: Int(totals.evictions),
            hits: Int(hits),
            misses: Int(misses),
            hitRate: StatusReport.HitRate(
                oneMinute: rates[0],
                tenMinutes: rates[1],
                sixtyMinutes: rates[2]
            )
        )
        return StatusReport(
            version: version,
            uptime: now - started,
            state: warnings.isEmpty ? .ok : .degraded,
            cache: cache,
            connections: connections,
            flights: flights.count,
            origins: originReports(),
            warnings: warnings
        )
    }

    /// Throws unless a read of the store succeeds.
    package func checkStore() async throws(Problem) {
        do throws(StoreError) {
            try await store.read { reader throws(StoreError) in try reader.check() }
        } catch {
            throw Problem(error)
        }
    }

    private func originReports() -> [StatusReport.Origin] {
        context.origins.origins.map { origin in
            let health = context.health[origin.name] ?? OriginHealth(now: clock.now())
            return StatusReport.Origin(
                name: origin.name,
                baseURL: origin.baseURL,
                state: StatusReport.OriginState(health.state),
                since: health.state == .unknown ? nil : health.since
            )
        }
    }

    private func warnings(_ totals: StoreTotals) -> [String] {
        var warnings = store.findings
        if totals.isFull {
            warnings.append("protected entries fill the cache: nothing new is stored")
        }
        if totals.budget < maxBytes {
            warnings.append(
                "the disk is short of space: the cache keeps to \(totals.budget) bytes"
            )
        }
        if totals.damaged > 0 {
            warnings.append("\(totals.damaged) damaged rows were met and left out")
        }
        return warnings
    }
}

extension StatusReport.OriginState {
    fileprivate init(_ state: OriginHealth.State) {
        switch state {
        case .unknown: self = .unknown
        case .online: self = .online
        case .offline: self = .offline
        case .captive: self = .captive
        }
    }
}
