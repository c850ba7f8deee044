/// What can happen, how often, and which rules hold.
final class PlaceWorld: Sendable {
    let rules: PlaceRules
    let ids: Int
    /// The targets of the two modifiers, a bit for each id; 0 for no such modifier.
    let targets: [UInt8]
    let isShared: Bool
    /// The rows that are known at the start, a bit for each id.
    let known: UInt8
    /// Whether a pinned row stands in `cache.db` as a head.
    let hasHeads: Bool
    let commandsMax: Int
    /// Which ids the readers read at once.
    let reads: [UInt8]
    let readers: Int
    let budget: PlaceBudget
    let watches: Bool
    /// One client asks all readers, one after the other.
    let isOneClient: Bool
    let operations: [PlaceGroup.Operation]

    init(
        without rules: PlaceRules = .all,
        ids: Int = 1,
        targets: [UInt8] = [1, 0],
        isShared: Bool = false,
        known: UInt8 = 3,
        hasHeads: Bool = false,
        commandsMax: Int = 1,
        reads: [UInt8] = [1],
        readers: Int = 1,
        watches: Bool = false,
        isOneClient: Bool = false,
        _ budget: PlaceBudget
    ) {
        self.rules = rules
        self.ids = ids
        self.targets = targets
        self.isShared = isShared
        self.known = known
        self.hasHeads = hasHeads
        self.commandsMax = commandsMax
        self.reads = reads
        self.readers = readers
        self.watches = watches
        self.isOneClient = isOneClient
        self.budget = budget
        operations =
            if !rules.holds(.stateBeforeCache) {
                [.overlay, .cache, .state, .publish]
            } else if !rules.holds(.overlayBeforeCache) {
                [.state, .cache, .overlay, .publish]
            } else if !rules.holds(.publishedLast) {
                [.state, .overlay, .publish, .cache]
            } else {
                [.state, .overlay, .cache, .publish]
            }
    }
}

/// How often each can still happen.
struct PlaceBudget: Equatable {
    var fetches: UInt8 = 0
    /// The origin says something else.
    var moves: UInt8 = 0
    /// The origin says that there is nothing.
    var deletions: UInt8 = 0
    var puts: UInt8 = 0
    var pins: UInt8 = 0
    var evictions: UInt8 = 0
    var expiries: UInt8 = 0
    var checkpoints: UInt8 = 0
    var crashes: UInt8 = 0
    var losses: UInt8 = 0
    var cacheFails: UInt8 = 0
    var stateFails: UInt8 = 0
    var reads: UInt8 = 3
}
