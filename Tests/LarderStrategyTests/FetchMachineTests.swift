import LarderModel
import LarderStrategy
import Testing

@Suite("A fetch")
struct FetchMachineTests {
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
        "A policy says who is asked and how long the network has",
        arguments: [
            (.cacheOnly, false, .askCache, .awaitingCache),
            (.cacheOnly, true, .askCache, .awaitingCache),
            (.cacheThenNetwork, false, .askBoth(wait: nil), .racing),
            (.cacheThenNetwork, true, .askBoth(wait: nil), .racing),
            (.networkFirst, false, .askBoth(wait: .milliseconds(300)), .racingHeldBack),
            (.networkFirst, true, .askBoth(wait: nil), .racing),
        ] as [(FetchPolicy, Bool, Fetch.StartAction, FetchPlace)]
    )
    func start(policy: FetchPolicy, isDown: Bool, action: Fetch.StartAction, next: FetchPlace) {
        var machine = Fetch()
        #expect(machine.start(policy, isOriginDown: isDown) == action)
        #expect(machine.state == next.state)
    }
}
