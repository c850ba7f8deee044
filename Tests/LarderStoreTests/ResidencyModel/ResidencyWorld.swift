/// The rows of a world, how often each thing can happen, and which rules hold.
///
/// Keys and ids
///
/// * plain: key *n* is the row of id *n*, in the first user's scope.
/// * `isShared`: one id. Key 0 is the shared row, key 1 the first user's own row under the same id.
///   The second user sees key 0 alone.
/// * `isUnit`: both keys are variants of one URL.
/// * `refersFrom`: key 0 refers to the entity at key 1 when its word is that or higher.
struct ResidencyWorld: Sendable {
    var rules = ResidencyRules.all
    var ids = 1
    var isShared = false
    var isUnit = false
    var refersFrom: UInt8?
    /// The ids that each of the two modifiers targets; none for no such modifier.
    var targets: (ModelKeys, ModelKeys) = ([], [])
    /// The second modifier's user.
    var secondUser = 0
    /// The keys that `cache.db` has at the start.
    var known = ModelKeys.both
    var pinned: ModelKeys = []
    var commandsMax = 1
    var puts: [ModelKeys] = [.first]
    var pins: ModelKeys = .first
    /// Whether the first user pins the id, and not one of its rows.
    var pinsBoth = false
    var fetches: [ResidencyFetch.Kind] = []
    var reads: [ResidencyQuery] = []
    var readers = 1
    /// Whether readers keep their transactions from one read to the next.
    var keeps = false
    var hasResponses = false
    var hasLog = false
    /// Whether the body of key 0 is copied in groups of its own before its row is promoted.
    var isLarge = false
    /// The rows for which `state.db` has room.
    var heldMax = 2
    var budget = ResidencyBudget()

    var copiesAhead: Bool { budget.copies > 0 }
    var keys: Range<Int> { 0..<(isShared ? 2 : ids) }
    var users: Int { isShared ? 2 : 1 }

    func id(_ key: Int) -> Int { isShared ? 0 : key }

    /// The user's own key of an id.
    func ownKey(_ user: Int, _ id: Int) -> Int? { isShared ? (user == 0 ? 1 : nil) : id }

    var sharedKey: Int? { isShared ? 0 : nil }

    func user(_ modifier: Int) -> Int { modifier == 0 ? 0 : secondUser }

    func targets(_ modifier: Int) -> ModelKeys { modifier == 0 ? targets.0 : targets.1 }

    /// The rows for which an unsettled modifier is a reason.
    func reasons(_ modifier: Int) -> ModelKeys {
        guard isShared else { return targets(modifier) }
        guard targets(modifier) != [] else { return [] }
        var keys = ModelKeys()
        if rules.holds(.modifierHoldsShared) { keys.insert(.first) }
        if user(modifier) == 0, rules.holds(.modifierHoldsOwn) { keys.insert(.second) }
        return keys
    }

    func refers(_ content: ModelContent) -> Bool {
        guard let refersFrom else { return false }
        return content.word >= refersFrom
    }

    /// The keys that a user's read of an id looks at.
    func keys(_ query: ResidencyQuery) -> ModelKeys {
        switch query {
        case .get(let user, let id):
            isShared ? (user == 0 ? .both : .first) : .of(id)
        case .list, .log: .both
        }
    }
}

/// A read: one id, all ids at one moment, or the change log.
enum ResidencyQuery: Hashable, Sendable {
    case get(_ user: Int, _ id: Int)
    case list
    case log

    var user: Int { if case .get(let user, _) = self { user } else { 0 } }

    func ids(_ world: ResidencyWorld) -> Range<Int> {
        switch self {
        case .get(_, let id): id..<(id + 1)
        case .list: 0..<world.ids
        case .log: 0..<0
        }
    }
}

/// A request to the origin, in flight.
struct ResidencyFetch: Hashable {
    struct Kind: Hashable, Sendable {
        let user: Int
        /// Whether its answer goes into the shared row.
        let isShared: Bool
    }

    let kind: Kind
    let start: ModelStep
    let content: ModelContent
}

/// How often each can still happen.
struct ResidencyBudget: Hashable, Sendable {
    var fetches: UInt8 = 0
    var moves: UInt8 = 0
    var puts: UInt8 = 0
    var pins: UInt8 = 0
    var forgets: UInt8 = 0
    var evictions: UInt8 = 0
    var demotions: UInt8 = 0
    var garbage: UInt8 = 0
    var copies: UInt8 = 0
    var kills: UInt8 = 0
    /// Each may take the last commits of `cache.db` with it.
    var powerCuts: UInt8 = 0
    var losses: UInt8 = 0
    var cacheFails: UInt8 = 0
    var stateFails: UInt8 = 0
    var reads: UInt8 = 0
}
