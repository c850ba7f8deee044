public import FoundationEssentials
import LarderModel
package import LarderWire

/// Who gave an answer.
public enum SnapshotSource: String, Sendable {
    /// The daemon's cache.
    case cache
    /// The origin's server.
    case network
    /// Changes of this device that wait to be sent: no server has said it.
    case modifier
}

/// What is known of a URL at one moment.
public struct Snapshot: Sendable {
    package let frame: SnapshotFrame
    private let client: LarderClient

    init(_ frame: SnapshotFrame, client: LarderClient) {
        self.frame = frame
        self.client = client
    }

    /// The text that the entry is found by: the URL in its one spelling.
    public var id: String { frame.entry.id.text }
    /// Who says it.
    public var source: SnapshotSource {
        switch frame.source {
        case .cache: .cache
        case .network: .network
        case .modifier: .modifier
        }
    }
    /// The daemon's number of the step that made it.
    public var revision: Int64 { frame.revision.number }
    /// Whether it is past its lifetime.
    public var isStale: Bool { frame.isStale }
    /// How long ago the origin gave or confirmed it.
    public var age: Duration { frame.age }
    /// How many unsent changes of this device it shows.
    public var pending: Int { frame.pending }
    /// How many changes of this device failed on it.
    public var failed: Int { frame.failed }
    /// Whether nothing of it was evicted meanwhile; otherwise ``missing`` names what.
    public var isComplete: Bool { frame.isComplete }
    /// What is missing.
    public var missing: [String] { frame.missing }
    /// The status of the origin's answer.
    public var status: Int { frame.entry.status }
    /// Its Content-Type.
    public var mediaType: String? { frame.entry.mediaType }
    /// Its ETag, or one that the daemon made.
    public var etag: String { frame.entry.etag }
    /// When the origin gave or confirmed it.
    public var storedAt: Date { Date(frame.entry.storedAt) }

    /// The body if it came with the snapshot: text of JSON up to 1 MiB and other bytes up to
    /// 64 KiB do; nil leaves it to ``body()``.
    ///
    /// The bytes are the origin's, but that line ends between the tokens of JSON are spaces and
    /// nothing stands around it; ``exactBody()`` has all.
    public var inlineBody: [UInt8]? {
        switch frame.entry.body {
        case .json(let bytes), .bytes(let bytes): bytes
        case .href: nil
        }
    }

    /// The body, asked of the daemon where it did not come with the snapshot.
    ///
    /// The daemon gives what is under the id then: a later answer if one came meanwhile, and a
    /// problem if it is gone.
    public func body() async throws(LarderError) -> [UInt8] {
        switch frame.entry.body {
        case .json(let bytes), .bytes(let bytes): return bytes
        case .href(let path): return try await client.entry(frame.entry.id, at: path).bytes
        }
    }

    /// The body with the origin's own line ends and the space around it, which JSON that came with
    /// the snapshot has not.
    ///
    /// It is asked of the daemon. Where it has another answer by now, or did not keep this one,
    /// it is ``body()``.
    public func exactBody() async throws(LarderError) -> [UInt8] {
        guard case .json(let inline) = frame.entry.body else { return try await body() }
        do throws(LarderError) {
            let exact = try await client.entry(id).bytes
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
        switch frame.entry.body {
        case .json, .bytes:
            let bytes = try await exactBody()
            return (bytes.count, EntryChunks(bytes))
        case .href(let path):
            let entry = try await client.entryStream(frame.entry.id, at: path)
            return (entry.metadata.byteCount, entry.chunks)
        }
    }
}

extension Date {
    init(_ timestamp: Timestamp) {
        self.init(timeIntervalSince1970: Double(timestamp.milliseconds) / 1_000)
    }
}
