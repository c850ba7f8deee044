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
    case error(ErrorFrame)
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

extension FetchFrame: Codable, WireUnion {
    /// Reads a frame of any type.
    public init(from decoder: any Decoder) throws {
        let type = try FrameType(from: decoder).type
        self =
            switch type {
            case "snapshot": .snapshot(try SnapshotFrame(from: decoder))
            case "unchanged": .unchanged(try UnchangedFrame(from: decoder))
            case "deleted": .deleted(try DeletedFrame(from: decoder))
            case "error": .error(try ErrorFrame(from: decoder))
            case "origin": .origin(try OriginFrame(from: decoder))
            case "heartbeat": .heartbeat(try HeartbeatFrame(from: decoder))
            case "end": .end(try EndFrame(from: decoder))
            default: .other(OtherFrame(type: type))
            }
    }

    /// Writes the type, then the members of the frame.
    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .snapshot(let frame): try FrameType("snapshot").encode(frame, to: encoder)
        case .unchanged(let frame): try FrameType("unchanged").encode(frame, to: encoder)
        case .deleted(let frame): try FrameType("deleted").encode(frame, to: encoder)
        case .error(let frame): try FrameType("error").encode(frame, to: encoder)
        case .origin(let frame): try FrameType("origin").encode(frame, to: encoder)
        case .heartbeat(let frame): try FrameType("heartbeat").encode(frame, to: encoder)
        case .end(let frame): try FrameType("end").encode(frame, to: encoder)
        case .other(let frame): try frame.encode(to: encoder)
        }
    }
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
    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .snapshot(let frame): try FrameType("snapshot").encode(frame, to: encoder)
        case .miss(let frame): try FrameType("miss").encode(frame, to: encoder)
        case .deleted(let frame): try FrameType("deleted").encode(frame, to: encoder)
        case .end(let frame): try FrameType("end").encode(frame, to: encoder)
        case .other(let frame): try frame.encode(to: encoder)
        }
    }
}

/// The first member of each frame.
struct FrameType: Codable {
    var type: String

    init(_ type: String) {
        self.type = type
    }

    /// Writes the type, then the members of a frame.
    func encode(_ frame: some Encodable, to encoder: any Encoder) throws {
        try encode(to: encoder)
        try frame.encode(to: encoder)
    }
}

/// A frame that only a newer daemon knows.
public struct OtherFrame: Codable, Equatable, Sendable {
    /// Type of the frame.
    public var type: String
}

/// An entry at one moment.
public struct SnapshotFrame: Codable, Equatable, Sendable {
    /// Source of the answer.
    public var source: AnswerSource
    /// Revision of the entry.
    public var rev: Int64
    /// Whether the entry is not fresh.
    public var stale: Bool
    /// Age of the entry in milliseconds.
    public var ageMs: Int64
    /// Number of unsettled modifiers that change the entry.
    public var pending: Int
    /// Ids of those modifiers.
    public var pendingIDs: [String]
    /// Number of modifiers that failed on the entry.
    public var failed: Int
    /// Whether nothing of the entry was evicted.
    public var complete: Bool
    /// Keys of the entities that were evicted; omitted if the entry is complete.
    @OmittedWhenNil public var missing: [String]?
    /// The entry.
    public var entry: FrameEntry
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
}

/// The origin has what the client was shown.
public struct UnchangedFrame: Codable, Equatable, Sendable {
    /// Always `network`.
    public var source: AnswerSource
    /// Revision of the entry.
    public var rev: Int64
    /// Status of the origin's answer: 304, or 200 with the same bytes.
    public var status: Int
}

/// The URL is gone.
public struct DeletedFrame: Codable, Equatable, Sendable {
    /// Source of the deletion.
    public var source: AnswerSource
    /// Revision of the deletion.
    public var rev: Int64
    /// 404 or 410.
    public var status: Int
}

/// The network failed after an answer of the cache.
public struct ErrorFrame: Codable, Equatable, Sendable {
    /// Always `network`.
    public var source: AnswerSource
    /// The problem.
    public var problem: ProblemReport
}

/// An origin is in another state.
public struct OriginFrame: Codable, Equatable, Sendable {
    /// Revision up to which everything was told.
    public var rev: Int64
    /// Name of the origin.
    public var origin: String
    /// The state.
    public var state: OriginState
}

/// The stream is alive.
public struct HeartbeatFrame: Codable, Equatable, Sendable {
    /// Revision up to which everything was told.
    public var rev: Int64
}

/// Nothing is cached under an id.
public struct MissFrame: Codable, Equatable, Sendable {
    /// The id.
    public var id: String
}

/// An entry is deleted.
public struct CachedDeletionFrame: Codable, Equatable, Sendable {
    /// Id of the entry.
    public var id: String
    /// The deletion.
    @Flattened public var deletion: DeletedFrame
}

/// Nothing follows.
public struct EndFrame: Codable, Equatable, Sendable {
    /// The last word on the fetch.
    public var outcome: FetchOutcome
    /// Revision of the last frame.
    @OmittedWhenNil public var rev: Int64?
    /// Times of the parts of the answer.
    public var timing: FetchTiming
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
    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}
