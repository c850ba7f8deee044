import LarderModel
import LarderStrategy
import Testing

@Suite("A fetch under any order of events")
struct FetchSimulationTests {
    @Test("A watcher from outside finds the contract kept", arguments: UInt64(1)...20)
    func random(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for _ in 0..<1_000 {
            let policy = random.pick(FetchPolicy.allCases)
            let isDown = random.pick([false, true])
            let events = (0..<12).map { _ in random.pick(FetchEvent.allCases) }
            let complaints = Self.run(policy, isOriginDown: isDown, events)
            #expect(complaints.isEmpty, "seed \(seed), \(policy), down: \(isDown)")
            guard complaints.isEmpty else { return }
        }
    }

    @Test("No order of four events breaks it", arguments: FetchPolicy.allCases)
    func exhaustive(policy: FetchPolicy) {
        let all = FetchEvent.allCases
        for first in all {
            for second in all {
                for third in all {
                    for fourth in all {
                        let events = [first, second, third, fourth]
                        for isDown in [false, true] {
                            let complaints = Self.run(policy, isOriginDown: isDown, events)
                            guard complaints.isEmpty else {
                                Issue.record("\(policy), down: \(isDown): \(complaints)")
                                return
                            }
                        }
                    }
                }
            }
        }
    }

    @Test("The watcher complains about a fetch that breaks the contract")
    func watcher() {
        let broken: [[(FetchEvent, FetchReaction)]] = [
            [(.networkOther, .network(.showAndEnd)), (.cacheHit, .cache(.show))],
            [(.cacheHit, .cache(.show)), (.networkFailed, .network(.refuse(.network)))],
            [(.cacheHit, .cache(.show)), (.networkSame, .network(.showAndEnd))],
            [(.cacheHit, .cache(.show)), (.networkSame, .network(.nothing))],
            [(.cacheHit, .cache(.show)), (.networkOther, .network(.unchangedAndEnd))],
            [(.cacheHit, .cache(.show)), (.deadlineElapsed, .deadline(.nothing))],
            [(.clientHungUp, .none), (.cacheHit, .cache(.show))],
        ]
        for events in broken {
            var observer = FetchObserver(.cacheThenNetwork, isOriginDown: false)
            for (event, reaction) in events { observer.saw(event, reaction) }
            #expect(!observer.complaints.isEmpty, "\(events)")
        }
    }

    private static func run(
        _ policy: FetchPolicy,
        isOriginDown: Bool,
        _ events: [FetchEvent]
    ) -> [String] {
        var machine = Fetch()
        var observer = FetchObserver(policy, isOriginDown: isOriginDown)
        _ = machine.start(policy, isOriginDown: isOriginDown)
        for event in events { observer.saw(event, machine.react(to: event)) }
        return observer.complaints
    }
}
