/// One answer to a URL, whose bytes are still coming.
public struct StreamedAnswer: Sendable {
    /// Whether it was cached or the origin gave it now.
    public let source: AnswerSource
    /// Whether it is past its lifetime.
    public let isStale: Bool
    /// How long ago the origin gave or confirmed it.
    public let age: Duration
    /// The status of the origin's answer.
    public let status: Int
    /// Its Content-Type.
    public let mediaType: String?
    /// How many bytes it has; nil where nobody said.
    public let byteCount: Int64?
    /// Its exact bytes, to be iterated once.
    public let chunks: EntryChunks
}
