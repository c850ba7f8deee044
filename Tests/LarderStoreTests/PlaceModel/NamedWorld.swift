/// A world by its name.
struct NamedWorld: Sendable, CustomStringConvertible {
    let name: String
    let world: PlaceWorld

    init(_ name: String, _ budget: PlaceBudget, _ set: (inout PlaceWorld) -> Void = { _ in }) {
        var world = PlaceWorld(budget: budget)
        set(&world)
        if world.isShared { (world.ids, world.targets) = (2, (.second, .none)) }
        (self.name, self.world) = (name, world)
    }

    func without(_ rule: PlaceRule) -> PlaceWorld {
        var world = world
        world.rules = .without(rule)
        return world
    }

    var description: String { name }
}

extension NamedWorld {
    static let all = [
        one, unknown, twoModifiers, twoRows, oneOfTwo, pairs, late, failingState, failingCache,
        failingPairs, failingPins, crash, pins, heads, release, loss, failingHeads, drops, shared,
        movingShared, failingShared, sharedByTwo,
    ]

    static let one = Self("one row", PlaceBudget(puts: 1, reads: 2))
    static let unknown = Self("an unknown base", PlaceBudget(fetches: 1, reads: 2)) {
        $0.known = .none
    }
    static let twoModifiers = Self("two modifiers", PlaceBudget(reads: 1)) {
        $0.targets = (.first, .first)
    }
    static let twoRows = Self("two rows in one view", PlaceBudget(reads: 2)) {
        ($0.ids, $0.targets, $0.reads) = (2, (.both, .none), [.both])
    }
    static let oneOfTwo = Self("a target beside a row", PlaceBudget(puts: 1, reads: 2)) {
        ($0.ids, $0.reads, $0.puts) = (2, [.both], [.both])
    }
    static let pairs = Self("groups of two", PlaceBudget(puts: 1, reads: 2)) {
        $0.commandsMax = 2
    }
    static let late = Self("an answer under way", PlaceBudget(fetches: 1, moves: 1, reads: 1))
    static let failingState = Self(
        "state.db fails",
        PlaceBudget(crashes: 1, stateFails: 1, reads: 1)
    )
    static let failingCache = Self("cache.db fails", PlaceBudget(puts: 1, cacheFails: 1, reads: 2))
    static let failingPairs = Self(
        "cache.db fails a group of two",
        PlaceBudget(puts: 1, cacheFails: 1, reads: 1)
    ) {
        $0.commandsMax = 2
    }
    static let failingPins = Self(
        "cache.db fails under a pin",
        PlaceBudget(puts: 1, pins: 1, releases: 1, cacheFails: 1, reads: 1)
    ) {
        $0.targets = (.none, .none)
    }
    static let crash = Self("a crash", PlaceBudget(releases: 1, crashes: 1, reads: 1))
    static let pins = Self(
        "pins",
        PlaceBudget(puts: 1, pins: 1, evictions: 1, releases: 1, reads: 1)
    ) {
        $0.targets = (.none, .none)
    }
    static let heads = Self("heads", PlaceBudget(puts: 1, pins: 1, releases: 1, reads: 2)) {
        ($0.targets, $0.hasHeads) = ((.none, .none), true)
    }
    static let release = Self(
        "a pin and a modifier are released, and a crash",
        PlaceBudget(puts: 1, pins: 2, releases: 1, crashes: 1)
    ) {
        $0.targets = (.none, .none)
    }
    static let loss = Self("a loss of cache.db", PlaceBudget(releases: 1, losses: 1, reads: 1))
    static let failingHeads = Self(
        "cache.db fails under heads",
        PlaceBudget(pins: 1, releases: 1, cacheFails: 1, reads: 1)
    ) {
        ($0.targets, $0.hasHeads) = ((.none, .none), true)
    }
    static let drops = Self(
        "what is pinned is dropped, and cache.db fails",
        PlaceBudget(pins: 1, drops: 1, cacheFails: 1, reads: 1)
    ) {
        $0.targets = (.none, .none)
    }
    static let shared = Self("a shared row", PlaceBudget(fetches: 1, reads: 2)) {
        $0.isShared = true
    }
    static let movingShared = Self(
        "a shared row that moves",
        PlaceBudget(fetches: 1, moves: 1, reads: 1)
    ) {
        $0.isShared = true
    }
    static let failingShared = Self(
        "cache.db fails under a shared row",
        PlaceBudget(fetches: 1, cacheFails: 1)
    ) {
        $0.isShared = true
    }
    static let sharedByTwo = Self("a shared row and two users", PlaceBudget(reads: 2)) {
        ($0.isShared, $0.readers) = (true, 2)
    }
}
