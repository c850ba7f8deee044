package import LarderModel

/// All that is known of an entry or an entity, without its bytes.
public struct EntryExplanation: Codable, Equatable, Sendable {
    /// The entry as lists have it.
    @Flattened public var item: EntryItem
    /// The origin's Last-Modified; null without one.
    public var lastModified: String?
    /// The origin's other header fields, of which names may repeat.
    public var headers: [HeaderField]
    /// Digest of the bytes, 32 hexadecimal digits.
    public var digest: String
    /// Why the entry is not evicted now, one word for each reason.
    public var protectedBy: [String]
    /// When the daemon asks the origin again.
    @Flattened public var refreshing = RefreshReport()
    /// How the entry is stored.
    public var form: StoredForm
    /// Why an entry of an origin with rules is stored whole.
    public var wholeReason: String?
    /// Name of its skeleton; null if it is not normalized.
    public var skeleton: String?
    /// The entities that it shows; of an entity, those that it refers to; null if it is stored
    /// whole.
    public var entities: References?
    /// Entries and entities that show an entity or refer to it; null for an entry.
    public var referencedBy: References?
    /// Version of an entity by the origin's rule: a number or a string; null without one.
    public var version: RawJSON?
    /// Number of the last fetch that changed an entity; null without one.
    public var fetch: Int64?
    /// Objects that are entities by their type or place and have no key.
    public var keyless: Keyless
    /// Number of entities that have a name twice with different values, of which the last counts.
    public var repeated = 0
    /// Effects of unsettled modifiers.
    @Flattened public var pending = PendingExplanation()

    /// An entry that is stored whole, for no reason that is known, and that no modifier changes.
    package init(_ item: EntryItem, of entry: Entry, protectedBy: [String]) {
        self.item = item
        lastModified = entry.lastModified
        // The daemon's own fields say how it got the bytes.
        let fields = entry.headers.fields.filter { !$0.name.lowercased().hasPrefix("larder-") }
        headers = fields.map { HeaderField(name: $0.name, value: $0.value) }
        digest = entry.body.digest.text
        self.protectedBy = protectedBy
        form = .whole
        keyless = Keyless(count: 0)
    }
}

/// A header field.
public struct HeaderField: Codable, Hashable, Sendable {
    /// Name of the field.
    public var name: String
    /// Value of the field.
    public var value: String
}

/// How an entry is stored.
public struct StoredForm: WireEnum {
    /// As it came.
    public static let whole = StoredForm(rawValue: "whole")
    /// As a skeleton and the entities that it shows.
    public static let normalized = StoredForm(rawValue: "normalized")
    /// As an object that answers share.
    public static let entity = StoredForm(rawValue: "entity")

    /// Every value that this version knows.
    public static let known: [StoredForm] = [.whole, .normalized, .entity]
    /// The value as it travels.
    public let rawValue: String

    /// A value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// Objects without a key.
public struct Keyless: Codable, Equatable, Sendable {
    /// Number of objects.
    public var count: Int
    /// JSON pointer to the first of them.
    public var sample: String?

    package init(count: Int, sample: String? = nil) {
        self.count = count
        self.sample = sample
    }
}

/// References to an entity, or from it.
public struct References: Codable, Equatable, Sendable {
    /// Number of references.
    public var count: Int
    /// The first 100 of them.
    public var items: [Reference]

    package init(count: Int, items: [Reference]) {
        self.count = count
        self.items = items
    }
}

/// The other end of a reference.
public struct Reference: Codable, Equatable, Sendable {
    /// Id of the entry or entity.
    public var id: String
    /// Members that the entry shows; between two entities, the members of the one that have the
    /// other.
    public var members: [String]

    package init(_ id: EntryID, members: [String]) {
        self.id = id.description
        self.members = members
    }
}

/// The entry or entity that a change is of.
public struct TargetName: Codable, Hashable, Sendable {
    /// Id of the entry or entity.
    public var id: String

    /// An entry or entity by its id.
    public init(id: String) { self.id = id }
}

/// Effects of unsettled modifiers on an entry or an entity.
public struct PendingExplanation: Codable, Equatable, Sendable {
    /// Number of modifiers.
    public var pending = 0
    /// The last answer of the origin; null without modifiers.
    public var base: ViewReport?
    /// The value that clients see; null without modifiers.
    public var view: ViewReport?
    /// The modifiers in their order, at most 1,000.
    public var modifiers: [PendingStep] = []
    /// Whether some modifiers or views are left out.
    public var truncated = false

    /// Without modifiers.
    package init(pending: Int = 0, base: ViewReport? = nil, view: ViewReport? = nil) {
        self.pending = pending
        self.base = base
        self.view = view
    }

    /// About how long its JSON is.
    package var byteCount: Int {
        let views = [base, view] + modifiers.flatMap { [$0.after, $0.without] }
        return views.reduce(0) { $0 + ($1?.byteCount ?? 0) }
    }
}

/// A modifier and its effect on an entry.
public struct PendingStep: Codable, Equatable, Sendable {
    /// Id of the modifier.
    public var id: String
    /// State of the modifier.
    public var state: ModifierState
    /// Whether the origin has accepted the modifier, and the effect shows until the next answer.
    ///
    /// `pending` does not count such a modifier. Omitted if false.
    @OmittedWhenNil public var answered: Bool?
    /// Type of its effect.
    public var effect: String
    /// Why the effect does not fit and is left out of the view; null if it fits.
    public var inapplicable: String?
    /// Base with the effects up to this modifier; null if that is too large to tell.
    public var after: ViewReport?
    /// The value that clients would see without this modifier; null if that is too large to tell.
    public var without: ViewReport?

    package init(id: String, state: ModifierState, effect: String) {
        self.id = id
        self.state = state
        self.effect = effect
    }
}

/// The value of a target, as clients see it.
public struct ViewReport: Codable, Equatable, Sendable {
    /// Whether there is a value.
    public var state: ViewState
    /// Whether nothing of the value was evicted.
    @OmittedWhenNil public var complete: Bool?
    /// The value, if it is JSON.
    @OmittedWhenNil public var body: RawJSON?
    /// Length of the value in bytes, if it is not JSON.
    @OmittedWhenNil public var bodyBytes: Int?

    /// A view without a value.
    public init(state: ViewState) { self.state = state }

    package static let unknown = ViewReport(state: .unknown)
    package static let deleted = ViewReport(state: .deleted)

    /// A value that is one JSON text.
    package static func json(_ bytes: [UInt8], isComplete: Bool) -> ViewReport {
        var report = ViewReport(state: .value)
        report.complete = isComplete
        report.body = RawJSON(unchecked: RawJSON.onOneLine(bytes))
        return report
    }

    /// Any other value, by its length.
    package static func bytes(_ count: Int) -> ViewReport {
        var report = ViewReport(state: .value)
        report.complete = true
        report.bodyBytes = count
        return report
    }

    /// About how long its JSON is.
    package var byteCount: Int { (body?.bytes.count ?? 0) + 32 }
}

/// Whether a target shows a value.
public struct ViewState: WireEnum {
    /// Nothing is known of the target; of a settled modifier, no JSON value is.
    public static let unknown = ViewState(rawValue: "unknown")
    /// The target is deleted.
    public static let deleted = ViewState(rawValue: "deleted")
    /// The target has a value.
    public static let value = ViewState(rawValue: "value")

    /// Every value that this version knows.
    public static let known: [ViewState] = [.unknown, .deleted, .value]
    /// The value as it travels.
    public let rawValue: String

    /// A value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }
}
