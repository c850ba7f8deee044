import LarderEngine
import LarderModel
import LarderStore
import LarderWire
import NIOHTTP1

/// `/v1/modifiers` and `/v1/lanes`: the queue of what is written here and sent when it can be.
struct ModifierRoutes {
    private let exchange: Exchange
    private var engine: Engine { exchange.engine }

    init(_ exchange: Exchange) {
        self.exchange = exchange
    }

    func answer(_ route: ModifierRoute) async throws(Problem) {
        switch route {
        case .accept: try await accept()
        case .list: try await list()
        case .show(let id): try await show(id)
        case .remove(let id): try await remove(id)
        case .retry(let id): try await retry(id)
        case .pause(let lane): try await setPaused(lane, true)
        case .resume(let lane): try await setPaused(lane, false)
        }
    }

    /// 202 once they are on disk; with `wait`, 200 if they are settled by then.
    private func accept() async throws(Problem) {
        var parameters = try QueryParameters(exchange.query)
        let wait = try parameters.takeWait("wait")
        try parameters.refuseRest()
        let (command, byteCount) = try await exchange.command { json throws(Problem) in
            (try ModifiersCommand(json: json), json.count)
        }
        let scope = exchange.scope(command.account)
        let client = try exchange.client
        let receipts = try await engine.modifiers.accept(
            command,
            scope,
            client: client,
            byteCount: byteCount
        )
        guard let wait, let only = receipts.first, !command.isList else {
            return try await exchange.respond(receipts, of: command, scope)
        }
        let location: HTTPHeaders = ["Location": PercentCoding.modifierPath(only.id)]
        let report = try await settled(only.id, scope, wait)
        let status: HTTPResponseStatus = report.isDone ? .ok : .accepted
        try await exchange.respond(report, location, status: status)
    }

    /// What it is once it is settled or the time is over; it was accepted, also when the daemon ends.
    private func settled(
        _ id: ModifierID,
        _ scope: ScopeKey,
        _ wait: Duration
    ) async throws(Problem) -> ModifierReport {
        do throws(Problem) {
            return try await engine.modifiers.modifier(
                id,
                scope,
                wait: wait,
                interest: exchange.interest
            )
        } catch {
            guard error.kind == .shuttingDown else { throw error }
            return try await engine.modifiers.modifier(id, scope)
        }
    }

    private func list() async throws(Problem) {
        let command = try ModifierListCommand(query: exchange.query)
        let rows = try exchange.rows(command.scope, for: command.use)
        let page = try await engine.modifiers.list(command, rows, interest: exchange.interest)
        try await exchange.respond(page)
    }

    private func show(_ id: ModifierID) async throws(Problem) {
        var parameters = try QueryParameters(exchange.query)
        let wait = try parameters.takeWait("wait")
        let scope = try exchange.row(try parameters.takeScope(), for: "show modifier \(id)")
        try parameters.refuseRest()
        let report = try await engine.modifiers.modifier(
            id,
            scope,
            wait: wait,
            interest: exchange.interest
        )
        try await exchange.respond(report)
    }

    private func remove(_ id: ModifierID) async throws(Problem) {
        var parameters = try QueryParameters(exchange.query)
        let scope = try exchange.row(try parameters.takeScope(), for: "remove modifier \(id)")
        let isDiscarding = try parameters.takeBool("discard") ?? false
        let mayDrop = try parameters.takeBool("drop") ?? true
        try parameters.refuseRest()
        let interest = exchange.interest
        try await engine.modifiers.remove(
            id,
            scope,
            discarding: isDiscarding,
            dropping: mayDrop,
            interest: interest
        )
        await exchange.writer.respond(.noContent)
    }

    private func retry(_ id: ModifierID) async throws(Problem) {
        var parameters = try QueryParameters(exchange.query)
        let scope = try exchange.row(try parameters.takeScope(), for: "retry modifier \(id)")
        try parameters.refuseRest()
        let receipt = try await engine.modifiers.retry(id, scope, interest: exchange.interest)
        await exchange.respond(receipt.encoded(), status: .accepted)
    }

    private func setPaused(_ lane: Lane, _ isPaused: Bool) async throws(Problem) {
        var parameters = try QueryParameters(exchange.query)
        let selection = try parameters.takeScope()
        try parameters.refuseRest()
        let scope = try exchange.row(selection, for: "\(isPaused ? "pause" : "resume") \(lane)")
        try await engine.modifiers.setLane(lane, scope, isPaused: isPaused)
        await exchange.writer.respond(.noContent)
    }
}

extension Exchange {
    /// 202 with what was accepted, or 200 with the reports where all of it was settled before: a
    /// reused id is no silent nothing.
    func respond(
        _ receipts: [ModifierReceipt],
        of command: ModifiersCommand,
        _ scope: ScopeKey,
        _ headers: HTTPHeaders = HTTPHeaders()
    ) async throws(Problem) {
        var headers = headers
        let isSettled = receipts.allSatisfy { $0.settledAt != nil }
        var reports: [ModifierReport] = []
        if isSettled {
            for receipt in receipts {
                reports.append(try await engine.modifiers.modifier(receipt.id, scope))
            }
        }
        guard let only = receipts.first, !command.isList else {
            let body =
                isSettled
                ? ModifierReport.encoded(reports) : ModifierReceipt.encoded(receipts)
            return await respond(body, headers, status: isSettled ? .ok : .accepted)
        }
        headers.add(name: "Location", value: PercentCoding.modifierPath(only.id))
        let body = reports.first?.encoded() ?? only.encoded()
        await respond(body, headers, status: isSettled ? .ok : .accepted)
    }
}
