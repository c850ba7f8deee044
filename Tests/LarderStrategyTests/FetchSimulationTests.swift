import LarderModel
import LarderStrategy
import LarderTestSupport
import Testing

@Suite("A fetch under any order of events")
struct FetchSimulationTests {
    @Test("A watcher from outside finds the contract kept", arguments: UInt64(1)...20)
    func random(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for _ in 0..<1_000 {
            let policy = random.pick(FetchPolicy.allCases)
            let isDown = random.pick([false, true])
            let follows = random.pick([false, true])
            let events = (0..<12).map { _ in random.pick(FetchEvent.allCases) }
            let complaints = Self.run(policy, isOriginDown: isDown, follows: follows, events)
            #expect(complaints.isEmpty, "seed \(seed), \(policy), down: \(isDown): \(complaints)")
            guard complaints.isEmpty else { return }
        }
    }

    @Test("No order of four events breaks it", arguments: FetchPolicy.allCases)
    func exhaustive(policy: FetchPolicy) {
        let all = FetchEvent.allCases.filter { !FetchEvent.ofRows.contains($0) }
        let threes = all.flatMap { first in
            all.flatMap { second in all.map { [first, second, $0] } }
        }
        for isDown in [false, true] {
            for three in threes {
                for fourth in all {
                    let complaints = Self.run(policy, isOriginDown: isDown, three + [fourth])
                    guard complaints.isEmpty else {
                        Issue.record("\(policy), down: \(isDown): \(complaints)")
                        return
                    }
                }
            }
        }
    }

    @Test(
        "No order of three events breaks one that follows",
        arguments: FetchPolicy.allCases,
        [false, true]
    )
    func exhaustiveFollowing(policy: FetchPolicy, isDown: Bool) {
        let all = FetchEvent.allCases
        for first in all {
            for second in all {
                for third in all {
                    let events = [first, second, third]
                    let complaints = Self.run(policy, isOriginDown: isDown, follows: true, events)
                    guard complaints.isEmpty else {
                        Issue.record("\(policy), down: \(isDown): \(complaints)")
                        return
                    }
                }
            }
        }
    }

    @Test("The watcher complains about a fetch that breaks the contract")
    func watcher() {
        let broken: [[(FetchEvent, FetchReaction)]] = [
            [(.networkOther, .network(.showAnd(.end))), (.cacheStale, .cache(.show))],
            [(.cacheStale, .cache(.show)), (.networkFailed, .network(.refuse(.network)))],
            [(.cacheStale, .cache(.show)), (.networkSame, .network(.showAnd(.end)))],
            [(.cacheStale, .cache(.show)), (.networkSame, .network(.nothing))],
            [(.cacheStale, .cache(.show)), (.networkOther, .network(.unchangedAnd(.end)))],
            [(.cacheStale, .cache(.show)), (.deadlineElapsed, .deadline(.nothing))],
            [(.clientHungUp, .none), (.cacheStale, .cache(.show))],
        ]
        for events in broken {
            var observer = FetchObserver(.cacheThenNetwork, isOriginDown: false)
            for (event, reaction) in events { observer.saw(event, reaction) }
            #expect(!observer.complaints.isEmpty, "\(events)")
        }
    }

    @Test("The watcher complains about a policy that is not kept, and about a bad follower")
    func watcherOfPolicies() {
        typealias Told = (FetchEvent, FetchReaction)
        let shown: Told = (.cacheStale, .cache(.show))
        let open: Told = (.cacheStale, .cache(.showAnd(.follow)))
        let broken: [(FetchPolicy, Bool, [Told])] = [
            (.cacheFirst, false, [shown]),
            (.cacheFirst, false, [(.cacheFresh, .cache(.askNetwork(wait: nil)))]),
            (.cacheFirst, false, [(.cacheStale, .cache(.nothing))]),
            (.networkOnly, false, [shown]),
            (.staleWhileRevalidate, false, [shown]),
            (.staleWhileRevalidate, false, [(.cacheStale, .cache(.showAnd(.follow)))]),
            (.cacheOnly, true, [(.cacheStale, .cache(.showAnd(.end)))]),
            (.cacheOnly, true, [open, (.rowOlder, .follow(.show))]),
            (.cacheOnly, true, [open, (.rowNewer, .follow(.show)), (.rowNewer, .follow(.show))]),
            (.cacheOnly, true, [open, (.drainBegan, .drain(.nothing))]),
        ]
        for (policy, follows, events) in broken {
            var observer = FetchObserver(policy, isOriginDown: false, follows: follows)
            for (event, reaction) in events { observer.saw(event, reaction) }
            #expect(!observer.complaints.isEmpty, "\(policy): \(events)")
        }
    }

    private static func run(
        _ policy: FetchPolicy,
        isOriginDown: Bool,
        follows: Bool = false,
        _ events: [FetchEvent]
    ) -> [String] {
        var machine = Fetch(follows: follows)
        var observer = FetchObserver(policy, isOriginDown: isOriginDown, follows: follows)
        _ = machine.start(policy, isOriginDown: isOriginDown)
        for event in events { observer.saw(event, machine.react(to: event)) }
        return observer.complaints
    }
}
