import Glibc
import LarderEngine
import LarderWire
import NIOHTTP1

/// Eviction, and what the daemon says of itself.
struct AdministrationRoutes {
    let exchange: Exchange
    let loop: LoopReader
    private var engine: Engine { exchange.engine }

    func status() async throws(Problem) {
        var report = await engine.monitor.status(
            connections: exchange.server.connections.count,
            for: try exchange.you
        )
        report.configuration = exchange.server.configuration
        try await exchange.respond(with: report)
    }

    func evict() async throws(Problem) {
        let command = try await exchange.command { json throws(Problem) in
            try EvictCommand.withoutNull(json)
        }
        let order = try EvictOrder(command)
        let selection = try exchange.selection(command.rows)
        let rows = try exchange.rows(selection, for: command.use)
        if selection == .shared, !order.isDryRun {
            try exchange.requireAdministrator(
                "\(command.use) scope=shared",
                refusing: "what is shared is seen by all users, so that none of them may evict it"
            )
        }
        let report = try await engine.eviction.evict(order, rows, client: try exchange.client)
        try await exchange.respond(with: report, byteCount: report.ids.count << 8)
    }

    func usage() async throws(Problem) {
        let query: ScopeQuery = try exchange.parameters()
        let rows = try exchange.rows(try exchange.selection(query), for: "usage")
        try await exchange.respond(with: engine.monitor.usage(rows))
    }

    func purge() async throws(Problem) {
        let query: ScopeQuery = try exchange.parameters()
        let selection = try exchange.selection(query)
        guard case .user = selection else {
            throw Problem(
                .badRequest,
                "a purge needs the user whose rows it removes",
                hint: "Give scope=user:N, and account=NAME for one account of theirs."
            )
        }
        let rows = try exchange.rows(selection, for: "purge")
        try await exchange.respond(
            with: engine.purge.run(rows, cancellation: exchange.cancellation)
        )
    }

    func check() async throws(Problem) {
        exchange.log(use: "check")
        let findings = try await engine.monitor.examine(daemonUID: geteuid())
        try await exchange.respond(with: Page(items: findings))
    }

    func reload() async throws(Problem) {
        exchange.log(use: "reload")
        guard let report = await exchange.server.reload() else {
            throw Problem(.unsupported, "this daemon was started without a configuration")
        }
        try await exchange.respond(with: report)
    }

    /// The daemon is well if a read of the store succeeds.
    func health() async throws(Problem) {
        try await engine.monitor.checkStore()
        try await exchange.respond(with: Health())
    }
}

extension EvictCommand {
    /// Reads a body in which no member is null: a member that is left out by mistake would make an
    /// eviction do more.
    fileprivate static func withoutNull(_ json: [UInt8]) throws(Problem) -> EvictCommand {
        let (command, given) = try Problem.decoding { () throws(APIDecodingError) in
            (
                try APIDecoder(.strict).decode(EvictCommand.self, from: json),
                try APIDecoder(.strict).decode(NamedValues<RawJSON>.self, from: json)
            )
        }
        guard let null = given.members.first(where: { $0.value == .null })?.name else {
            return command
        }
        throw Problem(.badRequest, "the member '\(null)' is null", hint: "Leave it out.")
    }
}
