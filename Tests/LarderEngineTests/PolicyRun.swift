import LarderModel
import LarderStrategy
import LarderTestSupport
import LarderUpstream
import LarderWire

@testable import LarderEngine

/// One line of the table: what is prepared, driven and expected.
final class PolicyRun {
    static let networkWait = Duration.seconds(5)
    static let timeout = Duration.seconds(20)
    static let age = Duration.seconds(60)

    let url: WebURL
    /// The revision of what is cached.
    private(set) var old = Revision(0)
    /// The last step before the fetch.
    private var last = Revision(0)
    private(set) var networkTime = Duration.zero
    private let fixture: EngineFixture

    init(_ fixture: EngineFixture) throws {
        self.fixture = fixture
        url = try fixture.url("/a")
    }

    func prepare(_ cached: PolicyTests.Cached) async throws {
        switch cached {
        case .hit: try await fixture.cache(url, .json("[1]", etag: "\"v1\""))
        case .miss: break
        case .tombstone: try await fixture.cache(url, .reply(status: 410))
        }
        last = try fixture.step()
        old = Revision(last.number - 1)
        fixture.clock.advance(by: Self.age)
    }

    func fetch(
        _ policy: FetchPolicy,
        _ cached: PolicyTests.Cached,
        _ network: PolicyTests.Network
    ) async throws -> FetchResult {
        try await prepare(cached)
        script(network)
        let fetch = fixture.start(url, policy) { command in
            command.timeout = Self.timeout
            command.networkWait = Self.networkWait
        }
        switch network {
        case .new, .same, .notModified, .gone, .refusal, .timedOut: break
        case .unreachable: try await passRetries(drawn: cached == .miss ? 0 : 1)
        case .silent: try await passDeadline(policy, cached, fetch)
        }
        return try await fetch.result()
    }

    func script(_ network: PolicyTests.Network) {
        let answer: ScriptedAnswer? =
            switch network {
            case .new: .json("[2]", etag: "\"v2\"")
            case .same: .json("[1]", etag: "\"v1\"")
            case .notModified: .notModified
            case .gone: .reply(status: 404)
            case .refusal: .reply("no", status: 403)
            case .unreachable: nil
            case .timedOut: .failure(.timedOut(.head))
            case .silent: .reply().held(by: Gate())
            }
        if let answer { fixture.upstream.answer(url, with: answer) }
    }

    /// Two repetitions, each after a pause by randomUnit.
    private func passRetries(drawn: Int) async throws {
        for retry in 0..<2 {
            let pause = Limits.retryBase * (1 << retry) * fixture.randomUnit(drawn + retry)
            try await fixture.clock.sleepers(until: Self.age + networkTime + pause)
            fixture.clock.advance(by: pause)
            networkTime += pause
        }
    }

    private func passDeadline(
        _ policy: FetchPolicy,
        _ cached: PolicyTests.Cached,
        _ fetch: ClientFetch
    ) async throws {
        let clock = fixture.clock
        try await clock.sleepers(until: Self.age + Self.timeout)
        if policy == .networkFirst || policy == .cacheFirst && cached == .hit {
            try await clock.sleepers(until: Self.age + Self.networkWait)
        }
        clock.advance(by: Self.networkWait)
        if cached == .hit, policy != .networkOnly { _ = try await fetch.frames.element(0) }
        clock.advance(by: Self.timeout - Self.networkWait)
    }

    // MARK: What is expected

    func cachedSnapshot(after wait: Duration = .zero) throws -> FetchFrame {
        try .snapshot(
            .cache,
            old,
            url,
            json: "[1]",
            etag: "\"v1\"",
            age: .milliseconds((Self.age + wait).milliseconds)
        )
    }

    /// What is cached, shown as the network's.
    func confirmed(cache: Duration? = .zero) throws -> [FetchFrame] {
        [
            try .snapshot(.network, old, url, json: "[1]", etag: "\"v1\"", storedAt: Self.age),
            .end(.network, old, cache: cache, network: .zero),
        ]
    }

    func deleted(status: Int) -> Problem {
        var problem = Problem(.deleted, "the origin says that \(url) is gone")
        problem.originStatus = status
        return problem
    }

    /// What is cached, where that is that the origin has deleted it.
    var remembered: FetchFrame {
        .deleted(DeletedFrame(source: .cache, revision: old, status: 410))
    }

    /// What the client gets where that is cached: what the network says, or where it fails that it
    /// was deleted once.
    func whatIsRemembered(beside network: PolicyTests.Network) -> FetchResult {
        let said = whatNetworkSays(network, wasShown: false)
        guard network != .gone, let problem = said.refusal else { return said }
        let time = network == .silent ? nil : networkTime
        return FetchResult([
            remembered, .problem(ProblemFrame(problem)), .end(.error, old, network: time),
        ])
    }

    /// The network's part of the answer, after the cache was shown or in its place.
    func whatNetworkSays(
        _ network: PolicyTests.Network,
        wasShown: Bool,
        cache: Duration? = .zero
    ) -> FetchResult {
        switch network {
        case .new:
            return shown("[2]", etag: "\"v2\"", cache: cache)
        case .same where wasShown:
            return FetchResult([
                .unchanged(old, status: 200), .end(.unchanged, old, network: .zero),
            ])
        case .same:
            return shown("[1]", etag: "\"v1\"", cache: cache)
        case .notModified where wasShown:
            return FetchResult([
                .unchanged(old, status: 304), .end(.unchanged, old, network: .zero),
            ])
        case .notModified:
            return .refused(Problem(FlightFailure.badAnswer("304 to a plain request"), url: url))
        case .gone where wasShown:
            return FetchResult([
                .deleted(DeletedFrame(revision: last.next(), status: 404)),
                .end(.deleted, last.next(), network: .zero),
            ])
        case .gone:
            return .refused(deleted(status: 404))
        case .refusal:
            var problem = Problem(.originStatus, "https://api.example.com answered 403")
            problem.originStatus = 403
            problem.quote(Array("no".utf8))
            return failed(problem, wasShown, network: .zero)
        case .unreachable:
            let problem = Problem(FlightFailure.unreachable("nothing is scripted for it"), url: url)
            return failed(problem, wasShown, network: networkTime)
        case .timedOut:
            return failed(Problem(FlightFailure.timeout, url: url), wasShown, network: .zero)
        case .silent:
            return failed(Problem(FlightFailure.timeout, url: url), wasShown, network: nil)
        }
    }

    private func shown(_ body: String, etag: String, cache: Duration?) -> FetchResult {
        let snapshot = try? FetchFrame.snapshot(
            .network,
            last.next(),
            url,
            json: body,
            etag: etag,
            storedAt: Self.age
        )
        return FetchResult(
            [snapshot].compactMap { $0 }
                + [.end(.network, last.next(), cache: cache, network: .zero)]
        )
    }

    private func failed(_ problem: Problem, _ wasShown: Bool, network: Duration?) -> FetchResult {
        guard wasShown else { return .refused(problem) }
        return FetchResult([.problem(ProblemFrame(problem)), .end(.error, old, network: network)])
    }
}
