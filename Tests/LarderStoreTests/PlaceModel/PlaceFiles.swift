/// A number that a step was given, or 0 for none.
typealias PlaceNumber = UInt8

/// What a row or a view says: a word of the origin or of a client, and how often each of the two
/// modifiers is in it.
struct PlaceContent: Hashable {
    var bits: UInt8

    static let absent = Self(bits: 0xFF)
    /// `{}`, on which changes of an unknown base show.
    static let unknown = Self(bits: 0)

    static func word(_ word: UInt8) -> Self { Self(bits: word) }

    var isAbsent: Bool { bits == 0xFF }

    func count(of modifier: Int) -> UInt8 { (bits >> (4 + 2 * UInt8(modifier))) & 3 }

    /// One more of the modifier, as an effect `add` makes it; at most two, so that too many show.
    func adding(_ modifier: Int) -> Self {
        if isAbsent { return Self.unknown.adding(modifier) }
        return count(of: modifier) > 1 ? self : Self(bits: bits + 16 << (2 * UInt8(modifier)))
    }

    /// The modifier at least once: what its origin says once it has it.
    func holding(_ modifier: Int) -> Self {
        isAbsent || count(of: modifier) == 0 ? adding(modifier) : self
    }
}

/// A row of `cache.db`, or what is saved of it.
struct PlaceRow: Hashable {
    var content = PlaceContent.absent
    /// Since when it says what it says; shown.
    var rev: PlaceNumber = 0
    /// When it was last said; only of rows that everybody shares.
    var said: PlaceNumber = 0
    /// Its body stands in `state.db` alone.
    var isHead = false

    var isAbsent: Bool { content.isAbsent }

    /// Whether it says the same, of the same revision.
    func says(_ other: Self) -> Bool { content == other.content && rev == other.rev }
}

/// One of each for the two ids.
struct PlacePair<Value: Hashable>: Hashable {
    var first: Value
    var second: Value

    init(_ value: Value) { (first, second) = (value, value) }

    subscript(_ index: Int) -> Value {
        get { index == 0 ? first : second }
        set { if index == 0 { first = newValue } else { second = newValue } }
    }
}

/// One commit of `cache.db`.
struct PlaceCache: Hashable {
    var rows = PlacePair(PlaceRow())
    /// Which commit it is; of a new file the first of many more.
    var number: PlaceNumber = 0
}

/// A row of `state.db`: why an id is claimed, and its last word.
struct PlaceSaved: Hashable {
    /// Absent where nothing is known, or a pin waits.
    var row = PlaceRow()
    var isPinned = false
    var isCopy = false
}

/// One commit of `state.db`, synced.
struct PlaceDurable: Hashable {
    var saved = PlacePair<PlaceSaved?>(nil)
    /// The step that accepted each of the two modifiers, while it is not settled.
    var accepts = PlacePair<PlaceNumber>(0)

    /// What an id is: by what is saved of it, or where nothing claims it by its row.
    func base(_ id: Int, _ cache: PlaceCache, _ world: PlaceWorld) -> PlaceRow {
        if let saved = saved[id], !isLeftToCache(id, world) { return saved.row }
        return cache.rows[id].isHead ? PlaceRow() : cache.rows[id]
    }

    /// Whether the row is the cache's, of what nothing claims or a pin that waits.
    func isLeftToCache(_ id: Int, _ world: PlaceWorld) -> Bool {
        guard let saved = saved[id] else { return true }
        return saved.row.isAbsent && saved.isPinned && targets(id, world) == 0
    }

    /// What changes make of a row, of both the rows and the changes of this commit.
    func view(of row: PlaceRow, _ id: Int, _ world: PlaceWorld) -> PlaceRow {
        var view = row
        for modifier in 0..<2 where isTargeted(id, by: modifier, world) {
            view.content = view.content.adding(modifier)
            view.rev = max(view.rev, accepts[modifier])
        }
        return view
    }

    func isTargeted(_ id: Int, by modifier: Int, _ world: PlaceWorld) -> Bool {
        accepts[modifier] > 0 && world.targets(modifier, id)
    }

    func targets(_ id: Int, _ world: PlaceWorld) -> UInt8 {
        (0..<2).reduce(0) { $0 + (isTargeted(id, by: $1, world) ? 1 : 0) }
    }

    /// Whether nothing claims an id any more of which there is a row.
    func isReleased(_ id: Int, _ world: PlaceWorld) -> Bool {
        saved[id]?.isPinned == false && targets(id, world) == 0
    }
}

/// What memory says of an id.
struct PlaceInMemory: Hashable {
    var isClaimed = false
    var isPinned = false
    var targets: UInt8 = 0
    var isCopy = false
    var isBehind = false

    var isReadFromState: Bool { targets > 0 || isCopy || isBehind }
}

/// A change of what memory says of an id: a step of its own, as each takes the lock.
enum PlaceMemoryChange: Hashable {
    case behind(Int)
    case notBehind(Int)
    case target(Int)
    case untarget(Int)
    case pin(Int)
    case unpin(Int)
    case remove(Int)
}
