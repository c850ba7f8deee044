package import LarderEngine
package import LarderModel
package import LarderStore
package import LarderWire

/// A running engine between a real store, a scripted upstream, a clock that stands still and
/// random numbers from a seed; there for one test, and ended in order after it.
///
/// Unchecked: only the store's directory may change, between the runs of one test.
package struct EngineFixture: @unchecked Sendable {
    package let engine: Engine
    package let upstream = ScriptedUpstream()
    package let clock: ManualClock
    package let log = LogRecorder()
    package let temporary: TemporaryStore
    private let clients = WorkQueue()
    private static let seed: UInt64 = 1

    /// Runs `body` while the engine runs, on a store that an earlier one may have left.
    package static func run(
        _ setup: EngineSetup? = nil,
        on temporary: TemporaryStore? = nil,
        at clock: ManualClock = ManualClock(),
        _ body: (EngineFixture) async throws -> Void
    ) async throws {
        let fixture = try EngineFixture(setup ?? EngineSetup(), temporary, clock)
        let (engine, clients) = (fixture.engine, fixture.clients)
        let result = await withDiscardingTaskGroup(returning: Result<Void, any Error>.self) {
            group in
            group.addTask { await engine.run() }
            group.addTask { await clients.run(cancellingTheRest: true) }
            let result: Result<Void, any Error>
            do {
                result = .success(try await body(fixture))
            } catch {
                result = .failure(error)
            }
            engine.stop()
            clients.finish()
            return result
        }
        try result.get()
        try await fixture.temporary.close()
    }

    private init(_ setup: EngineSetup, _ earlier: TemporaryStore?, _ clock: ManualClock) throws {
        self.clock = clock
        temporary =
            try earlier
            ?? TemporaryStore(
                now: { clock.now() },
                configure: { configuration in
                    let own = configuration
                    configuration = setup.store
                    configuration.cacheDirectory = own.cacheDirectory
                    configuration.stateDirectory = own.stateDirectory
                    configuration.faults = setup.store.faults ?? own.faults
                }
            )
        engine = Engine(
            store: temporary.store,
            upstream: upstream,
            origins: setup.table,
            keeping: OriginStore(in: temporary.directory),
            clock: clock,
            random: SeededRandom(seed: Self.seed),
            logger: log.logger,
            version: "1.2.3",
            readFile: setup.readFile
        )
    }

    // MARK: What tests do with it

    package static let scope = Scope.own(uid: 1_000, account: .default)

    package var scope: ScopeKey { engine.store.key(for: Self.scope) }

    /// Which operations of the store's files fail.
    package var faults: FaultInjection { temporary.faults }

    /// A URL of the origin.
    package func url(_ path: String) throws -> WebURL {
        try WebURL("https://api.example.com" + path)
    }

    /// What full jitter draws with for the n-th answer or failure of the upstream, counted from 0.
    package func randomUnit(_ n: Int) -> Double {
        var random = SeededRandom(seed: Self.seed)
        var word = random.next()
        for _ in 0..<n { word = random.next() }
        return Double(word >> 11) / 9_007_199_254_740_992
    }

    /// Begins a fetch in a task of its own.
    package func start(
        _ url: WebURL,
        _ policy: FetchPolicy? = nil,
        as scope: Scope = Self.scope,
        _ adjust: (inout FetchOrder) -> Void = { _ in },
        reading read: @escaping @Sendable (FetchFrame) async -> Bool = { _ in true }
    ) -> ClientFetch {
        var command = FetchOrder(url: url)
        command.policy = policy
        adjust(&command)
        let fetch = ClientFetch(read)
        let isTaken = clients.add { [command, engine] in
            await fetch.run(command, as: scope, at: engine)
        }
        precondition(isTaken, "the fixture has ended")
        return fetch
    }

    /// Fetches to the end.
    @discardableResult
    package func fetch(
        _ url: WebURL,
        _ policy: FetchPolicy? = nil,
        as scope: Scope = Self.scope,
        _ adjust: (inout FetchOrder) -> Void = { _ in }
    ) async throws -> FetchResult {
        try await start(url, policy, as: scope, adjust).result()
    }

    /// Has an earlier fetch bring an answer into the cache.
    package func cache(
        _ url: WebURL,
        _ answer: ScriptedAnswer,
        as scope: Scope = Self.scope
    ) async throws {
        upstream.answer(url, with: answer)
        try await fetch(url, as: scope)
    }
}
