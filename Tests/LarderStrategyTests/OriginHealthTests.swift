import LarderModel
import LarderStrategy
import Testing

@Suite("The health of an origin")
struct OriginHealthTests {
    enum Event: CaseIterable, Sendable {
        case answered
        case connectFailed
        case fellSilent
        case portalAnswered
    }

    private static let states: [OriginHealth.State] = [.unknown, .online, .offline, .captive]

    private let later = Timestamp.start.advanced(by: .seconds(1))

    private func health(_ state: OriginHealth.State) -> OriginHealth {
        var health = OriginHealth(now: .start)
        switch state {
        case .unknown: break
        case .online: _ = health.answered(now: .start)
        case .offline: _ = health.connectFailed(now: .start)
        case .captive: _ = health.portalAnswered(now: .start)
        }
        return health
    }

    private func react(_ health: inout OriginHealth, _ event: Event) -> Bool {
        switch event {
        case .answered: health.answered(now: later)
        case .connectFailed: health.connectFailed(now: later)
        case .fellSilent: health.fellSilent(now: later)
        case .portalAnswered: health.portalAnswered(now: later)
        }
    }

    @Test(
        "The last request decides, whatever was before",
        arguments: [
            (.answered, .online), (.connectFailed, .offline), (.fellSilent, .offline),
            (.portalAnswered, .captive),
        ] as [(Event, OriginHealth.State)]
    )
    func table(event: Event, next: OriginHealth.State) {
        for state in Self.states {
            var health = health(state)
            #expect(health.state == state)
            let isNews = react(&health, event)
            #expect(isNews == (state != next), "\(state)")
            #expect(health.state == next, "\(state)")
            #expect(health.since == (isNews ? later : .start), "\(state)")
        }
    }

    @Test("Only an origin that did not answer, or was spoken for, is down")
    func isDown() {
        #expect(Self.states.filter { health($0).isDown } == [.offline, .captive])
    }

    @Test("At first nothing is known")
    func unknown() {
        let health = OriginHealth(now: later)
        #expect(health.state == .unknown)
        #expect(health.since == later)
    }
}
