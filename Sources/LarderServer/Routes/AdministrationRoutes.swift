import Glibc
import LarderAPI
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

    func answer(_ route: AdministrationRoute) async throws(Problem) {
        switch route {
        case .evict: try await evict()
        case .status:
            try refuseParameters()
            var report = await engine.monitor.status(
                connections: exchange.server.connections.count,
                for: try exchange.you
            )
            report.configuration = exchange.server.configuration
            await exchange.respond(report.encoded())
        case .usage: try await usage()
        case .check: try await check()
        case .reload: try await reload()
        case .purge: try await purge()
        case .stats:
            try refuseParameters()
            await exchange.respond(try await exchange.stats().encoded())
        case .live:
            try refuseParameters()
            try await exchange.respond(with: Health())
        case .ready: try await ready()
        case .document:
            try refuseParameters()
            await exchange.respond(APIDocument.bytes)
        }
    }

    private func evict() async throws(Problem) {
        try refuseParameters()
        let command = try await exchange.command { json throws(Problem) in
            try EvictCommand(json: json)
        }
        let rows = try exchange.rows(command.scope, for: command.use)
        if command.scope == .shared, !command.isDryRun {
            try exchange.requireAdministrator(
                "\(command.use) scope=shared",
                refusing: "what is shared is seen by all users, so that none of them may evict it"
            )
        }
        let report = try await engine.eviction.evict(command, rows, client: try exchange.client)
        await exchange.respond(report.encoded())
    }

    private func usage() async throws(Problem) {
        var parameters = try QueryParameters(exchange.query)
        let selection = try parameters.takeScope()
        try parameters.refuseRest()
        let rows = try exchange.rows(selection, for: "usage")
        await exchange.respond(try await engine.monitor.usage(rows).encoded())
    }

    private func purge() async throws(Problem) {
        var parameters = try QueryParameters(exchange.query)
        let selection = try parameters.takeScope()
        try parameters.refuseRest()
        guard case .user = selection else {
            throw Problem(
                .badRequest,
                "a purge is of one user, who is to be named",
                hint: "Give scope=uid:N, and account=NAME for one account of theirs."
            )
        }
        try exchange.requireAdministrator()
        let rows = try exchange.rows(selection, for: "purge")
        await exchange.respond(
            try await engine.purge.run(rows, interest: exchange.interest).encoded()
        )
    }

    private func check() async throws(Problem) {
        try refuseParameters()
        try exchange.requireAdministrator("check")
        await exchange.respond(try await engine.monitor.examine(daemonUID: geteuid()).encoded())
    }

    private func reload() async throws(Problem) {
        try refuseParameters()
        try exchange.requireAdministrator("reload")
        guard let report = await exchange.server.reload() else {
            throw Problem(.unsupported, "this daemon was started without a configuration")
        }
        await exchange.respond(report.encoded())
    }

    /// Ready means that a read of the store succeeds.
    private func ready() async throws(Problem) {
        try refuseParameters()
        try await engine.monitor.checkStore()
        try await exchange.respond(with: Health())
    }

    private func refuseParameters() throws(Problem) {
        let parameters = try QueryParameters(exchange.query)
        try parameters.refuseRest()
    }
}
