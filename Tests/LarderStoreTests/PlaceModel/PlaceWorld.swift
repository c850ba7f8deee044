/// What there is in a world, how often each thing can happen, and which rules hold.
///
/// In a *shared* world the first id is the row that everybody sees, the second the copy of it that
/// modifiers target; the first reader is their user, the second another one.
///
/// It is no part of what makes states different, as one world is explored at a time.
struct PlaceWorld: Sendable, Hashable {
    var rules = PlaceRules.all
    var ids = 1
    /// The ids that each of the two modifiers targets; none for no such modifier.
    var targets: (PlaceIDs, PlaceIDs) = (.first, .none)
    var isShared = false
    /// The rows that are known at the start.
    var known = PlaceIDs.both
    /// Whether a pinned row stands in `cache.db` as a head.
    var hasHeads = false
    var commandsMax = 1
    /// The ids that a put writes at once.
    var puts = [PlaceIDs.first]
    /// The ids that a reader reads at once.
    var reads = [PlaceIDs.first]
    var readers = 1
    var budget = PlaceBudget()

    func targets(_ modifier: Int, _ id: Int) -> Bool {
        (modifier == 0 ? targets.0 : targets.1).contains(id)
    }

    static func == (_: Self, _: Self) -> Bool { true }
    func hash(into _: inout Hasher) {}
}

/// A set of the two ids.
enum PlaceIDs: UInt8 {
    case none
    case first
    case second
    case both

    func contains(_ id: Int) -> Bool { rawValue & (1 << UInt8(id)) != 0 }
}

/// How often each can still happen.
struct PlaceBudget: Hashable {
    var fetches: UInt8 = 0
    var moves: UInt8 = 0
    var puts: UInt8 = 0
    var pins: UInt8 = 0
    var drops: UInt8 = 0
    var evictions: UInt8 = 0
    var releases: UInt8 = 0
    var crashes: UInt8 = 0
    var losses: UInt8 = 0
    var cacheFails: UInt8 = 0
    var stateFails: UInt8 = 0
    var reads: UInt8 = 0
}
