/// The rules that ``PlaceState`` goes by, in parts that can each be taken out.
enum PlaceRule: UInt8, CaseIterable {
    // A group.
    /// `state.db` is committed before `cache.db`.
    case stateBeforeCache
    /// The number by which readers renew moves before memory says to read from `cache.db`.
    case publishedBeforeMemory
    /// What ends in memory ends after the commit of `cache.db`.
    case memoryLast
    /// What is claimed and targeted anew is so in memory before the commit of `state.db`.
    case memoryClaimsFirst
    /// What a group changed in memory goes back with it.
    case failureIsUndone
    /// What used `state.db` is done, though `cache.db` failed.
    case savedIsDone
    /// What did not is not.
    case failedCacheRunsAgain
    /// What it was to show is behind.
    case failureIsBehind
    /// It is so before anything ends in memory.
    case behindBeforeMemory
    // Reading.
    /// What is targeted is read from `state.db`.
    case stateOfTargetsFirst
    /// What `cache.db` has not, or as a head only, is read from `state.db` if it is claimed.
    case missAsksState
    /// What has met a place that changed is read again.
    case movedIsReadAgain
    /// Several ids are read in one transaction of `cache.db`.
    case oneTransaction
    /// One that is kept is renewed once something was published.
    case transactionIsRenewed
    /// The number that says so is read before the transaction is opened.
    case numberBeforeTransaction
    // What is said.
    /// An accept saves the base of its targets.
    case acceptSavesBase
    /// A settlement has its targets say so from its step on, whatever its outcome.
    case settlingRaises
    /// News of a claimed row is saved.
    case newsIsSaved
    /// It is shown, too.
    case newsIsShown
    /// An answer that set out before a confirmed write does not overwrite it (P-06).
    case fence
    /// The fence is asked in the writer.
    case fenceInTheWriter
    /// What is claimed is not evicted.
    case claimedIsNotEvicted
    // What is behind.
    /// Everything claimed is behind at the start.
    case behindAtStart
    /// It is shown before it is behind no more.
    case behindIsShown
    // What is released.
    /// It is shown whole before it goes.
    case releasedIsShownWhole
    /// It goes once that is synced.
    case releasedIsSynced
    /// A checkpoint that a reader held up counts for nothing.
    case syncIsComplete
    /// It goes only if nothing claims it again.
    case goesOnlyUnclaimed
    /// What is behind does not go.
    case behindStays
    // Copies.
    /// An answer for the shared row goes into the copy.
    case answerIntoCopies
    /// A copy stays until the shared row was said after it.
    case copyWaits
    /// The shared row is raised as the copy goes.
    case originalIsRaised
    // What the model has found.
    /// No frame of a commit of `state.db` that failed counts after a crash.
    case failedSyncLeavesNothing
    /// A place changes also when it comes to be read from `state.db`.
    case arrivalsMove
    /// A view is one read from its first look into memory on, and not from that for its row.
    case oneMoment
    /// What has looked into `state.db`, and a group was between its commits, is read again.
    case notBetweenCommits
    /// What is dropped has left `cache.db` before it leaves `state.db`.
    case dropClearsFirst
    /// What is released goes only as it was when it was synced.
    case goesOnlyAsSynced
    /// What a command wrote to `cache.db` alone is written again where that failed, also if it has a
    /// part in `state.db`.
    case unclaimedRunsAgain
}

/// Which rules hold.
struct PlaceRules: Sendable {
    private var out: UInt64 = 0

    static let all = Self()

    static func without(_ rules: PlaceRule...) -> Self {
        var result = Self()
        for rule in rules { result.out |= 1 << UInt64(rule.rawValue) }
        return result
    }

    func holds(_ rule: PlaceRule) -> Bool { out & (1 << UInt64(rule.rawValue)) == 0 }
}

extension PlaceRule {
    /// The world in which its absence shows.
    var shownIn: NamedWorld {
        switch self {
        case .publishedBeforeMemory, .memoryLast, .stateOfTargetsFirst, .movedIsReadAgain,
            .transactionIsRenewed, .numberBeforeTransaction, .acceptSavesBase, .settlingRaises,
            .newsIsSaved, .newsIsShown, .arrivalsMove:
            .one
        case .oneTransaction, .notBetweenCommits: .oneOfTwo
        case .memoryClaimsFirst: .pairs
        case .fence, .fenceInTheWriter: .late
        case .stateBeforeCache, .failureIsUndone, .failedSyncLeavesNothing: .failingState
        case .savedIsDone: .failingPairs
        case .failedCacheRunsAgain, .failureIsBehind, .behindBeforeMemory,
            .behindIsShown:
            .failingCache
        case .behindStays: .failingHeads
        case .claimedIsNotEvicted: .pins
        case .missAsksState, .releasedIsShownWhole: .heads
        case .behindAtStart, .releasedIsSynced, .syncIsComplete: .crash
        case .goesOnlyUnclaimed, .goesOnlyAsSynced: .release
        case .dropClearsFirst: .drops
        case .unclaimedRunsAgain: .failingShared
        case .answerIntoCopies, .copyWaits, .originalIsRaised: .shared
        case .oneMoment: .movingShared
        }
    }
}
