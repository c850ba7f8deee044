import LarderModel
import LarderStrategy
import Testing

@Suite("The health of an origin")
struct OriginHealthTests {
    enum Event: CaseIterable, Sendable {
        case answered
        case connectFailed
        case responseTimedOut
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
        case .responseTimedOut: health.responseTimedOut(now: later)
        case .portalAnswered: health.portalAnswered(now: later)
        }
    }

    @Test("A rest is an account's own, five minutes at most, and moved by a later one only")
    func rests() throws {
        var health = OriginHealth(now: .start)
        let (own, other) = (Scope.own(uid: 1, account: .default), Scope.shared)
        #expect(health.retryAfterEnd(of: own, now: .zero) == nil)
        for (asked, now, end) in [(60, 0, 60), (10, 1, 60), (7_200, 2, 302), (1, 400, 401)] {
            let told = health.askedForRest(of: own, for: .seconds(asked), now: .seconds(now))
            #expect(told == .seconds(end))
            #expect(health.retryAfterEnd(of: own, now: .seconds(now)) == .seconds(end))
            #expect(health.retryAfterEnd(of: other, now: .seconds(now)) == nil)
        }
        #expect(health.retryAfterEnd(of: own, now: .seconds(401)) == nil)
        _ = health.askedForRest(of: own, for: .seconds(60), now: .seconds(450))
        health.restEnded(of: own)
        #expect(health.retryAfterEnd(of: own, now: .seconds(450)) == nil)
        for uid in 0..<UInt32(Limits.retryAfterAccountsMax + 10) {
            let scope = Scope.own(uid: uid, account: .default)
            _ = health.askedForRest(of: scope, for: .seconds(60), now: .seconds(500))
        }
        #expect(health.retryAfters.count == Limits.retryAfterAccountsMax)
    }

    @Test("Only a 429 or 503 with a Retry-After asks for a rest")
    func asksForRest() {
        func rest(_ status: Int, _ value: String?) -> Duration? {
            let fields = value.map { [HeaderFields.Field(name: "Retry-After", value: $0)] } ?? []
            return ResponseHead(status: status, headers: HeaderFields(fields), now: .start).rest
        }
        #expect(rest(429, "7") == .seconds(7))
        #expect(rest(503, "3600") == .seconds(300))
        #expect(rest(503, "0") == nil)
        #expect(rest(503, nil) == nil)
        #expect(rest(500, "7") == nil)
        #expect(rest(200, "7") == nil)
    }

    @Test(
        "The last request decides, whatever was before",
        arguments: [
            (.answered, .online), (.connectFailed, .offline), (.responseTimedOut, .offline),
            (.portalAnswered, .captive),
        ] as [(Event, OriginHealth.State)]
    )
    func table(event: Event, next: OriginHealth.State) {
        for state in Self.states {
            var health = health(state)
            #expect(health.state == state)
            let isUpdate = react(&health, event)
            #expect(isUpdate == (state != next), "\(state)")
            #expect(health.state == next, "\(state)")
            #expect(health.since == (isUpdate ? later : .start), "\(state)")
        }
    }

    @Test("Only an origin that did not answer, or was spoken for, is down")
    func isDown() {
        #expect(Self.states.filter { health($0).isDown } == [.offline, .captive])
    }

    @Test("A portal counts for ten minutes, and not after the clock was set back")
    func captiveTime() {
        let health = health(.captive)
        for (seconds, counts) in [(0, true), (599, true), (600, false), (-1, true)] {
            #expect(health.isCaptive(.start.advanced(by: .seconds(seconds))) == counts)
        }
        let back = Duration.zero - Limits.clockSlack - .seconds(1)
        #expect(!health.isCaptive(.start.advanced(by: back)))
    }

    @Test("At first nothing is known")
    func unknown() {
        let health = OriginHealth(now: later)
        #expect(health.state == .unknown)
        #expect(health.since == later)
    }
}
