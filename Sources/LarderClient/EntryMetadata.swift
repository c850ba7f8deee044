import AsyncHTTPClient
import LarderModel

/// What is known of an entry without its bytes.
public struct EntryMetadata: Equatable, Sendable {
    /// The text that it is found by.
    public let id: String
    /// Its Content-Type.
    public let mediaType: String?
    /// How many bytes it has; nil where the daemon did not say.
    public let byteCount: Int?
    /// The origin's ETag, or one that the daemon made.
    public let etag: String?
    /// The origin's Last-Modified, as it spelled it.
    public let lastModified: String?
    /// How long ago it was given or confirmed, in whole seconds.
    public let age: Duration?
    /// The daemon's number of the step that last changed the bytes.
    public let revision: Int64?
    /// How many unsent changes of this device it shows.
    public let pending: Int
    /// How many changes of this device failed on it.
    public let failed: Int
    /// Whether nothing of it was evicted.
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

/// An entry whole.
public struct CachedEntry: Equatable, Sendable {
    /// What is known of it.
    public let metadata: EntryMetadata
    /// Its exact bytes.
    public let bytes: [UInt8]
}

/// An entry whose bytes are still coming.
public struct StreamedEntry: Sendable {
    /// What is known of it.
    public let metadata: EntryMetadata
    /// Its exact bytes, to be iterated once.
    public let chunks: EntryChunks
}

/// A decoded entity, and what is known of it.
public struct TypedEntity<Value: Sendable>: Sendable {
    /// The value.
    public let value: Value
    /// All else that is known of it.
    public let metadata: EntryMetadata
}
