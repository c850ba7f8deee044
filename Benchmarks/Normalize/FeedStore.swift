import Foundation
import LarderModel
import LarderNormalize
import LarderStore

/// A store on disk, with one feed in it.
final class FeedStore {
    private let folder: URL
    private let store: Store
    private let scope: ScopeKey
    private let origin: OriginName
    private let id: EntryID
    private let rules: EntityRules
    private let reader: StoreReader

    init(_ rules: EntityRules) throws {
        self.rules = rules
        folder = FileManager.default.temporaryDirectory
            .appendingPathComponent(
                "larder-feed-store-\(ProcessInfo.processInfo.processIdentifier)"
            )
        var configuration = StoreConfiguration(
            cacheDirectory: folder.appendingPathComponent("cache").path,
            stateDirectory: folder.appendingPathComponent("state").path
        )
        configuration.reserveBytes = 0
        store = try Store(configuration, now: { Timestamp(milliseconds: 0) })
        scope = store.key(for: .own(uid: 1_000, account: .default))
        origin = try OriginName("feed")
        id = try EntryID("https://feed.example/feed")
        store.setOrigins(OriginNames(rules: [origin: rules]))
        reader = try store.makeReader()
    }

    func close() async throws {
        reader.endTransaction()
        try await store.close()
        try FileManager.default.removeItem(at: folder)
    }

    /// Splits a feed and stores it with its entities.
    func put(_ body: [UInt8]) async throws {
        let split = Stored.split(body, rules)
        var entry = Entry(
            id: id,
            kind: .fetched,
            storedAt: Timestamp(milliseconds: 0),
            revision: Revision(0),
            body: BodySummary(of: body, isJSON: true)
        )
        entry.origin = origin
        entry.mediaType = "application/json"
        let entities = NewEntities(
            split,
            of: origin,
            in: scope,
            fetch: try store.nextRevision(),
            cause: ChangeCause(.network)
        )
        let new = NewEntry(scope: scope, entry: entry, body: .inline(body))
        let receipt = try await store.put(NewAnswer(new, entities), now: entry.storedAt)
        guard receipt.isNormalized else { fatalError("the feed is an honest one") }
    }

    /// Reads the feed's view from the store.
    func read() throws -> [UInt8] {
        let now = Timestamp(milliseconds: 0)
        defer { reader.endTransaction() }
        let sight = EntityLookup.view(of: scope)
        let row = try reader.answers.shownRow(scope, id, for: sight, now: now) { _ in }
        guard case .normalized(.shown(let shown), _)? = row else { fatalError("it is there") }
        return shown.answer.bytes
    }
}
