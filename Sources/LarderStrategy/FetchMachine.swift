package import LarderModel

/// Decides for one client's fetch what the client is shown, in which order, and when it ends.
///
/// # Terms
///
/// - *shown*: a snapshot has been sent; its revision is what the client has seen.
/// - *held*: the cache has answered, but is kept back while `network_wait` runs.
/// - *remembered*: the cache holds a tombstone, which is shown only if the network fails. The
///   deletion by a write that waits to be sent is shown immediately, by every policy.
/// - *enough*: a cached answer after which the policy asks for nothing more.
/// - *refused*: the fetch ends with a plain problem, as nothing has been sent yet.
/// - *followed*: after the last message the stream stays open, and the client is told of changes.
///
/// ``FetchRules`` say what each policy means.
///
/// # States
///
/// ```
///            started                cacheAnswered
///   idle ──────────────► racing ──────────────────► awaitingNetwork ──┐
///    │ │                   │  │ hit, held back        ▲   ▲           │ networkAnswered
///    │ │ started           │  └──────────► holding ───┘   │           │ deadlineElapsed
///    │ │ (cache-first)     │                 ▲  networkWaitElapsed    │ drainBegan
///    │ └───────► checking ─┼─────────────────┘ cacheAnswered          │
///    │              │      │ networkAnswered, with a failure          ▼
///    │ started      │ a fresh hit               │           following ──► ended
///    │ (cache-only) ▼      ▼                    ▼                          ▲
///    └───────────────► awaitingCache ──────────────────────────────────────┘
/// ```
///
/// - A remembered tombstone leads to `remembering`. The network's failure, the deadline and the
///   drain show it.
/// - `network-only` starts in `awaitingNetwork`.
/// - The last message leads a fetch that follows to `following` instead of `ended`, unless it is a
///   refusal. From there `drainBegan` leads to the end.
/// - `clientHungUp` leads from every state to `ended`.
/// - An `ended` fetch does nothing more: a late answer of the cache or the network changes nothing
///   here. ``FlightMachine`` stores a late network answer all the same; a follower hears of it by
///   its row.
///
/// # Invariants (``checkInvariants()``)
///
/// 1. Nothing follows the end: once `ended`, no action but `nothing` is returned.
/// 2. Exactly one of a refusal and an `end` is returned, unless the client hung up.
/// 3. A refusal is returned only while nothing was shown.
/// 4. Before `following`: at most one snapshot from each source, and none from the cache after one
///    from the network.
/// 5. `unchanged` is returned only for the revision that was shown, and no older one is shown after
///    it.
/// 6. While `following` each revision that is told is higher than the one before.
///
/// `Failure` is the shell's report about a failed network; the machine only passes it on.
package struct FetchMachine<Failure: Equatable & Sendable>: Equatable, Sendable {
    package enum State: Equatable, Sendable {
        case idle
        /// Cache and network were asked; neither has answered.
        case racing(OnHit)
        /// The cache was asked; the network is asked next, unless the cached answer is fresh.
        ///
        /// `wait` is how long a stale answer is then held.
        case checking(wait: Duration?)
        /// The cache has answered; its answer is held back.
        case holding(Revision)
        /// The cache holds a tombstone.
        case remembering(Revision)
        /// The cache has answered; `shown` is the revision that the client got, if any.
        case awaitingNetwork(shown: Revision?)
        /// The network was not asked, or has failed; the two failures are for the last message.
        case awaitingCache(afterHit: Failure?, insteadOfMiss: Failure?)
        /// The last message was sent; the client knows this revision.
        case following(Revision)
        case ended
    }

    /// The treatment of a hit before the network has answered.
    package enum OnHit: Equatable, Sendable {
        case hold
        case show
        /// The hit is sufficient: the fetch ends.
        case finish
    }

    package private(set) var state = State.idle
    /// Whether the stream stays open after the last message.
    private let follows: Bool
    /// Whether a stale answer is enough while it is checked.
    private var takesStale = false
    /// The actions returned so far, for the invariants.
    private(set) var emitted = EmittedFrames()

    package init(follows: Bool = false) { self.follows = follows }

    struct EmittedFrames: Equatable, Sendable {
        var cachedSnapshots = 0
        var networkSnapshots = 0
        var endings = 0
        var refusals = 0
        var unchangedRevision: Revision?
        var shownRevision: Revision?
        /// The last revision told while following, and the one before it.
        var toldRevision: Revision?
        var toldBefore: Revision?
        var wasHungUp = false
    }

    // MARK: Started

    /// Starts the fetch.
    ///
    /// With `isOriginDown` the last requests to the origin failed. Larder still asks the origin,
    /// but shows the cached answer without waiting for it.
    ///
    /// With `hasRetryAfter` the origin has asked for a rest. Then Larder does not refresh an answer
    /// that is enough for the client.
    package mutating func started(
        _ policy: FetchPolicy,
        networkWait: Duration,
        isOriginDown: Bool,
        hasRetryAfter: Bool = false
    ) -> StartAction {
        precondition(state == .idle, "a fetch starts once")
        defer { checkInvariants() }
        let rules = FetchRules(policy)
        let wait = rules.cache == .ifNetworkIsSlow && !isOriginDown ? networkWait : nil
        if hasRetryAfter, rules.sufficient == .any, rules.network == .atOnce {
            takesStale = true
            state = .checking(wait: nil)
            return .askCache
        }
        switch (rules.network, rules.cache) {
        case (.never, _):
            state = .awaitingCache(afterHit: nil, insteadOfMiss: nil)
            return .askCache
        case (.ifNeeded, _):
            state = .checking(wait: wait)
            return .askCache
        case (.atOnce, .never):
            state = .awaitingNetwork(shown: nil)
            return .askNetwork
        case (.atOnce, .atOnce), (.atOnce, .ifNetworkIsSlow):
            let onHit = rules.sufficient == .any ? OnHit.finish : .show
            state = .racing(wait == nil ? onHit : .hold)
            return .askBoth(wait: wait)
        }
    }

    // MARK: The cache answered

    package mutating func cacheAnswered(_ answer: CacheAnswer) -> CacheAction {
        defer { checkInvariants() }
        switch (state, answer) {
        case (.racing(.hold), .hit(let revision, _)):
            state = .holding(revision)
            return .nothing
        case (.racing(.show), .hit(let revision, _)):
            state = .awaitingNetwork(shown: revision)
            noteCached(revision)
            return .show
        case (.racing(.finish), .hit(let revision, _)):
            noteCached(revision)
            return .showAnd(lastWordWasTold(of: revision))
        case (.racing, .miss):
            state = .awaitingNetwork(shown: nil)
            return .nothing
        case (.racing, .tombstone(let revision)):
            state = .remembering(revision)
            return .nothing
        case (.racing, .deletion(let revision)), (.awaitingNetwork(nil), .deletion(let revision)),
            (.awaitingCache, .deletion(let revision)):
            noteCached(revision)
            return .showAnd(lastWordWasTold(of: revision))
        case (.checking(let wait), _):
            return checked(answer, wait)
        case (.awaitingCache(let failure, _), .hit(let revision, _)),
            (.awaitingCache(_, let failure), .tombstone(let revision)):
            noteCached(revision)
            let afterFinalFrame = lastWordWasTold(of: revision)
            return failure.map { .showAndFail($0, afterFinalFrame) } ?? .showAnd(afterFinalFrame)
        case (.awaitingCache(_, let failure), .miss):
            noteRefusal()
            return failure.map { .refuse($0) } ?? .refuseAsMiss
        case (.holding, _), (.remembering, _), (.awaitingNetwork, _), (.following, _), (.ended, _),
            (.idle, _):
            return .nothing
        }
    }

    private mutating func checked(_ answer: CacheAnswer, _ wait: Duration?) -> CacheAction {
        switch answer {
        case .hit(let revision, let isFresh) where isFresh || takesStale:
            noteCached(revision)
            return .showAnd(lastWordWasTold(of: revision))
        case .hit(let revision, _):
            guard let wait else {
                state = .awaitingNetwork(shown: revision)
                noteCached(revision)
                return .showAndAskNetwork
            }
            state = .holding(revision)
            return .askNetwork(wait: wait)
        case .tombstone(let revision):
            state = .remembering(revision)
            return .askNetwork(wait: nil)
        case .miss:
            state = .awaitingNetwork(shown: nil)
            return .askNetwork(wait: nil)
        case .deletion(let revision):
            noteCached(revision)
            return .showAnd(lastWordWasTold(of: revision))
        }
    }

    // MARK: The network answered

    /// The flight has finished, with the revision of what the store has written.
    package mutating func networkAnswered(_ answer: NetworkAnswer) -> NetworkAction {
        defer { checkInvariants() }
        switch (state, answer) {
        case (.racing(let onHit), .failed(let failure)):
            // A hit that is enough is shown without a message about the network.
            let afterHit = onHit == .finish ? nil : failure
            state = .awaitingCache(afterHit: afterHit, insteadOfMiss: failure)
            return .nothing
        case (.awaitingNetwork(let shown?), .current(let revision)) where revision <= shown:
            // If the revision is older, another flight stored the shown answer later.
            emitted.unchangedRevision = shown
            return .unchangedAnd(lastWordWasTold(of: shown))
        case (.racing, .current(let revision)), (.holding, .current(let revision)),
            (.remembering, .current(let revision)), (.awaitingNetwork, .current(let revision)):
            emitted.networkSnapshots += 1
            return .showAnd(lastWordWasTold(of: revision))
        case (.awaitingNetwork(.some), .deleted(let revision)):
            return .deletedAnd(lastWordWasTold(of: revision))
        case (.racing, .deletion(let revision)), (.holding, .deletion(let revision)),
            (.remembering, .deletion(let revision)), (.awaitingNetwork, .deletion(let revision)):
            return .deletedAnd(lastWordWasTold(of: revision))
        case (.racing, .deleted), (.holding, .deleted), (.remembering, .deleted),
            (.awaitingNetwork(nil), .deleted):
            noteRefusal()
            return .refuseAsDeleted
        case (.awaitingNetwork(let shown), .failed(let failure)):
            guard let shown else {
                noteRefusal()
                return .refuse(failure)
            }
            return .fail(failure, lastWordWasTold(of: shown))
        case (.holding(let revision), .failed(let failure)),
            (.remembering(let revision), .failed(let failure)):
            noteCached(revision)
            return .showCachedAndFail(failure, lastWordWasTold(of: revision))
        case (.awaitingCache, _), (.checking, _), (.following, _), (.ended, _), (.idle, _):
            return .nothing
        }
    }

    // MARK: Time

    /// The `network_wait` is over: the cached answer may be shown.
    ///
    /// The network's answer may still follow.
    package mutating func networkWaitElapsed() -> WaitAction {
        defer { checkInvariants() }
        switch state {
        case .racing(.hold):
            state = .racing(.show)
            return .nothing
        case .holding(let revision):
            state = .awaitingNetwork(shown: revision)
            noteCached(revision)
            return .showCached
        case .idle, .racing(.show), .racing(.finish), .checking, .remembering, .awaitingNetwork,
            .awaitingCache, .following, .ended:
            return .nothing
        }
    }

    /// The client's deadline has passed; `timeout` is the failure to tell.
    package mutating func deadlineElapsed(_ timeout: Failure) -> DeadlineAction {
        defer { checkInvariants() }
        switch state {
        case .idle, .following, .ended:
            return .nothing
        case .awaitingNetwork(let shown?):
            return .fail(timeout, lastWordWasTold(of: shown))
        case .holding(let revision), .remembering(let revision):
            noteCached(revision)
            return .showCachedAndFail(timeout, lastWordWasTold(of: revision))
        case .racing, .checking, .awaitingNetwork(nil):
            noteRefusal()
            return .refuse(timeout)
        case .awaitingCache(_, let failure):
            noteRefusal()
            return .refuse(failure ?? timeout)
        }
    }

    // MARK: Following

    /// The followed row was read after a change or a possible change.
    ///
    /// An older view is never told after a newer one.
    package mutating func rowWasRead(_ row: FollowedRow) -> FollowAction {
        defer { checkInvariants() }
        guard case .following(let known) = state else { return .nothing }
        switch row {
        case .entry(let revision, let isAsTold) where revision > known:
            state = .following(revision)
            guard !isAsTold else { return .nothing }
            noteTold(revision, after: known)
            return .show
        case .tombstone(let revision) where revision > known:
            state = .following(revision)
            noteTold(revision, after: known)
            return .tellDeleted
        case .entry, .tombstone, .missing:
            return .nothing
        }
    }

    // MARK: The end from outside

    package mutating func drainBegan() -> DrainAction {
        defer { checkInvariants() }
        switch state {
        case .ended:
            return .nothing
        case .awaitingNetwork(.some), .following:
            noteEnd()
            return .end
        case .holding(let revision), .remembering(let revision):
            noteCached(revision)
            noteEnd()
            return .showCachedAndEnd
        case .idle, .racing, .checking, .awaitingNetwork(nil), .awaitingCache:
            noteRefusal()
            return .refuse
        }
    }

    /// The network's answer will be stored without this client.
    package mutating func clientHungUp() {
        defer { checkInvariants() }
        guard state != .ended else { return }
        emitted.wasHungUp = true
        state = .ended
    }

    // MARK: Notes

    private mutating func noteCached(_ revision: Revision) {
        emitted.cachedSnapshots += 1
        emitted.shownRevision = revision
    }

    private mutating func noteTold(_ revision: Revision, after known: Revision) {
        emitted.toldBefore = emitted.toldRevision ?? known
        emitted.toldRevision = revision
    }

    /// The last message told this revision, and the fetch waits for nothing more.
    private mutating func lastWordWasTold(of revision: Revision) -> AfterFinalFrame {
        guard follows else {
            noteEnd()
            return .end
        }
        state = .following(revision)
        return .follow
    }

    private mutating func noteEnd() {
        emitted.endings += 1
        state = .ended
    }

    private mutating func noteRefusal() {
        emitted.refusals += 1
        state = .ended
    }
}

extension FetchMachine {
    /// Checks the numbered invariants of the type's documentation; called after each change.
    ///
    /// This is an `assert`: in release a broken invariant shows as a wrong frame, not as a stopped
    /// daemon.
    func checkInvariants() {
        let snapshots = emitted.cachedSnapshots + emitted.networkSnapshots
        // 1, 2
        let endings = emitted.endings + emitted.refusals
        assert(endings <= 1, "a fetch ends once")
        assert(
            (state == .ended) == (endings == 1 || emitted.wasHungUp),
            "an end is emitted or heard"
        )
        // 3
        assert(emitted.refusals == 0 || snapshots == 0, "a refusal comes without snapshots")
        // 4
        assert(
            emitted.cachedSnapshots <= 1 && emitted.networkSnapshots <= 1,
            "one snapshot a source"
        )
        let isAfterFinalResult = if case .following = state { true } else { state == .ended }
        if emitted.networkSnapshots == 1 { assert(isAfterFinalResult, "the network's is the last") }
        // 5
        if let unchanged = emitted.unchangedRevision {
            assert(unchanged == emitted.shownRevision, "unchanged since what was shown")
        }
        if case .awaitingNetwork(let shown) = state {
            assert(shown == emitted.shownRevision, "the state knows what was shown")
        }
        // 6
        if let told = emitted.toldRevision, let before = emitted.toldBefore {
            assert(told > before, "no older view after a newer one")
        }
    }
}
