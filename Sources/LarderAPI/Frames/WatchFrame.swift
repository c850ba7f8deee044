/// A line of a watch.
public enum WatchFrame: Equatable, Sendable {
    /// An entry or an entity has another value.
    case put(ChangeFrame)
    /// An entry or an entity is deleted.
    case delete(ChangeFrame)
    /// An entry or an entity was evicted.
    case evict(EvictFrame)
    /// A modifier has another state.
    case modifier(ModifierFrame)
    /// An origin has another state.
    case origin(OriginFrame)
    /// An account needs a credential, or has it.
    case auth(AuthFrame)
    /// Everything up to a revision was told.
    case bookmark(BookmarkFrame)
    /// The client was too slow; nothing follows.
    case lagged(LaggedFrame)
    /// The stream is alive.
    case heartbeat(HeartbeatFrame)
    /// Nothing follows.
    case end(WatchEndFrame)
    /// A frame that only a newer daemon knows.
    case other(OtherFrame)
}

extension WatchFrame: Codable, WireUnion {
    /// Reads a frame of any type.
    public init(from decoder: any Decoder) throws {
        let type = try FrameType(from: decoder).type
        self =
            switch type {
            case "put": .put(try ChangeFrame(from: decoder))
            case "delete": .delete(try ChangeFrame(from: decoder))
            case "evict": .evict(try EvictFrame(from: decoder))
            case "modifier": .modifier(try ModifierFrame(from: decoder))
            case "origin": .origin(try OriginFrame(from: decoder))
            case "auth": .auth(try AuthFrame(from: decoder))
            case "bookmark": .bookmark(try BookmarkFrame(from: decoder))
            case "lagged": .lagged(try LaggedFrame(from: decoder))
            case "heartbeat": .heartbeat(try HeartbeatFrame(from: decoder))
            case "end": .end(try WatchEndFrame(from: decoder))
            default: .other(OtherFrame(type: type))
            }
    }

    /// Writes the type, then the members of the frame.
    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .put(let frame): try FrameType("put").encode(frame, to: encoder)
        case .delete(let frame): try FrameType("delete").encode(frame, to: encoder)
        case .evict(let frame): try FrameType("evict").encode(frame, to: encoder)
        case .modifier(let frame): try FrameType("modifier").encode(frame, to: encoder)
        case .origin(let frame): try FrameType("origin").encode(frame, to: encoder)
        case .auth(let frame): try FrameType("auth").encode(frame, to: encoder)
        case .bookmark(let frame): try FrameType("bookmark").encode(frame, to: encoder)
        case .lagged(let frame): try FrameType("lagged").encode(frame, to: encoder)
        case .heartbeat(let frame): try FrameType("heartbeat").encode(frame, to: encoder)
        case .end(let frame): try FrameType("end").encode(frame, to: encoder)
        case .other(let frame): try frame.encode(to: encoder)
        }
    }
}

/// The answer to a long poll.
public struct WatchReport: Codable, Equatable, Sendable {
    /// The value of `since` that asks for what follows.
    public var rev: Int64
    /// The changes, none if the time is over.
    public var events: [WatchFrame]
}

/// An entry or an entity has another value, or is deleted.
public struct ChangeFrame: Codable, Equatable, Sendable {
    /// Revision of the change.
    public var rev: Int64
    /// The entry or entity.
    @Flattened public var target: TargetName
    /// Source of the change: `client`, `network`, `modifier`.
    public var source: String
    /// Keys of the entities whose changes it shows; omitted if there are none.
    @OmittedWhenNil public var changed: [String]?
    /// Cause of the change: `modifier:ID`; omitted without a cause.
    @OmittedWhenNil public var cause: String?
    /// Whether the watcher changed it itself, by its `Larder-Client` header; omitted if not.
    @OmittedWhenNil public var isOwn: Bool?
    /// Number of changes that the frame stands for; omitted for one.
    @OmittedWhenNil public var coalesced: Int?
    /// Whether the frame tells what there was when the watch began; omitted if not.
    @OmittedWhenNil public var initial: Bool?
    /// Whether more of the revision follows, so that it cannot be used as `since` yet; omitted if
    /// not.
    @OmittedWhenNil public var more: Bool?

    private enum CodingKeys: String, CodingKey {
        case rev
        case target
        case source
        case changed
        case cause
        case isOwn = "self"
        case coalesced
        case initial
        case more
    }
}

/// An entry or an entity was evicted.
public struct EvictFrame: Codable, Equatable, Sendable {
    /// Revision of the eviction.
    public var rev: Int64
    /// The entry or entity.
    @Flattened public var target: TargetName
    /// Why it was evicted.
    public var reason: String
    /// Whether the watcher evicted it itself, by its `Larder-Client` header; omitted if not.
    @OmittedWhenNil public var isOwn: Bool?
    /// Whether more of the revision follows, so that it cannot be used as `since` yet; omitted if
    /// not.
    @OmittedWhenNil public var more: Bool?

    private enum CodingKeys: String, CodingKey {
        case rev
        case target
        case reason
        case isOwn = "self"
        case more
    }
}

/// A modifier has another state.
public struct ModifierFrame: Codable, Equatable, Sendable {
    /// Revision of the change.
    public var rev: Int64
    /// Id of the modifier.
    public var id: String
    /// The state.
    public var state: ModifierState
    /// Why it was settled without being confirmed.
    @OmittedWhenNil public var reason: ModifierReason?
    /// Whether it failed again and again; omitted if not.
    @OmittedWhenNil public var stalled: Bool?
    /// Whether a dead letter was dropped; omitted if not.
    @OmittedWhenNil public var dropped: Bool?
    /// Whether the origin has confirmed it and a shared row does not show it yet; omitted if not.
    @OmittedWhenNil public var answered: Bool?
    /// Entries and entities that the modifier changes.
    @OmittedWhenNil public var targets: [ModifierTargetName]?
    /// Entries and entities that it changed and does not change any more.
    @OmittedWhenNil public var reverted: [ModifierTargetName]?
    /// Origin of the keys among the targets, if one of them is an entity.
    @OmittedWhenNil public var origin: String?
    /// The problem for which it failed.
    @OmittedWhenNil public var problem: RawJSON?
    /// Whether the watcher changed it itself, by its `Larder-Client` header; omitted if not.
    @OmittedWhenNil public var isOwn: Bool?
    /// Whether more of the revision follows, so that it cannot be used as `since` yet; omitted if
    /// not.
    @OmittedWhenNil public var more: Bool?

    private enum CodingKeys: String, CodingKey {
        case rev
        case id
        case state
        case reason
        case stalled
        case dropped
        case answered
        case targets
        case reverted
        case origin
        case problem
        case isOwn = "self"
        case more
    }
}

/// An account needs a credential at an origin, or has it.
public struct AuthFrame: Codable, Equatable, Sendable {
    /// Revision up to which everything was told.
    public var rev: Int64
    /// Name of the origin.
    public var origin: String
    /// Name of the account.
    public var account: String
    /// Whether the credential is needed.
    public var state: String
}

/// Everything up to a revision was told.
public struct BookmarkFrame: Codable, Equatable, Sendable {
    /// The revision.
    public var rev: Int64
    /// Whether everything was told that there was when the watch began; omitted if not.
    @OmittedWhenNil public var initialDone: Bool?
}

/// The client was too slow.
public struct LaggedFrame: Codable, Equatable, Sendable {
    /// Revision of the first change that was not told.
    public var rev: Int64
    /// The value of `since` that asks for what was not told.
    public var droppedAfter: Int64
}

/// Nothing follows.
public struct WatchEndFrame: Codable, Equatable, Sendable {
    /// Why the stream ends.
    public var outcome: WatchOutcome
    /// The value of `since` that asks for what follows; omitted if the first list was not told to
    /// its end.
    @OmittedWhenNil public var rev: Int64?
}

/// Why a watch ends.
public struct WatchOutcome: WireEnum {
    /// The daemon ends.
    public static let shutdown = WatchOutcome(rawValue: "shutdown")
    /// The time of the watch is over.
    public static let timeout = WatchOutcome(rawValue: "timeout")

    /// Every value that this version knows.
    public static let known: [WatchOutcome] = [.shutdown, .timeout]
    /// The value as it travels.
    public let rawValue: String

    /// A value, known or not.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}
