package import LarderModel

/// One client's fetch: decides what the client is shown, in which order, and when it ends.
///
/// # Terms
///
/// - *shown*: a snapshot has been sent; its revision is what the client has seen.
/// - *held*: the cache has answered, but `network-first` keeps it back while its wait runs.
/// - *refused*: the fetch ends with a plain problem, as nothing has been sent yet.
///
/// # States
///
/// ```
///            started                cacheAnswered
///   idle ──────────────► racing ──────────────────► awaitingNetwork ──┐
///    │                     │  │ hit, held back            ▲           │ networkAnswered
///    │ started             │  └──────────► holding ───────┘           │ deadlineElapsed
///    │ (cache-only)        │ networkAnswered   networkWaitElapsed     │ drainBegan
///    │                     │ with a failure       │                   │
///    └───────────────► awaitingCache ──────────────┴───────────────►  ended
/// ```
///
/// From every state `clientHungUp` leads to `ended`, and a `ended` fetch does nothing more: a late
/// answer of the cache or the network changes nothing here. That a late network answer is stored
/// all the same is ``FlightMachine``'s affair, which does not know this client.
///
/// # Invariants (``checkInvariants()``)
///
/// 1. Nothing follows the end: once `ended`, no action but `nothing` is returned.
/// 2. Exactly one of a refusal and an `end` is returned, unless the client hung up.
/// 3. A refusal is returned only while nothing was shown.
/// 4. At most one snapshot from each source, and none from the cache after one from the network.
/// 5. `unchanged` is returned only for the revision that was shown.
///
/// `Failure` is whatever the shell tells a client about a failed network; it is only passed on.
package struct FetchMachine<Failure: Equatable & Sendable>: Equatable, Sendable {
    package enum State: Equatable, Sendable {
        case idle
        /// Cache and network were asked, neither has answered. `isHeldBack`: a hit waits.
        case racing(isHeldBack: Bool)
        /// The cache's answer is there and held back.
        case holding(Revision)
        /// The cache has said its part; what it showed, if it had something.
        case awaitingNetwork(shown: Revision?)
        /// The network was not asked, or has failed.
        case awaitingCache(failure: Failure?)
        case ended
    }

    package private(set) var state = State.idle
    /// What was returned so far, for the invariants.
    private(set) var said = Said()

    package init() {}

    struct Said: Equatable, Sendable {
        var cachedSnapshots = 0
        var networkSnapshots = 0
        var endings = 0
        var refusals = 0
        var unchangedRevision: Revision?
        var shownRevision: Revision?
        var wasHungUp = false
    }

    // MARK: Started

    /// The client has asked.
    ///
    /// With `isOriginDown` the last requests to the origin failed: nobody waits for it before the
    /// cache is shown, but it is asked all the same.
    package mutating func started(
        _ policy: FetchPolicy,
        networkWait: Duration,
        isOriginDown: Bool
    ) -> StartAction {
        precondition(state == .idle, "a fetch starts once")
        defer { checkInvariants() }
        switch policy {
        case .cacheOnly:
            state = .awaitingCache(failure: nil)
            return .askCache
        case .cacheThenNetwork:
            state = .racing(isHeldBack: false)
            return .askBoth(wait: nil)
        case .networkFirst:
            state = .racing(isHeldBack: !isOriginDown)
            return .askBoth(wait: isOriginDown ? nil : networkWait)
        }
    }

    // MARK: The cache answered

    /// What is cached was read, or is not there.
    package mutating func cacheAnswered(_ answer: CacheAnswer) -> CacheAction {
        defer { checkInvariants() }
        switch (state, answer) {
        case (.racing(isHeldBack: true), .hit(let revision)):
            state = .holding(revision)
            return .nothing
        case (.racing(isHeldBack: false), .hit(let revision)):
            state = .awaitingNetwork(shown: revision)
            noteCached(revision)
            return .show
        case (.racing, .miss), (.racing, .tombstone):
            state = .awaitingNetwork(shown: nil)
            return .nothing
        case (.awaitingCache(let failure), .hit(let revision)):
            noteCached(revision)
            noteEnd()
            return failure.map { .showAndFail($0) } ?? .showAndEnd
        case (.awaitingCache(let failure), .miss):
            noteRefusal()
            return failure.map { .refuse($0) } ?? .refuseAsMiss
        case (.awaitingCache(let failure), .tombstone):
            noteRefusal()
            return failure.map { .refuse($0) } ?? .refuseAsDeleted
        case (.holding, _), (.awaitingNetwork, _), (.ended, _), (.idle, _):
            return .nothing
        }
    }

    // MARK: The network answered

    /// The flight has landed, with the revision of what the store has written.
    package mutating func networkAnswered(_ answer: NetworkAnswer) -> NetworkAction {
        defer { checkInvariants() }
        switch (state, answer) {
        case (.racing, .failed(let failure)):
            state = .awaitingCache(failure: failure)
            return .nothing
        case (.awaitingNetwork(let shown?), .current(let revision)) where shown == revision:
            said.unchangedRevision = revision
            noteEnd()
            return .unchangedAndEnd
        case (.racing, .current), (.holding, .current), (.awaitingNetwork, .current):
            said.networkSnapshots += 1
            noteEnd()
            return .showAndEnd
        case (.awaitingNetwork(.some), .deleted):
            noteEnd()
            return .deletedAndEnd
        case (.racing, .deleted), (.holding, .deleted), (.awaitingNetwork(nil), .deleted):
            noteRefusal()
            return .refuseAsDeleted
        case (.awaitingNetwork(let shown), .failed(let failure)):
            return failed(failure, afterShowing: shown)
        case (.holding(let revision), .failed(let failure)):
            noteCached(revision)
            noteEnd()
            return .showCachedAndFail(failure)
        case (.awaitingCache, _), (.ended, _), (.idle, _):
            return .nothing
        }
    }

    private mutating func failed(_ failure: Failure, afterShowing shown: Revision?) -> NetworkAction
    {
        guard shown != nil else {
            noteRefusal()
            return .refuse(failure)
        }
        noteEnd()
        return .failAndEnd(failure)
    }

    // MARK: Time

    /// The time that `network-first` gives the network is over.
    ///
    /// The network may still follow.
    package mutating func networkWaitElapsed() -> WaitAction {
        defer { checkInvariants() }
        switch state {
        case .racing:
            state = .racing(isHeldBack: false)
            return .nothing
        case .holding(let revision):
            state = .awaitingNetwork(shown: revision)
            noteCached(revision)
            return .showCached
        case .idle, .awaitingNetwork, .awaitingCache, .ended:
            return .nothing
        }
    }

    /// The client's own time is over; `timeout` says so in its words.
    package mutating func deadlineElapsed(_ timeout: Failure) -> DeadlineAction {
        defer { checkInvariants() }
        switch state {
        case .idle, .ended:
            return .nothing
        case .awaitingNetwork(.some):
            noteEnd()
            return .failAndEnd(timeout)
        case .holding(let revision):
            noteCached(revision)
            noteEnd()
            return .showCachedAndFail(timeout)
        case .racing, .awaitingNetwork(nil):
            noteRefusal()
            return .refuse(timeout)
        case .awaitingCache(let failure):
            noteRefusal()
            return .refuse(failure ?? timeout)
        }
    }

    // MARK: The end from outside

    /// The daemon is ending.
    package mutating func drainBegan() -> DrainAction {
        defer { checkInvariants() }
        switch state {
        case .ended:
            return .nothing
        case .awaitingNetwork(.some):
            noteEnd()
            return .end
        case .holding(let revision):
            noteCached(revision)
            noteEnd()
            return .showCachedAndEnd
        case .idle, .racing, .awaitingNetwork(nil), .awaitingCache:
            noteRefusal()
            return .refuse
        }
    }

    /// Nobody reads any more.
    ///
    /// The network's answer will be stored without this client.
    package mutating func clientHungUp() {
        defer { checkInvariants() }
        guard state != .ended else { return }
        said.wasHungUp = true
        state = .ended
    }

    // MARK: Notes

    private mutating func noteCached(_ revision: Revision) {
        said.cachedSnapshots += 1
        said.shownRevision = revision
    }

    private mutating func noteEnd() {
        said.endings += 1
        state = .ended
    }

    private mutating func noteRefusal() {
        said.refusals += 1
        state = .ended
    }
}
