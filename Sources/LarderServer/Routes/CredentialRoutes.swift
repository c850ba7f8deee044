import LarderAPI
import LarderEngine
import LarderModel
import LarderWire
import NIOHTTP1

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
