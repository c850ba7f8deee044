import LarderEngine
import LarderModel
import LarderStore
import LarderWire
import NIOCore
import NIOHTTP1

/// `/v1/entities`: objects that are in several answers and are kept once.
struct EntityRoutes {
    private let exchange: Exchange
    private let loop: LoopReader
    private var engine: Engine { exchange.engine }

    init(_ exchange: Exchange, _ loop: LoopReader) {
        self.exchange = exchange
        self.loop = loop
    }

    func answer(_ route: EntityRoute) async throws(Problem) {
        switch route {
        case .list: try await list()
        case .read(let key): try await read(key)
        case .put(let key): try await put(key)
        case .remove(let key): try await remove(key)
        case .explain(let key): try await explain(key)
        }
    }

    private func list() async throws(Problem) {
        let command = try EntityListCommand(query: exchange.query)
        let rows = try exchange.rows(command.scope, for: command.use)
        let origin = try engine.entities.origin(command.origin, for: exchange.peer.uid)
        let page = try await engine.entities.list(command, origin, rows)
        try await exchange.respond(page)
    }

    private func read(_ key: EntityKey) async throws(Problem) {
        let command = try EntityCommand(query: exchange.query)
        let name = try name(key, command.origin)
        let scope = exchange.scope(command.account)
        guard let view = try await engine.entities.read(name, command, scope) else {
            throw Problem.miss(name)
        }
        switch view.content {
        case .deleted: throw .deleted("'\(name)'", by: view.source)
        case .made(let entry, let bytes):
            let now = engine.clock.now()
            let (status, headers) = EntryReply.head(
                entry,
                view.overlay,
                exchange.head,
                date: loop.date(at: now),
                now
            )
            guard await exchange.writer.begin(status, headers) else { return }
            if status == .ok, !exchange.writer.isHeadOnly {
                _ = await exchange.writer.send(bytes)
            }
            await exchange.writer.end()
        }
    }

    private func explain(_ key: EntityKey) async throws(Problem) {
        var parameters = try QueryParameters(exchange.query)
        let origin = try parameters.takeOrigin()
        let selection = try parameters.takeScope()
        try parameters.refuseRest()
        let name = try name(key, origin)
        let scope = try exchange.row(selection, for: "explain \(name)")
        let interest = exchange.interest
        guard let explanation = try await engine.entities.explain(name, scope, interest: interest)
        else {
            throw Problem.miss(name)
        }
        try await exchange.respond(explanation)
    }

    // MARK: Writing

    private func put(_ key: EntityKey) async throws(Problem) {
        let (name, scope) = try place(key)
        let limit = min(Limits.entityBytesMax, Int(clamping: engine.store.maxEntryBytes))
        let receipt = try await engine.entities.set(
            name,
            json: try await exchange.wholeBody(upTo: limit),
            scope,
            client: try exchange.client
        )
        await exchange.writer.respond(
            receipt.isNew ? .created : .noContent,
            ["Larder-Rev": String(receipt.revision.number)]
        )
    }

    private func remove(_ key: EntityKey) async throws(Problem) {
        let (name, scope) = try place(key)
        let revision = try await engine.entities.delete(name, scope, client: try exchange.client)
        await exchange.writer.respond(.noContent, ["Larder-Rev": String(revision.number)])
    }

    /// The entity and the scope of a route that takes no parameter but `origin` and `account`.
    private func place(_ key: EntityKey) throws(Problem) -> (EntityName, ScopeKey) {
        var parameters = try QueryParameters(exchange.query)
        let origin = try parameters.takeOrigin()
        let account = try parameters.takeAccount()
        try parameters.refuseRest()
        return (try name(key, origin), exchange.scope(account))
    }

    private func name(_ key: EntityKey, _ origin: OriginName?) throws(Problem) -> EntityName {
        try engine.entities.name(key, of: origin, for: exchange.peer.uid)
    }
}

extension Problem {
    fileprivate static func miss(_ name: EntityName) -> Problem {
        Problem(
            .miss,
            "nothing is known of the entity '\(name)'",
            hint: "Fetch an answer that holds it; GET /v1/entities lists what is known."
        )
    }
}
