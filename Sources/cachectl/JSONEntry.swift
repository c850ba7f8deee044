import LarderAPI
import LarderClient
import LarderJSON
import LarderModel
import LarderWire

/// An entry or an entity under its id, as the frames that a fetch of it would have.
struct JSONEntry {
    let client: LarderClient
    let found: EntryExplanation

    func write(to console: Console) async throws {
        let snapshot = try await snapshot()
        try console.write(FetchFrame.snapshot(snapshot).encodedLine())
        let end = EndFrame(outcome: .cache, revision: Revision(snapshot.rev))
        try console.write(FetchFrame.end(end).encodedLine())
    }

    private func snapshot() async throws -> SnapshotFrame {
        let item = found.item
        guard item.kind != .tombstone else {
            throw CommandFailure(.notFound, "the origin says that it is gone")
        }
        let id = try EntryID(given: item.id)
        let whole =
            item.bodyBytes <= Limits.inlineJSONBytesMax ? try await client.entry(item.id) : nil
        var snapshot = SnapshotFrame(
            source: item.source,
            revision: Revision(item.rev),
            isStale: item.stale,
            age: .milliseconds(
                max(0, WallClock.now().milliseconds - item.storedAt.milliseconds)
            ),
            entry: FrameEntry(
                id: id,
                status: item.status,
                mediaType: item.mediaType,
                etag: item.etag,
                storedAt: Timestamp(milliseconds: item.storedAt.milliseconds),
                body: whole.flatMap { FrameBody(shown: $0.bytes) }
                    ?? .href(PercentCoding.entryPath(id))
            )
        )
        snapshot.pending = found.pending.pending
        snapshot.pendingIDs = found.pending.modifiers.map(\.id)
        if let metadata = whole?.metadata {
            (snapshot.failed, snapshot.complete) = (metadata.failed, metadata.isComplete)
        }
        return snapshot
    }
}

extension FrameBody {
    /// Nil for bytes that a frame does not show.
    fileprivate init?(shown bytes: [UInt8]) {
        if JSONValidator.accepts(bytes) {
            self = .json(bytes)
        } else if bytes.count <= Limits.base64BodyBytesMax {
            self = .bytes(bytes)
        } else {
            return nil
        }
    }
}
