import LarderEngine
import LarderModel
import LarderStore
import LarderWire
import NIOCore
import NIOHTTP1

/// `/v1/entries`: entries by their ids, and entities that answers share.
struct EntryRoutes {
    let exchange: Exchange
    let loop: LoopReader
    private var engine: Engine { exchange.engine }

    func list() async throws(Problem) {
        let query: EntryListQuery = try exchange.parameters()
        let selection = try exchange.selection(query.rows)
        let rows = try exchange.rows(selection, for: query.use)
        let page = try await engine.entries.list(query, rows, tellsOwners: selection.isOthers)
        try await exchange.respond(with: page, byteCount: page.items.count << 10)
    }

    func explain(_ id: EntryID) async throws(Problem) {
        let query: ScopeQuery = try exchange.parameters()
        let scope = try exchange.row(try exchange.selection(query), for: "explain \(id)")
        let cancellation = exchange.cancellation
        guard
            let explanation = try await engine.entries.explain(
                id,
                scope,
                cancellation: cancellation
            )
        else {
            throw Problem.miss(id)
        }
        try await exchange.respond(with: explanation, byteCount: explanation.pending.byteCount)
    }

    func batch() async throws(Problem) {
        let command: BatchCommand = try await exchange.command()
        let ids = try await exchange.work(onBytes: command.ids.count << 10) { () throws(Problem) in
            try [EntryID](batch: command.ids)
        }
        let scope = try exchange.scope(of: command.account)
        guard FrameFormat.isArrayNamed(in: exchange.accepted) else {
            let stream = FrameStream(exchange)
            try await engine.entries.batch(ids, scope) { frame in await stream.send(frame) }
            return await stream.end()
        }
        let array = FrameArray(exchange)
        try await engine.entries.batch(ids, scope) { frame in array.take(frame) }
        try await array.end()
    }

    // MARK: Reading

    func read(_ id: EntryID) async throws(Problem) {
        for _ in 0..<Limits.replacedReadsMax {
            switch try await EntryReply.read(id, exchange.head, exchange.peer, loop, engine) {
            case .whole(let status, let headers, let body, at: _):
                guard await exchange.writer.begin(status, headers) else { return }
                if let body { _ = await exchange.writer.send(Array(body.readableBytesView)) }
                return await exchange.writer.end()
            case .chunked(let headers, let body, let part, let scope):
                if try await exchange.stream(id, headers, body, part, scope) { return }
            case .problem(let problem, let headers):
                return await exchange.respond(problem, headers)
            }
        }
        throw Problem(.overloaded, "'\(id)' is replaced faster than it can be read")
    }

    // MARK: Writing

    func put(_ id: EntryID) async throws(Problem) {
        let query: PutQuery = try exchange.parameters()
        let scope = try exchange.scope(of: query.account)
        if let ttl = query.ttl, ttl <= .zero {
            throw Problem(.badRequest, "ttl: '\(ttl.unitText)' is not longer than 0ms")
        }
        try RequestHeaderRules.refusePart(exchange.fields, status: 400)
        if let name = id.entity { return try await put(name, query, scope) }
        if let length = exchange.announcedLength, length > engine.store.maxEntryBytes {
            throw Problem(
                .entryTooLarge,
                "the body has \(length) bytes, at most \(engine.store.maxEntryBytes) are taken"
            )
        }
        let place = try exchange.enterUpload()
        defer { withExtendedLifetime(place) {} }
        var receiver = try engine.entries.take(
            id,
            scope,
            mediaType: exchange.head.headers.first(name: "Content-Type"),
            ttl: query.ttl,
            isPinned: query.pin ?? false,
            client: try exchange.client,
            conditions: exchange.conditions
        )
        while let piece = try await exchange.body.next() {
            try await receiver.take(Array(piece.readableBytesView))
        }
        let (put, entityTag) = try await receiver.finish()
        await exchange.writer.respond(
            put.isNew ? .created : .noContent,
            [
                "ETag": entityTag,
                "Larder-Rev": String(put.revision.number),
            ]
        )
    }

    private func put(
        _ name: EntityName,
        _ query: PutQuery,
        _ scope: ScopeKey
    ) async throws(Problem) {
        guard query.ttl == nil, query.pin != true, exchange.conditions.isEmpty else {
            throw Problem(
                .badRequest,
                "an entity has neither a ttl nor a pin, and its write no If-Match or If-None-Match"
            )
        }
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

    func remove(_ id: EntryID) async throws(Problem) {
        try RequestHeaderRules.refusePart(exchange.fields, status: 400)
        let query: ScopeQuery = try exchange.parameters()
        let selection = try exchange.selection(query)
        let scope: ScopeKey
        switch selection {
        case .own(let account): scope = exchange.scope(account)
        case .shared:
            try exchange.requireAdministrator("remove \(id) scope=shared")
            scope = engine.store.key(for: .shared)
        case .user, .all:
            throw Problem(.badRequest, "scope: '\(selection.text)' is none of own, shared")
        }
        let (client, conditions) = (try exchange.client, exchange.conditions)
        let removed: Revision?
        if let name = id.entity {
            guard conditions.isEmpty else {
                throw Problem(.badRequest, "an entity is deleted without If-Match or If-None-Match")
            }
            removed = try await engine.entities.delete(name, scope, client: client)
        } else {
            removed = try await engine.entries.remove(
                id,
                scope,
                client: client,
                conditions: conditions
            )
        }
        guard let removed else { throw Problem.miss(id) }
        let headers: HTTPHeaders = ["Larder-Rev": String(removed.number)]
        await exchange.writer.respond(.noContent, headers)
    }
}

extension [EntryID] {
    fileprivate init(batch texts: [String]) throws(Problem) {
        let hint = "Ask for the rest in another batch."
        try texts.checkCount("ids", in: 1...Limits.batchIDsMax, hint: hint)
        self = try texts.map { text throws(Problem) in try EntryID(command: text, of: "ids") }
        var seen: Set<EntryID> = []
        if let twice = first(where: { !seen.insert($0).inserted }) {
            throw Problem(.badRequest, "ids: '\(twice)' is given twice")
        }
    }
}

extension Exchange {
    /// Sends a chunked body or a part of it, one chunk in memory at a time; false if the body was
    /// replaced before it was opened, and nothing was sent.
    func stream(
        _ id: EntryID,
        _ headers: HTTPHeaders,
        _ body: ChunkedBody,
        _ part: Range<Int>?,
        _ scope: ScopeKey
    ) async throws(Problem) -> Bool {
        guard let reader = try await engine.entries.openBody(body, of: id, scope) else {
            return false
        }
        if let part { reader.seek(to: part) }
        await writer.copy(part == nil ? .ok : .partialContent, headers) { try await reader.next() }
        return true
    }
}
