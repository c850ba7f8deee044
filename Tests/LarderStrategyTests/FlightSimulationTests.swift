import LarderModel
import LarderStrategy
import LarderTestSupport
import Testing

@Suite("A flight under any order of events")
struct FlightSimulationTests {
    private let script: FlightScript

    init() throws {
        script = try FlightScript()
    }

    @Test("A watcher from outside finds the contract kept", arguments: UInt64(1)...20)
    func random(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for _ in 0..<500 {
            let events = (0..<40).map { _ in random.pick(FlightEvent.allCases) }
            let complaints = fly(&random) { _, step in
                step < events.count ? events[step] : nil
            }.complaints
            #expect(complaints.isEmpty, "seed \(seed)")
            guard complaints.isEmpty else { return }
        }
    }

    /// Every repetition and redirect may come once more after each 304 that met nothing, and
    /// whatever was overtaken has come as far as to be stored.
    private static let stepsMax =
        3 * (Limits.retriesMax + Limits.redirectsMax + Limits.overtakesMax + 2)

    @Test("A flight lands after a bounded number of likely events", arguments: UInt64(1)...20)
    func likely(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for _ in 0..<500 {
            var choice = SeededRandom(seed: random.next())
            let observer = fly(&random) { observer, step in
                let events = observer.likelyEvents
                return events.isEmpty || step >= Self.stepsMax ? nil : choice.pick(events)
            }
            #expect(observer.complaints.isEmpty, "seed \(seed)")
            #expect(observer.endings == 1, "seed \(seed)")
            guard observer.complaints.isEmpty, observer.endings == 1 else { return }
        }
    }

    @Test("The watcher complains about a flight that breaks the contract")
    func watcher() {
        let ask = script.attempt(script.home, conditional: true)
        let broken: [[(FlightEvent, FlightReaction)]] = [
            [(.failedForGood, .failure(.giveUp(.tooLarge))), (.gaveUp, .told(true))],
            [(.stored, .told(true))],
            [(.unavailable, .head(.pause(.seconds(60))))],
            [(.serverError, .head(.receive))],
            [(.notModified, .head(.refresh)), (.refreshedGone, .refresh(.ask(ask)))],
            Array(repeating: (.redirect, .head(.ask(ask))), count: Limits.redirectsMax + 1),
            [(.pauseEnded, .attempt(ask))],
            [(.ok, .head(.pass))],
            [(.redirect, .head(.ask(script.attempt(script.moved, conditional: true))))],
        ]
        for events in broken {
            var observer = FlightObserver(ask, validatedURL: script.home, isOriginDown: false)
            for (event, reaction) in events {
                observer.saw(event, reaction, remaining: .seconds(30))
            }
            #expect(!observer.complaints.isEmpty, "\(events)")
        }
    }

    /// Flies with the events that `next` gives until it gives none.
    private func fly(
        _ random: inout SeededRandom,
        next: (FlightObserver, Int) -> FlightEvent?
    ) -> FlightObserver {
        let isDown = random.pick([false, false, true])
        let isPassedOn = random.pick([false, false, true])
        var machine =
            isPassedOn
            ? script.machine(isOriginDown: isDown, bodyHandling: .passThrough)
            : script.machine(isOriginDown: isDown)
        let hasValidators = random.pick([false, true])
        let source = random.pick([nil, script.moved])
        let first = machine.started(at: script.home, hasValidators: hasValidators, from: source)
        var observer = FlightObserver(
            first,
            validatedURL: hasValidators ? source ?? script.home : nil,
            isOriginDown: isDown,
            isPassedOn: isPassedOn
        )
        var step = 0
        while let event = next(observer, step) {
            let remaining = random.pick([Duration.zero, .milliseconds(150), .seconds(30)])
            let randomUnit = Double.random(in: 0..<1, using: &random)
            let reaction = script.react(
                &machine,
                event,
                remaining: remaining,
                randomUnit: randomUnit
            )
            observer.saw(event, reaction, remaining: remaining)
            step += 1
        }
        return observer
    }
}
