import LarderModel
import LarderTestSupport

/// Puts and deletes entries that no one else writes, and evicts those that nobody names.
struct BlobWriter: Sendable {
    private(set) var history = CrowdHistory()
    private let ids: [EntryID]
    private let evictable: [EntryID]
    private var there: Set<EntryID> = []
    private var random: SeededRandom
    private var serial = 0
    private let client: RawClient

    /// The first ten of `ids` change often; `evictable` may be evicted.
    init(
        _ ids: [EntryID],
        evictable: [EntryID] = [],
        seed: UInt64,
        at server: ServerFixture
    ) async throws {
        self.ids = ids
        self.evictable = evictable
        random = SeededRandom(seed: seed)
        client = try await server.connect()
    }

    mutating func step() async throws {
        if !evictable.isEmpty, random.next() % 10 == 0 {
            try await evict()
        } else if !evictable.isEmpty, random.next() % 4 == 0 {
            try await put(random.pick(evictable))
        } else {
            let hot = random.next() % 3 == 0
            let id = random.pick(hot ? Array(ids.prefix(10)) : ids)
            if there.contains(id), random.next() % 5 == 0 {
                try await delete(id)
            } else {
                try await put(id)
            }
        }
    }

    /// Puts each once, in their order.
    mutating func putAll() async throws {
        for id in ids {
            try await put(id)
        }
    }

    mutating func put(_ id: EntryID) async throws {
        serial += 1
        let answer = try await client.ask(
            "PUT",
            "/v1/entries/\(path(id.text))",
            body: Array("\(serial)".utf8)
        )
        let revision = try revision(of: answer, 201, 204)
        there.insert(id)
        history.add(id, CrowdEvent(kind: .put, ground: .row, revision: revision))
    }

    private mutating func delete(_ id: EntryID) async throws {
        let answer = try await client.ask("DELETE", "/v1/entries/\(path(id.text))")
        guard answer.status == 204 else { throw CrowdListener.Fault(answer: answer.text) }
        there.remove(id)
        history.add(id, CrowdEvent(kind: .delete, ground: .row, revision: nil))
    }

    private mutating func evict() async throws {
        let list = evictable.map { "\"\($0)\"" }.joined(separator: ",")
        let answer = try await client.ask(
            "POST",
            "/v1/evict",
            body: Array(#"{"ids":[\#(list)]}"#.utf8)
        )
        let gone = evictable.filter { there.remove($0) != nil }
        guard answer.text.contains(#""evicted":\#(gone.count),"#) else {
            throw CrowdListener.Fault(answer: answer.text)
        }
        for id in gone {
            history.add(id, CrowdEvent(kind: .evict, ground: .row, revision: nil))
        }
    }
}
