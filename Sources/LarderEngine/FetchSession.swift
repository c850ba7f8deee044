import LarderModel
import LarderStore
import LarderStrategy
import LarderWire

/// One client's fetch under way: the shell of a ``FetchMachine``.
///
/// Everything that happens to it (answers, timers, the client's hanging up, the daemon's end) comes
/// as an event into one mailbox, and one task takes them out in order.
struct FetchSession {
    enum Event: Sendable {
        case cacheRead(Result<FrameBody?, StoreError>)
        case landed(Landing)
        case networkWaitElapsed
        case deadlineElapsed
        case hungUp
        case drainBegan
    }

    let context: EngineContext
    let flights: FlightBoard
    let scope: ScopeKey
    let request: FetchRequest
    let mailbox: Mailbox<Event>
    /// Sends one frame; false when nobody reads any more.
    let emit: (FetchFrame) async -> Bool

    private var machine = FetchMachine<Problem>()
    private var cached: CachedAnswer?
    private var cachedBody: FrameBody?
    private var started = Duration.zero
    private var cacheTime: Duration?
    private var networkTime: Duration?
    private var refusal: Problem?
    private var hasSent = false
    private var isOver = false

    init(
        _ context: EngineContext,
        _ flights: FlightBoard,
        _ scope: ScopeKey,
        _ request: FetchRequest,
        _ mailbox: Mailbox<Event>,
        emit: @escaping (FetchFrame) async -> Bool
    ) {
        self.context = context
        self.flights = flights
        self.scope = scope
        self.request = request
        self.mailbox = mailbox
        self.emit = emit
    }

    /// Runs to the end.
    ///
    /// What is returned is the problem that the client gets instead of a stream,
    /// or nil when frames were sent.
    mutating func run(_ reader: StoreReader) async -> Problem? {
        started = context.clock.monotonic()
        do throws(StoreError) {
            cached = try request.lookUp(reader, scope, now: context.clock.now())
        } catch {
            guard request.policy != .cacheOnly else { return Problem(error) }
            // The network may know it all the same.
            context.noteUnread(error)
        }
        context.count(isHit: cached != nil)
        let isDown = context.health[request.origin.name]?.isDown ?? false
        let action = machine.started(
            request.policy,
            networkWait: request.networkWait,
            isOriginDown: isDown
        )
        await withDiscardingTaskGroup { group in
            setTimer(request.timeout, .deadlineElapsed, in: &group)
            switch action {
            case .askCache:
                break
            case .askBoth(let wait):
                if let wait { setTimer(wait, .networkWaitElapsed, in: &group) }
                askNetwork()
            }
            await readCache(in: &group)
            var events = mailbox.events.makeAsyncIterator()
            while !isOver, let event = await events.next() {
                await handle(event, reader)
            }
            group.cancelAll()
        }
        return refusal
    }

    // MARK: Asking

    private func setTimer(
        _ time: Duration,
        _ event: Event,
        in group: inout DiscardingTaskGroup
    ) {
        group.addTask { [context, mailbox] in
            guard (try? await context.clock.sleep(for: time)) != nil else { return }
            mailbox.post(event)
        }
    }

    private func askNetwork() {
        let known = cached.flatMap { $0.entry.kind == .fetched ? $0.entry : nil }
        flights.board(request, scope, cached: known) { [mailbox] landing in
            mailbox.post(.landed(landing))
        }
    }

    /// Answers for the cache: at once, unless the body has to be read off the loop.
    private mutating func readCache(in group: inout DiscardingTaskGroup) async {
        guard let cached, cached.entry.kind == .fetched else {
            return await cacheAnswered(cached == nil ? .miss : .tombstone)
        }
        switch cached.body {
        case .ready(let body):
            cachedBody = body
            await cacheAnswered(.hit(cached.entry.revision))
        case .chunked:
            group.addTask { [context, mailbox, scope] in
                do throws(StoreError) {
                    let body = try await cached.frameBody(
                        context.store,
                        scope,
                        now: context.clock.now()
                    )
                    mailbox.post(.cacheRead(.success(body)))
                } catch {
                    mailbox.post(.cacheRead(.failure(error)))
                }
            }
        }
    }

    // MARK: Events

    private mutating func handle(_ event: Event, _ reader: StoreReader) async {
        switch event {
        case .cacheRead(.success(let body)):
            cachedBody = body
            let revision = cached?.entry.revision ?? Revision(0)
            await cacheAnswered(body == nil ? .miss : .hit(revision))
        case .cacheRead(.failure):
            // The row is damaged or gone: a miss, which the store has counted.
            await cacheAnswered(.miss)
        case .landed(let landing):
            await landed(landing, reader)
        case .networkWaitElapsed:
            if machine.networkWaitElapsed() == .showCached { await showCached() }
        case .deadlineElapsed:
            await deadlineElapsed()
        case .hungUp:
            machine.clientHungUp()
            isOver = true
        case .drainBegan:
            await drainBegan()
        }
    }

    private mutating func cacheAnswered(_ answer: FetchMachine<Problem>.CacheAnswer) async {
        cacheTime = context.clock.monotonic() - started
        switch machine.cacheAnswered(answer) {
        case .nothing: break
        case .show: await showCached()
        case .showAndEnd:
            await showCached()
            await end(.cache, cached?.entry.revision)
        case .showAndFail(let problem):
            await showCached()
            await fail(problem)
        case .refuse(let problem): refuse(problem)
        case .refuseAsMiss: refuse(Problem(.miss, "nothing is cached for \(request.url)"))
        case .refuseAsDeleted: refuseAsDeleted(cached?.entry.status)
        }
    }

    private mutating func landed(_ landing: Landing, _ reader: StoreReader) async {
        networkTime = context.clock.monotonic() - started
        switch landing {
        case .current(let answer):
            switch machine.networkAnswered(.current(answer.entry.revision)) {
            case .showAndEnd:
                await showNetwork(answer, reader)
            case .unchangedAndEnd:
                let revision = answer.entry.revision
                await send(.unchanged(UnchangedFrame(revision: revision, status: answer.status)))
                await end(.unchanged, revision)
            case .nothing, .deletedAndEnd, .failAndEnd, .showCachedAndFail, .refuse,
                .refuseAsDeleted:
                break
            }
        case .deleted(let revision, let status):
            switch machine.networkAnswered(.deleted) {
            case .deletedAndEnd:
                await send(.deleted(DeletedFrame(revision: revision, status: status)))
                await end(.deleted, revision)
            case .refuseAsDeleted:
                refuseAsDeleted(status)
            case .nothing, .showAndEnd, .unchangedAndEnd, .failAndEnd, .showCachedAndFail,
                .refuse:
                break
            }
        case .failed(let problem):
            switch machine.networkAnswered(.failed(problem)) {
            case .failAndEnd(let problem): await fail(problem)
            case .showCachedAndFail(let problem):
                await showCached()
                await fail(problem)
            case .refuse(let problem): refuse(problem)
            case .nothing, .showAndEnd, .unchangedAndEnd, .deletedAndEnd, .refuseAsDeleted:
                break
            }
        }
    }

    private mutating func deadlineElapsed() async {
        let timeout = Problem(FlightFailure.timeout, url: request.url)
        switch machine.deadlineElapsed(timeout) {
        case .nothing: break
        case .failAndEnd(let problem): await fail(problem)
        case .showCachedAndFail(let problem):
            await showCached()
            await fail(problem)
        case .refuse(let problem): refuse(problem)
        }
    }

    private mutating func drainBegan() async {
        switch machine.drainBegan() {
        case .nothing: break
        case .end: await end(.cache, cached?.entry.revision)
        case .showCachedAndEnd:
            await showCached()
            await end(.cache, cached?.entry.revision)
        case .refuse: refuse(Problem(FlightFailure.shuttingDown, url: request.url))
        }
    }

    // MARK: What the client gets

    private mutating func showCached() async {
        guard let cached, let cachedBody else { return }
        let now = context.clock.now()
        await send(
            .snapshot(
                SnapshotFrame(
                    source: .cache,
                    revision: cached.entry.revision,
                    isStale: cached.entry.isStale(at: now),
                    age: cached.entry.age(at: now),
                    entry: FrameEntry(cached.entry, body: cachedBody)
                )
            )
        )
    }

    private mutating func showNetwork(_ answer: Landing.Answer, _ reader: StoreReader) async {
        guard let body = await networkBody(answer, reader) else {
            let problem = Problem(
                .badAnswer,
                "what \(request.url) confirmed was evicted meanwhile"
            )
            return hasSent ? await fail(problem) : refuse(problem)
        }
        await send(
            .snapshot(
                SnapshotFrame(
                    source: .network,
                    revision: answer.entry.revision,
                    isStale: false,
                    age: .zero,
                    entry: FrameEntry(answer.entry, body: body)
                )
            )
        )
        await end(.network, answer.entry.revision)
    }

    /// The body of what the network has; after a 304 it is in the cache.
    private func networkBody(_ answer: Landing.Answer, _ reader: StoreReader) async -> FrameBody? {
        if let body = answer.body { return body }
        if let cachedBody, cached?.entry.revision == answer.entry.revision { return cachedBody }
        let now = context.clock.now()
        let found = try? CachedAnswer(reader, scope, answer.entry.id, now: now)
        guard let found, found.entry.revision == answer.entry.revision else { return nil }
        return try? await found.frameBody(context.store, scope, now: now)
    }

    private mutating func fail(_ problem: Problem) async {
        await send(.error(problem))
        await end(.error, cached?.entry.revision)
    }

    private mutating func end(_ outcome: FetchOutcome, _ revision: Revision?) async {
        await send(
            .end(
                EndFrame(
                    outcome: outcome,
                    revision: revision,
                    cacheTime: cacheTime,
                    networkTime: networkTime
                )
            )
        )
        isOver = true
    }

    private mutating func refuseAsDeleted(_ status: Int?) {
        var problem = Problem(.deleted, "the origin says that \(request.url) is gone")
        problem.originStatus = status
        refuse(problem)
    }

    private mutating func refuse(_ problem: Problem) {
        refusal = problem
        isOver = true
    }

    private mutating func send(_ frame: FetchFrame) async {
        guard !isOver else { return }
        hasSent = true
        if await emit(frame) { return }
        machine.clientHungUp()
        isOver = true
    }
}
