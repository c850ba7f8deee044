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

    func answer(_ route: PinRoute) async throws(Problem) {
        switch route {
        case .list: try await list()
        case .pin(let id): try await pin(id)
        case .unpin(let id): try await unpin(id)
        }
    }

    private func list() async throws(Problem) {
        let command = try PinListCommand(query: exchange.query)
        let page = try await engine.pins.list(command, exchange.scope(command.account))
        try await exchange.respond(page)
    }

    /// 201 or 204 once it is synced, 202 while it waits for its origin.
    private func pin(_ id: EntryID) async throws(Problem) {
        var parameters = try QueryParameters(exchange.query)
        let scope = exchange.scope(try parameters.takeAccount())
        let wait = try parameters.takeWait("wait")
        try parameters.refuseRest()
        try await refuseBody()
        switch try await engine.pins.pin(id, scope, wait: wait, interest: exchange.interest) {
        case .held(let item, isNew: true):
            await exchange.respond(item.encoded(), status: .created)
        case .held(_, isNew: false):
            await exchange.writer.respond(.noContent)
        case .waiting(let item):
            await exchange.respond(item.encoded(), status: .accepted)
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

    private func unpin(_ id: EntryID) async throws(Problem) {
        guard try await engine.pins.unpin(id, exchange.scope()) else {
            throw Problem(.miss, "'\(id)' is not pinned", hint: "GET /v1/pins lists what is.")
        }
        await exchange.writer.respond(.noContent)
    }
}
