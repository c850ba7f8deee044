import LarderModel
import LarderStrategy
import Testing

@Suite("A fetch")
struct FetchMachineTests {
    @Test(
        "While the origin rests, a cached answer that suffices is not refreshed after it is shown"
    )
    func resting() {
        for isFresh in [true, false] {
            var machine = FetchMachine<String>()
            let action = machine.started(
                .staleWhileRevalidate,
                networkWait: .seconds(1),
                isOriginDown: false,
                hasRetryAfter: true
            )
            #expect(action == .askCache)
            let answer = machine.cacheAnswered(.hit(Revision(1), isFresh: isFresh))
            #expect(answer == .showAnd(.end))
        }
        // Without an answer it is the client's own request.
        var machine = FetchMachine<String>()
        _ = machine.started(
            .staleWhileRevalidate,
            networkWait: .seconds(1),
            isOriginDown: false,
            hasRetryAfter: true
        )
        #expect(machine.cacheAnswered(.miss) == .askNetwork(wait: nil))
    }

    @Test("Every event in every state does what the table says", arguments: FetchRow.all)
    func table(row: FetchRow) {
        var machine = row.place.machine()
        #expect(machine.state == row.place.state)
        #expect(machine.react(to: row.event) == row.reaction)
        #expect(machine.state == row.next.state)
    }

    @Test("The table has every event in every state once")
    func tableIsComplete() {
        for place in FetchPlace.allCases {
            for event in FetchEvent.allCases {
                let rows = FetchRow.all.filter { $0.place == place && $0.event == event }
                #expect(rows.count == 1, "\(place), \(event)")
            }
        }
        #expect(FetchRow.all.count == FetchPlace.allCases.count * FetchEvent.allCases.count)
    }

    @Test(
        "A follower gets the same actions, and stays where an ordinary fetch ends",
        arguments: FetchRow.all.filter { $0.place != .idle && $0.place != .ended }
    )
    func following(row: FetchRow) {
        var machine = row.place.machine(follows: true)
        #expect(machine.react(to: row.event) == row.reaction.following)
        guard row.reaction != row.reaction.following else {
            return #expect(machine.state == row.next.state)
        }
        let isOther = [.networkOther, .networkDeleted, .networkDeletion].contains(row.event)
        let isOlder = row.event == .networkOlder && row.place != .awaitingNetworkShown
        let known = isOther ? Revision.other : isOlder ? .older : .cached
        #expect(machine.state == .following(known))
    }

    @Test(
        "A policy says who is asked and how long the network has",
        arguments: [
            (.cacheOnly, false, .askCache, .awaitingCache),
            (.cacheOnly, true, .askCache, .awaitingCache),
            (.cacheThenNetwork, false, .askBoth(wait: nil), .racing),
            (.cacheThenNetwork, true, .askBoth(wait: nil), .racing),
            (.networkFirst, false, .askBoth(wait: .milliseconds(300)), .racingHolding),
            (.networkFirst, true, .askBoth(wait: nil), .racing),
            (.cacheFirst, false, .askCache, .checking),
            (.cacheFirst, true, .askCache, .checkingDown),
            (.staleWhileRevalidate, false, .askBoth(wait: nil), .racingFinishing),
            (.staleWhileRevalidate, true, .askBoth(wait: nil), .racingFinishing),
            (.networkOnly, false, .askNetwork, .awaitingNetworkEmpty),
            (.networkOnly, true, .askNetwork, .awaitingNetworkEmpty),
        ] as [(FetchPolicy, Bool, Fetch.StartAction, FetchPlace)]
    )
    func start(policy: FetchPolicy, isDown: Bool, action: Fetch.StartAction, next: FetchPlace) {
        var machine = Fetch()
        #expect(machine.start(policy, isOriginDown: isDown) == action)
        #expect(machine.state == next.state)
    }

    @Test("A follower hears of a change of its row once, and of no older view after a newer one")
    func followedRow() {
        var machine = FetchPlace.following.machine()
        #expect(machine.rowWasRead(.entry(.cached, isAsTold: true)) == .nothing)
        #expect(machine.rowWasRead(.entry(Revision(5), isAsTold: false)) == .show)
        #expect(machine.rowWasRead(.entry(Revision(5), isAsTold: false)) == .nothing)
        #expect(machine.rowWasRead(.entry(Revision(4), isAsTold: false)) == .nothing)
        #expect(machine.rowWasRead(.missing) == .nothing)
        #expect(machine.rowWasRead(.tombstone(Revision(6))) == .tellDeleted)
        #expect(machine.rowWasRead(.tombstone(Revision(6))) == .nothing)
        #expect(machine.rowWasRead(.entry(Revision(7), isAsTold: true)) == .nothing)
        #expect(machine.rowWasRead(.entry(Revision(8), isAsTold: false)) == .show)
        #expect(machine.drainBegan() == .end)
    }
}

extension FetchReaction {
    /// What one that follows answers where an ordinary fetch answers this.
    fileprivate var following: FetchReaction {
        switch self {
        case .cache(.showAnd): .cache(.showAnd(.follow))
        case .cache(.showAndFail(let failure, _)): .cache(.showAndFail(failure, .follow))
        case .network(.showAnd): .network(.showAnd(.follow))
        case .network(.unchangedAnd): .network(.unchangedAnd(.follow))
        case .network(.deletedAnd): .network(.deletedAnd(.follow))
        case .network(.fail(let failure, _)): .network(.fail(failure, .follow))
        case .network(.showCachedAndFail(let failure, _)):
            .network(.showCachedAndFail(failure, .follow))
        case .deadline(.fail(let failure, _)): .deadline(.fail(failure, .follow))
        case .deadline(.showCachedAndFail(let failure, _)):
            .deadline(.showCachedAndFail(failure, .follow))
        case .cache, .network, .wait, .deadline, .follow, .drain, .none: self
        }
    }
}
