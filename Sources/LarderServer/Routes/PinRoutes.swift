import LarderAPI
import LarderEngine
import LarderModel
import LarderWire
import NIOHTTP1

/// `/v1/pins`: what is kept for good.
struct PinRoutes {
    private let exchange: Exchange
    private var engine: Engine { exchange.engine }

    init(_ exchange: Exchange) {
        self.exchange = exchange
    }

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
        switch try await engine.pins.pin(id, scope, wait: wait, interest: exchange.interest) {
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
