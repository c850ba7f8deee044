import LarderStrategy

/// Every event in every state: what is answered, and where it leads.
///
/// Written out by hand from the contract, not computed from the machine.
struct FetchRow: Sendable {
    let place: FetchPlace
    let event: FetchEvent
    let reaction: FetchReaction
    let next: FetchPlace

    init(
        _ place: FetchPlace,
        _ event: FetchEvent,
        _ reaction: FetchReaction,
        _ next: FetchPlace
    ) {
        self.place = place
        self.event = event
        self.reaction = reaction
        self.next = next
    }

    static let all =
        idle + racingHeldBack + racing + holding + awaitingNetworkShown + awaitingNetworkEmpty
        + awaitingCache + awaitingCacheFailed + ended
}

extension FetchRow {
    private static let idle: [FetchRow] = [
        FetchRow(.idle, .cacheHit, .cache(.nothing), .idle),
        FetchRow(.idle, .cacheMiss, .cache(.nothing), .idle),
        FetchRow(.idle, .cacheTombstone, .cache(.nothing), .idle),
        FetchRow(.idle, .networkSame, .network(.nothing), .idle),
        FetchRow(.idle, .networkOther, .network(.nothing), .idle),
        FetchRow(.idle, .networkDeleted, .network(.nothing), .idle),
        FetchRow(.idle, .networkFailed, .network(.nothing), .idle),
        FetchRow(.idle, .networkWaitElapsed, .wait(.nothing), .idle),
        FetchRow(.idle, .deadlineElapsed, .deadline(.nothing), .idle),
        FetchRow(.idle, .drainBegan, .drain(.refuse), .ended),
        FetchRow(.idle, .clientHungUp, .none, .ended),
    ]

    private static let racingHeldBack: [FetchRow] = [
        FetchRow(.racingHeldBack, .cacheHit, .cache(.nothing), .holding),
        FetchRow(.racingHeldBack, .cacheMiss, .cache(.nothing), .awaitingNetworkEmpty),
        FetchRow(.racingHeldBack, .cacheTombstone, .cache(.nothing), .awaitingNetworkEmpty),
        FetchRow(.racingHeldBack, .networkSame, .network(.showAndEnd), .ended),
        FetchRow(.racingHeldBack, .networkOther, .network(.showAndEnd), .ended),
        FetchRow(.racingHeldBack, .networkDeleted, .network(.refuseAsDeleted), .ended),
        FetchRow(.racingHeldBack, .networkFailed, .network(.nothing), .awaitingCacheFailed),
        FetchRow(.racingHeldBack, .networkWaitElapsed, .wait(.nothing), .racing),
        FetchRow(.racingHeldBack, .deadlineElapsed, .deadline(.refuse(.timeout)), .ended),
        FetchRow(.racingHeldBack, .drainBegan, .drain(.refuse), .ended),
        FetchRow(.racingHeldBack, .clientHungUp, .none, .ended),
    ]

    private static let racing: [FetchRow] = [
        FetchRow(.racing, .cacheHit, .cache(.show), .awaitingNetworkShown),
        FetchRow(.racing, .cacheMiss, .cache(.nothing), .awaitingNetworkEmpty),
        FetchRow(.racing, .cacheTombstone, .cache(.nothing), .awaitingNetworkEmpty),
        FetchRow(.racing, .networkSame, .network(.showAndEnd), .ended),
        FetchRow(.racing, .networkOther, .network(.showAndEnd), .ended),
        FetchRow(.racing, .networkDeleted, .network(.refuseAsDeleted), .ended),
        FetchRow(.racing, .networkFailed, .network(.nothing), .awaitingCacheFailed),
        FetchRow(.racing, .networkWaitElapsed, .wait(.nothing), .racing),
        FetchRow(.racing, .deadlineElapsed, .deadline(.refuse(.timeout)), .ended),
        FetchRow(.racing, .drainBegan, .drain(.refuse), .ended),
        FetchRow(.racing, .clientHungUp, .none, .ended),
    ]

    private static let holding: [FetchRow] = [
        FetchRow(.holding, .cacheHit, .cache(.nothing), .holding),
        FetchRow(.holding, .cacheMiss, .cache(.nothing), .holding),
        FetchRow(.holding, .cacheTombstone, .cache(.nothing), .holding),
        FetchRow(.holding, .networkSame, .network(.showAndEnd), .ended),
        FetchRow(.holding, .networkOther, .network(.showAndEnd), .ended),
        FetchRow(.holding, .networkDeleted, .network(.refuseAsDeleted), .ended),
        FetchRow(.holding, .networkFailed, .network(.showCachedAndFail(.network)), .ended),
        FetchRow(.holding, .networkWaitElapsed, .wait(.showCached), .awaitingNetworkShown),
        FetchRow(.holding, .deadlineElapsed, .deadline(.showCachedAndFail(.timeout)), .ended),
        FetchRow(.holding, .drainBegan, .drain(.showCachedAndEnd), .ended),
        FetchRow(.holding, .clientHungUp, .none, .ended),
    ]

    private static let awaitingNetworkShown: [FetchRow] = [
        FetchRow(.awaitingNetworkShown, .cacheHit, .cache(.nothing), .awaitingNetworkShown),
        FetchRow(.awaitingNetworkShown, .cacheMiss, .cache(.nothing), .awaitingNetworkShown),
        FetchRow(.awaitingNetworkShown, .cacheTombstone, .cache(.nothing), .awaitingNetworkShown),
        FetchRow(.awaitingNetworkShown, .networkSame, .network(.unchangedAndEnd), .ended),
        FetchRow(.awaitingNetworkShown, .networkOther, .network(.showAndEnd), .ended),
        FetchRow(.awaitingNetworkShown, .networkDeleted, .network(.deletedAndEnd), .ended),
        FetchRow(.awaitingNetworkShown, .networkFailed, .network(.failAndEnd(.network)), .ended),
        FetchRow(
            .awaitingNetworkShown,
            .networkWaitElapsed,
            .wait(.nothing),
            .awaitingNetworkShown
        ),
        FetchRow(.awaitingNetworkShown, .deadlineElapsed, .deadline(.failAndEnd(.timeout)), .ended),
        FetchRow(.awaitingNetworkShown, .drainBegan, .drain(.end), .ended),
        FetchRow(.awaitingNetworkShown, .clientHungUp, .none, .ended),
    ]

    private static let awaitingNetworkEmpty: [FetchRow] = [
        FetchRow(.awaitingNetworkEmpty, .cacheHit, .cache(.nothing), .awaitingNetworkEmpty),
        FetchRow(.awaitingNetworkEmpty, .cacheMiss, .cache(.nothing), .awaitingNetworkEmpty),
        FetchRow(.awaitingNetworkEmpty, .cacheTombstone, .cache(.nothing), .awaitingNetworkEmpty),
        FetchRow(.awaitingNetworkEmpty, .networkSame, .network(.showAndEnd), .ended),
        FetchRow(.awaitingNetworkEmpty, .networkOther, .network(.showAndEnd), .ended),
        FetchRow(.awaitingNetworkEmpty, .networkDeleted, .network(.refuseAsDeleted), .ended),
        FetchRow(.awaitingNetworkEmpty, .networkFailed, .network(.refuse(.network)), .ended),
        FetchRow(
            .awaitingNetworkEmpty,
            .networkWaitElapsed,
            .wait(.nothing),
            .awaitingNetworkEmpty
        ),
        FetchRow(.awaitingNetworkEmpty, .deadlineElapsed, .deadline(.refuse(.timeout)), .ended),
        FetchRow(.awaitingNetworkEmpty, .drainBegan, .drain(.refuse), .ended),
        FetchRow(.awaitingNetworkEmpty, .clientHungUp, .none, .ended),
    ]

    private static let awaitingCache: [FetchRow] = [
        FetchRow(.awaitingCache, .cacheHit, .cache(.showAndEnd), .ended),
        FetchRow(.awaitingCache, .cacheMiss, .cache(.refuseAsMiss), .ended),
        FetchRow(.awaitingCache, .cacheTombstone, .cache(.refuseAsDeleted), .ended),
        FetchRow(.awaitingCache, .networkSame, .network(.nothing), .awaitingCache),
        FetchRow(.awaitingCache, .networkOther, .network(.nothing), .awaitingCache),
        FetchRow(.awaitingCache, .networkDeleted, .network(.nothing), .awaitingCache),
        FetchRow(.awaitingCache, .networkFailed, .network(.nothing), .awaitingCache),
        FetchRow(.awaitingCache, .networkWaitElapsed, .wait(.nothing), .awaitingCache),
        FetchRow(.awaitingCache, .deadlineElapsed, .deadline(.refuse(.timeout)), .ended),
        FetchRow(.awaitingCache, .drainBegan, .drain(.refuse), .ended),
        FetchRow(.awaitingCache, .clientHungUp, .none, .ended),
    ]

    private static let awaitingCacheFailed: [FetchRow] = [
        FetchRow(.awaitingCacheFailed, .cacheHit, .cache(.showAndFail(.network)), .ended),
        FetchRow(.awaitingCacheFailed, .cacheMiss, .cache(.refuse(.network)), .ended),
        FetchRow(.awaitingCacheFailed, .cacheTombstone, .cache(.refuse(.network)), .ended),
        FetchRow(.awaitingCacheFailed, .networkSame, .network(.nothing), .awaitingCacheFailed),
        FetchRow(.awaitingCacheFailed, .networkOther, .network(.nothing), .awaitingCacheFailed),
        FetchRow(.awaitingCacheFailed, .networkDeleted, .network(.nothing), .awaitingCacheFailed),
        FetchRow(.awaitingCacheFailed, .networkFailed, .network(.nothing), .awaitingCacheFailed),
        FetchRow(.awaitingCacheFailed, .networkWaitElapsed, .wait(.nothing), .awaitingCacheFailed),
        FetchRow(.awaitingCacheFailed, .deadlineElapsed, .deadline(.refuse(.network)), .ended),
        FetchRow(.awaitingCacheFailed, .drainBegan, .drain(.refuse), .ended),
        FetchRow(.awaitingCacheFailed, .clientHungUp, .none, .ended),
    ]

    private static let ended: [FetchRow] = [
        FetchRow(.ended, .cacheHit, .cache(.nothing), .ended),
        FetchRow(.ended, .cacheMiss, .cache(.nothing), .ended),
        FetchRow(.ended, .cacheTombstone, .cache(.nothing), .ended),
        FetchRow(.ended, .networkSame, .network(.nothing), .ended),
        FetchRow(.ended, .networkOther, .network(.nothing), .ended),
        FetchRow(.ended, .networkDeleted, .network(.nothing), .ended),
        FetchRow(.ended, .networkFailed, .network(.nothing), .ended),
        FetchRow(.ended, .networkWaitElapsed, .wait(.nothing), .ended),
        FetchRow(.ended, .deadlineElapsed, .deadline(.nothing), .ended),
        FetchRow(.ended, .drainBegan, .drain(.nothing), .ended),
        FetchRow(.ended, .clientHungUp, .none, .ended),
    ]
}
