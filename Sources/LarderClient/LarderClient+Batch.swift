public import FoundationEssentials
import LarderAPI
import LarderModel
import LarderWire

extension LarderClient {
    /// What is cached under several ids, all of it as it was at one moment; nobody else is asked.
    ///
    ///     let batch = try await larder.batch(urls, as: Article.self)
    ///     show(batch.found.map(\.value))
    ///     fetch(batch.missed)
    ///
    /// - Parameters:
    ///   - ids: 1 to 1,000, none of them twice; the id of a fetched entry is its URL.
    ///   - type: What the bodies are.
    ///   - decoder: How dates, keys and the like are spelled.
    /// - Returns: What is there, and of which ids nothing is.
    /// - Throws: The problem, such as `urn:larder:bad-request`; ``LarderError/decoding(id:reason:)``
    ///   where a body is something else.
    public func batch<Value: Decodable & Sendable>(
        _ ids: [String],
        as type: Value.Type,
        decoder: JSONDecoder = JSONDecoder()
    ) async throws(LarderError) -> BatchResult<TypedSnapshot<Value>> {
        let batch = try await batch(ids)
        var found: [TypedSnapshot<Value>] = []
        for snapshot in batch.found {
            found.append(try await snapshot.decoded(as: type, by: decoder))
        }
        return BatchResult(found: found, missed: batch.missed, deleted: batch.deleted)
    }

    /// The same with the bodies as they are.
    ///
    /// Those that do not come with the answer, being too large for it, are asked for by
    /// ``Snapshot/body()`` and are what is there then.
    ///
    /// - Parameter ids: 1 to 1,000, none of them twice.
    /// - Returns: What is there, and of which ids nothing is.
    /// - Throws: The problem, such as `urn:larder:bad-request`.
    public func batch(_ ids: [String]) async throws(LarderError) -> BatchResult<Snapshot> {
        for id in ids { _ = try entryID(id) }
        var command = BatchCommand(ids: ids)
        command.account = try accountParameter()
        let json = APIEncoder().encode(command)
        let request = SocketRequest(posting: json, to: "/v1/entries/batch")
        var reader = try await FrameReader<BatchFrame>(request, of: self)
        var found: [Snapshot] = []
        var missed: [String] = []
        var deleted: [String] = []
        while true {
            switch try await reader.next().frame {
            case .snapshot(let frame): found.append(Snapshot(frame, client: self))
            case .miss(let frame): missed.append(frame.id)
            case .deleted(let frame): deleted.append(frame.id)
            case .other: continue
            case .end(let end):
                await reader.drain()
                guard end.outcome != .shutdown else {
                    throw .problem(Problem(.shuttingDown, "the daemon is ending"))
                }
                return BatchResult(found: found, missed: missed, deleted: deleted)
            }
        }
    }
}
