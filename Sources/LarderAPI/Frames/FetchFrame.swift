package import LarderModel

/// A line of a fetch.
///
/// A stream ends with ``end(_:)``; without it, the stream was cut off.
public enum FetchFrame: Equatable, Sendable {
    /// The URL's entry.
    case snapshot(SnapshotFrame)
    /// The origin has what the client was shown.
    case unchanged(UnchangedFrame)
    /// The URL is gone.
    case deleted(DeletedFrame)
    /// The network failed after an answer of the cache.
    case problem(ProblemFrame)
    /// The origin is in another state.
    case origin(OriginFrame)
    /// The stream is alive.
    case heartbeat(HeartbeatFrame)
    /// Nothing follows.
    case end(EndFrame)
    /// A frame that only a newer daemon knows.
    case other(OtherFrame)
}

/// A line of a batch: one for each id in the order of the request, then ``end(_:)``.
public enum BatchFrame: Equatable, Sendable {
    /// The cached entry.
    case snapshot(SnapshotFrame)
    /// Nothing is cached.
    case miss(MissFrame)
    /// The entry is deleted.
    case deleted(CachedDeletionFrame)
    /// Nothing follows.
    case end(EndFrame)
    /// A frame that only a newer daemon knows.
    case other(OtherFrame)
}

extension FetchFrame: StreamFrame {
    package var parts: FrameParts {
        switch self {
        case .snapshot(let frame): ("snapshot", frame)
        case .unchanged(let frame): ("unchanged", frame)
        case .deleted(let frame): ("deleted", frame)
        case .problem(let frame): ("problem", frame)
        case .origin(let frame): ("origin", frame)
        case .heartbeat(let frame): ("heartbeat", frame)
        case .end(let frame): ("end", frame)
        case .other(let frame): (frame.type, NoMembers())
        }
    }
}

extension BatchFrame: StreamFrame {
    package var parts: FrameParts {
        switch self {
        case .snapshot(let frame): ("snapshot", frame)
        case .miss(let frame): ("miss", frame)
        case .deleted(let frame): ("deleted", frame)
        case .end(let frame): ("end", frame)
        case .other(let frame): (frame.type, NoMembers())
        }
    }
}

extension FetchFrame: Codable, WireUnion {
    /// Reads a frame of any type.
    public init(from decoder: any Decoder) throws {
        let type = try FrameType(from: decoder).type
        self =
            switch type {
            case "snapshot": .snapshot(try SnapshotFrame(from: decoder))
            case "unchanged": .unchanged(try UnchangedFrame(from: decoder))
            case "deleted": .deleted(try DeletedFrame(from: decoder))
            case "problem": .problem(try ProblemFrame(from: decoder))
            case "origin": .origin(try OriginFrame(from: decoder))
            case "heartbeat": .heartbeat(try HeartbeatFrame(from: decoder))
            case "end": .end(try EndFrame(from: decoder))
            default: .other(OtherFrame(type: type))
            }
    }

    /// Writes the type, then the members of the frame.
    public func encode(to encoder: any Encoder) throws { try encodeMembers(to: encoder) }
}

extension BatchFrame: Codable, WireUnion {
    /// Reads a frame of any type.
    public init(from decoder: any Decoder) throws {
        let type = try FrameType(from: decoder).type
        self =
            switch type {
            case "snapshot": .snapshot(try SnapshotFrame(from: decoder))
            case "miss": .miss(try MissFrame(from: decoder))
            case "deleted": .deleted(try CachedDeletionFrame(from: decoder))
            case "end": .end(try EndFrame(from: decoder))
            default: .other(OtherFrame(type: type))
            }
    }

    /// Writes the type, then the members of the frame.
    public func encode(to encoder: any Encoder) throws { try encodeMembers(to: encoder) }
}

/// A frame that only a newer daemon knows.
public struct OtherFrame: Equatable, Sendable {
    /// Type of the frame.
    public var type: String
}

/// An entry at one moment.
public struct SnapshotFrame: RevisionFrame, Equatable {
    /// Source of the answer.
    public var source: AnswerSource
    /// Revision of the entry.
    public var rev: Int64
    /// Whether the entry is not fresh.
    public var stale: Bool
    /// Age of the entry in milliseconds.
    public var ageMs: Int64
    /// Number of unsettled modifiers that change the entry.
    public var pending = 0
    /// Ids of those modifiers.
    public var pendingIDs: [String] = []
    /// Number of modifiers that failed on the entry.
    public var failed = 0
    /// Whether nothing of the entry was evicted.
    public var complete = true
    /// JSON Pointers to the entities that were evicted; omitted if the entry is complete.
    @OmittedWhenNil public var missing: [String]?
    /// Entities in the entry on which modifiers wait or have failed, at most 1000; omitted if there
    /// are none.
    @OmittedWhenNil public var rows: [SnapshotRow]?
    /// Entities that failed modifiers would have put into the entry; omitted if there are none.
    @OmittedWhenNil public var failedRows: [FailedRow]?
    /// The entry.
    public var entry: FrameEntry

    package init(
        source: AnswerSource,
        revision: Revision,
        isStale: Bool,
        age: Duration,
        entry: FrameEntry
    ) {
        self.source = source
        rev = revision.number
        stale = isStale
        ageMs = age.milliseconds
        self.entry = entry
    }
}

/// An entity in an entry on which modifiers wait or have failed.
public struct SnapshotRow: Codable, Equatable, Sendable {
    /// JSON Pointer (RFC 6901) to the entity in the body.
    public var pointer: String
    /// Id of the entity.
    public var id: String
    /// Ids of the unsettled modifiers that change it, at most 100.
    public var pending: [String]
    /// Ids of the modifiers that failed on it, at most 100.
    public var failed: [String]

    package init(pointer: String, id: EntryID, pending: [String], failed: [String]) {
        (self.pointer, self.id) = (pointer, id.description)
        (self.pending, self.failed) = (pending, failed)
    }
}

/// An entity that a failed modifier would have put into an entry.
public struct FailedRow: Codable, Equatable, Sendable {
    /// Id of the entity.
    public var id: String
    /// Id of the modifier.
    public var modifier: String
    /// The object as it was written.
    public var value: RawJSON

    package init(id: EntryID, modifier: String, value: RawJSON) {
        (self.id, self.modifier, self.value) = (id.description, modifier, value)
    }
}

/// An entry with its body.
public struct FrameEntry: Codable, Equatable, Sendable {
    /// Id of the entry.
    public var id: String
    /// Status of the answer.
    public var status: Int
    /// Media type of the body; null if none was given.
    public var mediaType: String?
    /// Validator of the entry.
    public var etag: String
    /// Time when the bytes were stored or confirmed.
    public var storedAt: Timestamp
    /// The body, if it is JSON; line ends in it are spaces.
    @OmittedWhenNil public var body: RawJSON?
    /// The body in Base64, if it is not JSON.
    @OmittedWhenNil public var bodyB64: String?
    /// The path of the body, if it is too large for a frame.
    @OmittedWhenNil public var bodyHref: String?

    package init(
        id: EntryID,
        status: Int,
        mediaType: String?,
        etag: String,
        storedAt: LarderModel.Timestamp,
        body: FrameBody
    ) {
        (self.id, self.status) = (id.description, status)
        (self.mediaType, self.etag) = (mediaType, etag)
        self.storedAt = Timestamp(storedAt)
        switch body {
        case .json(let bytes): self.body = RawJSON(unchecked: RawJSON.onOneLine(bytes))
        case .bytes(let bytes): bodyB64 = Base64.encode(bytes)
        case .href(let path): bodyHref = path
        }
    }
}

/// A body in one of the three members that a frame has for it.
package enum FrameBody: Equatable, Sendable {
    /// A valid JSON text.
    case json([UInt8])
    case bytes([UInt8])
    /// The path where the exact bytes are.
    case href(String)
}

/// The origin has what the client was shown.
public struct UnchangedFrame: RevisionFrame, Equatable {
    /// Always `network`.
    public var source: AnswerSource
    /// Revision of the entry.
    public var rev: Int64
    /// Status of the origin's answer: 304, or 200 with the same bytes.
    public var status: Int

    package init(revision: Revision, status: Int) {
        (source, rev, self.status) = (.network, revision.number, status)
    }
}

/// The URL is gone.
public struct DeletedFrame: RevisionFrame, Equatable {
    /// Source of the deletion.
    public var source: AnswerSource
    /// Revision of the deletion.
    public var rev: Int64
    /// 404 or 410.
    public var status: Int

    package init(source: AnswerSource = .network, revision: Revision, status: Int) {
        (self.source, rev, self.status) = (source, revision.number, status)
    }
}

/// The network failed after an answer of the cache.
public struct ProblemFrame: FrameMembers, Equatable {
    /// Always `network`.
    public var source: AnswerSource
    /// The problem.
    public var problem: Problem

    package init(_ problem: Problem) { (source, self.problem) = (.network, problem) }
}

/// An origin is in another state.
public struct OriginFrame: RevisionFrame, Equatable {
    /// Revision up to which everything was told.
    public var rev: Int64
    /// Name of the origin.
    public var origin: String
    /// The state.
    public var state: OriginState

    package init(_ revision: Revision, _ origin: OriginName, state: String) {
        rev = revision.number
        (self.origin, self.state) = (origin.text, OriginState(rawValue: state))
    }
}

/// The stream is alive.
public struct HeartbeatFrame: RevisionFrame, Equatable {
    /// Revision up to which everything was told.
    public var rev: Int64

    package init(_ revision: Revision) { rev = revision.number }
}

/// Nothing is cached under an id.
public struct MissFrame: FrameMembers, Equatable {
    /// The id.
    public var id: String

    package init(_ id: EntryID) { self.id = id.description }
}

/// An entry is deleted.
public struct CachedDeletionFrame: FrameMembers, Equatable {
    /// Id of the entry.
    public var id: String
    /// The deletion.
    @Flattened public var deletion: DeletedFrame

    package var resumption: Int64? { deletion.rev }

    package init(_ id: EntryID, _ deletion: DeletedFrame) {
        (self.id, self.deletion) = (id.description, deletion)
    }
}

/// Nothing follows.
public struct EndFrame: FrameMembers, Equatable {
    /// The last word on the fetch.
    public var outcome: FetchOutcome
    /// Revision of the last frame.
    @OmittedWhenNil public var rev: Int64?
    /// Times of the parts of the answer.
    public var timing: FetchTiming

    package var resumption: Int64? { rev }

    package init(
        outcome: FetchOutcome,
        revision: Revision? = nil,
        cacheTime: Duration? = nil,
        networkTime: Duration? = nil
    ) {
        (self.outcome, rev) = (outcome, revision?.number)
        timing = FetchTiming(
            cacheMs: cacheTime?.tenthsOfMilliseconds,
            networkMs: networkTime?.tenthsOfMilliseconds
        )
    }
}

/// Times in milliseconds.
public struct FetchTiming: Codable, Equatable, Sendable {
    /// Time of the cache; omitted if it was not asked.
    @OmittedWhenNil public var cacheMs: Double?
    /// Time of the network; omitted if it was not asked.
    @OmittedWhenNil public var networkMs: Double?
}

/// The last word on a fetch.
public struct FetchOutcome: WireEnum {
    /// An answer of the origin.
    public static let network = FetchOutcome(rawValue: "network")
    /// The origin has what was cached.
    public static let unchanged = FetchOutcome(rawValue: "unchanged")
    /// The URL is gone.
    public static let deleted = FetchOutcome(rawValue: "deleted")
    /// The network was not asked, or not waited for.
    public static let cache = FetchOutcome(rawValue: "cache")
    /// The network failed.
    public static let error = FetchOutcome(rawValue: "error")
    /// The daemon ends.
    public static let shutdown = FetchOutcome(rawValue: "shutdown")

    /// Every value that this version knows.
    public static let known: [FetchOutcome] = [
        .network, .unchanged, .deleted, .cache, .error, .shutdown,
    ]
    /// The value as it travels.
    public let rawValue: String

    /// A value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }
}
