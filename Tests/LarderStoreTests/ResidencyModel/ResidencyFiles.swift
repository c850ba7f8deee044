/// The number of a step: what the store calls a revision; 0 for none.
typealias ModelStep = UInt8

/// The value of a row or a view: a word of the origin or a client, and how often each of the two
/// modifiers is in it.
struct ModelContent: Hashable {
    var bits: UInt8

    static let absent = Self(bits: 0xFF)
    /// `{}`, on which modifiers of an unknown base show.
    static let unknown = Self(bits: 0)

    static func word(_ word: UInt8) -> Self { Self(bits: word) }

    var isAbsent: Bool { bits == 0xFF }
    var word: UInt8 { isAbsent ? 0 : bits & 15 }

    func count(of modifier: Int) -> UInt8 { (bits >> (4 + 2 * UInt8(modifier))) & 3 }

    /// Applies the modifier once more, as the effect `add` makes it; at most two, so that too many show.
    func adding(_ modifier: Int) -> Self {
        if isAbsent { return Self.unknown.adding(modifier) }
        return count(of: modifier) > 1 ? self : Self(bits: bits + 16 << (2 * UInt8(modifier)))
    }

    /// The modifier at least once: the origin's value after it has applied it.
    func holding(_ modifier: Int) -> Self {
        isAbsent || count(of: modifier) == 0 ? adding(modifier) : self
    }
}

/// A row of either file; in `state.db` an absent one is a marker.
struct ModelRow: Hashable {
    var content = ModelContent.absent
    /// The step that last changed the content or a modifier of it.
    var rev: ModelStep = 0
    /// The step at which the request of its answer started; of a put the put's own.
    var said: ModelStep = 0

    var isAbsent: Bool { content.isAbsent }
}

/// A value for each of the two keys, ids, users or modifiers.
struct ModelPair<Value: Hashable>: Hashable {
    var first: Value
    var second: Value

    init(_ value: Value) { (first, second) = (value, value) }

    subscript(_ index: Int) -> Value {
        get { index == 0 ? first : second }
        set { if index == 0 { first = newValue } else { second = newValue } }
    }
}

/// A set of the two keys or ids.
struct ModelKeys: OptionSet, Hashable, Sendable {
    let rawValue: UInt8

    static let first = Self(rawValue: 1)
    static let second = Self(rawValue: 2)
    static let both: Self = [.first, .second]

    static func of(_ key: Int) -> Self { Self(rawValue: 1 << UInt8(key)) }

    func has(_ key: Int) -> Bool { rawValue & (1 << UInt8(key)) != 0 }
    var count: Int { rawValue.nonzeroBitCount }
}

/// Where a modifier is in the queue.
struct ModelModifier: Hashable {
    enum Phase: UInt8 {
        case none
        case queued
        /// Confirmed, and shown until a later answer has replaced the shared row.
        case accepted
    }

    var phase = Phase.none
    var accepted: ModelStep = 0
    var confirmed: ModelStep = 0

    var isUnsettled: Bool { phase != .none }
}

/// A commit of `cache.db`.
struct ModelCache: Hashable {
    var rows = ModelPair(ModelRow())
    /// The first user sees the shared row only if its `said` is later.
    var mark: ModelStep = 0
    /// The group's number.
    var number: UInt8 = 0
    /// The change log: a bit for each step and key.
    var log: UInt64 = 0
    /// The large body whose chunks were copied before its row.
    var copied = ModelContent.absent
}

/// A commit of `state.db`, synced.
struct ModelState: Hashable {
    var rows = ModelPair(ModelRow())
    /// The keys that have a row or a marker here.
    var held: ModelKeys = []
    var pins: ModelKeys = []
    var modifiers = ModelPair(ModelModifier())
    var mark: ModelStep = 0
    var number: UInt8 = 0
    var log: UInt64 = 0
    var copied = ModelContent.absent

    /// The row of a key by both files: `state.db` wins.
    func row(_ key: Int, _ cache: ModelCache) -> ModelRow {
        held.has(key) ? rows[key] : cache.rows[key]
    }

    func mark(_ cache: ModelCache) -> ModelStep { held.has(0) ? mark : cache.mark }
}

extension ModelRow: CustomStringConvertible {
    var description: String {
        content.isAbsent ? "nothing" : "\(content) rev \(rev) said \(said)"
    }
}

extension ModelContent: CustomStringConvertible {
    var description: String {
        if isAbsent { return "nothing" }
        let name = bits & 15 == 0 ? "{}" : "word \(bits & 15)"
        let modifiers = (0..<2).filter { count(of: $0) > 0 }
        return name + modifiers.map { " + m\($0)×\(count(of: $0))" }.joined()
    }
}

extension ModelKeys: CustomStringConvertible {
    var description: String { "[\((0..<2).filter(has).map(String.init).joined(separator: ","))]" }
}
