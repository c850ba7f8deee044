import LarderAPI
import LarderEngine
import LarderModel
import LarderWire
import NIOHTTP1

/// `/v1/pins`: marks that keep entries permanently.
struct PinRoutes {
    let exchange: Exchange
    private var engine: Engine { exchange.engine }

    func list() async throws(Problem) {
        let query: PinListQuery = try exchange.parameters()
        let scope = try exchange.scope(of: query.account)
        let page = try await engine.pins.list(query.page, scope)
        try await exchange.respond(with: page, byteCount: page.items.count << 10)
    }

    /// 201 or 204 once it is synced, 202 while it waits for its origin.
    func pin(_ id: EntryID) async throws(Problem) {
        let query: PinQuery = try exchange.parameters()
        let scope = try exchange.scope(of: query.account)
        let wait = try query.wait?.checked("wait")
        try await refuseBody()
        let answer = try await engine.pins.pin(
            id,
            scope,
            wait: wait,
            refresh: query.refresh,
            cancellation: exchange.cancellation
        )
        switch answer {
        case .held(let item, isNew: true):
            try await exchange.respond(with: item, status: .created)
        case .held(_, isNew: false):
            await exchange.writer.respond(.noContent)
        case .waiting(let item):
            try await exchange.respond(with: item, status: .accepted)
        }
    }

    /// Bytes would be taken for the entry's, which they are not.
    private func refuseBody() async throws(Problem) {
        guard try await exchange.command({ $0.isEmpty }) else {
            throw Problem(
                .badRequest,
                "a pin has no body",
                hint: "To store bytes and pin them, use PUT /v1/entries/ID?pin=true."
            )
        }
    }

    func unpin(_ id: EntryID) async throws(Problem) {
        guard try await engine.pins.unpin(id, exchange.scope()) else {
            throw Problem(.miss, "'\(id)' is not pinned", hint: "GET /v1/pins lists what is.")
        }
        await exchange.writer.respond(.noContent)
    }
}

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

/// `/v1/origins`: which there are, and for administrators adding, changing and asking them.
struct OriginRoutes {
    let exchange: Exchange
    private var engine: Engine { exchange.engine }

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
        await exchange.writer.respond(.noContent)
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

/// `/v1/origins/{name}/credential`: the credential of the client's own account.
struct CredentialRoutes {
    let exchange: Exchange
    private var credentials: Credentials { exchange.engine.credentials }

    func show(_ name: OriginName) async throws(Problem) {
        let scope = try exchange.scope()
        try await exchange.respond(with: try await credentials.report(name, scope))
    }

    func put(_ name: OriginName) async throws(Problem) {
        let command: CredentialCommand = try await exchange.command()
        let scope = try exchange.scope(of: command.account)
        try await exchange.respond(with: try await credentials.set(command, at: name, scope))
    }

    func remove(_ name: OriginName) async throws(Problem) {
        let scope = try exchange.scope()
        try await exchange.respond(with: try await credentials.remove(at: name, scope))
    }

    /// Sends the order on a line of its own, and ends the answer with the lease.
    func renew(_ name: OriginName) async throws(Problem) {
        let query: RenewalQuery = try exchange.parameters()
        let wait = try query.wait?.checked("wait")
        let scope = try exchange.scope(of: query.account)
        let writer = exchange.writer
        let isOrdered = try await credentials.order(
            at: name,
            scope,
            wait: wait,
            cancellation: exchange.cancellation
        ) { order in
            let headers: HTTPHeaders = [
                "Content-Type": MediaType.json, "Cache-Control": "no-store",
            ]
            guard await writer.begin(.ok, headers, isFlushed: false) else { return false }
            return await writer.send(APIEncoder().encode(order) + [UInt8(ascii: "\n")])
        }
        if isOrdered { await writer.end() } else { await writer.respond(.noContent) }
    }
}
