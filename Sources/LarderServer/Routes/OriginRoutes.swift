import LarderAPI
import LarderEngine
import LarderModel
import LarderWire
import NIOHTTP1

/// `/v1/origins`: which there are, and for administrators adding, changing and asking them.
struct OriginRoutes {
    private let exchange: Exchange
    private var engine: Engine { exchange.engine }

    init(_ exchange: Exchange) {
        self.exchange = exchange
    }

    func list() async throws(Problem) {
        let reports = engine.origins.reports(for: try exchange.you)
        try await exchange.respond(with: Page(items: reports))
    }

    func add() async throws(Problem) {
        let command: OriginCommand = try await exchange.command()
        let name = try OriginName(command: command.name)
        exchange.log(use: "origin add \(name)")
        await respondCreated(try await engine.origins.add(name, command.settings))
    }

    func replace(_ name: OriginName) async throws(Problem) {
        exchange.log(use: "origin replace \(name)")
        let definition: OriginDefinition = try await exchange.command()
        let (report, isNew) = try await engine.origins.replace(name, definition)
        if isNew {
            await respondCreated(report)
        } else {
            try await exchange.respond(with: report)
        }
    }

    private func respondCreated(_ report: OriginReport) async {
        let headers: HTTPHeaders = [
            "Content-Type": "application/json",
            "Location": "/v1/origins/\(PercentCoding.encode(report.name))",
        ]
        await exchange.writer.respond(.created, headers, body: APIEncoder().encode(report))
    }

    func remove(_ name: OriginName) async throws(Problem) {
        exchange.log(use: "origin rm \(name)")
        try await engine.origins.remove(name)
        await exchange.writer.respond(.noContent, [:], body: [])
    }

    func set(_ name: OriginName, isOffline: Bool) async throws(Problem) {
        exchange.log(use: "origin \(isOffline ? "offline" : "online") \(name)")
        let _: NoMembers = try await exchange.command(orNothing: true)
        let report = try await engine.origins.setOffline(name, isOffline, for: exchange.peer.uid)
        try await exchange.respond(with: report)
    }

    func check(_ name: OriginName) async throws(Problem) {
        exchange.log(use: "origin check \(name)")
        let command: OriginCheckCommand = try await exchange.command(orNothing: true)
        let report = try await engine.origins.check(
            name,
            path: command.path,
            for: exchange.peer.uid
        )
        try await exchange.respond(with: report)
    }

    /// A command that says everything in its path.
    private struct NoMembers: Decodable {}
}
