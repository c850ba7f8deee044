import FoundationEssentials
import LarderModel

/// A frame with the state of a URL at one moment, and access to its body.
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

    /// The body if it came with the snapshot; nil: read it with ``body()``.
    ///
    /// JSON text up to 1 MiB and other bytes up to 64 KiB come with the snapshot. The bytes are the
    /// origin's, except that JSON has spaces in place of line ends between tokens, and no space
    /// around it. ``exactBody()`` has the original bytes.
    public var inlineBody: [UInt8]? {
        frame.entry.body?.bytes ?? frame.entry.bodyB64.flatMap { Base64.decode($0) }
    }

    /// The body, read from the daemon if it did not come with the snapshot.
    ///
    /// The daemon gives the current bytes under the id: a later answer if one came meanwhile, and a
    /// problem if the entry is gone.
    public func body() async throws(LarderError) -> [UInt8] {
        if let inlineBody { return inlineBody }
        return try await client.entry(try client.entryID(self.id), at: path).bytes
    }

    /// The body with the origin's own line ends and the space around it, read from the daemon.
    ///
    /// If the daemon has another answer by now, or did not store this one, the result is
    /// ``body()``.
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

    /// Whether `inline`, the JSON of a frame, is made from the bytes of `exact`.
    ///
    /// The frame's JSON has spaces in place of line ends, and no space around it.
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

    /// The exact body in chunks, for large bodies, with at most one chunk in memory.
    public func bodyChunks() async throws(LarderError) -> EntryChunks {
        try await openBody().chunks
    }

    /// The exact body in chunks, with its number of bytes; nil if the daemon did not say.
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
    /// The body decoded from JSON, with this snapshot.
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
