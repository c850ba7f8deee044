import LarderEngine
import LarderModel
import LarderWire

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
}
