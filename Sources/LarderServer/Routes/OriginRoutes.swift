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

    func show(_ name: OriginName) async throws(Problem) {
        try await exchange.respond(with: engine.origins.report(name, for: try exchange.you))
    }

    /// 201 for a new one; with `If-None-Match: *` one that is there is not replaced.
    func put(_ name: OriginName) async throws(Problem) {
        exchange.log(use: "origin put \(name)")
        let definition: OriginDefinition = try await exchange.command()
        let fields = exchange.head.headers["If-None-Match"]
        guard fields.isEmpty || fields == ["*"] else {
            throw Problem(.badRequest, "If-None-Match: an origin has no tag, only '*' is taken")
        }
        let mayReplace = fields.isEmpty
        let (report, isNew) = try await engine.origins.put(name, definition, mayReplace: mayReplace)
        guard isNew else { return try await exchange.respond(with: report) }
        try await exchange.respond(
            with: report,
            ["Location": "/v1/origins/\(PercentCoding.encode(report.name))"],
            status: .created
        )
    }

    func remove(_ name: OriginName) async throws(Problem) {
        exchange.log(use: "origin rm \(name)")
        try await engine.origins.remove(name)
        await exchange.writer.respond(.noContent, [:], body: [])
    }

    func change(_ name: OriginName) async throws(Problem) {
        let change: OriginChange = try await exchange.command()
        exchange.log(use: "origin \(change.offline ? "offline" : "online") \(name)")
        let uid = exchange.peer.uid
        let report = try await engine.origins.setOffline(name, change.offline, for: uid)
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
}
