import LarderModel
import LarderNormalize
import LarderTestSupport

@testable import LarderStore

/// Answers of one origin under ids of its own, kept normalized by the standard rules.
struct AnswerFixture {
    let temporary: TemporaryStore
    let origin: OriginName
    let rules: EntityRules

    init(
        _ rules: NormalizeRules = NormalizeRules(byType: .standard),
        configure: @escaping (inout StoreConfiguration) -> Void = { _ in }
    ) throws {
        temporary = try TemporaryStore(configure: configure)
        origin = try OriginName("example")
        self.rules = EntityRules(rules)
        store.setOrigins(OriginNames(rules: [origin: self.rules]))
    }

    /// One with the defaults, for a suite that has one in each test.
    static func new() -> AnswerFixture {
        do { return try AnswerFixture() } catch { preconditionFailure("no store: \(error)") }
    }

    var store: Store { temporary.store }
    var scope: ScopeKey { temporary.scope }

    func name(_ key: String) throws -> EntityName { EntityName(try EntityKey(key), of: origin) }

    /// What splitting an answer and naming it comes to.
    func answer(
        _ id: String,
        _ text: String,
        fetch: Int64? = nil,
        in place: ScopeKey? = nil,
        hidesShared: Bool = false
    ) throws -> NewAnswer {
        let scope = place ?? scope
        let body = Array(text.utf8)
        guard case .split(let split) = Splitter(rules).split(body, path: "/") else {
            throw ModelError.badID(text)
        }
        var entry = Entry(
            id: try EntryID(id),
            kind: .fetched,
            storedAt: .epoch,
            revision: Revision(0),
            body: BodySummary(of: body, isJSON: true)
        )
        entry.origin = origin
        entry.mediaType = "application/json"
        let entities = NewEntities(
            split,
            of: origin,
            in: scope,
            fetch: try fetch.map { Revision($0) } ?? store.nextRevision(),
            cause: ChangeCause(.network, text: "fetch:\(id)"),
            hidesShared: hidesShared
        )
        return NewAnswer(NewEntry(scope: scope, entry: entry, body: .inline(body)), entities)
    }

    @discardableResult
    func put(
        _ id: String,
        _ text: String,
        fetch: Int64? = nil,
        in place: ScopeKey? = nil
    ) async throws -> AnswerReceipt {
        try await store.put(try answer(id, text, fetch: fetch, in: place), now: .epoch)
    }

    /// What an id shows now: the text, or in words why there is none.
    func shown(_ id: String, isPartial: Bool = false) async throws -> String {
        let scope = scope
        return try await store.read { reader throws(StoreError) in
            try reader.shownText(scope, named(id), isPartial: isPartial)
        }
    }

    func reopen() async throws {
        try await temporary.reopen()
        store.setOrigins(OriginNames(rules: [origin: rules]))
    }

    /// A start without what `cache.db` had.
    func loseCache() throws {
        try temporary.loseCache()
        store.setOrigins(OriginNames(rules: [origin: rules]))
    }

    func audit() throws {
        _ = try AnswerAudit(temporary.cachePath, scope, origin, statePath: temporary.statePath)
    }

    /// The rows of a table of `cache.db`, as of the last commit.
    func count(_ table: String) async throws -> Int64 {
        try await store.read { reader throws(StoreError) in
            try reader.cache.reading { file throws(StoreError) in
                try file.connection.integer("SELECT count(*) FROM \(table)") ?? 0
            } ?? -1
        }
    }

    /// Evicts what stands under an id; whether it went.
    @discardableResult
    func evict(_ id: EntryID) async throws -> Bool {
        let scope = scope
        let candidate = try await store.candidate(scope, id)
        return try await !store.evict([candidate].compactMap { $0 }).evicted.isEmpty
    }
}

extension StoreReader {
    /// What an id shows to a client of the scope: the text, or in words why there is none.
    func shownText(
        _ scope: ScopeKey,
        _ id: EntryID,
        isPartial: Bool = false,
        to viewer: ScopeKey? = nil
    ) throws(StoreError) -> String {
        let shown = try answers.shownRow(
            scope,
            id,
            for: .view(of: viewer ?? scope),
            now: .epoch,
            isPartial: isPartial
        ) { row in
            row.kind == .tombstone
                ? "deleted" : row.withBody { String(decoding: $0, as: UTF8.self) }
        }
        switch shown {
        case nil: return "miss"
        case .whole(let text)?: return text
        case .normalized(.shown(let shown), _)?:
            let text = String(decoding: shown.answer.bytes, as: UTF8.self)
            return shown.answer.isComplete ? text : "partly " + text
        case .normalized(.deleted, _)?: return "deleted"
        case .normalized(.missing, _)?: return "missing"
        }
    }
}
