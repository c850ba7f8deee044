import LarderModel
import LarderStrategy
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

/// Every policy, with every state of the cache and every outcome of the network.
@Suite(.timeLimit(.minutes(5)), .engine)
struct PolicyTests {
    private let fixture = EngineFixture.running
    private let url = EngineFixture.firstURL
    private let gate = Gate()

    enum Cached: CaseIterable {
        case hit
        case miss
        case tombstone
    }

    enum Network: CaseIterable {
        case new
        case same
        case notModified
        case gone
        case refusal
        case unreachable
        case timedOut
        case silent
    }

    @Test(
        "cache-then-network shows the cache immediately and then the network's answer",
        arguments: Cached.allCases,
        Network.allCases
    )
    func cacheThenNetwork(cached: Cached, network: Network) async throws {
        let run = try PolicyRun(fixture)
        let got = try await run.fetch(.cacheThenNetwork, cached, network)
        let said = run.whatNetworkSays(network, wasShown: cached == .hit)
        switch cached {
        case .hit: #expect(got == FetchResult([try run.cachedSnapshot()] + said.frames))
        case .miss: #expect(got == said)
        case .tombstone: #expect(got == run.whatIsRemembered(beside: network))
        }
    }

    @Test(
        "network-first shows the network, and the cache only when that fails or is slow",
        arguments: Cached.allCases,
        Network.allCases
    )
    func networkFirst(cached: Cached, network: Network) async throws {
        try await networkFirst(.networkFirst, cached, network)
    }

    private func networkFirst(
        _ policy: FetchPolicy,
        _ cached: Cached,
        _ network: Network
    ) async throws {
        let run = try PolicyRun(fixture)
        let got = try await run.fetch(policy, cached, network)
        switch (cached, network) {
        case (.hit, .refusal), (.hit, .unreachable), (.hit, .timedOut), (.hit, .silent):
            let wait = network == .silent ? PolicyRun.networkWait : run.networkTime
            let said = run.whatNetworkSays(network, wasShown: true)
            #expect(got == FetchResult([try run.cachedSnapshot(after: wait)] + said.frames))
        case (.hit, .same), (.hit, .notModified):
            #expect(got == FetchResult(try run.confirmed()))
        case (.hit, .new), (.hit, .gone), (.miss, _):
            #expect(got == run.whatNetworkSays(network, wasShown: false))
        case (.tombstone, _): #expect(got == run.whatIsRemembered(beside: network))
        }
    }

    @Test("cache-only shows the cached row and sends no request", arguments: Cached.allCases)
    func cacheOnly(cached: Cached) async throws {
        let run = try PolicyRun(fixture)
        try await run.prepare(cached)
        let asked = fixture.upstream.asked.all.count
        let got = try await fixture.fetch(run.url, .cacheOnly)
        switch cached {
        case .hit:
            #expect(got == FetchResult([try run.cachedSnapshot(), .end(.cache, run.old)]))
        case .miss:
            #expect(got == .refused(Problem(.miss, "nothing is cached for \(run.url)")))
        case .tombstone:
            let frames = [run.remembered, .end(.deleted, run.old)]
            #expect(got == FetchResult(frames))
        }
        #expect(fixture.upstream.asked.all.count == asked)
    }

    @Test(
        "cache-first with a stale answer, or none, is as network-first",
        arguments: Cached.allCases,
        Network.allCases
    )
    func cacheFirst(cached: Cached, network: Network) async throws {
        try await networkFirst(.cacheFirst, cached, network)
    }

    @Test("cache-first shows a fresh answer without a request, until the answer is stale")
    func cacheFirstFresh() async throws {
        try await fixture.cache(url, .json("[1]", headers: ["Cache-Control": "max-age=60"]))
        let revision = try fixture.step().next(-1)
        fixture.clock.advance(by: .seconds(59))
        let fresh = try await fixture.fetch(url, .cacheFirst)
        let snapshot = try FetchFrame.snapshot(
            .cache,
            revision,
            url,
            json: "[1]",
            isStale: false,
            age: .seconds(59)
        )
        #expect(fresh == FetchResult([snapshot, .end(.cache, revision)]))
        #expect(fixture.upstream.asked.all.count == 1)
        fixture.clock.advance(by: .seconds(1))
        fixture.upstream.answer(url, with: .json("[2]"))
        let stale = try await fixture.fetch(url, .cacheFirst)
        #expect(stale.shape == ["network", "end network"])
    }

    @Test("While the origin is down cache-first shows a stale answer without a wait, and asks")
    func cacheFirstDown() async throws {
        try await fixture.cache(url, .json("[1]"))
        fixture.upstream.answer(url, with: .failure(.timedOut(.head)))
        _ = try await fixture.fetch(url)
        let name = try OriginName("example")
        fixture.engine.context.originStates.noteConnectFailure(name)
        fixture.upstream.answer(url, with: .json("[2]").held(by: gate))
        let fetch = fixture.start(url, .cacheFirst) { $0.networkWait = .seconds(3_600) }
        #expect(try await fetch.frames.element(0).shown?.source == .cache)
        gate.open()
        #expect(try await fetch.result().shape == ["cache", "network", "end network"])
    }

    @Test(
        "stale-while-revalidate shows what is cached and nothing more, else waits for the network",
        arguments: Cached.allCases,
        Network.allCases
    )
    func staleWhileRevalidate(cached: Cached, network: Network) async throws {
        let run = try PolicyRun(fixture)
        guard cached == .hit else {
            let got = try await run.fetch(.staleWhileRevalidate, cached, network)
            return #expect(
                cached == .miss
                    ? got == run.whatNetworkSays(network, wasShown: false)
                    : got == run.whatIsRemembered(beside: network)
            )
        }
        try await run.prepare(cached)
        run.script(network)
        let got = try await fixture.fetch(run.url, .staleWhileRevalidate)
        #expect(got == FetchResult([try run.cachedSnapshot(), .end(.cache, run.old)]))
        _ = try await fixture.upstream.asked.element(1)
    }

    @Test("The refresh behind stale-while-revalidate goes on without its client and is stored")
    func refreshBehind() async throws {
        try await fixture.cache(url, .json("[1]"))
        fixture.upstream.answer(url, with: .json("[2]").held(by: gate))
        let first = fixture.start(url, .staleWhileRevalidate)
        #expect(try await first.result().shape == ["cache", "end cache"])
        first.hangUp()
        _ = try await fixture.upstream.asked.element(1)
        // The second fetch joins the same request, before it shows what is cached.
        let second = fixture.start(url, .cacheThenNetwork)
        #expect(try await second.frames.element(0).shown?.source == .cache)
        gate.open()
        #expect(try await second.result().shape == ["cache", "network", "end network"])
        #expect(fixture.upstream.asked.all.count == 2)
        #expect(fixture.upstream.givenUp.all.isEmpty)
        #expect(try await fixture.cached(url).lastShown?.entry.content == .json(Array("[2]".utf8)))
    }

    @Test(
        "network-only shows what the network says, and stores it",
        arguments: Cached.allCases,
        Network.allCases
    )
    func networkOnly(cached: Cached, network: Network) async throws {
        let run = try PolicyRun(fixture)
        let got = try await run.fetch(.networkOnly, cached, network)
        switch (cached, network) {
        case (.hit, .same), (.hit, .notModified):
            #expect(got == FetchResult(try run.confirmed(cache: nil)))
        case (.hit, _), (.miss, _), (.tombstone, _):
            #expect(got == run.whatNetworkSays(network, wasShown: false, cache: nil))
        }
        guard network == .new else { return }
        let stored = try await fixture.cached(run.url)
        #expect(stored.lastShown?.entry.content == .json(Array("[2]".utf8)))
    }
}
