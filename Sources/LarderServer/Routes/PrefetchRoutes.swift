import LarderAPI
import LarderEngine
import LarderModel
import LarderWire
import NIOHTTP1

/// `/v1/prefetch`: sets of entries that are fetched in advance.
struct PrefetchRoutes {
    let exchange: Exchange
    private var engine: Engine { exchange.engine }

    func list() async throws(Problem) {
        let reports = try await engine.prefetches.list(try exchange.scope())
        try await exchange.respond(with: Page(items: reports))
    }

    func show(_ name: PrefetchName) async throws(Problem) {
        let report = try await engine.prefetches.report(name, try exchange.scope())
        try await exchange.respond(with: report, byteCount: report.items << 8)
    }

    /// 202 while entries are fetched, else 200.
    func put(_ name: PrefetchName) async throws(Problem) {
        let query: PrefetchQuery = try exchange.parameters()
        let scope = try exchange.scope(of: query.account)
        let wait = try query.wait?.checked("wait")
        let command: PrefetchCommand =
            try await exchange
            .command(upTo: Limits.prefetchCommandBytesMax)
        let report = try await engine.prefetches.put(
            name,
            command,
            scope,
            isPlan: query.dryRun ?? false,
            wait: wait,
            cancellation: exchange.cancellation
        )
        let isFilling = report.state == .filling
        try await exchange.respond(
            with: report,
            byteCount: report.items << 8,
            status: isFilling ? .accepted : .ok
        )
    }

    func remove(_ name: PrefetchName) async throws(Problem) {
        try await engine.prefetches.remove(name, exchange.scope())
        await exchange.writer.respond(.noContent)
    }
}
