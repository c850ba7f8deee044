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

    func answer(_ route: OriginRoute) async throws(Problem) {
        let parameters = try QueryParameters(exchange.query)
        try parameters.refuseRest()
        switch route {
        case .list:
            let reports = engine.origins.reports(for: try exchange.you)
            await exchange.respond(OriginReport.encoded(reports))
        case .add: try await add()
        case .replace(let name): try await replace(name)
        case .remove(let name): try await remove(name)
        case .setOffline(let name): try await set(name, isOffline: true)
        case .setOnline(let name): try await set(name, isOffline: false)
        case .check(let name): try await check(name)
        }
    }

    private func add() async throws(Problem) {
        try exchange.requireAdministrator()
        let command = try await exchange.command { json throws(Problem) in
            try OriginCommand(json: json)
        }
        exchange.log(use: "origin add \(command.name)")
        await respondCreated(try await engine.origins.add(command))
    }

    private func replace(_ name: OriginName) async throws(Problem) {
        try exchange.requireAdministrator("origin replace \(name)")
        let command = try await exchange.command { json throws(Problem) in
            try OriginCommand(name, json: json)
        }
        let (report, isNew) = try await engine.origins.replace(command)
        if isNew {
            await respondCreated(report)
        } else {
            await exchange.respond(report.encoded())
        }
    }

    private func respondCreated(_ report: OriginReport) async {
        let headers: HTTPHeaders = [
            "Content-Type": "application/json",
            "Location": "/v1/origins/\(PercentCoding.encode(report.settings.name.text))",
        ]
        await exchange.writer.respond(.created, headers, body: report.encoded())
    }

    private func remove(_ name: OriginName) async throws(Problem) {
        try exchange.requireAdministrator("origin rm \(name)")
        try await engine.origins.remove(name)
        await exchange.writer.respond(.noContent, [:], body: [])
    }

    private func set(_ name: OriginName, isOffline: Bool) async throws(Problem) {
        try exchange.requireAdministrator("origin \(isOffline ? "offline" : "online") \(name)")
        try await refuseBody()
        let report = try await engine.origins.setOffline(name, isOffline, for: exchange.peer.uid)
        await exchange.respond(report.encoded())
    }

    private func check(_ name: OriginName) async throws(Problem) {
        try exchange.requireAdministrator("origin check \(name)")
        let command = try await checkCommand()
        let report = try await engine.origins.check(
            name,
            path: command.path,
            for: exchange.peer.uid
        )
        await exchange.respond(report.encoded())
    }

    /// Nothing can be said in a body here; an empty object says nothing.
    private func refuseBody() async throws(Problem) {
        let command = try await checkCommand()
        guard command.path == nil else {
            throw Problem(.unknownMember, "unknown member 'path', there are none")
        }
    }

    private func checkCommand() async throws(Problem) -> OriginCheckCommand {
        try await exchange.command { json throws(Problem) in try OriginCheckCommand(json: json) }
    }
}
