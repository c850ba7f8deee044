/// A world by its name.
struct NamedResidencyWorld: Sendable, CustomStringConvertible {
    let name: String
    let world: ResidencyWorld

    init(
        _ name: String,
        _ budget: ResidencyBudget,
        _ set: (inout ResidencyWorld) -> Void = { _ in }
    ) {
        var world = ResidencyWorld()
        world.budget = budget
        set(&world)
        (self.name, self.world) = (name, world)
    }

    func without(_ rule: ResidencyRule) -> ResidencyWorld {
        var world = world
        world.rules = .without(rule)
        return world
    }

    var description: String { name }
}

extension NamedResidencyWorld {
    static let all = [
        oneRow, unknownBase, keptTransactions, twoRoutes, twoRows, groupsOfTwo,
        failingState, failingCache, failingPairs, kills, powerCuts, replaced, responses,
        movingResponses, unstored,
        lateAnswers, garbage, failingDemotion, variants, entities, newReferences, pinnedAgain,
        ahead, largeBody, full, changeLog, shared, sharedByTwo, sharedLate, inFront,
        inFrontLate, inFrontLost, inFrontOfTargeted, inFrontTarget, inFrontFailing,
        inFrontReplaced, inFrontPinned, inFrontDemoted,
    ]

    private static let get = ResidencyQuery.get(0, 0)

    static let oneRow = Self("one row", .init(puts: 1, demotions: 1, reads: 2)) {
        ($0.targets.0, $0.reads) = (.first, [get])
    }
    static let unknownBase = Self("an unknown base", .init(puts: 1, demotions: 1, reads: 2)) {
        ($0.targets.0, $0.reads, $0.known) = (.first, [get], [])
    }
    static let keptTransactions = Self(
        "kept transactions",
        .init(puts: 1, pins: 1, demotions: 1, reads: 2)
    ) {
        ($0.reads, $0.keeps) = ([get], true)
    }
    static let twoRoutes = Self("one row by two routes", .init(demotions: 1, reads: 2)) {
        ($0.targets.0, $0.reads, $0.ids) = (.first, [get, .list], 2)
    }
    static let twoRows = Self("two rows", .init(puts: 1, pins: 1, demotions: 1, reads: 1)) {
        ($0.ids, $0.reads, $0.puts) = (2, [.list], [.both])
    }
    static let groupsOfTwo = Self("groups of two", .init(puts: 1, pins: 1, reads: 1)) {
        ($0.ids, $0.reads, $0.puts) = (2, [.list, get], [.both])
        ($0.commandsMax, $0.pinned) = (2, .second)
    }
    static let failingState = Self(
        "state.db fails",
        .init(puts: 1, kills: 1, stateFails: 1, reads: 1)
    ) {
        ($0.targets.0, $0.reads) = (.first, [get])
    }
    static let failingCache = Self(
        "cache.db fails",
        .init(puts: 1, pins: 1, cacheFails: 1, reads: 1)
    ) {
        ($0.ids, $0.reads, $0.puts) = (2, [.list], [.both])
        $0.commandsMax = 2
    }
    static let failingPairs = Self(
        "cache.db fails, and the process is killed",
        .init(puts: 1, pins: 1, kills: 1, cacheFails: 1)
    ) {
        ($0.ids, $0.puts, $0.commandsMax) = (2, [.both], 2)
        ($0.targets.0, $0.pinned) = (.second, [])
    }
    static let kills = Self("kills", .init(puts: 1, pins: 1, forgets: 1, demotions: 1, kills: 1)) {
        $0.reads = [get]
    }
    static let powerCuts = Self("power cuts", .init(puts: 2, pins: 1, demotions: 1, powerCuts: 1))
    static let replaced = Self(
        "cache.db is replaced under kept transactions",
        .init(puts: 2, losses: 1, reads: 3)
    ) {
        ($0.reads, $0.keeps) = ([get], true)
    }
    static let responses = Self("cached responses of two loops", .init(puts: 1, reads: 3)) {
        ($0.reads, $0.readers, $0.hasResponses) = ([get], 2, true)
        $0.keeps = true
    }
    static let movingResponses = Self(
        "cached responses of a row that is promoted",
        .init(puts: 1, pins: 1, demotions: 1, reads: 2)
    ) {
        ($0.reads, $0.hasResponses) = ([get], true)
    }
    static let lateAnswers = Self(
        "late answers",
        .init(fetches: 2, moves: 1, evictions: 1, demotions: 1)
    ) {
        $0.targets.0 = .first
        $0.fetches = [.init(user: 0, isShared: false)]
    }
    static let unstored = Self(
        "an answer that cannot be stored",
        .init(fetches: 1, moves: 1, demotions: 1, kills: 1, cacheFails: 2, reads: 1)
    ) {
        ($0.reads, $0.fetches) = ([get], [.init(user: 0, isShared: false)])
    }
    static let garbage = Self(
        "garbage",
        .init(puts: 1, pins: 1, forgets: 1, evictions: 1, demotions: 1, garbage: 1)
    )
    static let failingDemotion = Self(
        "a demotion fails",
        .init(puts: 1, pins: 2, demotions: 2, kills: 1, cacheFails: 1, stateFails: 1)
    ) {
        $0.reads = [get]
    }
    static let variants = Self(
        "variants of a URL",
        .init(puts: 1, pins: 1, demotions: 1, losses: 1)
    ) {
        ($0.ids, $0.isUnit, $0.reads) = (2, true, [.list])
        ($0.puts, $0.pins) = ([.first, .second], .both)
    }
    static let entities = Self(
        "an answer with an entity",
        .init(puts: 1, pins: 1, demotions: 2, losses: 1)
    ) {
        ($0.ids, $0.refersFrom, $0.reads) = (2, 1, [.list])
        $0.puts = [.both]
    }
    static let newReferences = Self(
        "an answer that refers to an entity later",
        .init(puts: 2, pins: 1, demotions: 2, losses: 1)
    ) {
        ($0.ids, $0.refersFrom) = (2, 2)
        ($0.puts, $0.commandsMax) = ([.first, .both], 2)
    }
    static let pinnedAgain = Self(
        "an answer that is pinned again",
        .init(puts: 1, pins: 1, demotions: 2, losses: 1)
    ) {
        ($0.ids, $0.refersFrom, $0.pinned) = (2, 1, .first)
        ($0.puts, $0.pinned) = ([.second], .both)
    }
    static let ahead = Self(
        "an entity is promoted ahead",
        .init(puts: 1, pins: 1, demotions: 2, copies: 1, losses: 1)
    ) {
        ($0.ids, $0.refersFrom, $0.puts) = (2, 1, [.both])
    }
    static let largeBody = Self(
        "a large body is copied ahead",
        .init(puts: 1, pins: 1, evictions: 1, demotions: 1, copies: 2, kills: 1)
    ) {
        $0.isLarge = true
    }
    static let full = Self("state.db is full", .init(puts: 1, pins: 1, demotions: 1)) {
        ($0.ids, $0.heldMax) = (2, 1)
        ($0.pins, $0.targets.0) = (.first, .second)
    }
    static let changeLog = Self(
        "the change log",
        .init(puts: 1, evictions: 1, demotions: 1, kills: 1, reads: 1)
    ) {
        ($0.ids, $0.hasLog, $0.puts) = (2, true, [.both])
        $0.pinned = .second
        $0.reads = [.log]
    }
    static let shared = Self("a shared row", .init(fetches: 1, demotions: 1, reads: 1)) {
        ($0.isShared, $0.targets.0, $0.known) = (true, .first, .first)
        $0.fetches = [.init(user: 0, isShared: true)]
        $0.reads = [get]
    }
    static let sharedByTwo = Self(
        "a shared row and two users",
        .init(fetches: 1, losses: 1, reads: 1)
    ) {
        ($0.isShared, $0.targets, $0.known) = (true, ([], .first), .first)
        $0.secondUser = 1
        $0.fetches = [.init(user: 1, isShared: true)]
        $0.reads = [get, .get(1, 0)]
    }
    static let sharedLate = Self(
        "late answers for a shared row",
        .init(fetches: 2, moves: 1, kills: 1)
    ) {
        ($0.isShared, $0.targets.0, $0.known) = (true, .first, .first)
        $0.fetches = [.init(user: 1, isShared: true)]
    }
    static let inFront = Self(
        "an own row in front of a shared one",
        .init(puts: 1, pins: 1, evictions: 1, reads: 1)
    ) {
        ($0.isShared, $0.known, $0.puts) = (true, .first, [.second])
        ($0.pins, $0.reads) = (.both, [get])
    }
    static let inFrontLate = Self(
        "late answers under an own row",
        .init(fetches: 2, moves: 1, evictions: 1)
    ) {
        ($0.isShared, $0.known) = (true, [])
        let own = ResidencyFetch.Kind(user: 0, isShared: false)
        $0.fetches = [own, .init(user: 0, isShared: true), .init(user: 1, isShared: true)]
    }
    static let inFrontLost = Self(
        "an own row in front of a durable shared one is lost",
        .init(puts: 2, pins: 1, forgets: 1, demotions: 1, losses: 1)
    ) {
        ($0.isShared, $0.known, $0.puts) = (true, .first, [.first, .second])
        $0.pins = .first
    }
    static let inFrontOfTargeted = Self(
        "an own row in front of a targeted shared one",
        .init(puts: 1, pins: 1, evictions: 1, demotions: 1, losses: 1)
    ) {
        ($0.isShared, $0.known, $0.puts) = (true, .first, [.second])
        ($0.targets.1, $0.secondUser) = (.first, 1)
        $0.pins = .second
    }
    static let inFrontTarget = Self(
        "a modifier of an own row in front of a shared one",
        .init(fetches: 1, evictions: 1, demotions: 1, losses: 1)
    ) {
        ($0.isShared, $0.targets.0) = (true, .first)
        let own = ResidencyFetch.Kind(user: 0, isShared: false)
        $0.fetches = [own, .init(user: 1, isShared: true)]
    }
    static let inFrontFailing = Self(
        "an own row in front of a shared one, and cache.db fails",
        .init(puts: 1, pins: 1, cacheFails: 1)
    ) {
        ($0.isShared, $0.known, $0.puts) = (true, .first, [.second])
        ($0.pins, $0.commandsMax) = (.both, 2)
    }
    static let inFrontReplaced = Self(
        "an own row is lost before a late answer",
        .init(fetches: 2, moves: 1, losses: 1)
    ) {
        ($0.isShared, $0.known) = (true, [])
        ($0.targets.1, $0.secondUser) = (.first, 1)
        let own = ResidencyFetch.Kind(user: 0, isShared: false)
        $0.fetches = [own, .init(user: 0, isShared: true)]
    }
    static let inFrontPinned = Self(
        "a pinned id with an own row in front of a shared one",
        .init(puts: 2, pins: 1, evictions: 1, demotions: 2, losses: 1)
    ) {
        ($0.isShared, $0.known, $0.puts) = (true, .first, [.first, .second])
        $0.pinsBoth = true
    }
    static let inFrontDemoted = Self(
        "a durable own row in front of a shared one",
        .init(puts: 2, evictions: 1, demotions: 1, kills: 1)
    ) {
        ($0.isShared, $0.known, $0.puts) = (true, .second, [.first, .second])
        $0.pinned = .second
    }
}

extension ResidencyRule {
    /// The world in which its absence shows.
    var shownIn: NamedResidencyWorld {
        switch self {
        case .settlementRaises, .waitsForPublication, .missReadsBoth: .oneRow
        case .readsOneMoment: .twoRoutes
        case .stateFirst, .promotedStartsOver, .publishedTogether, .indexedBeforeCommit: .twoRows
        case .indexBeforeNumber, .keptIsNotOlder: .keptTransactions
        case .numbersGoOn: .replaced
        case .raisedBeforeCommit, .raisedAfterPublication, .changingIsNotKept: .responses
        case .versionBeforeIndex, .movedIsNotKept: .movingResponses
        case .failedSyncLeavesNothing: .failingState
        case .publishedAfterCommits, .restRunsAgain, .bothPartsRunAgain, .changedIsPromotedLater:
            .failingCache
        case .stateBeforeCache, .savedIsDone: .failingPairs
        case .stateWinsAtStart: .kills
        case .copiedBeforeDeleted, .demotionIsSynced: .powerCuts
        case .copyIsPublished, .indexedUntilDeleted, .failureUndoesIndex: .failingDemotion
        case .leavesByDemotionOnly, .markerClearsCache, .garbageIsCheckedAgain, .demotionIsAlone,
            .promotionCopies, .durableIsWrittenToState:
            .garbage
        case .variantsMoveTogether: .variants
        case .entitiesMoveWithAnswers, .referencesAreReasons: .entities
        case .newReferencePromotes: .newReferences
        case .reasonPromotesReferences: .pinnedAgain
        case .closureIsWalkedAgain: .ahead
        case .bodyIsCompared: .largeBody
        case .refusedLeavesNoTrace: .full
        case .evictionAsksIndex: .changeLog
        case .lateIsDropped, .removalLeavesFence: .lateAnswers
        case .unstoredLeavesMarker: .unstored
        case .lossLeavesFence: .inFrontReplaced
        case .markIsPartOfRow: .inFrontFailing
        case .pinHoldsOwn: .inFrontPinned
        case .acceptedShowsOn, .answerSettlesAccepted: .shared
        case .modifierHoldsShared, .modifierShowsToItsUser: .sharedByTwo
        case .ownRowHidesShared: .inFront
        case .lateIsJudgedByVisible, .newSharedRowIsHidden: .inFrontLate
        case .markIsInFileOfShared, .marksMove: .inFrontLost
        case .saidIsNotRaised: .inFrontOfTargeted
        case .modifierHoldsOwn: .inFrontTarget
        case .ownRowHidesAgain: .inFrontDemoted
        }
    }
}
