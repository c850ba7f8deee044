package import LarderModel
package import LarderStore
import LarderStrategy
package import LarderUpstream
package import LarderWire
package import Logging
import Synchronization

/// Carries out what strategies decide, between one store, the origins, and any number of clients.
///
/// Every method may be called from any thread; those that take a ``StoreReader`` from the one that
/// owns it. Work that outlives a request (flights, housekeeping) runs inside ``run()``.
package final class Engine: Sendable {
    let context: EngineContext
    let flights = FlightTable()
    var work: WorkQueue { context.work }
    var keeper: PinKeeper { context.keeper }
    /// Carries out what the modifier queue decides.
    let steps: ModifierSteps
    let keeping: OriginKeeping
    let changes = OriginChanges()
    /// What the configuration has to say beside the store, for status.
    let findings: [String]
    let sessions = SessionList()
    let followers: FollowerTable
    let batches = BatchCount()
    let started: Duration
    /// The version that status tells.
    let version: String
    let maxBytes: Int64
    let meter: Mutex<HitMeter>

    package init(
        store: CacheStore,
        upstream: any Upstream,
        origins: OriginTable,
        keeping: OriginKeeping,
        clock: any EngineClock,
        random: any RandomNumberGenerator & Sendable,
        logger: Logger,
        version: String,
        maxBytes: ByteSize,
        findings: [String] = []
    ) {
        context = EngineContext(
            store: store,
            upstream: upstream,
            clock: clock,
            origins: origins,
            offline: Self.offlineOrigins(store, logger),
            work: WorkQueue(),
            random: random,
            logger: logger
        )
        steps = ModifierSteps(
            context,
            FlightBoard(context: context, table: flights, work: context.work)
        )
        followers = FollowerTable(maxBytes: maxBytes.bytes)
        store.whenPinsHaveNews { [keeper = context.keeper] in keeper.post(.wanted) }
        started = clock.monotonic()
        meter = Mutex(HitMeter())
        self.version = version
        self.keeping = keeping
        self.findings = findings
        self.maxBytes = maxBytes.bytes
    }

    var board: FlightBoard { FlightBoard(context: context, table: flights, work: work) }
    package var store: CacheStore { context.store }
    package var clock: any EngineClock { context.clock }
    package var logger: Logger { context.logger }

    /// Runs flights and housekeeping until ``stop()``.
    package func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.keepHouse() }
            group.addTask { await self.context.watchers.run() }
            group.addTask { await self.keeper.run(self.context, self.board) }
            group.addTask {
                await Reading.$current.withValue(.sending) {
                    await self.context.modifiers.run(self.steps)
                }
            }
            await work.run(cancellingTheRest: true)
            group.cancelAll()
        }
    }

    /// Ends every fetch with its `end` frame and starts no more flights.
    package func drain() {
        context.isDraining = true
        sessions.drain()
    }

    /// Gives up what is still in the air; ``run()`` returns soon after.
    package func stop() {
        drain()
        work.finish()
    }

    /// A client's fetch.
    ///
    /// Frames go to `emit`, which says whether anybody still reads; what is
    /// returned is the problem that the client gets instead of any frame.
    ///
    /// `interest` ends when the client hangs up.
    package func fetch(
        _ command: FetchCommand,
        scope: ScopeKey,
        client: ClientTag? = nil,
        reader: StoreReader,
        interest: Interest,
        emit: @escaping (FetchFrame) async -> Bool
    ) async -> Problem? {
        let started = clock.monotonic()
        let request: FetchRequest
        do throws(Problem) {
            let origin = try context.origin(of: command.url, in: scope)
            request = FetchRequest(command, origin: origin, client: client)
        } catch {
            return error
        }
        guard !request.follows || followers.add(scope) else {
            return Problem(
                .overloaded,
                "\(Limits.followersPerUserMax) fetches follow an entry already",
                hint: "End one of the streams that were asked for with follow."
            )
        }
        defer { if request.follows { followers.remove(scope) } }
        var tally = FetchTally(started: started)
        let printer = FramePrinter(context, scope.scope, request) { [clock] frame in
            tally.saw(frame, at: clock.monotonic())
            return await emit(frame)
        }
        let refusal: Problem?
        do throws(Problem) {
            refusal = try await run(request, printer, scope, reader, interest).refusal
        } catch {
            return error
        }
        tally.end(request.policy, refusal: refusal, at: clock.monotonic(), in: context.meter)
        return refusal
    }

    /// Answers one request on the raw routes: an origin's answer as one body; nil when its client has
    /// hung up, which `interest` tells.
    package func raw(
        _ command: RawCommand,
        scope: ScopeKey,
        reader: StoreReader,
        interest: Interest
    ) async throws(Problem) -> RawReply? {
        let (url, origin) = try place(command, scope)
        var fetch = FetchCommand(url: url)
        fetch.headers = command.headers
        let rules = RawRules(origin.fetch.policy, control: command.cacheControl)
        let conditions = RawConditions(
            ifNoneMatch: command.ifNoneMatch,
            ifModifiedSince: command.ifModifiedSince
        )
        let request = FetchRequest(fetch, origin: origin, raw: rules)
        let printer = RawPrinter(clock, url, rules, conditions)
        return try await run(request, printer, scope, reader, interest).reply
    }

    /// Runs one client's session to its end.
    private func run<Printer: FetchPrinter>(
        _ request: FetchRequest,
        _ printer: Printer,
        _ scope: ScopeKey,
        _ reader: StoreReader,
        _ interest: Interest
    ) async throws(Problem) -> Printer {
        let mailbox = Mailbox<FetchEvent>()
        guard let seat = sessions.add({ mailbox.post(.drainBegan) }) else { throw .daemonEnds }
        defer { sessions.remove(seat) }
        interest.whenGivenUp { mailbox.post(.hungUp) }
        var session = FetchSession(context, board, followers, scope, request, mailbox, printer)
        await session.run(reader)
        return session.printer
    }

    private func keepHouse() async {
        while (try? await clock.sleep(for: Limits.touchFlushTime)) != nil {
            do throws(StoreError) {
                try await store.maintain()
            } catch {
                logger.warning(
                    "housekeeping failed",
                    metadata: .larder([.reason: "\(error.message)"])
                )
            }
            logNews()
            updateMeter()
        }
    }

    /// Logs what the store has found wrong and done about it.
    private func logNews() {
        for sentence in store.takeNews() {
            logger.warning("the files", metadata: .larder([.reason: "\(sentence)"]))
        }
    }

    func updateMeter() {
        let (hits, misses) = context.reads
        let now = clock.monotonic()
        meter.withLock { $0.advance(hits: hits, misses: misses, at: now) }
    }
}
