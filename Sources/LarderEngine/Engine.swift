package import LarderModel
package import LarderStore
import LarderStrategy
package import LarderUpstream
package import LarderWire
package import Logging

/// Carries out what strategies decide, between one store, the origins, and any number of clients.
///
/// Every method may be called from any thread; those that take a ``StoreReader`` from the one that
/// owns it. Work that outlives a request (flights, maintenance) runs inside ``run()``.
package final class Engine: Sendable {
    let context: EngineContext
    let steps: ModifierSteps
    package let origins: Origins
    package let monitor: Monitor
    package var entries: Entries { Entries(context: context) }
    package var entities: Entities { Entities(context: context) }
    package let credentials: Credentials
    package var pins: Pins { Pins(context: context) }
    package var prefetches: Prefetches { Prefetches(context: context) }
    package var modifiers: Modifiers { Modifiers(context: context) }
    package var passedWrites: PassedWrites { PassedWrites(context: context) }
    package var modifierActions: ModifierActions { ModifierActions(context: context) }
    package var watches: Watches { Watches(context: context) }
    package var eviction: Eviction { Eviction(context: context) }
    package var purge: Purge { Purge(context: context) }

    package init(
        store: Store,
        upstream: any Upstream,
        origins: OriginTable,
        keeping: OriginStore,
        clock: any EngineClock,
        random: any RandomNumberGenerator & Sendable,
        logger: Logger,
        version: String,
        findings: [String] = [],
        readFile: @escaping Credentials.FileReader = Credentials.readsNoFile
    ) {
        context = EngineContext(
            store: store,
            upstream: upstream,
            clock: clock,
            origins: origins,
            random: random,
            logger: logger
        )
        steps = ModifierSteps(context)
        credentials = Credentials(context: context, readFile: readFile)
        self.origins = Origins(context: context, keeping: keeping)
        monitor = Monitor(context, version: version, findings: findings)
        store.pins.whenUpdated { [keeper = context.keeper] in keeper.post(.wanted) }
    }

    package var store: Store { context.store }
    package var clock: any EngineClock { context.clock }
    package var logger: Logger { context.logger }

    package func setLimits(_ limits: StoreLimits) {
        let old = store.limits
        store.setLimits(limits)
        if limits.pinsMaxBytes > old.pinsMaxBytes || limits.maxEntryBytes > old.maxEntryBytes {
            context.keeper.post(.roomRaised(nil))
        }
        context.followers.setMaxBytes(limits.maxBytes.bytes)
    }

    package func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.runMaintenance() }
            group.addTask { await self.context.watchers.run() }
            group.addTask { await self.context.keeper.run(self.context) }
            group.addTask { await self.context.refreshes.run(self.context) }
            group.addTask {
                await Reading.$current.withValue(.sending) {
                    await self.context.modifiers.run(self.steps)
                }
            }
            group.addTask { await self.steps.reads.work.run(cancellingTheRest: true) }
            // An unpin or a higher limit may have been the last step before the start.
            if !store.pins.totals.failed.isEmpty { context.keeper.post(.roomRaised(nil)) }
            // A task of its own only where there are sets.
            if store.pins.totals.hadSets { context.prefetches.look(context) }
            await context.work.run(cancellingTheRest: true)
            group.cancelAll()
        }
    }

    /// Ends every fetch with its `end` frame and starts no more flights.
    package func drain() {
        context.isDraining = true
        context.sessions.tell(isLast: true)
    }

    /// Gives up the flights that go on; ``run()`` returns soon after.
    package func stop() {
        drain()
        context.work.finish()
        steps.reads.work.finish()
    }

    /// Runs a client's fetch.
    ///
    /// `emit` takes the frames and returns false when the client no longer reads.
    ///
    /// Returns the problem that the client gets instead of any frame; nil if there is none.
    ///
    /// `cancellation` ends when the client hangs up.
    package func fetch(
        _ command: FetchOrder,
        scope: ScopeKey,
        client: ClientTag? = nil,
        reader: StoreReader,
        cancellation: ClientCancellation,
        emit: @escaping (FetchFrame) async -> Bool
    ) async -> Problem? {
        let started = clock.monotonic()
        let request: FetchRequest
        do throws(Problem) {
            let command = try TemporaryNames(context: context).current(command, in: scope)
            let origin = try context.origin(of: command.url, in: scope)
            try origin.refuseConfigured(command.headers)
            try command.content?.check(command.url, origin)
            request = FetchRequest(command, origin: origin, client: client)
            try request.checkRefresh(scope, context)
        } catch {
            return error
        }
        guard !request.follows || context.followers.add(scope) else {
            return Problem(
                .overloaded,
                "\(Limits.followersPerUserMax) fetches follow an entry already",
                hint: "End one of the streams that were asked for with follow."
            )
        }
        defer { if request.follows { context.followers.remove(scope) } }
        var counters = FetchCounters(started: started)
        let printer = FramePrinter(
            clock: clock,
            scope: scope.scope,
            request: request,
            followers: request.follows ? context.followers : nil,
            emit: { [clock] frame in
                counters.saw(frame, at: clock.monotonic())
                return await emit(frame)
            }
        )
        let refusal: Problem?
        do throws(Problem) {
            refusal = try await run(request, printer, scope, reader, cancellation).refusal
        } catch {
            return error
        }
        counters.end(request.policy, refusal: refusal, at: clock.monotonic(), in: context.meter)
        return refusal
    }

    /// Answers one request on the raw routes with an origin's answer as one body.
    ///
    /// Returns nil when the client has hung up, which `cancellation` tells.
    ///
    /// `fields` are those of the client's request; only Cache-Control, its conditions and its Range
    /// count. A Range goes to the origin only if nothing is stored.
    package func raw(
        _ command: RawCommand,
        content: RequestContent? = nil,
        fields: HeaderFields,
        isHead: Bool = false,
        scope: ScopeKey,
        reader: StoreReader,
        cancellation: ClientCancellation
    ) async throws(Problem) -> RawReply? {
        let (url, origin) = try command.place(context, scope)
        var order = FetchOrder(url: url)
        order.content = content
        (order.policy, order.headers) = (command.policy ?? origin.fetch.policy, command.headers)
        let accept = order.headers.list("Accept")
        var request = FetchRequest(order, origin: origin)
        (request.quotesOrigin, request.isHead) = (true, isHead)
        return try await reply(to: request, fields, accept, scope, reader, cancellation)
    }

    /// Answers a fetch with one body as ``raw(_:fields:scope:reader:cancellation:)`` does.
    package func get(
        _ order: FetchOrder,
        fields: HeaderFields,
        isHead: Bool = false,
        scope: ScopeKey,
        reader: StoreReader,
        cancellation: ClientCancellation
    ) async throws(Problem) -> RawReply? {
        let origin = try context.origin(of: order.url, in: scope)
        try order.content?.check(order.url, origin)
        var request = FetchRequest(order, origin: origin)
        request.isHead = isHead
        return try await reply(to: request, fields, nil, scope, reader, cancellation)
    }

    private func reply(
        to given: FetchRequest,
        _ fields: HeaderFields,
        _ accept: String?,
        _ scope: ScopeKey,
        _ reader: StoreReader,
        _ cancellation: ClientCancellation
    ) async throws(Problem) -> RawReply? {
        try given.origin.refuseConfigured(given.headers)
        var request = given
        request.command = try TemporaryNames(context: context).current(given.command, in: scope)
        let rules = RawRules(
            request.command.policy ?? .networkFirst,
            control: fields.list("Cache-Control") ?? "",
            accept: accept
        )
        (request.raw, request.range) = (rules, RangeFields(fields))
        let printer = RawPrinter(
            clock: clock,
            url: request.url,
            rules: rules,
            conditions: RawConditions(fields)
        )
        return try await run(request, printer, scope, reader, cancellation).reply
    }

    private func run<Printer: FetchPrinter>(
        _ request: FetchRequest,
        _ printer: Printer,
        _ scope: ScopeKey,
        _ reader: StoreReader,
        _ cancellation: ClientCancellation
    ) async throws(Problem) -> Printer {
        let mailbox = Mailbox<FetchEvent>()
        guard let seat = context.sessions.add({ mailbox.post(.drainBegan) }) else {
            throw .daemonEnds
        }
        defer { context.sessions.remove(seat) }
        cancellation.whenGivenUp { mailbox.post(.hungUp) }
        var session = FetchSession(
            context: context,
            scope: scope,
            request: request,
            timers: SessionTimers(clock: clock, mailbox: mailbox),
            printer: printer,
            machine: FetchMachine(follows: request.follows)
        )
        await session.run(reader)
        return session.printer
    }

    /// Looks after the store a few seconds after something was done with it, and now and then.
    private func runMaintenance() async {
        // The pause before each look.
        let mailbox = Mailbox<Duration>()
        let timers = SessionTimers(clock: clock, mailbox: mailbox)
        timers.beat(every: Limits.quietTime, .zero)
        store.maintenanceTrigger.whenWanted { mailbox.post(Limits.touchFlushTime) }
        await withDiscardingTaskGroup { group in
            group.addTask { await timers.jobs.run(cancellingTheRest: true) }
            for await pause in mailbox.events {
                timers.beats.lower()
                if pause > .zero, (try? await clock.sleep(for: pause)) == nil { break }
                await maintain()
            }
            timers.jobs.finish()
        }
    }

    private func maintain() async {
        do throws(StoreError) {
            try await store.maintain()
        } catch {
            context.note("maintenance failed", error)
        }
        logger.write(store.files.takeNews())
        monitor.updateMeter()
    }
}

extension Logger {
    package func write(_ news: [FileNews]) {
        for one in news {
            var fields: [LogKey: Metadata.Value] = [.reason: "\(one.sentence)"]
            fields[.statement] = one.statement.map { "\($0)" }
            log(level: one.isWarning ? .warning : .notice, "the files", metadata: .larder(fields))
        }
    }
}

protocol EnginePart: Sendable {
    var context: EngineContext { get }
}

extension EnginePart {
    var store: Store { context.store }
    var clock: any EngineClock { context.clock }
    var logger: Logger { context.logger }
}

/// The keys of everything that is logged as data; journald has them as `LARDER_ID` and so on.
package enum LogKey: String {
    case id
    case origin
    case state
    case reason
    /// SQL that failed, which users are not shown.
    case statement
    case uid
    case use
    case requestID = "request_id"
    case path
    case count
    case version
}

extension Logger.Metadata {
    package static func larder(_ fields: [LogKey: Logger.MetadataValue]) -> Logger.Metadata {
        Logger.Metadata(uniqueKeysWithValues: fields.map { ($0.key.rawValue, $0.value) })
    }
}
