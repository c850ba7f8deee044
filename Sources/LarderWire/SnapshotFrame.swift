import LarderJSON
package import LarderModel

/// What is known of a URL at one moment.
package struct SnapshotFrame: Equatable, Sendable {
    package var source: AnswerSource
    package var revision: Revision
    package var isStale: Bool
    /// Whole milliseconds travel.
    package var age: Duration
    /// The unsettled modifiers that touch what is shown: how many, and which.
    package var pending = 0
    package var pendingIDs: [String] = []
    /// The modifiers that failed on what is shown.
    package var failed = 0
    /// Whether nothing was evicted of what it shows; otherwise ``missing`` names it.
    package var isComplete = true
    package var missing: [String] = []
    package var entry: FrameEntry

    package init(
        source: AnswerSource,
        revision: Revision,
        isStale: Bool,
        age: Duration,
        entry: FrameEntry
    ) {
        self.source = source
        self.revision = revision
        self.isStale = isStale
        self.age = age
        self.entry = entry
    }
}

/// An entry as a snapshot shows it.
package struct FrameEntry: Equatable, Sendable {
    package var id: EntryID
    package var status: Int
    package var mediaType: String?
    package var etag: String
    package var storedAt: Timestamp
    package var body: FrameBody

    package init(
        id: EntryID,
        status: Int,
        mediaType: String?,
        etag: String,
        storedAt: Timestamp,
        body: FrameBody
    ) {
        self.id = id
        self.status = status
        self.mediaType = mediaType
        self.etag = etag
        self.storedAt = storedAt
        self.body = body
    }
}

/// A body in a frame, in one of three members.
package enum FrameBody: Equatable, Sendable {
    /// `body`: one valid JSON text, inline; its line ends become spaces, no other byte changes.
    case json([UInt8])
    /// `body_b64`: any bytes.
    case bytes([UInt8])
    /// `body_href`: the path where the exact bytes are.
    case href(String)
}
