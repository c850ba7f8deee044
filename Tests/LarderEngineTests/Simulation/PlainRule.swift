/// Rules of the queue, in parts that can each be taken out of ``PlainQueue``.
///
/// Most rules say what happens. Without a rule about what must not happen, such as a write before
/// an earlier write of its lane, the judge would see less and not fail. ``keptBack`` and
/// ``keptApart`` are the rules of that kind, shown with a forged request.
enum PlainRule: CaseIterable {
    /// A revert computes the view again and restores no snapshot.
    case revertComputesAgain
    /// A new list starts from the empty form that the origin declares (case 1).
    case emptyFormShows
    /// A write on an unknown base says a part of the value (cases 1 and 6).
    case unknownStaysIncomplete
    /// Reads go on while writes wait (case 3).
    case readsGoOn
    /// The body of an answer becomes the base of its own target only (case 5).
    case answerIsOfItsTarget
    /// A confirmed write without a representation changes base (case 6).
    case confirmedChangesBase
    /// An addition does not change base if a read has changed it since the send step (case 6).
    case additionCountsOnce
    /// A later write of the target confirms the one that was answered 202 (case 7).
    case acceptedGoesBeneath
    /// A read that shows a write that was answered 202 confirms it (case 7).
    case readConfirmsAccepted
    /// Time confirms a write that was answered 202 (case 7).
    case acceptedIsLimited
    /// A read that started before a 2xx changes no member that the write touched (case 8).
    case overtakenReadIsLate
    /// An attempt of which no byte left does not count (case 9).
    case unsentIsNotCounted
    /// A write that was not applied for now is sent again (case 10).
    case notNowIsRepeated
    /// A write fails after as many attempts as its program allows (case 10).
    case attemptsAreLimited
    /// A write that must not be repeated is unknown after server errors (case 10).
    case serverErrorIsUnclear
    /// Dependants of a failed write fail with it (case 13).
    case dependantsFail
    /// A write waits for earlier writes of its lanes (P-03, case 14).
    case earlierGoesFirst
    /// A write of a paused lane waits (case 14).
    case pausedLaneWaits
    /// A write waits until those are confirmed that it depends on (case 13).
    case dependantWaits
    /// A write that is held waits (case 18).
    case heldWaits
    /// A write is sent only while it waits.
    case waitingIsSent
    /// No write is joined over another write of its target (case 17).
    case joinedAreNeighbours
    /// A held write is joined to none (case 17).
    case heldIsSentAlone
    /// A write is joined to none if a write depends on it that is not in the group (case 17).
    case parentIsSentAlone
    /// Writes that are one request end together (case 17).
    case joinedEndTogether
    /// A group that was sent is sent again as it was (case 17).
    case sentGroupStays
    /// An attempt of which no byte left takes a group apart (case 17).
    case unsentGroupParts
    /// A write that has met another device's edit is joined to none (cases 17 and 19).
    case joinedAreCompared
    /// Another device's edit takes a group apart that is sent again (cases 17 and 19).
    case editPartsGroup
    /// Writes that cancel out are cancelled (case 17).
    case needlessIsCancelled
    /// A write that was perhaps applied is not cancelled (case 18).
    case appliedIsNotCancelled
    /// Dependants of a cancelled write are cancelled with it (case 18).
    case dependantsAreCancelled
    /// A write is not sent over another device's edit of the same (case 19).
    case othersAreCompared
    /// The doing of a user's own earlier write is not another device's edit (case 19).
    case ownIsNotOthers
    /// With `server` a write that meets such an edit fails (case 19).
    case serverMayWin
    /// With `client` a write is sent over such an edit (case 19).
    case clientMayWin
    /// Every attempt of a round has the same key (P-05, case 21).
    case keyStays
    /// The retry of a dead letter starts a round with another key (case 21).
    case retryStartsRound
    /// An attempt without a clear answer is repeated (case 22).
    case unclearIsRepeated
    /// A refused repeat says nothing about the first attempt (case 22).
    case refusedRepeatIsUnknown
    /// A write that is not repeatable waits for a person after an unclear attempt (case 22).
    case personDecides
    /// A repeat that is answered 412 is checked by a GET (case 22).
    case refusedRepeatIsChecked
    /// A write that was in flight when the daemon ended is unknown at the next start (case 22).
    case stoppedIsUnknown
    /// A new credential has what the last one kept waiting sent (case 23).
    case newCredentialWakes
    /// A refused credential refuses no write (case 23).
    case refusedCredentialWaits
    /// While a credential is in doubt, writes go on one at a time (case 23).
    case oneTriesCredential
    /// After three refusals in a row every write of the account waits (case 23).
    case threeRefusalsWait
    /// A portal did not process the write (case 25).
    case portalIsNoAnswer
    /// A write that has expired before its first attempt fails (case 27).
    case expiredIsNotSent
    /// The id of the server replaces a temporary one (case 16).
    case temporaryIDIsReplaced
    /// The temporary name of an entity leads to it (case 16).
    case temporaryNameStays
    /// An object in a list is its entity, which the write targets too (case 28).
    case objectIsEntity
    /// The edits of an entity show in the list (case 28).
    case editsShowInLists
    /// A deleted entity has no place in the list (case 28).
    case deletedLeavesLists
    /// An answer with the list says what its entities are (case 28).
    case answerUpdatesEntities
    /// A confirmed write of a shared row shows on (case 29).
    case answeredShows
    /// A later read of a shared row ends it (case 29).
    case readEndsAnswered

    /// Rules whose absence the first seeds show.
    static let shownSoon: [PlainRule] = [
        .revertComputesAgain, .readsGoOn, .answerIsOfItsTarget, .confirmedChangesBase,
        .acceptedGoesBeneath, .unsentIsNotCounted, .dependantsFail, .unclearIsRepeated,
        .temporaryIDIsReplaced, .temporaryNameStays,
        .objectIsEntity, .editsShowInLists, .deletedLeavesLists, .answerUpdatesEntities,
    ]

    /// Whether lives with a list show its absence.
    var isOfLists: Bool {
        switch self {
        case .temporaryIDIsReplaced, .temporaryNameStays, .objectIsEntity, .editsShowInLists,
            .deletedLeavesLists, .answerUpdatesEntities:
            true
        case _: false
        }
    }

    /// Rules without which the judge passes a request of writes that must not be joined
    /// (``ForgedRequest``).
    static let keptApart: [PlainRule] = [
        .joinedAreNeighbours, .heldIsSentAlone, .parentIsSentAlone, .joinedAreCompared,
    ]

    /// Rules without which the judge passes a request that must not be sent yet, or never.
    static let keptBack: [PlainRule] = [
        .earlierGoesFirst, .pausedLaneWaits, .dependantWaits, .heldWaits, .waitingIsSent, .keyStays,
        .personDecides, .oneTriesCredential, .threeRefusalsWait, .expiredIsNotSent,
    ]

    /// Rules whose absence a life of their own shows (``EngineSimulation/live(showing:)``).
    static var shownAlone: [PlainRule] {
        let others = shownSoon + keptApart + keptBack
        return allCases.filter { !others.contains($0) }
    }
}
