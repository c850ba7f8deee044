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
        idle + racingHolding + racing + racingFinishing
        + checking + checkingDown + holding + remembering + awaitingNetworkShown
        + awaitingNetworkEmpty + awaitingCache + awaitingCacheFailed + awaitingCacheBehind
        + following + followingNewer + ended
}
