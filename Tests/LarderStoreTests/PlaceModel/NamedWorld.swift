/// A world by its name, with any rules.
struct NamedWorld: Sendable, CustomStringConvertible {
    let name: String
    let world: @Sendable (PlaceRules) -> PlaceWorld

    init(_ name: String, _ world: @escaping @Sendable (PlaceRules) -> PlaceWorld) {
        self.name = name
        self.world = world
    }

    var description: String { name }
}

extension NamedWorld {
    /// Small enough for each run of the tests.
    static let all = [
        one, twoReaders, unknown, twoModifiers, late, halfKnown, twoRows, pairs, fenced,
        failingCache, failingRows, failingGroups, failingEviction, failingState, failingCrash,
        failingHeads, crash, pins, heads, headsUnderChanges, headBesideRow, loss, lossOfPins,
        lossOfRows, shared,
        sharedUnknown, sharedByTwo, sharedCrash, watched, oneClient,
    ]

    static let one = Self("one row") { PlaceWorld(without: $0, PlaceBudget(reads: 3)) }
    static let twoReaders = Self("two readers") {
        PlaceWorld(without: $0, readers: 2, PlaceBudget(reads: 3))
    }
    static let unknown = Self("an unknown base") {
        PlaceWorld(without: $0, known: 0, PlaceBudget(fetches: 1, reads: 3))
    }
    static let twoModifiers = Self("two modifiers") {
        PlaceWorld(without: $0, targets: [1, 1], PlaceBudget(reads: 2))
    }
    static let late = Self("an answer under way") {
        PlaceWorld(without: $0, PlaceBudget(fetches: 1, moves: 1, reads: 1))
    }
    static let halfKnown = Self("two rows, one unknown") {
        PlaceWorld(
            without: $0,
            ids: 2,
            targets: [3, 0],
            known: 2,
            reads: [1, 2, 3],
            PlaceBudget(reads: 3)
        )
    }
    static let twoRows = Self("two rows in one view") {
        PlaceWorld(
            without: $0,
            ids: 2,
            targets: [3, 0],
            commandsMax: 2,
            reads: [3],
            PlaceBudget(puts: 1, reads: 2)
        )
    }
    static let pairs = Self("groups of two") {
        PlaceWorld(without: $0, commandsMax: 2, PlaceBudget(puts: 1, reads: 2))
    }
    static let fenced = Self("an answer in a group with a settle") {
        PlaceWorld(without: $0, commandsMax: 2, PlaceBudget(fetches: 1, reads: 1))
    }
    static let failingCache = Self("cache.db fails") {
        PlaceWorld(without: $0, PlaceBudget(cacheFails: 1, reads: 3))
    }
    static let failingRows = Self("cache.db fails under two rows") {
        PlaceWorld(
            without: $0,
            ids: 2,
            targets: [3, 0],
            reads: [1, 2, 3],
            PlaceBudget(cacheFails: 1, reads: 3)
        )
    }
    static let failingGroups = Self("cache.db fails a group of two") {
        PlaceWorld(without: $0, commandsMax: 2, PlaceBudget(puts: 1, cacheFails: 1, reads: 2))
    }
    static let failingEviction = Self("cache.db fails, and rows are evicted") {
        PlaceWorld(
            without: $0,
            PlaceBudget(evictions: 1, checkpoints: 1, cacheFails: 1, reads: 2)
        )
    }
    static let failingState = Self("state.db fails") {
        PlaceWorld(without: $0, PlaceBudget(crashes: 1, stateFails: 1, reads: 2))
    }
    static let failingCrash = Self("cache.db fails before a crash") {
        PlaceWorld(
            without: $0,
            targets: [0, 0],
            PlaceBudget(puts: 2, pins: 1, checkpoints: 1, crashes: 1, cacheFails: 1, reads: 1)
        )
    }
    static let failingHeads = Self("cache.db fails under heads") {
        PlaceWorld(
            without: $0,
            targets: [0, 0],
            hasHeads: true,
            PlaceBudget(pins: 1, crashes: 1, cacheFails: 1, reads: 2)
        )
    }
    static let crash = Self("a crash") {
        PlaceWorld(without: $0, PlaceBudget(checkpoints: 1, crashes: 1, reads: 2))
    }
    static let pins = Self("pins") {
        PlaceWorld(
            without: $0,
            targets: [0, 0],
            PlaceBudget(puts: 1, pins: 1, evictions: 1, checkpoints: 1, crashes: 1, reads: 1)
        )
    }
    static let heads = Self("heads") {
        PlaceWorld(
            without: $0,
            targets: [0, 0],
            hasHeads: true,
            PlaceBudget(puts: 1, pins: 1, crashes: 1, reads: 2)
        )
    }
    static let headsUnderChanges = Self("heads under changes") {
        PlaceWorld(without: $0, hasHeads: true, PlaceBudget(pins: 1, reads: 2))
    }
    static let headBesideRow = Self("a head and a row in one view") {
        PlaceWorld(
            without: $0,
            ids: 2,
            targets: [2, 0],
            hasHeads: true,
            reads: [3],
            PlaceBudget(pins: 1, reads: 1)
        )
    }
    static let loss = Self("a loss of cache.db") {
        PlaceWorld(without: $0, PlaceBudget(checkpoints: 1, losses: 1, reads: 2))
    }
    static let lossOfPins = Self("a loss of cache.db under pins") {
        PlaceWorld(
            without: $0,
            targets: [0, 0],
            PlaceBudget(puts: 1, pins: 1, checkpoints: 1, crashes: 1, losses: 1, reads: 1)
        )
    }
    static let lossOfRows = Self("a loss of cache.db under two rows") {
        PlaceWorld(
            without: $0,
            ids: 2,
            targets: [3, 0],
            reads: [1, 3],
            PlaceBudget(losses: 1, reads: 2)
        )
    }
    static let shared = Self("a shared row") {
        PlaceWorld(without: $0, isShared: true, PlaceBudget(fetches: 1, expiries: 1, reads: 2))
    }
    static let sharedUnknown = Self("a shared row with an unknown base") {
        PlaceWorld(without: $0, isShared: true, known: 0, PlaceBudget(reads: 3))
    }
    static let sharedByTwo = Self("a shared row and two users") {
        PlaceWorld(without: $0, isShared: true, readers: 2, PlaceBudget(reads: 3))
    }
    static let sharedCrash = Self("a shared row and a crash") {
        PlaceWorld(without: $0, isShared: true, PlaceBudget(expiries: 1, crashes: 1, reads: 2))
    }
    static let watched = Self("a watcher") {
        PlaceWorld(without: $0, watches: true, PlaceBudget(puts: 1, cacheFails: 1, reads: 1))
    }
    static let oneClient = Self("one client and two loops") {
        PlaceWorld(without: $0, readers: 2, isOneClient: true, PlaceBudget(reads: 3))
    }
}
