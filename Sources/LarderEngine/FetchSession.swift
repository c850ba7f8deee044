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
        case rowChanged
        case originReturned
        case originChanged
        case heartbeatDue
        case hungUp
        case drainBegan
    }

    let context: EngineContext
    let flights: FlightBoard
    let followers: FollowerTable
    let scope: ScopeKey
    let request: FetchRequest
    var sight: Sight { context.sight(scope, request) }
    let mailbox: Mailbox<Event>
    /// What waits beside the session: each posts an event.
    private let timers = WorkQueue()
    /// Sends one frame; false when nobody reads any more.
    let emit: (FetchFrame) async -> Bool

    var machine: FetchMachine<Problem>
    var cached: CachedAnswer?
    var cachedBody: FrameBody?
    /// The id and the bytes of the last snapshot; no bytes once it was told that they are gone.
    var shown: (id: EntryID, body: BodySummary?)?
    /// The last that was told, while nothing is shown since.
    var toldDeletion: (status: Int, source: AnswerSource)?
    /// What the client knows, once it has heard the last word on what it asked.
    var known: Revision?
    /// Every change of what is shown up to it was told.
    var toldThrough = Revision(0)
    /// The ear at the followed row, from the last word on.
    var following: Following?
    /// Whether what is followed showed writes that were not settled.
    var hasPendingWrites = false
    /// Hears, while it follows, that the origin is back.
    var waiting: OriginInterest?
    /// Hears, while it follows, that the origin is in another state.
    var originNews: OriginNews?
    private var isBeating = false
    var hasSent = false
    var isOver = false
    private var started = Duration.zero
    private(set) var cacheTime: Duration?
    private(set) var networkTime: Duration?
    /// What the client gets instead of frames.
    var refusal: Problem?

    init(
        _ context: EngineContext,
        _ flights: FlightBoard,
        _ followers: FollowerTable,
        _ scope: ScopeKey,
        _ request: FetchRequest,
        _ mailbox: Mailbox<Event>,
        emit: @escaping (FetchFrame) async -> Bool
    ) {
        self.context = context
        self.flights = flights
        self.followers = followers
        self.scope = scope
        self.request = request
        self.mailbox = mailbox
        self.emit = emit
        machine = FetchMachine(follows: request.follows)
    }

    /// Runs to the end.
    ///
    /// What is returned is the problem that the client gets instead of a stream,
    /// or nil when frames were sent.
    mutating func run(_ reader: StoreReader) async -> Problem? {
        started = context.clock.monotonic()
        toldThrough = context.store.changes.released
        do throws(StoreError) {
            cached = try await request.lookUp(on: reader, sight, in: context)
        } catch {
            guard request.policy != .cacheOnly else { return Problem(error) }
            // The network may know it all the same.
            context.noteUnread(error)
        }
        let isDown = context.isDown(request.origin.name)
        let action = machine.started(
            request.policy,
            networkWait: request.networkWait,
            isOriginDown: isDown,
            isResting: context.rest(of: request.origin.name, for: scope.scope) != nil
        )
        // The events are handled here and not in the body of a task group, which would run on
        // another thread: the reader is its event loop's.
        let timers = timers
        async let running: Void = timers.run(cancellingTheRest: true)
        setTimer(request.timeout, .deadlineElapsed)
        await start(action)
        var events = mailbox.events.makeAsyncIterator()
        while !isOver {
            if isToFollow { await beginFollowing(reader) }
            if hasSent { startBeating() }
            guard !isOver, let event = await events.next() else { break }
            await handle(event, reader)
        }
        timers.finish()
        await running
        following = nil
        waiting?.end()
        originNews = nil
        return refusal
    }

    /// From the first frame on, while the client waits for more.
    private mutating func startBeating() {
        guard !isBeating else { return }
        isBeating = true
        _ = timers.add { [context, mailbox, heartbeat = request.heartbeat] in
            while (try? await context.clock.sleep(for: heartbeat)) != nil {
                mailbox.post(.heartbeatDue)
            }
        }
    }

    // MARK: Asking

    private mutating func start(
        _ action: FetchMachine<Problem>.StartAction
    ) async {
        switch action {
        case .askCache: break
        case .askNetwork:
            // What is cached only lends its validators, unless a write deletes it.
            askNetwork(wait: nil)
            guard cached?.isDeletedByModifier == true else { return }
        case .askBoth(let wait): askNetwork(wait: wait)
        }
        context.count(isHit: cached != nil)
        await readCache()
    }

    func setTimer(_ time: Duration, _ event: Event) {
        // The time runs from here on, whenever the job begins.
        let due = context.clock.monotonic() + time
        _ = timers.add { [context, mailbox] in
            let rest = due - context.clock.monotonic()
            if rest > .zero {
                guard (try? await context.clock.sleep(for: rest)) != nil else { return }
            }
            mailbox.post(event)
        }
    }

    /// Boards a flight; `wait` is how long the cache is held back meanwhile.
    private func askNetwork(wait: Duration?) {
        if let wait { setTimer(wait, .networkWaitElapsed) }
        flights.board(request, scope, cached: cached) { [mailbox] landing in
            mailbox.post(.landed(landing))
        }
    }

    /// Answers for the cache: at once, unless the body has to be read off the loop.
    private mutating func readCache() async {
        guard let cached else { return await cacheAnswered(.miss) }
        guard cached.entry.kind == .fetched else {
            let revision = cached.entry.revision
            return await cacheAnswered(
                cached.isDeletedByModifier ? .deletion(revision) : .tombstone(revision)
            )
        }
        switch cached.body {
        case .ready(let body):
            cachedBody = body
            await cacheAnswered(hit(cached))
        case .chunked:
            _ = timers.add { [context, mailbox, scope] in
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

    private func hit(_ cached: CachedAnswer) -> FetchMachine<Problem>.CacheAnswer {
        let isStale = cached.entry.isStale(at: context.clock.now())
        return .hit(cached.entry.revision, isFresh: !isStale)
    }

    // MARK: Events

    private mutating func handle(
        _ event: Event,
        _ reader: StoreReader
    ) async {
        switch event {
        case .cacheRead(.success(let body?)):
            cachedBody = body
            await cacheAnswered(cached.map { hit($0) } ?? .miss)
        case .cacheRead(.success(nil)), .cacheRead(.failure):
            // The row is damaged or gone: a miss, which the store has counted.
            await cacheAnswered(.miss)
        case .landed(let landing):
            await landed(landing, reader)
        case .networkWaitElapsed:
            if machine.networkWaitElapsed() == .showCached { await showCached() }
        case .deadlineElapsed:
            await deadlineElapsed()
        case .rowChanged:
            await readFollowed(reader)
        case .originReturned:
            await askAgain(reader)
        case .originChanged:
            await tellOrigin(reader)
        case .heartbeatDue:
            await readFollowed(reader)
            await send(.heartbeat(toldThrough))
        case .hungUp:
            nobodyReads()
        case .drainBegan:
            await drainBegan()
        }
    }

    private mutating func cacheAnswered(
        _ answer: FetchMachine<Problem>.CacheAnswer
    ) async {
        cacheTime = context.clock.monotonic() - started
        switch machine.cacheAnswered(answer) {
        case .nothing: break
        case .show: await showCached()
        case .askNetwork(let wait): askNetwork(wait: wait)
        case .showAndAskNetwork:
            askNetwork(wait: nil)
            await showCached()
        case .showAnd(let sequel):
            await showCached()
            await conclude(sequel, cachedOutcome, cached?.entry.revision)
        case .showAndFail(let problem, let sequel):
            await showCached()
            await fail(problem, sequel)
        case .refuse(let problem): refuse(problem)
        case .refuseAsMiss: refuse(Problem(.miss, "nothing is cached for \(request.url)"))
        }
    }

    /// How it ends where what is cached is the last word.
    private var cachedOutcome: FetchOutcome {
        cached?.entry.kind == .tombstone ? .deleted : .cache
    }

    private mutating func landed(_ landing: Landing, _ reader: StoreReader) async {
        networkTime = context.clock.monotonic() - started
        switch await seen(landing, reader) {
        case .current(let answer):
            switch machine.networkAnswered(.current(answer.entry.revision)) {
            case .showAnd(let sequel):
                await showNetwork(answer, sequel, reader)
            case .unchangedAnd(let sequel):
                let revision = cached?.entry.revision ?? answer.entry.revision
                await send(.unchanged(UnchangedFrame(revision: revision, status: answer.status)))
                await conclude(sequel, .unchanged, revision)
            case .nothing, .deletedAnd, .fail, .showCachedAndFail, .refuse, .refuseAsDeleted:
                break
            }
        case .deleted(let revision, let status, let source):
            let isByModifier = source == .modifier
            switch machine.networkAnswered(isByModifier ? .deletion(revision) : .deleted(revision))
            {
            case .deletedAnd(let sequel):
                await tellDeleted(revision, status: status, source)
                await conclude(sequel, .deleted, revision)
            case .refuseAsDeleted:
                refuseAsDeleted(status)
            case .nothing, .showAnd, .unchangedAnd, .fail, .showCachedAndFail, .refuse:
                break
            }
        case .failed(let problem):
            switch machine.networkAnswered(.failed(problem)) {
            case .fail(let problem, let sequel): await fail(problem, sequel)
            case .showCachedAndFail(let problem, let sequel):
                await showCached()
                await fail(problem, sequel)
            case .refuse(let problem): refuse(problem)
            case .nothing, .showAnd, .unchangedAnd, .deletedAnd, .refuseAsDeleted:
                break
            }
        }
    }

    private mutating func deadlineElapsed() async {
        let timeout = Problem(FlightFailure.timeout, url: request.url)
        switch machine.deadlineElapsed(timeout) {
        case .nothing: break
        case .fail(let problem, let sequel): await fail(problem, sequel)
        case .showCachedAndFail(let problem, let sequel):
            await showCached()
            await fail(problem, sequel)
        case .refuse(let problem): refuse(problem)
        }
    }

    private mutating func drainBegan() async {
        switch machine.drainBegan() {
        case .nothing: break
        case .end:
            await conclude(.end, .shutdown, known ?? cached?.entry.revision)
        case .showCachedAndEnd:
            await showCached()
            await conclude(.end, .shutdown, cached?.entry.revision)
        case .refuse: refuse(Problem(FlightFailure.shuttingDown, url: request.url))
        }
    }
}
