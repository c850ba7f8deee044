import LarderJSON
package import LarderModel

/// A modifier: its request, its state and what it changes.
public struct ModifierReport: Codable, Equatable, Sendable {
    /// Id of the modifier.
    public var id: String
    /// State of the modifier.
    public var state: ModifierState
    /// Why it was settled without being confirmed; null in other states.
    public var reason: ModifierReason?
    /// Conditions that hold in addition to the state.
    public var marks: [ModifierMark] = []
    /// Lanes that send it in order: `id:ID`, `name:NAME`.
    public var lanes: [String]
    /// Entries and entities that the modifier changes; in the history the first 16.
    public var targets: [ModifierTarget]
    /// Changes with their effects, up to 1 MiB of them, in lists 64 KiB; omitted in the history,
    /// and in lists except of failed modifiers.
    @OmittedWhenNil public var changes: [ModifierChange]?
    /// Number of changes after those that fit; omitted where ``changes`` has all.
    @OmittedWhenNil public var moreChanges: Int?
    /// Request to the origin.
    public var request: ModifierRequest
    /// Id of the modifier whose request makes its changes, too; omitted without one.
    @OmittedWhenNil public var joinedInto: String?
    /// Number of attempts that count.
    public var attempts: Int
    /// Time of the next attempt; null without one.
    public var nextAttemptAt: Timestamp?
    /// Why it is not sent now; omitted if nothing keeps it.
    @OmittedWhenNil public var waitingFor: ModifierWait?
    /// The last answer of the origin; omitted without one.
    @OmittedWhenNil public var answer: ModifierAnswer?
    /// Of a conflict: its targets as they were, as the modifier wants them, and as they are.
    @OmittedWhenNil public var conflict: [ModifierConflict]?
    /// Ids of modifiers that depend on it.
    public var dependants: [String] = []
    /// Number of the user whose modifier it is.
    public var user: UInt32
    /// Name of the account.
    public var account: String
    /// Time when it was accepted.
    public var acceptedAt: Timestamp
    /// Time when it was settled; null before.
    public var settledAt: Timestamp?
    /// Revision of its last change.
    public var rev: Int64

    package init(
        id: String,
        state: LarderModel.ModifierState,
        reason: LarderModel.ModifierReason?,
        lanes: [Lane],
        targets: [EntryID],
        request: ModifierRequest,
        attempts: Int,
        of scope: Scope,
        acceptedAt: LarderModel.Timestamp,
        revision: Revision
    ) {
        self.id = id
        self.state = ModifierState(state)
        self.reason = reason.map { ModifierReason(rawValue: $0.rawValue) }
        self.lanes = lanes.map(\.description)
        self.targets = targets.map { ModifierTarget($0) }
        self.request = request
        self.attempts = attempts
        (user, account) = (scope.uid ?? 0, scope.account.text)
        self.acceptedAt = Timestamp(acceptedAt)
        rev = revision.number
    }

    /// Whether it is settled, or counts as confirmed for clients that wait.
    public var isDone: Bool { state.isSettled || marks.contains(.answered) }

    /// About how long its JSON is.
    package var byteCount: Int {
        let views = targets.reduce(0) { sum, target in
            sum + (target.before?.byteCount ?? 0) + (target.after?.byteCount ?? 0)
        }
        let effects = (changes ?? []).reduce(0) { $0 + $1.byteCount }
        let bodies = (request.body?.bytes.count ?? 0) + (answer?.body.bytes.count ?? 0)
        return views + effects + bodies
    }
}

/// A target of a modifier, with its view without the modifier and with it.
public struct ModifierTarget: Codable, Equatable, Sendable {
    /// Id of the entry or entity.
    public var id: String
    /// View of the target without the modifier; only if one modifier is shown.
    @OmittedWhenNil public var before: ViewReport?
    /// View of the target with the modifier; of a dead letter, as it was when it died.
    @OmittedWhenNil public var after: ViewReport?

    package init(_ id: EntryID, before: ViewReport? = nil, after: ViewReport? = nil) {
        self.id = id.description
        (self.before, self.after) = (before, after)
    }
}

/// A target of a modifier that another device has changed, too.
///
/// Each value is an object with the places that the modifier assigns to: JSON pointers (RFC 6901),
/// of which the empty one is the whole. A place without a value is left out. Null stands for a
/// deleted target.
public struct ModifierConflict: Codable, Equatable, Sendable {
    /// Id of the entry or entity.
    public var id: String
    /// The values when the modifier was accepted; omitted if not known or too long.
    @OmittedWhenNil public var base: RawJSON?
    /// The values that the modifier makes; omitted if not known or too long.
    @OmittedWhenNil public var mine: RawJSON?
    /// The values at the origin; omitted if not known or too long.
    @OmittedWhenNil public var theirs: RawJSON?

    package init(_ id: EntryID, base: [UInt8]?, mine: [UInt8]?, theirs: [UInt8]?) {
        self.id = id.description
        self.base = base.map(RawJSON.init(unchecked:))
        self.mine = mine.map(RawJSON.init(unchecked:))
        self.theirs = theirs.map(RawJSON.init(unchecked:))
    }

    /// Without the values that have more bytes.
    package func cut(to bytes: Int) -> ModifierConflict {
        var cut = self
        if cut.base?.bytes.count ?? 0 > bytes { cut.base = nil }
        if cut.mine?.bytes.count ?? 0 > bytes { cut.mine = nil }
        if cut.theirs?.bytes.count ?? 0 > bytes { cut.theirs = nil }
        return cut
    }
}

/// The answer to an accepted modifier.
public struct ModifierReceipt: Codable, Equatable, Sendable {
    /// Id of the modifier.
    public var id: String
    /// State of the modifier.
    public var state: ModifierState
    /// Revision of its last change.
    public var rev: Int64
    /// Time when it was settled, if it was accepted before.
    @OmittedWhenNil public var settledAt: Timestamp?

    package init(
        id: ModifierID,
        state: ModifierState,
        revision: Revision,
        settledAt: Timestamp? = nil
    ) {
        (self.id, self.state, rev) = (id.text, state, revision.number)
        self.settledAt = settledAt
    }

    /// Printed without the coder; a test compares both.
    package func encodedJSON() -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("id", id)
            json.member("state", state.rawValue)
            json.member("rev", rev)
            if let settledAt { json.member("settled_at", settledAt.text) }
        }
        return json.bytes
    }
}

/// State of a modifier.
public struct ModifierState: WireEnum {
    /// Held back until its time.
    public static let held = ModifierState(rawValue: "held")
    /// Ready to be sent.
    public static let queued = ModifierState(rawValue: "queued")
    /// The request is under way.
    public static let inFlight = ModifierState(rawValue: "in_flight")
    /// The origin has confirmed the modifier.
    public static let confirmed = ModifierState(rawValue: "confirmed")
    /// The origin has accepted the modifier and applies it later.
    public static let accepted = ModifierState(rawValue: "accepted")
    /// The next attempt has a time.
    public static let retryWait = ModifierState(rawValue: "retry_wait")
    /// The origin may have applied the modifier; a person decides.
    public static let unknown = ModifierState(rawValue: "unknown")
    /// The origin needs a credential.
    public static let authWait = ModifierState(rawValue: "auth_wait")
    /// Another device has changed what it changes; a person decides.
    public static let conflict = ModifierState(rawValue: "conflict")
    /// The modifier failed.
    public static let failed = ModifierState(rawValue: "failed")
    /// The modifier was cancelled.
    public static let cancelled = ModifierState(rawValue: "cancelled")

    /// Every value that this version knows.
    public static let known = LarderModel.ModifierState.allCases.map { Self(rawValue: $0.rawValue) }
    /// The value as it travels.
    public let rawValue: String

    /// A value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }

    package init(_ state: LarderModel.ModifierState) { rawValue = state.rawValue }

    /// Whether the modifier has left the queue.
    public var isSettled: Bool { [.confirmed, .failed, .cancelled].contains(self) }
}

/// Why a modifier was settled without being confirmed.
public struct ModifierReason: WireEnum {
    /// All attempts failed.
    public static let attempts = ModifierReason(rawValue: "attempts")
    /// The modifier expired before it was sent.
    public static let expired = ModifierReason(rawValue: "expired")
    /// The origin refused the modifier.
    public static let refused = ModifierReason(rawValue: "refused")
    /// Another device had changed what the modifier changes.
    public static let conflict = ModifierReason(rawValue: "conflict")
    /// Another modifier that this one depends on failed.
    public static let parentFailed = ModifierReason(rawValue: "parent_failed")
    /// The daemon could not read the modifier.
    public static let unreadable = ModifierReason(rawValue: "unreadable")
    /// The user gave the modifier up; the origin may have applied it.
    public static let discarded = ModifierReason(rawValue: "discarded")
    /// The user gave the modifier up before it was sent.
    public static let cancelled = ModifierReason(rawValue: "cancelled")

    /// Every value that this version knows.
    public static let known = LarderModel.ModifierReason.allCases.map {
        Self(rawValue: $0.rawValue)
    }
    /// The value as it travels.
    public let rawValue: String

    /// A value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// A condition that holds in addition to the state.
public struct ModifierMark: WireEnum {
    /// A lane of the modifier is paused.
    public static let paused = ModifierMark(rawValue: "paused")
    /// Many attempts failed.
    public static let stalled = ModifierMark(rawValue: "stalled")
    /// An effect does not fit the value and is left out of the view.
    public static let inapplicable = ModifierMark(rawValue: "inapplicable")
    /// The origin has confirmed the modifier, and a shared row does not show it yet.
    public static let answered = ModifierMark(rawValue: "answered")

    /// Every value that this version knows.
    public static let known: [ModifierMark] = [.paused, .stalled, .inapplicable, .answered]
    /// The value as it travels.
    public let rawValue: String

    /// A value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// The request of a modifier.
public struct ModifierRequest: Codable, Equatable, Sendable {
    /// Method of the request.
    public var method: String
    /// URL of the request.
    public var url: String
    /// Length of the body in bytes.
    public var bodyBytes: Int
    /// The key that tells a repeated request from another.
    public var idempotencyKey: String
    /// Header fields of the request without `Content-Type`; omitted where ``ModifierReport/changes``
    /// are.
    @OmittedWhenNil public var headers: NamedValues<String>?
    /// Media type of the body.
    @OmittedWhenNil public var contentType: String?
    /// The first 1 MiB of the body, in lists 64 KiB: JSON as it is, anything else as a string; null
    /// without a body.
    @OmittedWhenNil public var body: RawJSON?

    package init(method: String, url: String, bodyBytes: Int, idempotencyKey: String) {
        (self.method, self.url, self.bodyBytes) = (method, url, bodyBytes)
        self.idempotencyKey = idempotencyKey
    }
}

/// Why a modifier is not sent now.
public struct ModifierWait: Codable, Equatable, Sendable {
    /// The reason: `hold`, `lane`, `paused`, `dependency`, `backoff`, `credential`, `decision`, `offline`,
    /// `captive`, `set_offline`, `retry_after`, `turn`, `answer` or `confirmation`.
    public var reason: String
    /// The lane, modifier, origin or account that it waits for.
    public var name: String?
    /// Time when the wait ends; null if no time ends it.
    public var until: Timestamp?

    package init(reason: String, name: String? = nil, until: LarderModel.Timestamp? = nil) {
        (self.reason, self.name, self.until) = (reason, name, until.map { Timestamp($0) })
    }
}

/// The last answer of the origin to a modifier.
public struct ModifierAnswer: Codable, Equatable, Sendable {
    /// Status of the answer.
    public var status: Int
    /// Time of the answer.
    public var at: Timestamp
    /// `Content-Type`, `Location`, `ETag`, `Date` and the fields that the origin's `keep_headers`
    /// names.
    public var headers: NamedValues<String>
    /// The first 64 KiB of its body: JSON as it is, anything else as a string.
    public var body: RawJSON
    /// Status of the first answer that left open whether the modifier was applied; null without
    /// one.
    public var unclearStatus: Int?

    package init(
        status: Int,
        headers: HeaderFields = HeaderFields(),
        body: [UInt8] = [],
        at: LarderModel.Timestamp,
        unclearStatus: Int? = nil
    ) {
        (self.status, self.at, self.unclearStatus) = (status, Timestamp(at), unclearStatus)
        self.headers = NamedValues(headers.fields.map { .init($0.name, $0.value) })
        self.body = RawJSON(quotingBody: body)
    }
}
