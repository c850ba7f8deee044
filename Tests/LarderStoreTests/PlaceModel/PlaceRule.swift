/// The rules that `PlaceState` goes by, in parts that can each be taken out.
enum PlaceRule: UInt8, CaseIterable {
    // The order of a commit.
    /// `state.db` is committed before `cache.db`.
    case stateBeforeCache
    /// The overlay is set before `cache.db` is committed.
    case overlayBeforeCache
    /// The number is published after both commits.
    case publishedLast
    // 1
    /// A settle moves `written`, also if no byte changed.
    case writtenMovesWithoutAByte
    /// A settle puts the row under its number, a refused one too.
    case settleWritesWhateverTheOutcome
    // 2
    /// A reader takes its number before it opens its transaction.
    case numberBeforeTransaction
    /// A row that was written later raises it.
    case rowRaisesNumber
    /// The overlay is read after the rows.
    case overlayAfterRow
    /// A change shows to numbers from its accept's on only.
    case showsFromItsAccept
    /// The overlay keeps a settled change while a reader has a smaller number.
    case overlayKeepsTheSettled
    /// It also keeps it until the settle is published, for the readers to come.
    case keptUntilPublished
    /// A reader is registered with its number in the step in which it reads it.
    case registeredWithItsNumber
    /// It is so before it opens its transaction.
    case registeredBeforeTransaction
    /// A confirmed change shows on no miss.
    case confirmedShowsOnNoMiss
    /// All rows of a view are read first, and the overlay at their one number.
    case oneNumberForAllRows
    /// A reader's number never goes back, nor with a transaction that it ends.
    case numberNeverGoesBack
    // 3
    /// An answer that set out before a confirmed write does not overwrite it (P-06).
    case fence
    /// The fence is asked in the writer.
    case fenceInTheWriter
    /// It knows the settles of its own group.
    case fenceOfTheSameGroup
    // 4
    /// No frame of a failed sync counts once somebody was told.
    case failedSyncLeavesNothing
    // 5
    /// A command that wrote `state.db` is done, though `cache.db` failed.
    case writtenStateIsDone
    /// One that wrote `cache.db` alone is not.
    case failedCacheIsRunAgain
    /// It is if a later one of its group saved what it wrote.
    case savedByALaterIsDone
    /// The number is published though `cache.db` failed.
    case publishedAllTheSame
    /// The overlay says from which `written` on a row counts.
    case overlayMarks
    /// It says so while a reader can hold an older row.
    case marksLastForReaders
    /// The next group puts the rows again.
    case putAgainByTheNext
    /// Putting again takes a number, so that readers renew and the mark can end.
    case putAgainTakesANumber
    /// The change log of `state.db` tells of each row that is saved.
    case savedIsLogged
    // 6
    /// A miss of a claimed id takes what is saved.
    case missAsksSaved
    /// What is saved and newer than the reader's number is read anew, the whole view.
    case newerSavedIsReadAnew
    /// So is what has no claim any more.
    case noClaimIsReadAnew
    /// A reader stays registered until it has its view.
    case registeredUntilItsView
    /// The overlay keeps a claim that went while a reader has a smaller number.
    case goneClaimIsKeptForReaders
    // 7
    /// At the start, saved rows that are newer are put again.
    case putAgainAtStart
    /// What is noted as synced was reached by a checkpoint, and is below every mark.
    case syncedStaysBelowFailed
    /// It is noted of one generation.
    case syncedIsOfAGeneration
    // 8
    /// A claim goes once a checkpoint has synced its row.
    case claimWaitsForCheckpoint
    /// A checkpoint that a reader held up synced what it reached only.
    case onlyWhatACheckpointReached
    /// A claimed row is not evicted.
    case claimedIsNotEvicted
    /// A claim stays while it has any reason.
    case claimLastsForEveryReason
    // 9
    /// A head goes with its claim.
    case headGoesWithItsClaim
    /// One that a crash left behind goes at the start.
    case headWithoutClaimGoesAtStart
    // 10
    /// `since` between what is released and what is given waits.
    case sinceWaits
    // 11
    /// What is above the published number is waited for: needed for one client on two loops.
    case shownIsPublished
    // What the commands write.
    /// An accept saves the base of its targets.
    case acceptSavesBase
    /// News of a claimed row is saved.
    case newsIsSaved
    // A shared row.
    /// A confirmed change goes on showing.
    case confirmedStaysOnShared
    /// It ends with an answer that set out after the settle, not with another.
    case endsWithAnswerThatSetOutAfter
    /// It does so over restarts.
    case confirmedOutlivesRestart
    /// Its end without an answer puts the row under a number.
    case endingIsAStep
    /// Its user alone sees it.
    case ownUserAlone
    /// A settle writes nothing of it into the row.
    case sharedBaseStays
}

/// Which rules hold.
struct PlaceRules {
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
        case .overlayBeforeCache, .publishedLast, .writtenMovesWithoutAByte,
            .settleWritesWhateverTheOutcome, .numberBeforeTransaction, .rowRaisesNumber,
            .overlayAfterRow, .overlayKeepsTheSettled, .keptUntilPublished,
            .registeredBeforeTransaction:
            .one
        case .showsFromItsAccept: .twoModifiers
        case .confirmedShowsOnNoMiss: .sharedUnknown
        case .oneNumberForAllRows: .twoRows
        case .numberNeverGoesBack: .halfKnown
        case .fence, .fenceInTheWriter: .late
        case .fenceOfTheSameGroup: .fenced
        case .failedSyncLeavesNothing: .failingState
        case .stateBeforeCache, .overlayMarks, .marksLastForReaders, .putAgainByTheNext,
            .putAgainTakesANumber, .missAsksSaved, .newerSavedIsReadAnew:
            .failingCache
        case .writtenStateIsDone, .failedCacheIsRunAgain, .savedByALaterIsDone,
            .publishedAllTheSame:
            .failingGroups
        case .savedIsLogged, .sinceWaits: .watched
        case .noClaimIsReadAnew, .goneClaimIsKeptForReaders: .failingEviction
        case .registeredWithItsNumber, .registeredUntilItsView: .headBesideRow
        case .putAgainAtStart, .claimWaitsForCheckpoint: .crash
        case .syncedStaysBelowFailed: .failingCrash
        case .syncedIsOfAGeneration: .lossOfPins
        case .onlyWhatACheckpointReached, .claimedIsNotEvicted, .newsIsSaved: .pins
        case .claimLastsForEveryReason: .unknown
        case .headGoesWithItsClaim, .headWithoutClaimGoesAtStart: .heads
        case .shownIsPublished: .oneClient
        case .acceptSavesBase: .lossOfRows
        case .confirmedStaysOnShared, .endsWithAnswerThatSetOutAfter, .endingIsAStep,
            .sharedBaseStays:
            .shared
        case .confirmedOutlivesRestart: .sharedCrash
        case .ownUserAlone: .sharedByTwo
        }
    }
}
