package import LarderModel

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
    /// A thing with a temporary id has a real one.
    case remapped(RemappedFrame)
    /// An origin has another state.
    case origin(OriginFrame)
    /// An account needs a credential, or has it.
    case auth(AuthFrame)
    /// A set of entries that are fetched in advance has another state.
    case prefetch(PrefetchFrame)
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

extension WatchFrame: StreamFrame {
    package var parts: FrameParts {
        switch self {
        case .put(let frame): ("put", frame)
        case .delete(let frame): ("delete", frame)
        case .evict(let frame): ("evict", frame)
        case .modifier(let frame): ("modifier", frame)
        case .remapped(let frame): ("remapped", frame)
        case .origin(let frame): ("origin", frame)
        case .auth(let frame): ("auth", frame)
        case .prefetch(let frame): ("prefetch", frame)
        case .bookmark(let frame): ("bookmark", frame)
        case .lagged(let frame): ("lagged", frame)
        case .heartbeat(let frame): ("heartbeat", frame)
        case .end(let frame): ("end", frame)
        case .other(let frame): (frame.type, NoMembers())
        }
    }
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
            case "remapped": .remapped(try RemappedFrame(from: decoder))
            case "origin": .origin(try OriginFrame(from: decoder))
            case "auth": .auth(try AuthFrame(from: decoder))
            case "prefetch": .prefetch(try PrefetchFrame(from: decoder))
            case "bookmark": .bookmark(try BookmarkFrame(from: decoder))
            case "lagged": .lagged(try LaggedFrame(from: decoder))
            case "heartbeat": .heartbeat(try HeartbeatFrame(from: decoder))
            case "end": .end(try WatchEndFrame(from: decoder))
            default: .other(OtherFrame(type: type))
            }
    }

    /// Writes the type, then the members of the frame.
    public func encode(to encoder: any Encoder) throws { try encodeMembers(to: encoder) }
}

/// The answer to a long poll.
public struct WatchReport: Codable, Equatable, Sendable {
    /// The changes, none if the time is over.
    public var items: [WatchFrame]
    /// Always null: ``rev`` asks for what follows.
    public var next: String?
    /// The value of `since` that asks for what follows.
    public var rev: Int64

    package init(rev: Int64, items: [WatchFrame]) { (self.rev, self.items) = (rev, items) }
}

/// An entry or an entity has another value, or is deleted.
public struct ChangeFrame: FrameMembers, Equatable {
    /// Revision of the change.
    public var rev: Int64
    /// Id of the entry or entity.
    public var id: String
    /// Source of the change: `client`, `network`, `modifier`.
    public var source: String
    /// Ids of the entities whose changes it shows; omitted if there are none.
    @OmittedWhenNil public var changed: [String]?
    /// Cause of the change: `modifier:ID` or `fetch:URL`; omitted without a cause.
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

    package var resumption: Int64? { initial == true || more == true ? nil : rev }

    package init(
        _ revision: Revision,
        _ id: EntryID,
        source: String,
        cause: String? = nil,
        changed: [EntryID] = [],
        isOwn: Bool = false,
        coalesced: Int = 1,
        isInitial: Bool = false,
        hasMore: Bool = false
    ) {
        (rev, self.id) = (revision.number, id.description)
        (self.source, self.cause) = (source, cause)
        self.changed = changed.isEmpty ? nil : changed.map(\.description)
        (self.isOwn, initial, more) = (isOwn.ifTrue, isInitial.ifTrue, hasMore.ifTrue)
        self.coalesced = coalesced > 1 ? coalesced : nil
    }
}

/// An entry or an entity was evicted.
public struct EvictFrame: FrameMembers, Equatable {
    /// Revision of the eviction.
    public var rev: Int64
    /// Id of the entry or entity.
    public var id: String
    /// Why it was evicted.
    public var reason: String
    /// Whether the watcher evicted it itself, by its `Larder-Client` header; omitted if not.
    @OmittedWhenNil public var isOwn: Bool?
    /// Whether more of the revision follows, so that it cannot be used as `since` yet; omitted if
    /// not.
    @OmittedWhenNil public var more: Bool?

    package var resumption: Int64? { more == true ? nil : rev }

    package init(
        _ revision: Revision,
        _ id: EntryID,
        reason: String,
        isOwn: Bool = false,
        hasMore: Bool = false
    ) {
        (rev, self.id, self.reason) = (revision.number, id.description, reason)
        (self.isOwn, more) = (isOwn.ifTrue, hasMore.ifTrue)
    }
}

/// A modifier has another state.
public struct ModifierFrame: FrameMembers, Equatable {
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
    /// Whether it was edited: its state is as before, also where that is `failed`; omitted if not.
    @OmittedWhenNil public var edited: Bool?
    /// Entries and entities that the modifier changes.
    @OmittedWhenNil public var targets: [TargetName]?
    /// Entries and entities that it changed and does not change any more.
    @OmittedWhenNil public var reverted: [TargetName]?
    /// The problem for which it failed.
    @OmittedWhenNil public var problem: RawJSON?
    /// The origin's answer as in the report of the modifier, with the first 2 KiB of the body; only
    /// when it settles.
    @OmittedWhenNil public var answer: RawJSON?
    /// Of a conflict: its targets as they were, as the modifier wants them, and as they are.
    @OmittedWhenNil public var conflict: [ModifierConflict]?
    /// Whether the watcher changed it itself, by its `Larder-Client` header; omitted if not.
    @OmittedWhenNil public var isOwn: Bool?
    /// Whether more of the revision follows, so that it cannot be used as `since` yet; omitted if
    /// not.
    @OmittedWhenNil public var more: Bool?

    package var resumption: Int64? { more == true ? nil : rev }

    package init(
        _ revision: Revision,
        _ change: LarderModel.ModifierChange,
        isOwn: Bool = false,
        hasMore: Bool = false
    ) {
        rev = revision.number
        id = change.id.text
        state = ModifierState(rawValue: change.state.rawValue)
        reason = change.reason.map { ModifierReason(rawValue: $0.rawValue) }
        switch change.mark {
        case .stalled: stalled = true
        case .dropped: dropped = true
        case .answered: answered = true
        case .edited: edited = true
        case nil: break
        }
        let names = change.targets.map { TargetName(id: $0.description) }
        switch change.state {
        case .failed where ![.dropped, .edited].contains(change.mark),
            .cancelled where change.mark != .dropped:
            reverted = names
        case .held, .queued, .inFlight, .confirmed, .accepted, .retryWait, .unknown,
            .authWait, .conflict, .failed, .cancelled:
            targets = names
        }
        if change.state == .conflict {
            conflict = try? APIDecoder(.lenient).decode(from: change.problem) as [ModifierConflict]
        } else if !change.problem.isEmpty {
            problem = RawJSON(unchecked: change.problem)
        }
        answer = change.answer.isEmpty ? nil : RawJSON(unchecked: change.answer)
        (self.isOwn, more) = (isOwn.ifTrue, hasMore.ifTrue)
    }
}

/// A thing with a temporary id has the id that its origin gave it.
public struct RemappedFrame: FrameMembers, Equatable {
    /// Revision of the change.
    public var rev: Int64
    /// The id with the temporary name, which still leads to the thing.
    public var from: String
    /// The id from now on.
    public var to: String
    /// Whether more of the revision follows, so that it cannot be used as `since` yet; omitted if
    /// not.
    @OmittedWhenNil public var more: Bool?

    package var resumption: Int64? { more == true ? nil : rev }

    package init(_ revision: Revision, _ from: EntryID, as to: EntryID, hasMore: Bool = false) {
        (rev, self.from, self.to) = (revision.number, from.description, to.description)
        more = hasMore.ifTrue
    }
}

/// A set of entries that are fetched in advance has another state.
public struct PrefetchFrame: RevisionFrame, Equatable {
    /// Revision up to which everything was told.
    public var rev: Int64
    /// Name of the set.
    public var name: String
    /// Name of the account whose set it is.
    public var account: String
    /// The state.
    public var state: PrefetchState

    package init(_ revision: Revision, _ name: PrefetchName, _ account: AccountName, state: String)
    {
        rev = revision.number
        (self.name, self.account) = (name.text, account.text)
        self.state = PrefetchState(rawValue: state)
    }
}

/// An account needs a credential at an origin, or has it.
public struct AuthFrame: RevisionFrame, Equatable {
    /// Revision up to which everything was told.
    public var rev: Int64
    /// Name of the origin.
    public var origin: String
    /// Name of the account.
    public var account: String
    /// Whether the credential is needed.
    public var state: String

    package init(
        _ revision: Revision,
        _ origin: OriginName,
        _ account: AccountName,
        state: String
    ) {
        rev = revision.number
        (self.origin, self.account, self.state) = (origin.text, account.text, state)
    }
}

/// Everything up to a revision was told.
public struct BookmarkFrame: RevisionFrame, Equatable {
    /// The revision.
    public var rev: Int64
    /// Whether everything was told that there was when the watch began; omitted if not.
    @OmittedWhenNil public var initialDone: Bool?

    package init(_ revision: Revision, isInitialDone: Bool) {
        (rev, initialDone) = (revision.number, isInitialDone.ifTrue)
    }
}

/// The client was too slow.
public struct LaggedFrame: FrameMembers, Equatable {
    /// Revision of the first change that was not told.
    public var rev: Int64
    /// The value of `since` that asks for what was not told.
    public var droppedAfter: Int64

    package var resumption: Int64? { droppedAfter }

    package init(_ revision: Revision, droppedAfter: Revision) {
        (rev, self.droppedAfter) = (revision.number, droppedAfter.number)
    }
}

/// Nothing follows.
public struct WatchEndFrame: FrameMembers, Equatable {
    /// Why the stream ends.
    public var outcome: WatchOutcome
    /// The value of `since` that asks for what follows; omitted if the first list was not told to
    /// its end.
    @OmittedWhenNil public var rev: Int64?

    package var resumption: Int64? { rev }

    package init(_ outcome: WatchOutcome, _ revision: Revision?) {
        (self.outcome, rev) = (outcome, revision?.number)
    }
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
    public init(rawValue: String) { self.rawValue = rawValue }
}
