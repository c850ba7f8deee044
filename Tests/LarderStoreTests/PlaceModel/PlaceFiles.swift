/// The number of a step, or 0 for none.
typealias PlaceNumber = UInt8

/// What a row or a view says: a word of the origin or of a client, and how often each of the two
/// modifiers is in it.
struct PlaceContent: Equatable {
    var bits: UInt8

    static let absent = Self(bits: 0xFF)
    /// `{}`, on which changes of an unknown base show.
    static let unknown = Self(bits: 0)
    static let tombstone: UInt8 = 15

    static func word(_ word: UInt8) -> Self { Self(bits: word) }

    var isAbsent: Bool { bits == 0xFF }

    func count(of modifier: Int) -> UInt8 { (bits >> (4 + 2 * UInt8(modifier))) & 3 }

    /// One more of the modifier, as an effect `add` makes it; at most two, so that too many show.
    func adding(_ modifier: Int) -> Self {
        count(of: modifier) > 1 ? self : Self(bits: bits + 16 << (2 * UInt8(modifier)))
    }

    /// The modifier at least once, as `set` makes it.
    func holding(_ modifier: Int) -> Self { count(of: modifier) > 0 ? self : adding(modifier) }
}

/// A row of `cache.db`, or what `saved` has of it.
struct PlaceRow: Equatable {
    var content = PlaceContent.absent
    /// Since when it says what it says; shown.
    var rev: PlaceNumber = 0
    /// The step that wrote it last.
    var written: PlaceNumber = 0
    /// Its body stands in `saved` alone.
    var isHead = false

    var isAbsent: Bool { content.isAbsent }
    var bits: UInt64 {
        UInt64(content.bits) | UInt64(rev) << 8 | UInt64(written) << 16 | (isHead ? 1 << 24 : 0)
    }
}

/// One of each for the two ids.
struct PlacePair<Value: Equatable>: Equatable {
    var first: Value
    var second: Value

    init(_ value: Value) {
        first = value
        second = value
    }

    subscript(_ index: Int) -> Value {
        get { index == 0 ? first : second }
        set { if index == 0 { first = newValue } else { second = newValue } }
    }
}

/// One commit of `cache.db`.
struct PlaceCache: Equatable {
    var rows = PlacePair(PlaceRow())
    /// A bit for each number under which the change log tells of the id.
    var log = PlacePair<UInt64>(0)
    /// The last number that it holds.
    var number: PlaceNumber = 1
    var generation: UInt8 = 0
}

/// Why a row must not be lost, and its last word.
struct PlaceClaim: Equatable {
    var isPresent = false
    var isPinned = false
    /// A claim without bytes has none.
    var saved = PlaceRow()
}

/// A modifier as `state.db` has it.
struct PlaceModifier: Equatable {
    var accept: PlaceNumber = 0
    /// The settle that confirmed it, while it still shows on a shared row.
    var confirmed: PlaceNumber = 0
}

/// `state.db`, each commit synced.
struct PlaceDurable: Equatable {
    var claims = PlacePair(PlaceClaim())
    var modifiers = PlacePair(PlaceModifier())
    var log = PlacePair<UInt64>(0)
    /// The last number that it holds.
    var number: PlaceNumber = 1
    /// Up to which `written` everything is synced in `cache.db` of a generation (rule 7).
    var synced: PlaceNumber = 0
    var syncedGeneration: UInt8 = 0
}
