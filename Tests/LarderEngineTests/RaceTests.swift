import LarderModel
import LarderStore
import LarderStrategy
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

/// What can come at an awkward moment, each moment fixed by a gate, a held step or the clock.
@Suite(.timeLimit(.minutes(5)), .engine)
struct RaceTests {
    private let fixture = EngineFixture.running
    private let url = EngineFixture.firstURL
    private let gate = Gate()

    @Test("A cache answer that comes after the network's is dropped")
    func lateCacheAnswer() async throws {
        let hold = StepHold()
        defer { hold.release() }
        try await EngineFixture.run(.with { $0.store.faults = hold }) { fixture in
            let url = try fixture.url("/large")
            try await fixture.cache(url, .json(largeJSON))
            fixture.upstream.answer(url, with: .json("[2]").held(by: gate))
            hold.arm(StoreStep.readChunk, n: 1)
            let fetch = fixture.start(url)
            _ = try await hold.reached.element(0)
            gate.open()
            _ = try await fetch.frames.element(1)
            hold.release()
            let revision = try fixture.step().next(-1)
            #expect(
                try await fetch.result().frames == [
                    .snapshot(.network, revision, url, json: "[2]"),
                    .end(.network, revision, cache: nil, network: .zero),
                ]
            )
        }
    }

    @Test(
        "An answer that a later request's came before shows while that one is not yet written",
        arguments: [false, true]
    )
    func overtakenByLaterRequest(isCached: Bool) async throws {
        let hold = StepHold()
        defer { hold.release() }
        try await EngineFixture.run(.with { $0.store.faults = hold }) { fixture in
            if isCached { try await fixture.cache(url, .json("[0]")) }
            let before = fixture.upstream.asked.all.count
            fixture.upstream.answer(url, with: .json("[1]").held(by: gate), .json("[2]"))
            let first = fixture.start(url, .networkOnly)
            _ = try await fixture.upstream.asked.element(before)
            hold.arm(StoreStep.putEntry)
            let second = fixture.start(url, .networkOnly) {
                $0.headers.append("Accept-Language", "de")
            }
            _ = try await hold.reached.element(0)
            gate.open()
            let late = try await first.result()
            #expect(late.shape == ["network", "end network"])
            #expect(late.lastShown?.text == "[1]")
            hold.release()
            #expect(try await second.result().lastShown?.text == "[2]")
            #expect(try await fixture.cached(url).lastShown?.text == "[2]")
        }
    }

    @Test("network-first shows the cache after network_wait, and the late answer follows")
    func lateNetworkAnswer() async throws {
        try await fixture.cache(url, .json("[1]"))
        let last = try fixture.step()
        fixture.upstream.answer(url, with: .json("[2]").held(by: gate))
        let fetch = fixture.start(url, .networkFirst)
        let wait = Duration.milliseconds(300)
        try await fixture.clock.sleepers(until: wait)
        fixture.clock.advance(by: wait)
        let cached = try FetchFrame.snapshot(.cache, last.next(-1), url, json: "[1]", age: wait)
        #expect(try await fetch.frames.element(0) == cached)
        gate.open()
        #expect(
            try await fetch.result().frames == [
                cached,
                .snapshot(.network, last.next(), url, json: "[2]", storedAt: wait),
                .end(.network, last.next(), network: wait),
            ]
        )
    }

    @Test(
        "An answer that comes after its client's deadline, or hang-up, still lands in the cache",
        arguments: [true, false]
    )
    func answerAfterClient(hasHungUp: Bool) async throws {
        let hold = StepHold()
        defer { hold.release() }
        try await EngineFixture.run(.with { $0.store.faults = hold }) { fixture in
            fixture.upstream.answer(url, with: .json("[1]").held(by: gate))
            let fetch = fixture.start(url) { $0.timeout = .seconds(1) }
            if hasHungUp {
                _ = try await fixture.upstream.asked.element(0)
                fetch.hangUp()
                #expect(try await fetch.result() == FetchResult([]))
            } else {
                try await fixture.clock.sleepers(until: .seconds(1))
                fixture.clock.advance(by: .seconds(1))
                let refusal = Problem(FlightFailure.timeout, url: url)
                #expect(try await fetch.result() == .refused(refusal))
            }
            #expect(try await lands(fixture, url, hold, gate))
        }
    }

    /// Opens the gate and says whether the cache has what comes through it.
    private func lands(
        _ fixture: EngineFixture,
        _ url: WebURL,
        _ hold: StepHold,
        _ gate: Gate
    ) async throws -> Bool {
        hold.arm(StoreStep.putEntry)
        gate.open()
        _ = try await hold.reached.element(0)
        hold.release()
        // The writer takes one command after the other.
        try await fixture.engine.store.flushTouches()
        return try await fixture.cached(url).shape == ["cache", "end cache"]
    }

    @Test("Of two clients one hangs up, and the other gets the answer to the one request")
    func hangUpOfOneOfTwo() async throws {
        try await fixture.cache(url, .json("[1]"))
        fixture.upstream.answer(url, with: .json("[2]").held(by: gate))
        let leaves = fixture.start(url)
        let stays = fixture.start(url)
        _ = try await leaves.frames.element(0)
        _ = try await stays.frames.element(0)
        leaves.hangUp()
        #expect(try await leaves.result().shape == ["cache"])
        gate.open()
        #expect(try await stays.result().shape == ["cache", "network", "end network"])
        #expect(fixture.upstream.asked.all.count == 2)
    }

    @Test("A client that reads no frame any more is sent none")
    func hangUpAtFrame() async throws {
        try await fixture.cache(url, .json("[1]"))
        fixture.upstream.answer(url, with: .json("[2]"))
        let fetch = fixture.start(url, reading: { _ in false })
        #expect(try await fetch.result().shape == ["cache"])
    }

    @Test("A slow reader gets every frame, in order, when it reads on")
    func slowReader() async throws {
        let reading = Gate()
        try await fixture.cache(url, .json("[1]"))
        fixture.upstream.answer(url, with: .json("[2]"))
        let slow = fixture.start(
            url,
            reading: { _ in
                (try? await reading.wait()) != nil
            }
        )
        _ = try await slow.frames.element(0)
        let other = fixture.start(url)
        _ = try await other.frames.element(0)
        reading.open()
        #expect(try await slow.result().shape == ["cache", "network", "end network"])
    }

    @Test("A deadline during the store's write ends the client's wait and not the write")
    func deadlineDuringWrite() async throws {
        let hold = StepHold()
        defer { hold.release() }
        try await EngineFixture.run(
            .with {
                $0.store.faults = hold
                $0.origin.fetch.timeout = .seconds(1)
            }
        ) { fixture in
            hold.arm(StoreStep.putEntry)
            fixture.upstream.answer(url, with: .json("[1]"))
            let fetch = fixture.start(url)
            _ = try await hold.reached.element(0)
            // The client's deadline, and the flight's own.
            try await fixture.clock.sleepers(2, until: .seconds(1))
            fixture.clock.advance(by: .seconds(1))
            let refusal = Problem(FlightFailure.timeout, url: url)
            #expect(try await fetch.result() == .refused(refusal))
            hold.release()
            try await fixture.engine.store.flushTouches()
            #expect(try await fixture.cached(url).shape == ["cache", "end cache"])
        }
    }

    @Test(
        "A 304 for an entry that has gone or changed meanwhile is asked again without the validator",
        arguments: [true, false]
    )
    func notModifiedForAnother(isDeleted: Bool) async throws {
        try await fixture.cache(url, .json("[1]", etag: "\"v1\""))
        let answers = ["[2]", "[3]"].map { ScriptedAnswer.json($0, etag: "\"\($0)\"") }
        fixture.upstream.answer(url, with: .notModified.held(by: gate), answers[0])
        let fetch = fixture.start(url)
        _ = try await fetch.frames.element(0)
        if isDeleted {
            #expect(try await fixture.engine.entries.remove(EntryID(url), fixture.scope) != nil)
        } else {
            // With a header that nothing varies by, it is another flight to the same id.
            fixture.upstream.answer(url, with: answers[1])
            let other = fixture.start(url) { $0.headers.append("X-Trace", "1") }
            _ = try await fixture.upstream.asked.element(2)
            _ = try await other.result()
        }
        gate.open()
        #expect(try await fetch.result().shape == ["cache", "network", "end network"])
        #expect(fixture.upstream.asked.all[1].headers["If-None-Match"] == "\"v1\"")
        #expect(fixture.upstream.asked.all.last?.headers["If-None-Match"] == nil)
        #expect(try await fixture.cached(url).shape == ["cache", "end cache"])
    }
}
