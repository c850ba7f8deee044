import LarderAPI
import LarderModel
import LarderStore
import LarderStrategy
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

/// One request for any number of clients that want the same.
@Suite(.timeLimit(.minutes(5)), .engine)
struct SingleFlightTests {
    private let fixture = EngineFixture.running
    private let url = EngineFixture.firstURL
    private let gate = Gate()

    @Test("A hundred clients that ask for the same URL make one request")
    func hundredClients() async throws {
        try await fixture.cache(url, .json("[1]"))
        fixture.upstream.answer(url, with: .json("[2]").held(by: gate))
        let fetches = (0..<100).map { _ in fixture.start(url) }
        // A client that was shown the cache has asked the network before.
        for fetch in fetches { _ = try await fetch.frames.element(0) }
        #expect(await fixture.engine.monitor.status(connections: 100).flights == 1)
        gate.open()
        for fetch in fetches {
            #expect(try await fetch.result().shape == ["cache", "network", "end network"])
        }
        #expect(fixture.upstream.asked.all.count == 2)
    }

    @Test("Requests with different uids, accounts, headers or URLs are sent separately")
    func differentKeys() async throws {
        let held = ScriptedAnswer.json("[1]").held(by: gate)
        fixture.upstream.answer(url, with: held, held, held, held)
        fixture.upstream.answer(try fixture.url("/a?"), with: held)
        let work = try AccountName("work")
        // The first and the fourth have one row: neither is to see what the other has just stored.
        let fetches = [
            fixture.start(url, .networkFirst),
            fixture.start(url, as: .own(uid: 1_001, account: .default)),
            fixture.start(url, as: .own(uid: 1_000, account: work)),
            fixture.start(url, .networkFirst) { $0.headers.append("Accept-Language", "de") },
            fixture.start(try fixture.url("/a?")),
        ]
        _ = try await fixture.upstream.asked.element(4)
        gate.open()
        for fetch in fetches {
            #expect(try await fetch.result().shape == ["network", "end network"])
        }
    }

    @Test("A client that may wait longer keeps the flight of another in the air")
    func longerDeadline() async throws {
        try await EngineFixture.run(.with { $0.origin.fetch.timeout = .seconds(1) }) { fixture in
            try await fixture.cache(url, .json("[1]"))
            fixture.upstream.answer(url, with: .json("[2]").held(by: gate))
            let short = fixture.start(url)
            _ = try await short.frames.element(0)
            let long = fixture.start(url) { $0.timeout = .seconds(7) }
            _ = try await long.frames.element(0)
            try await fixture.clock.sleepers(2, until: .seconds(1))
            fixture.clock.advance(by: .seconds(1))
            #expect(try await short.result().shape == ["cache", "problem timeout", "end error"])
            // The longer client's own deadline, and now the flight's.
            try await fixture.clock.sleepers(2, until: .seconds(7))
            gate.open()
            #expect(try await long.result().shape == ["cache", "network", "end network"])
            #expect(fixture.upstream.asked.all.count == 2)
            // The upstream's own time must not end before the flight's, which may move.
            #expect(fixture.upstream.asked.all[1].timeout == Limits.requestTimeMax)
        }
    }

    @Test("A flight is given up when no client may wait for it any longer")
    func flightDeadline() async throws {
        try await EngineFixture.run(.with { $0.origin.fetch.timeout = .seconds(1) }) { fixture in
            fixture.upstream.answer(url, with: .json("[1]").held(by: Gate()))
            let fetch = fixture.start(url)
            try await fixture.clock.sleepers(2, until: .seconds(1))
            fixture.clock.advance(by: .seconds(1))
            let refusal = Problem(FlightFailure.timeout, url: url)
            #expect(try await fetch.result() == .refused(refusal))
            #expect(try await fixture.upstream.givenUp.element(0).url == url)
        }
    }

    @Test("A fetch after the landing sends a request of its own")
    func afterLanding() async throws {
        try await fixture.cache(url, .json("[1]", etag: "\"v1\""))
        try await fixture.cache(url, .notModified)
        #expect(fixture.upstream.asked.all.count == 2)
        #expect(await fixture.engine.monitor.status(connections: 0).flights == 0)
    }

    @Test("A client that comes after the origin's timeout does not join the old flight")
    func joinDeadline() async throws {
        try await EngineFixture.run(.with { $0.origin.fetch.timeout = .seconds(5) }) { fixture in
            let dead = ScriptedAnswer.json("[1]").held(by: Gate())
            fixture.upstream.answer(url, with: dead, .json("[2]"))
            let first = fixture.start(url) { $0.timeout = .seconds(60) }
            try await fixture.clock.sleepers(2, until: .seconds(60))
            fixture.clock.advance(by: .seconds(5))
            #expect(try await fixture.fetch(url).shape == ["network", "end network"])
            #expect(fixture.upstream.asked.all.count == 2)
            first.hangUp()
            _ = try await first.result()
        }
    }

    @Test("More flights of one user than there may be are refused, and the cache still answers")
    func tooManyFlights() async throws {
        try await fixture.cache(url, .json("[1]"))
        let engine = fixture.engine
        func sendOff(_ number: Int, _ scope: ScopeKey) throws -> Bool {
            let key = Flight.Key(
                scope: scope,
                url: try fixture.url("/\(number)"),
                headers: HeaderFields()
            )
            let plan = Flight.Plan(
                key: key,
                payer: scope,
                origin: engine.context.origins.origins[0],
                cached: nil,
                isOriginDown: false,
                rules: nil,
                client: nil,
                pipe: nil
            )
            let joined = engine.context.flights.join(plan, now: .zero) {
                Flight(plan, context: engine.context, now: .zero, deadline: .seconds(1))
            }
            return joined != nil
        }
        // The accounts of a user count together.
        let account = engine.store.key(for: .own(uid: 1_000, account: try AccountName("work")))
        for number in 0..<Limits.flightsPerUserMax {
            #expect(try sendOff(number, number.isMultiple(of: 2) ? account : fixture.scope))
        }
        #expect(try !sendOff(Limits.flightsPerUserMax, fixture.scope))
        let other = engine.store.key(for: .own(uid: 77, account: .default))
        #expect(try sendOff(0, other))
        let shape = try await fixture.fetch(url).shape
        #expect(shape == ["cache", "problem overloaded", "end error"])
        let refusal = Problem(FlightFailure.overloaded, url: url)
        #expect(try await fixture.fetch(fixture.url("/b")) == .refused(refusal))
    }
}
