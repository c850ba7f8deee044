/// The rules of the store that ``ResidencyState`` follows, in parts that can each be taken out.
enum ResidencyRule: UInt8, CaseIterable {
    // A group.
    /// The writer commits `state.db` before `cache.db`.
    case stateBeforeCache
    /// The writer publishes a group after both commits.
    case publishedAfterCommits
    /// The writer publishes the numbers of both files in one step.
    case publishedTogether
    /// The index has a row before the commit that brings it into `state.db`.
    case indexedBeforeCommit
    /// The index has a row until the commit that deletes it from `state.db`.
    case indexedUntilDeleted
    /// A failed commit of `state.db` takes the group's rows out of the index.
    case failureUndoesIndex
    /// No frame of a failed commit of `state.db` counts after a crash.
    case failedSyncLeavesNothing
    /// The part of a group in `state.db` is done although `cache.db` failed.
    case savedIsDone
    /// The part in `cache.db` runs again.
    case restRunsAgain
    /// A command that has parts in both files runs again, too.
    case bothPartsRunAgain
    /// A row that the open group has changed in `cache.db` is promoted in a later group.
    case changedIsPromotedLater
    /// An answer that `cache.db` cannot store leaves a marker in `state.db`.
    case unstoredLeavesMarker
    /// A refused command leaves no row in the index.
    case refusedLeavesNoTrace
    // Reading.
    /// A reader asks the index before it reads the published numbers.
    case indexBeforeNumber
    /// A kept transaction is not older than the published number.
    case keptIsNotOlder
    /// A reader waits for the publication of the commit that it has read.
    case waitsForPublication
    /// A row that is not there is read from both files.
    case missReadsBoth
    /// Transactions of both files have the published numbers.
    case readsOneMoment
    /// The reader of several rows asks `state.db` first for each row.
    case stateFirst
    /// A read of several rows in `cache.db` alone starts over if rows were promoted since.
    case promotedStartsOver
    // Cached responses.
    /// The reader takes the row version before it asks the index.
    case versionBeforeIndex
    /// The reader keeps nothing if the version has moved.
    case movedIsNotKept
    /// The writer raises versions before the commit.
    case raisedBeforeCommit
    /// The writer raises versions again after it has published.
    case raisedAfterPublication
    /// A reader that took a version between the two keeps nothing.
    case changingIsNotKept
    // Promotion.
    /// A promotion copies the row from `cache.db`.
    case promotionCopies
    /// A value of a durable row is written to `state.db` alone.
    case durableIsWrittenToState
    /// All variants of a URL move together.
    case variantsMoveTogether
    /// A normalized answer takes its entities along.
    case entitiesMoveWithAnswers
    /// A new reference of a durable answer promotes its entity.
    case newReferencePromotes
    /// A reference from a durable answer is a reason.
    case referencesAreReasons
    /// A new reason for a row that is still in `state.db` promotes what it refers to.
    case reasonPromotesReferences
    /// The group that names the reason walks all references, also if some were promoted ahead.
    case closureIsWalkedAgain
    /// Chunks that were copied ahead count only for the body that the row has.
    case bodyIsCompared
    // Demotion.
    /// A row leaves `state.db` by demotion only.
    case leavesByDemotionOnly
    /// The demotion of a marker deletes the row in `cache.db`.
    case markerClearsCache
    /// A demotion commits the copy before it deletes the row.
    case copiedBeforeDeleted
    /// A demotion publishes the copy, also if the deletion fails.
    case copyIsPublished
    /// A demotion syncs the copy.
    case demotionIsSynced
    /// A demotion lets no other command in between its commits.
    case demotionIsAlone
    /// Eviction asks the index where the row lives.
    case evictionAsksIndex
    /// The removal of garbage asks again.
    case garbageIsCheckedAgain
    /// At start all rows of `state.db` are durable.
    case stateWinsAtStart
    /// Answers whose requests were in flight when `cache.db` was replaced are late.
    case lossLeavesFence
    /// A new `cache.db` continues the group numbers.
    case numbersGoOn
    // Modifiers.
    /// A settlement raises the revision.
    case settlementRaises
    /// A late answer is dropped.
    case lateIsDropped
    /// A confirmed modifier of a shared row shows until an answer has replaced the row.
    case acceptedShowsOn
    /// The commit of that answer settles the modifier.
    case answerSettlesAccepted
    /// A modifier is a reason for the shared row.
    case modifierHoldsShared
    /// A modifier is a reason for its user's own row.
    case modifierHoldsOwn
    /// A pin is a reason for the user's own row.
    case pinHoldsOwn
    /// A modifier shows to its user only.
    case modifierShowsToItsUser
    // An own row in front of a shared one.
    /// An own row hides the shared row from its user, also after it has gone.
    case ownRowHidesShared
    /// The mark of that is in the file of the shared row.
    case markIsInFileOfShared
    /// A group that has changed the mark has changed the shared row.
    case markIsPartOfRow
    /// The mark moves with the shared row.
    case marksMove
    /// A shared row that is stored under an own one is marked, too.
    case newSharedRowIsHidden
    /// The demotion of an own row writes the mark again.
    case ownRowHidesAgain
    /// The mark compares when requests started, which no settlement changes.
    case saidIsNotRaised
    /// An answer is late by the row that its user sees.
    case lateIsJudgedByVisible
    /// A removed row leaves a fence for answers whose requests started before.
    case removalLeavesFence
}

/// Which rules hold.
struct ResidencyRules: Sendable {
    private var out: UInt64 = 0

    static let all = Self()

    static func without(_ rules: ResidencyRule...) -> Self {
        var result = Self()
        for rule in rules { result.out |= 1 << UInt64(rule.rawValue) }
        return result
    }

    func holds(_ rule: ResidencyRule) -> Bool { out & (1 << UInt64(rule.rawValue)) == 0 }
}
