import LarderAPI
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

    /// 202 once they are on disk; with `wait`, 200 if they are settled by then.
    func accept() async throws(Problem) {
        let query: WaitQuery = try exchange.parameters()
        let wait = try query.wait?.checked("wait")
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
        let id = try only.modifierID
        let report = try await settled(id, scope, wait)
        try await exchange.respond(
            with: report,
            byteCount: report.byteCount,
            ["Location": PercentCoding.modifierPath(id)],
            status: report.isDone ? .ok : .accepted
        )
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

    func list() async throws(Problem) {
        let command = try ModifierListCommand(query: exchange.query)
        let rows = try exchange.rows(command.scope, for: command.use)
        let page = try await engine.modifiers.list(command, rows, interest: exchange.interest)
        try await exchange.respond(with: page, byteCount: page.items.count << 10)
    }

    func show(_ id: ModifierID) async throws(Problem) {
        let query: ModifierQuery = try exchange.parameters()
        let wait = try query.wait?.checked("wait")
        let scope = try exchange.row(try ScopeSelection(query.rows), for: "show modifier \(id)")
        let report = try await engine.modifiers.modifier(
            id,
            scope,
            wait: wait,
            interest: exchange.interest
        )
        try await exchange.respond(with: report, byteCount: report.byteCount)
    }

    func remove(_ id: ModifierID) async throws(Problem) {
        let query: ModifierRemovalQuery = try exchange.parameters()
        let scope = try exchange.row(try ScopeSelection(query.rows), for: "remove modifier \(id)")
        let interest = exchange.interest
        try await engine.modifiers.remove(
            id,
            scope,
            discarding: query.discard ?? false,
            dropping: query.drop ?? true,
            interest: interest
        )
        await exchange.writer.respond(.noContent)
    }

    func retry(_ id: ModifierID) async throws(Problem) {
        let query: ScopeQuery = try exchange.parameters()
        let scope = try exchange.row(try ScopeSelection(query), for: "retry modifier \(id)")
        let receipt = try await engine.modifiers.retry(id, scope, interest: exchange.interest)
        await exchange.respond(receipt.encodedJSON(), status: .accepted)
    }

    func setPaused(_ lane: Lane, _ isPaused: Bool) async throws(Problem) {
        let query: ScopeQuery = try exchange.parameters()
        let scope = try exchange.row(
            try ScopeSelection(query),
            for: "\(isPaused ? "pause" : "resume") \(lane)"
        )
        try await engine.modifiers.setLane(lane, scope, isPaused: isPaused)
        await exchange.writer.respond(.noContent)
    }
}

extension Exchange {
    /// 202 with what was accepted, or 200 with the reports where all of it was settled before: a
    /// reused id is no silent nothing.
    func respond(
        _ receipts: [ModifierReceipt],
        of command: LarderWire.ModifiersCommand,
        _ scope: ScopeKey,
        _ headers: HTTPHeaders = HTTPHeaders()
    ) async throws(Problem) {
        var headers = headers
        let isSettled = receipts.allSatisfy { $0.settledAt != nil }
        var reports: [ModifierReport] = []
        if isSettled {
            for receipt in receipts {
                reports.append(
                    try await engine.modifiers.modifier(try receipt.modifierID, scope)
                )
            }
        }
        guard let only = receipts.first, !command.isList else {
            if isSettled {
                return try await respond(with: ModifierReports(modifiers: reports), headers)
            }
            let receipts = ModifierReceipts(modifiers: receipts)
            return try await respond(with: receipts, headers, status: .accepted)
        }
        headers.add(name: "Location", value: PercentCoding.modifierPath(try only.modifierID))
        if let report = reports.first { return try await respond(with: report, headers) }
        await respond(only.encodedJSON(), headers, status: .accepted)
    }
}

extension ModifierReceipt {
    fileprivate var modifierID: ModifierID {
        get throws(Problem) {
            do throws(ModelError) {
                return try ModifierID(id)
            } catch {
                throw Problem(error)
            }
        }
    }
}
