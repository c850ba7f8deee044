package import LarderModel

/// A row of a list: an entry or an entity without its bytes.
public struct EntryItem: Codable, Equatable, Sendable {
    /// Id of the entry or entity.
    public var id: String
    /// Number of the user whose row it is; only in lists of other users' rows.
    @OmittedWhenNil public var user: UInt32?
    /// Name of the account, with ``user``.
    @OmittedWhenNil public var account: String?
    /// True for a row that all users share; only in lists of other users' rows.
    @OmittedWhenNil public var shared: Bool?
    /// Kind of the entry.
    public var kind: EntryKind
    /// Name of the origin; null for a client's own entry.
    public var origin: String?
    /// Status of the answer.
    public var status: Int
    /// Media type of the body; null if none was given.
    public var mediaType: String?
    /// Length of the body in bytes.
    public var bodyBytes: Int
    /// Accounted size: body, id, headers, references and the fixed cost of rows.
    public var accountedBytes: Int64
    /// Time when the bytes were stored or confirmed.
    public var storedAt: Timestamp
    /// Time until which the entry is fresh; null if the answer gave none.
    public var freshUntil: Timestamp?
    /// Whether the entry is not fresh.
    public var stale: Bool
    /// Revision of the entry.
    public var rev: Int64
    /// Validator of the entry.
    public var etag: String
    /// Whether the entry is pinned.
    public var pinned: Bool
    /// `modifier` if unsettled modifiers made or deleted the entry, else `cache`.
    public var source: AnswerSource

    /// An entry at a moment, in a row of this size.
    package init(
        _ entry: Entry,
        accountedBytes: Int64,
        pinned: Bool = false,
        source: AnswerSource = .cache,
        now: LarderModel.Timestamp
    ) {
        id = entry.id.description
        kind = EntryKind(entry.kind)
        origin = entry.origin?.text
        status = entry.status
        mediaType = entry.mediaType
        bodyBytes = entry.body.byteCount
        self.accountedBytes = accountedBytes
        storedAt = Timestamp(entry.storedAt)
        freshUntil = entry.freshUntil.map { Timestamp($0) }
        stale = entry.isStale(at: now)
        rev = entry.revision.number
        etag = entry.entityTag
        self.pinned = pinned
        self.source = source
    }

    /// Names the owner of the row; a shared row has neither user nor account.
    package mutating func tell(_ owner: Scope) {
        switch owner {
        case .own(let uid, let name): (user, account, shared) = (uid, name.text, nil)
        case .shared: (user, account, shared) = (nil, nil, true)
        }
    }
}

/// Kind of an entry.
public struct EntryKind: WireEnum {
    /// A client's own entry.
    public static let blob = EntryKind(rawValue: "blob")
    /// An origin's answer.
    public static let fetched = EntryKind(rawValue: "fetched")
    /// An answer or an entity that the origin has deleted.
    public static let tombstone = EntryKind(rawValue: "tombstone")
    /// Answers to one URL that differ by header fields of the request.
    public static let variants = EntryKind(rawValue: "variants")
    /// An object that several answers share.
    public static let entity = EntryKind(rawValue: "entity")

    /// Every value that this version knows.
    public static let known: [EntryKind] = [.blob, .fetched, .tombstone, .variants, .entity]
    /// The value as it travels.
    public let rawValue: String

    /// A value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }

    package init(_ kind: LarderModel.EntryKind) {
        self =
            switch kind {
            case .blob: .blob
            case .fetched: .fetched
            case .tombstone: .tombstone
            case .variants: .variants
            case .entity: .entity
            }
    }
}

/// Source of an answer.
public struct AnswerSource: WireEnum {
    /// The cache.
    public static let cache = AnswerSource(rawValue: "cache")
    /// The origin.
    public static let network = AnswerSource(rawValue: "network")
    /// Unsettled modifiers: no origin has said it.
    public static let modifier = AnswerSource(rawValue: "modifier")

    /// Every value that this version knows.
    public static let known: [AnswerSource] = [.cache, .network, .modifier]
    /// The value as it travels.
    public let rawValue: String

    /// A value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// A pin without its bytes.
public struct PinItem: Codable, Equatable, Sendable {
    /// Id of the entry that is pinned.
    public var id: String
    /// Whether the bytes are kept, and if not, why.
    public var state: PinState
    /// Name of the origin that the entry is fetched from; null for a client's own entry.
    public var origin: String?
    /// Length of the body in bytes; null while there is none.
    public var bodyBytes: Int?
    /// Time of the request that pinned the entry.
    public var pinnedAt: Timestamp
    /// Time when the bytes were stored; null while there are none.
    public var storedAt: Timestamp?
    /// Revision of the bytes; null while there are none.
    public var rev: Int64?
    /// Type of the problem for which the pin is neither held nor waiting; in a 202, of the problem
    /// that the fetch met.
    public var problem: String?
    /// The problem in one sentence.
    public var reason: String?
    /// The reasons for which it is kept: `pin` if a client has pinned it, and `prefetch:NAME` for each set.
    public var keptBy = ["pin"]
    /// When the daemon asks the origin again.
    @Flattened public var refreshing = RefreshReport()

    /// A pin that has no bytes and no problem.
    public init(id: String, state: PinState, origin: String?, pinnedAt: Timestamp) {
        self.id = id
        self.state = state
        self.origin = origin
        self.pinnedAt = pinnedAt
    }
}

/// When the daemon asks the origin again for an entry.
public struct RefreshReport: Codable, Equatable, Sendable {
    /// The shortest interval that a follower of this user or the pin asks for; null without one.
    public var refresh: Duration?
    /// Time of the next request; null while there is none.
    public var nextRefreshAt: Timestamp?
    /// Reason why no request leaves now; null if one may.
    public var refreshPausedBy: RefreshPause?

    package init() {}
}

/// Reason why no request for a refresh leaves.
public struct RefreshPause: WireEnum {
    /// The origin is offline.
    public static let offline = RefreshPause(rawValue: "offline")
    /// A captive portal answers in place of the origin.
    public static let captive = RefreshPause(rawValue: "captive")
    /// An operator has set the origin offline.
    public static let setOffline = RefreshPause(rawValue: "set_offline")
    /// The origin has asked the account to wait.
    public static let retryAfter = RefreshPause(rawValue: "retry_after")
    /// The origin refused the account's credential, or a request without one.
    public static let credential = RefreshPause(rawValue: "credential")
    /// Every value that this version knows.
    public static let known: [RefreshPause] = [
        .offline, .captive, .setOffline, .retryAfter, .credential,
    ]
    /// The value as it travels.
    public let rawValue: String

    /// A value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// Whether the bytes of a pin are kept.
public struct PinState: WireEnum {
    /// The bytes are kept.
    public static let held = PinState(rawValue: "held")
    /// The entry is fetched as soon as its origin answers.
    public static let waiting = PinState(rawValue: "waiting")
    /// The last answer is larger than the limit; older bytes stay.
    public static let tooLarge = PinState(rawValue: "too_large")
    /// The origin has deleted the entry; the bytes stay.
    public static let gone = PinState(rawValue: "gone")
    /// The origin refuses the entry, or its bytes were damaged.
    public static let failed = PinState(rawValue: "failed")
    /// Every value that this version knows.
    public static let known: [PinState] = [.held, .waiting, .tooLarge, .gone, .failed]
    /// The value as it travels.
    public let rawValue: String

    /// A value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }
}
