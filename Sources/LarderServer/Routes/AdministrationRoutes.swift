import LarderEngine
import LarderWire
import NIOHTTP1

/// Eviction, and what the daemon says of itself.
struct AdministrationRoutes {
    private let exchange: Exchange
    private let loop: LoopReader
    private var engine: Engine { exchange.engine }

    init(_ exchange: Exchange, _ loop: LoopReader) {
        self.exchange = exchange
        self.loop = loop
    }

    func answer(_ route: Route) async throws(Problem) {
        switch route {
        case .evict: try await evict()
        case .status:
            try refuseParameters()
            let connections = exchange.server.connections.count
            await exchange.respond(engine.status(connections: connections).encoded())
        case .live:
            try refuseParameters()
            await exchange.respond(Self.fine)
        case .ready: try await ready()
        case .fetch, .fetchByBody, .entries, .readEntry, .putEntry, .removeEntry, .explainEntry:
            break
        }
    }

    private func evict() async throws(Problem) {
        try refuseParameters()
        let command = try EvictCommand(json: try await exchange.command())
        let report = try await engine.evict(command, exchange.scope(command.account))
        await exchange.respond(report.encoded())
    }

    /// Ready means that a read of the store succeeds.
    private func ready() async throws(Problem) {
        try refuseParameters()
        try await engine.checkStore()
        await exchange.respond(Self.fine)
    }

    private func refuseParameters() throws(Problem) {
        let parameters = try QueryParameters(exchange.query)
        try parameters.refuseRest()
    }

    private static let fine = Array(#"{"status":"ok"}"#.utf8)
}
