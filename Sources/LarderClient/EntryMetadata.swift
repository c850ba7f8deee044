import AsyncHTTPClient
import LarderModel

/// Metadata of an entry, without its bytes.
public struct EntryMetadata: Equatable, Sendable {
    /// Id of the entry.
    public let id: String
    /// Content-Type of the bytes.
    public let mediaType: String?
    /// Number of bytes; nil if the daemon did not say.
    public let byteCount: Int?
    /// The origin's ETag, or one that the daemon made.
    public let etag: String?
    /// The origin's Last-Modified, as it spelled it.
    public let lastModified: String?
    /// Time since the origin gave or confirmed the entry, in whole seconds.
    public let age: Duration?
    /// The daemon's number of the step that last changed the bytes.
    public let revision: Int64?
    /// Number of unsent changes of this device that the entry shows.
    public let pending: Int
    /// Number of changes of this device that failed on the entry.
    public let failed: Int
    /// Whether all parts of the entry are still cached.
    public let isComplete: Bool
    /// The Cache-Status field (RFC 9211).
    public let cacheStatus: String?

    init(id: EntryID, response: HTTPClientResponse) {
        self.id = id.description
        mediaType = response.text("Content-Type")
        byteCount = response.integer("Content-Length")
        etag = response.text("ETag")
        lastModified = response.text("Last-Modified")
        age = response.integer("Age").map { Duration.seconds($0 as Int64) }
        revision = response.integer("Larder-Rev")
        pending = response.integer("Larder-Pending") ?? 0
        failed = response.integer("Larder-Failed") ?? 0
        isComplete = response.text("Larder-Complete") != "false"
        cacheStatus = response.text("Cache-Status")
    }
}

/// An entry with all its bytes in memory.
public struct CachedEntry: Equatable, Sendable {
    /// Metadata of the entry.
    public let metadata: EntryMetadata
    /// Exact bytes of the entry.
    public let bytes: [UInt8]
}

/// An entry whose bytes arrive as a stream.
public struct StreamedEntry: Sendable {
    /// Metadata of the entry.
    public let metadata: EntryMetadata
    /// Exact bytes of the entry; iterate them once.
    public let chunks: EntryChunks
}

/// A decoded entity with its metadata.
public struct TypedEntity<Value: Sendable>: Sendable {
    /// The value.
    public let value: Value
    /// Metadata of the entity.
    public let metadata: EntryMetadata
}
