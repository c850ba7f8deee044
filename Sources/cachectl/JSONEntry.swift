import LarderClient
import LarderJSON
import LarderModel
import LarderWire

/// An entry under its id, as the frames that a fetch of it would have.
struct JSONEntry {
    let client: LarderClient
    let id: String

    func write(to console: Console) async throws {
        let item = try await client.explain(id).item.item
        guard item.kind != .tombstone else {
            throw CommandFailure(.notFound, "the origin says that it is gone")
        }
        let snapshot = SnapshotFrame(
            source: .cache,
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
        try console.write(FetchFrame.snapshot(snapshot).encodedLine())
        let end = EndFrame(outcome: .cache, revision: item.revision)
        try console.write(FetchFrame.end(end).encodedLine())
    }

    private func body(_ item: EntryListItem) async throws -> FrameBody {
        let path = FrameBody.href(PercentCoding.entryPath(item.id))
        guard item.byteCount <= Limits.inlineJSONBytesMax else { return path }
        let bytes = try await client.entry(id).bytes
        if JSONValidator.accepts(bytes) { return .json(bytes) }
        return bytes.count <= Limits.base64BodyBytesMax ? .bytes(bytes) : path
    }
}
