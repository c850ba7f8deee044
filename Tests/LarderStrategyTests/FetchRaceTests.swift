import LarderModel
import LarderStrategy
import Testing

@Suite("Races of a fetch")
struct FetchRaceTests {
    private func started(_ policy: FetchPolicy, isOriginDown: Bool = false) -> Fetch {
        var machine = Fetch()
        _ = machine.start(policy, isOriginDown: isOriginDown)
        return machine
    }

    @Test(
        "A late answer of the cache is dropped once the network has won",
        arguments: [FetchPolicy.cacheThenNetwork, .networkFirst]
    )
    func lateCache(policy: FetchPolicy) {
        var machine = started(policy)
        #expect(machine.networkAnswered(.current(.other)) == .showAnd(.end))
        #expect(machine.cacheAnswered(.hit(.cached, isFresh: false)) == .nothing)
        #expect(machine.state == .ended)
    }

    @Test("A late answer of the cache is shown when the network has failed before it")
    func lateCacheAfterFailure() {
        var machine = started(.cacheThenNetwork)
        #expect(machine.networkAnswered(.failed(.network)) == .nothing)
        #expect(
            machine.cacheAnswered(.hit(.cached, isFresh: false)) == .showAndFail(.network, .end)
        )
    }

    @Test("A late answer of the network follows what network-first has shown after its wait")
    func lateNetwork() {
        var machine = started(.networkFirst)
        #expect(machine.cacheAnswered(.hit(.cached, isFresh: false)) == .nothing)
        #expect(machine.networkWaitElapsed() == .showCached)
        #expect(machine.networkAnswered(.current(.other)) == .showAnd(.end))
    }

    @Test("A late answer of the network is unchanged when it has what was shown")
    func lateNetworkUnchanged() {
        var machine = started(.networkFirst)
        #expect(machine.networkWaitElapsed() == .nothing)
        #expect(machine.cacheAnswered(.hit(.cached, isFresh: false)) == .show)
        #expect(machine.networkAnswered(.current(.cached)) == .unchangedAnd(.end))
    }

    @Test("A cached answer that was held back is never reported as unchanged")
    func heldBackIsNotSeen() {
        var machine = started(.networkFirst)
        #expect(machine.cacheAnswered(.hit(.cached, isFresh: false)) == .nothing)
        #expect(machine.networkAnswered(.current(.cached)) == .showAnd(.end))
    }

    @Test("With nothing cached network-first waits on after its wait")
    func nothingCached() {
        var machine = started(.networkFirst)
        #expect(machine.cacheAnswered(.miss) == .nothing)
        #expect(machine.networkWaitElapsed() == .nothing)
        #expect(machine.networkAnswered(.current(.other)) == .showAnd(.end))
    }

    @Test("Of two clients of one flight the one that hangs up leaves the other its answer")
    func oneOfTwoHangsUp() {
        var gone = started(.cacheThenNetwork)
        var left = started(.networkFirst)
        for machine in [gone, left] { #expect(machine.state != .ended) }
        #expect(gone.cacheAnswered(.hit(.cached, isFresh: false)) == .show)
        #expect(left.cacheAnswered(.hit(.cached, isFresh: false)) == .nothing)
        gone.clientHungUp()
        let landing = Fetch.NetworkAnswer.current(.other)
        #expect(gone.networkAnswered(landing) == .nothing)
        #expect(left.networkAnswered(landing) == .showAnd(.end))
    }

    @Test("A landing after the deadline, while the store wrote, changes nothing here")
    func deadlineWhileStoring() throws {
        let url = try WebURL("https://a.example/x")
        var flight = FlightMachine(
            FlightRules(url: url, cachedIsJSON: false, accept: nil),
            isOriginDown: false
        )
        _ = flight.started(at: url, hasValidators: false)
        let head = ResponseHead(status: 200, headers: HeaderFields(), now: .start)
        _ = flight.headArrived(head, remaining: .seconds(1), randomUnit: 0)
        #expect(flight.bodyArrived() == .store)

        var shown = FetchPlace.awaitingNetworkShown.machine()
        var empty = FetchPlace.awaitingNetworkEmpty.machine()
        #expect(shown.deadlineElapsed(.timeout) == .fail(.timeout, .end))
        #expect(empty.deadlineElapsed(.timeout) == .refuse(.timeout))

        // The clients' time is over, the write is not: it is told to nobody.
        #expect(flight.stored() == true)
        #expect(shown.networkAnswered(.current(.other)) == .nothing)
        #expect(empty.networkAnswered(.current(.other)) == .nothing)
    }

    @Test("While an origin is down the cache is shown immediately, and a later answer follows")
    func originComesBack() {
        var machine = started(.networkFirst, isOriginDown: true)
        #expect(machine.cacheAnswered(.hit(.cached, isFresh: false)) == .show)
        #expect(machine.networkAnswered(.current(.other)) == .showAnd(.end))
    }

    @Test("A drain ends with what was shown or held, and refuses with nothing")
    func drain() {
        var shown = FetchPlace.awaitingNetworkShown.machine()
        var held = FetchPlace.holding.machine()
        var empty = FetchPlace.awaitingNetworkEmpty.machine()
        #expect(shown.drainBegan() == .end)
        #expect(held.drainBegan() == .showCachedAndEnd)
        #expect(empty.drainBegan() == .refuse)
        for machine in [shown, held, empty] { #expect(machine.state == .ended) }
        #expect(shown.networkAnswered(.failed(.network)) == .nothing)
        #expect(held.drainBegan() == .nothing)
    }

    @Test("The deadline tells the network's failure while the cache is still being read")
    func deadlineAfterFailure() {
        var machine = started(.cacheThenNetwork)
        #expect(machine.networkAnswered(.failed(.network)) == .nothing)
        #expect(machine.deadlineElapsed(.timeout) == .refuse(.network))
    }

    @Test("cache-first does not ask for a fresh row, and is network-first for a stale one")
    func cacheFirst() {
        var fresh = started(.cacheFirst)
        #expect(fresh.cacheAnswered(.hit(.cached, isFresh: true)) == .showAnd(.end))
        var stale = started(.cacheFirst)
        let asked = stale.cacheAnswered(.hit(.cached, isFresh: false))
        #expect(asked == .askNetwork(wait: Fetch.wait))
        #expect(stale.networkWaitElapsed() == .showCached)
        #expect(stale.networkAnswered(.current(.cached)) == .unchangedAnd(.end))
    }

    @Test("stale-while-revalidate shows what is cached whatever the network has said before it")
    func staleWhileRevalidate() {
        var machine = started(.staleWhileRevalidate)
        #expect(machine.networkAnswered(.failed(.network)) == .nothing)
        #expect(machine.cacheAnswered(.hit(.cached, isFresh: false)) == .showAnd(.end))
        var missed = started(.staleWhileRevalidate)
        #expect(missed.cacheAnswered(.miss) == .nothing)
        #expect(missed.networkAnswered(.current(.other)) == .showAnd(.end))
    }

    @Test("network-only waits for the network alone, and a late answer of the cache is dropped")
    func networkOnly() {
        var machine = started(.networkOnly)
        #expect(machine.cacheAnswered(.hit(.cached, isFresh: true)) == .nothing)
        #expect(machine.networkAnswered(.failed(.network)) == .refuse(.network))
    }

    @Test("An answer that another flight overtook is not shown after the newer one")
    func overtaken() {
        var machine = FetchPlace.awaitingNetworkShown.machine()
        #expect(machine.networkAnswered(.current(.older)) == .unchangedAnd(.end))
    }

    @Test("A follower reports a failed network and stays; a late answer is a change of its row")
    func followingFailure() {
        var machine = FetchPlace.awaitingNetworkShown.machine(follows: true)
        #expect(machine.deadlineElapsed(.timeout) == .fail(.timeout, .follow))
        #expect(machine.networkAnswered(.current(.other)) == .nothing)
        #expect(machine.rowWasRead(.entry(.other, isAsTold: false)) == .show)
        machine.clientHungUp()
        #expect(machine.rowWasRead(.tombstone(Revision(9))) == .nothing)
    }
}
