import LarderEngine
import LarderModel
import LarderStore
import LarderWire
import NIOHTTP1

/// `/v1/modifiers` and `/v1/lanes`: the queue of what is written here and sent when it can be.
struct ModifierRoutes {
    let exchange: Exchange
    private var engine: Engine { exchange.engine }

    /// 202 once they are on disk; with `wait`, 200 if they are settled by then.
    func accept() async throws(Problem) {
        // To decode an empty query takes 3 us, a fiftieth of what this thread does for a write.
        var query = WaitQuery()
        if !exchange.query.isEmpty { query = try exchange.parameters() }
        let wait = try query.wait?.checked("wait")
        let head = exchange.head
        let (command, byteCount) = try await exchange.command { json throws(Problem) in
            let command = try ModifiersCommand(json: json) { account throws(Problem) in
                try head.account(account)
            }
            return (command, json.count)
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
            return try await exchange.respond(receipts, of: command)
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

    /// The report of a modifier once it is settled or the time is over.
    ///
    /// If the daemon stops first, the client gets the present state, as the modifier was accepted.
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
                cancellation: exchange.cancellation
            )
        } catch {
            guard error.kind == .shuttingDown else { throw error }
            return try await engine.modifiers.modifier(id, scope)
        }
    }

    func list() async throws(Problem) {
        let query: ModifierListQuery = try exchange.parameters()
        let command = try ModifierListCommand(query)
        let rows = try exchange.rows(try exchange.selection(query.rows), for: command.use)
        let page = try await engine.modifiers.list(
            command,
            rows,
            cancellation: exchange.cancellation
        )
        try await exchange.respond(with: page, byteCount: page.items.count << 10)
    }

    func show(_ id: ModifierID) async throws(Problem) {
        let query: ModifierQuery = try exchange.parameters()
        let wait = try query.wait?.checked("wait")
        let scope = try exchange.row(try exchange.selection(query.rows), for: "show modifier \(id)")
        guard !FrameFormat.areBytesNamed(in: exchange.accepted) else {
            return try await showBody(of: id, scope)
        }
        let report = try await engine.modifiers.modifier(
            id,
            scope,
            wait: wait,
            cancellation: exchange.cancellation
        )
        try await exchange.respond(with: report, byteCount: report.byteCount)
    }

    private func showBody(of id: ModifierID, _ scope: ScopeKey) async throws(Problem) {
        let body = try await engine.modifierActions.body(of: id, scope)
        await exchange.respond(body.bytes, as: body.mediaType ?? MediaType.bytes)
    }

    /// 200 once the edit is on disk.
    func edit(_ id: ModifierID) async throws(Problem) {
        let query: ScopeQuery = try exchange.parameters()
        let scope = try exchange.row(try exchange.selection(query), for: "edit modifier \(id)")
        let (command, byteCount) = try await exchange.command { json throws(Problem) in
            (try ModifierCommand(editing: json), json.count)
        }
        let receipt = try await engine.modifierActions.edit(
            id,
            to: command,
            scope,
            client: try exchange.client,
            cancellation: exchange.cancellation,
            byteCount: byteCount
        )
        await exchange.respond(receipt.encodedJSON())
    }

    func remove(_ id: ModifierID) async throws(Problem) {
        let query: ScopeQuery = try exchange.parameters()
        let scope = try exchange.row(
            try exchange.selection(query),
            for: "remove modifier \(id)"
        )
        try await engine.modifiers.remove(
            id,
            scope,
            discarding: false,
            cancellation: exchange.cancellation
        )
        await exchange.writer.respond(.noContent)
    }

    func act() async throws(Problem) {
        let command: ModifierActionCommand = try await exchange.command()
        let selection = try exchange.selection(command.rows)
        let use = "\(command.action.rawValue) modifiers"
        let rows: RowScopes =
            if command.ids == nil {
                try exchange.rows(selection, for: use)
            } else {
                .one(try exchange.row(selection, for: use))
            }
        var page = try await engine.modifierActions.act(
            command,
            rows,
            cancellation: exchange.cancellation
        )
        for index in page.items.indices {
            page.items[index].problem = page.items[index].problem.map(exchange.named)
        }
        try await exchange.respond(with: page, byteCount: page.items.count << 9)
    }

    func listLanes() async throws(Problem) {
        let query: ScopeQuery = try exchange.parameters()
        let rows = try exchange.rows(try exchange.selection(query), for: "list lanes")
        let items = try await engine.modifiers.pausedLanes(rows)
        try await exchange.respond(with: Page(items: items), byteCount: items.count << 7)
    }

    func setLane(_ lane: Lane) async throws(Problem) {
        let query: ScopeQuery = try exchange.parameters()
        let command: LaneCommand = try await exchange.command()
        let scope = try exchange.row(
            try exchange.selection(query),
            for: "\(command.paused ? "pause" : "resume") \(lane)"
        )
        try await engine.modifiers.setLane(lane, scope, isPaused: command.paused)
        await exchange.writer.respond(.noContent)
    }
}

extension Exchange {
    /// 202 with what was accepted, or 200 where all of it was settled before: a reused id is no
    /// silent nothing.
    func respond(
        _ receipts: [ModifierReceipt],
        of command: LarderWire.ModifiersCommand,
        _ headers: HTTPHeaders = HTTPHeaders()
    ) async throws(Problem) {
        let isSettled = receipts.allSatisfy { $0.settledAt != nil }
        let status = isSettled ? HTTPResponseStatus.ok : .accepted
        guard let only = receipts.first, !command.isList else {
            return try await respond(with: Page(items: receipts), headers, status: status)
        }
        var headers = headers
        headers.add(name: "Location", value: PercentCoding.modifierPath(try only.modifierID))
        await respond(only.encodedJSON(), headers, status: status)
    }
}

extension ModifierReceipt {
    fileprivate var modifierID: ModifierID {
        get throws(Problem) { try Problem.reading(nil, id, ModifierID.init(_:)) }
    }
}
