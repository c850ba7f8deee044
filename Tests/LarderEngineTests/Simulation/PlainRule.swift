/// Rules of the queue, in parts that can each be taken out of ``PlainQueue``.
///
/// Each rule says what happens. Rules about what must not happen, such as a write before an earlier
/// write of its lane, are in ``PlainQueue/refusal(toSend:key:at:)``: without one of them the judge
/// would see less and not fail. ``keptApart`` are rules of that kind, shown with a forged request.
enum PlainRule: CaseIterable {
    /// A revert computes the view again and restores no snapshot.
    case revertComputesAgain
    /// Reads go on while writes wait (case 3).
    case readsGoOn
    /// The body of an answer becomes the base of its own target only (case 5).
    case answerIsOfItsTarget
    /// A confirmed write without a representation changes base (case 6).
    case confirmedChangesBase
    /// A later write of the target confirms the one that was answered 202 (case 7).
    case acceptedGoesBeneath
    /// A read that shows a write that was answered 202 confirms it (case 7).
    case readConfirmsAccepted
    /// A read that started before a 2xx changes no member that the write touched (case 8).
    case overtakenReadIsLate
    /// An attempt of which no byte left does not count (case 9).
    case unsentIsNotCounted
    /// Dependants of a failed write fail with it (case 13).
    case dependantsFail
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
    /// Writes that cancel out are cancelled (case 17).
    case needlessIsCancelled
    /// A write that was perhaps applied is not cancelled (case 18).
    case appliedIsNotCancelled
    /// A write is not sent over another device's edit of the same (case 19).
    case othersAreCompared
    /// The retry of a dead letter starts a round with another key (case 21).
    case retryStartsRound
    /// An attempt without a clear answer is repeated (case 22).
    case unclearIsRepeated
    /// A refused repeat says nothing about the first attempt (case 22).
    case refusedRepeatIsUnknown
    /// A new credential has what the last one kept waiting sent (case 23).
    case newCredentialWakes
    /// A refused credential refuses no write (case 23).
    case refusedCredentialWaits
    /// A portal did not process the write (case 25).
    case portalIsNoAnswer
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

    /// Rules without which the judge passes a request that no daemon may send (``ForgedRequest``).
    static let keptApart: [PlainRule] = [
        .joinedAreNeighbours, .heldIsSentAlone, .parentIsSentAlone,
    ]

    /// Rules whose absence a life of their own shows (``EngineSimulation/live(showing:)``).
    static var shownAlone: [PlainRule] {
        allCases.filter { !shownSoon.contains($0) && !keptApart.contains($0) }
    }
}
