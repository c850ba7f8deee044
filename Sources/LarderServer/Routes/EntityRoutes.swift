import LarderAPI
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

    func list() async throws(Problem) {
        let query: EntityListQuery = try exchange.parameters()
        let selection = try exchange.selection(query.rows)
        let rows = try exchange.rows(selection, for: query.use)
        let name = try OriginName?(command: query.origin)
        let origin = try engine.entities.origin(name, for: exchange.peer.uid)
        let tellsOwners = selection.isOthers
        let page = try await engine.entities.list(query, origin, rows, tellsOwners: tellsOwners)
        try await exchange.respond(with: page, byteCount: page.items.count << 10)
    }

    func read(_ key: EntityKey) async throws(Problem) {
        let query: EntityQuery = try exchange.parameters()
        let name = try name(key, query.origin)
        let scope = try exchange.scope(of: query.account)
        let depth = query.expand ?? 0
        guard (0...Limits.entityExpansionMax).contains(depth) else {
            throw Problem(
                .badRequest,
                "expand: '\(depth)' is not a number from 0 to \(Limits.entityExpansionMax)"
            )
        }
        let form = query.show ?? .view
        let view = try await engine.entities.read(name, as: form, expanding: depth, scope)
        guard let view else { throw Problem.miss(name) }
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

    func explain(_ key: EntityKey) async throws(Problem) {
        let query: EntityExplanationQuery = try exchange.parameters()
        let name = try name(key, query.origin)
        let scope = try exchange.row(try exchange.selection(query.rows), for: "explain \(name)")
        let interest = exchange.interest
        guard let explanation = try await engine.entities.explain(name, scope, interest: interest)
        else {
            throw Problem.miss(name)
        }
        try await exchange.respond(with: explanation, byteCount: explanation.pending.byteCount)
    }

    // MARK: Writing

    func put(_ key: EntityKey) async throws(Problem) {
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

    func remove(_ key: EntityKey) async throws(Problem) {
        let (name, scope) = try place(key)
        let revision = try await engine.entities.delete(name, scope, client: try exchange.client)
        await exchange.writer.respond(.noContent, ["Larder-Rev": String(revision.number)])
    }

    /// The entity and the scope of a route that takes no parameter but `origin` and `account`.
    private func place(_ key: EntityKey) throws(Problem) -> (EntityName, ScopeKey) {
        let query: EntityWriteQuery = try exchange.parameters()
        return (try name(key, query.origin), try exchange.scope(of: query.account))
    }

    private func name(_ key: EntityKey, _ origin: String?) throws(Problem) -> EntityName {
        let origin = try OriginName?(command: origin)
        return try engine.entities.name(key, of: origin, for: exchange.peer.uid)
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
