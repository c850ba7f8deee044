import LarderClient
import LarderJSON
import LarderModel
import LarderWire

/// An entry under its id, or an entity under its key, as the frames that a fetch of it would have.
struct JSONEntry {
    private enum Found {
        case entry(EntryExplanation)
        case entity(EntityListItem)
    }

    private let client: LarderClient
    private let found: Found

    init(client: LarderClient, _ explanation: Explanation) {
        self.client = client
        found = .entry(explanation.explanation)
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
        let end = EndFrame(outcome: .cache, revision: snapshot.revision)
        try console.write(FetchFrame.end(end).encodedLine())
    }

    private func snapshot(_ explanation: EntryExplanation) async throws -> SnapshotFrame {
        let item = explanation.item
        guard item.kind != .tombstone else { throw Self.gone }
        let pending = explanation.pending
        let isMade = pending.map { [.unknown, .deleted].contains($0.base) } ?? false
        var snapshot = SnapshotFrame(
            source: isMade ? .modifier : .cache,
            revision: item.revision,
            isStale: item.isStale,
            age: max(.zero, WallClock.now().since(item.storedAt)),
            entry: FrameEntry(
                id: item.id,
                status: item.status,
                mediaType: item.mediaType,
                etag: item.etag,
                storedAt: item.storedAt,
                body: try await body(item)
            )
        )
        snapshot.pending = pending?.count ?? 0
        snapshot.pendingIDs = pending?.steps.map(\.id.text) ?? []
        return snapshot
    }

    private func snapshot(_ item: EntityListItem) async throws -> SnapshotFrame {
        guard !item.isDeleted else { throw Self.gone }
        let name = item.name
        let entity = try await client.entity(name.key.text, origin: name.origin.text)
        var snapshot = SnapshotFrame(
            source: .cache,
            revision: item.revision,
            isStale: false,
            age: max(.zero, WallClock.now().since(item.storedAt)),
            entry: FrameEntry(
                id: EntryID(name),
                status: 200,
                mediaType: entity.metadata.mediaType,
                etag: entity.metadata.etag ?? "",
                storedAt: item.storedAt,
                body: .json(entity.bytes)
            )
        )
        snapshot.pending = entity.metadata.pending
        snapshot.failed = entity.metadata.failed
        snapshot.isComplete = entity.metadata.isComplete
        return snapshot
    }

    private static let gone = CommandFailure(.notFound, "the origin says that it is gone")

    private func body(_ item: EntryListItem) async throws -> FrameBody {
        let path = FrameBody.href(PercentCoding.entryPath(item.id))
        guard item.byteCount <= Limits.inlineJSONBytesMax else { return path }
        let bytes = try await client.entry(item.id.text).bytes
        if JSONValidator.accepts(bytes) { return .json(bytes) }
        return bytes.count <= Limits.base64BodyBytesMax ? .bytes(bytes) : path
    }
}
