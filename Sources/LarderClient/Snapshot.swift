import FoundationEssentials
import LarderModel

/// A frame that says what is known of a URL at one moment, and the way to its body.
///
/// Members of the frame and of its entry are members of the snapshot: `snapshot.stale`,
/// `snapshot.mediaType`.
@dynamicMemberLookup
public struct Snapshot: Sendable {
    /// The frame.
    public let frame: SnapshotFrame
    private let client: LarderClient

    init(_ frame: SnapshotFrame, client: LarderClient) {
        self.frame = frame
        self.client = client
    }

    /// A member of the frame.
    public subscript<Value>(dynamicMember path: KeyPath<SnapshotFrame, Value>) -> Value {
        frame[keyPath: path]
    }

    /// A member of the frame's entry.
    public subscript<Value>(dynamicMember path: KeyPath<FrameEntry, Value>) -> Value {
        frame.entry[keyPath: path]
    }

    /// How long ago the origin gave or confirmed it.
    public var age: Duration { .milliseconds(frame.ageMs) }

    /// The body if it came with the snapshot: text of JSON up to 1 MiB and other bytes up to
    /// 64 KiB do; nil leaves it to ``body()``.
    ///
    /// The bytes are the origin's, but that line ends between the tokens of JSON are spaces and
    /// nothing stands around it; ``exactBody()`` has all.
    public var inlineBody: [UInt8]? {
        frame.entry.body?.bytes ?? frame.entry.bodyB64.flatMap { Base64.decode($0) }
    }

    /// The body, asked of the daemon where it did not come with the snapshot.
    ///
    /// The daemon gives what is under the id then: a later answer if one came meanwhile, and a
    /// problem if it is gone.
    public func body() async throws(LarderError) -> [UInt8] {
        if let inlineBody { return inlineBody }
        return try await client.entry(try client.entryID(self.id), at: path).bytes
    }

    /// The body with the origin's own line ends and the space around it, which JSON that came with
    /// the snapshot has not.
    ///
    /// It is asked of the daemon. Where it has another answer by now, or did not keep this one,
    /// it is ``body()``.
    public func exactBody() async throws(LarderError) -> [UInt8] {
        guard let inline = frame.entry.body?.bytes else { return try await body() }
        do throws(LarderError) {
            let exact = try await client.entry(self.id).bytes
            return Self.isInline(inline, of: exact) ? exact : inline
        } catch {
            guard error.problem != nil else { throw error }
            return inline
        }
    }

    /// Whether JSON in a frame came of these bytes: line ends are spaces in it, and what stands
    /// around it is not part of it.
    private static func isInline(_ inline: [UInt8], of exact: [UInt8]) -> Bool {
        func isSpace(_ byte: UInt8) -> Bool {
            byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
        }
        func isLineEnd(_ byte: UInt8) -> Bool { byte == 0x0A || byte == 0x0D }
        let start = exact.drop(while: isSpace)
        guard start.count >= inline.count, start.dropFirst(inline.count).allSatisfy(isSpace)
        else { return false }
        return zip(start, inline).allSatisfy { $0 == $1 || ($1 == 0x20 && isLineEnd($0)) }
    }

    /// The same in chunks, for large bodies: not more than one of them is in memory.
    public func bodyChunks() async throws(LarderError) -> EntryChunks {
        try await openBody().chunks
    }

    /// The same with their number of bytes; nil where the daemon did not say.
    func openBody() async throws(LarderError) -> (byteCount: Int?, chunks: EntryChunks) {
        if inlineBody != nil {
            let bytes = try await exactBody()
            return (bytes.count, EntryChunks(bytes))
        }
        let entry = try await client.entryStream(try client.entryID(self.id), at: path)
        return (entry.metadata.byteCount, entry.chunks)
    }

    private var path: String {
        get throws(LarderError) {
            guard let path = frame.entry.bodyHref else {
                throw .badAnswer("a snapshot has no body")
            }
            return path
        }
    }
}

extension Snapshot {
    /// The body decoded from JSON, with all else that is known.
    func decoded<Value: Decodable & Sendable>(
        as type: Value.Type,
        by decoder: JSONDecoder
    ) async throws(LarderError) -> TypedSnapshot<Value> {
        let value = try decoder.decode(type, from: try await body(), of: frame.entry.id)
        return TypedSnapshot(value: value, snapshot: self)
    }
}

extension JSONDecoder {
    func decode<Value: Decodable>(
        _ type: Value.Type,
        from body: [UInt8],
        of id: String
    ) throws(LarderError) -> Value {
        do {
            return try decode(type, from: Data(body))
        } catch let error as DecodingError {
            throw .decoding(id: id, reason: error.reason)
        } catch {
            throw .decoding(id: id, reason: "\(error)")
        }
    }
}

extension DecodingError {
    /// Where it failed and why, in one line.
    fileprivate var reason: String {
        let context =
            switch self {
            case .typeMismatch(_, let context), .valueNotFound(_, let context),
                .keyNotFound(_, let context), .dataCorrupted(let context):
                context
            @unknown default: Context(codingPath: [], debugDescription: "\(self)")
            }
        let path = context.codingPath.map(\.stringValue).joined(separator: "/")
        return path.isEmpty
            ? context.debugDescription : "at \(path): \(context.debugDescription)"
    }
}
