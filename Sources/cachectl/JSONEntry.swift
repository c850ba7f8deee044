import LarderAPI
import LarderClient
import LarderJSON
import LarderModel
import LarderWire

/// An entry under its id, or an entity under its key, as the frames that a fetch of it would have.
struct JSONEntry {
    private enum Found {
        case entry(EntryExplanation)
        case entity(EntityItem)
    }

    private let client: LarderClient
    private let found: Found

    init(client: LarderClient, _ explanation: EntryExplanation) {
        self.client = client
        found = .entry(explanation)
    }

    init(client: LarderClient, _ explanation: EntityExplanation) {
        self.client = client
        found = .entity(explanation.item)
    }

    func write(to console: Console) async throws {
        let snapshot =
            switch found {
            case .entry(let explanation): try await snapshot(explanation)
            case .entity(let item): try await snapshot(item)
            }
        try console.write(FetchFrame.snapshot(snapshot).encodedLine())
        let end = EndFrame(outcome: .cache, revision: Revision(snapshot.rev))
        try console.write(FetchFrame.end(end).encodedLine())
    }

    private func snapshot(_ explanation: EntryExplanation) async throws -> SnapshotFrame {
        let item = explanation.item
        guard item.kind != .tombstone else { throw Self.gone }
        let pending = explanation.pending
        let isMade = [ViewReport.unknown, .deleted].contains(pending.base)
        var snapshot = SnapshotFrame(
            source: isMade ? .modifier : .cache,
            revision: Revision(item.rev),
            isStale: item.stale,
            age: age(item.storedAt),
            entry: FrameEntry(
                id: try EntryID(item.id),
                status: item.status,
                mediaType: item.mediaType,
                etag: item.etag,
                storedAt: Timestamp(milliseconds: item.storedAt.milliseconds),
                body: try await body(item)
            )
        )
        snapshot.pending = pending.pending
        snapshot.pendingIDs = pending.modifiers.map(\.id)
        return snapshot
    }

    private func snapshot(_ item: EntityItem) async throws -> SnapshotFrame {
        guard !item.deleted else { throw Self.gone }
        let name = item.name
        let entity = try await client.entity(name.key, origin: name.origin)
        var snapshot = SnapshotFrame(
            source: .cache,
            revision: Revision(item.rev),
            isStale: false,
            age: age(item.storedAt),
            entry: FrameEntry(
                id: EntryID(
                    EntityName(try EntityKey(name.key), of: try OriginName(name.origin))
                ),
                status: 200,
                mediaType: entity.metadata.mediaType,
                etag: entity.metadata.etag ?? "",
                storedAt: Timestamp(milliseconds: item.storedAt.milliseconds),
                body: .json(entity.bytes)
            )
        )
        snapshot.pending = entity.metadata.pending
        snapshot.failed = entity.metadata.failed
        snapshot.complete = entity.metadata.isComplete
        return snapshot
    }

    private func age(_ storedAt: LarderAPI.Timestamp) -> Duration {
        .milliseconds(max(0, WallClock.now().milliseconds - storedAt.milliseconds))
    }

    private static let gone = CommandFailure(.notFound, "the origin says that it is gone")

    private func body(_ item: EntryItem) async throws -> FrameBody {
        let path = FrameBody.href(PercentCoding.entryPath(try EntryID(item.id)))
        guard item.bodyBytes <= Limits.inlineJSONBytesMax else { return path }
        let bytes = try await client.entry(item.id).bytes
        if JSONValidator.accepts(bytes) { return .json(bytes) }
        return bytes.count <= Limits.base64BodyBytesMax ? .bytes(bytes) : path
    }
}
