import LarderModel
import LarderStore
import LarderStrategy
import LarderWire

/// Runs the ``FetchMachine`` of one client's fetch, with any printer.
struct FetchSession<Printer: FetchPrinter> {
    typealias Machine = FetchMachine<FetchFailure>

    let context: EngineContext
    var mailbox: Mailbox<FetchEvent> { timers.mailbox }
    let scope: ScopeKey
    var request: FetchRequest
    let timers: SessionTimers<FetchEvent>
    var printer: Printer
    var machine: Machine

    var cached: ShownAnswer?
    /// The id and the bytes of the last snapshot; no bytes once it was told that they are gone.
    var shown: (id: EntryID, body: BodySummary?)?
    /// The modifiers that the last snapshot told.
    var shownOverlay = Overlay.none
    /// The last deletion that was told, while no snapshot was shown after it.
    var toldDeletion: DeletedFrame?
    /// The revision that the client knows, once it was told the last word.
    var known: Revision?
    var passing: PassThroughBody?
    private(set) var flight: Flight?
    /// Follows the shown id, after the last word.
    var following: Following?
    var hasPendingWrites = false
    var followedOrigin: FollowedOrigin?
    /// Every change of the shown id up to this revision was told.
    var toldThrough = Revision(0)
    private(set) var isBeating = false
    private(set) var hasSaid = false
    private(set) var isFinished = false
    private(set) var started = Duration.zero
    private(set) var cacheTime: Duration?
    private(set) var networkTime: Duration?

    var lookupScopes: LookupScopes { context.lookupScopes(scope, request) }

    mutating func run(_ reader: StoreReader) async {
        started = context.clock.monotonic()
        toldThrough = context.store.changes.published
        do throws(StoreError) {
            cached = try await request.lookUp(on: reader, scope, context)
        } catch {
            guard request.policy != .cacheOnly else {
                return await refuse(.problem(Problem(error)))
            }
            // The network may still answer.
            context.noteUnread(error)
        }
        let action = machine.started(
            request.policy,
            networkWait: request.networkWait,
            isOriginDown: context.originStates.isDown(request.origin.name),
            hasRetryAfter: context.originStates.rest(of: request.origin.name, for: scope.scope)
                > .zero
        )
        await start(action)
        // An answer from the cache alone, the most frequent one, needs no task and no timer.
        if !isFinished { await handleEvents(reader) }
        (following, followedOrigin) = (nil, nil)
    }

    private mutating func handleEvents(_ reader: StoreReader) async {
        // Events are handled here because a task group's body runs on another thread. The reader
        // belongs to its event loop.
        let jobs = timers.jobs
        async let running: Void = jobs.run(cancellingTheRest: true)
        timers.set(until: started + request.timeout, .deadlineElapsed)
        var events = mailbox.events.makeAsyncIterator()
        while !isFinished {
            if case .following = machine.state, following == nil { await beginFollowing(reader) }
            if hasSaid, !isBeating {
                // Heartbeats start after the first frame, while the client waits for more.
                isBeating = true
                timers.beat(every: request.heartbeat, .heartbeatDue)
            }
            guard !isFinished, let event = await events.next() else { break }
            await handle(event, reader)
        }
        jobs.finish()
        await running
    }

    // MARK: Asking

    private mutating func start(_ action: Machine.StartAction) async {
        switch action {
        case .askCache: break
        case .askNetwork:
            askNetwork(wait: nil)
            guard cached?.isDeletedByModifier == true else { return }
        case .askBoth(let wait): askNetwork(wait: wait)
        }
        context.count(isHit: cached != nil)
        await readCache()
    }

    private mutating func askNetwork(wait: Duration?) {
        if let wait { timers.set(wait, .networkWaitElapsed) }
        let passesRange = cached == nil && request.passesRange(context, scope)
        askNetwork(passingOn: request.passesWhole(context, scope) || passesRange)
    }

    mutating func askNetwork(passingOn isPassed: Bool) {
        if isPassed || cached == nil && request.streamsRange(context, scope) {
            passing = PassThroughBody(isStored: !isPassed)
        }
        let (known, mailbox) = (isPassed ? nil : cached, mailbox)
        context.flightStarter.joinOrStart(
            isPassed && cached == nil ? request.withRange : request,
            scope,
            cached: known,
            pipe: passing?.pipe,
            joined: { mailbox.post(.joined($0)) },
            { mailbox.post(.told($0)) }
        )
    }

    /// Answers for the cache, immediately unless the bytes have to be read off the loop for a
    /// frame.
    private mutating func readCache() async {
        guard let cached, request.raw == nil, cached.chunkedJSON != nil else {
            return await cacheAnswered()
        }
        _ = timers.jobs.add { [context, mailbox = mailbox] in
            let bytes = try? await cached.bytes(context.store, now: context.clock.now())
            mailbox.post(.cacheRead(bytes))
        }
    }

    // MARK: Events

    private mutating func handle(_ event: FetchEvent, _ reader: StoreReader) async {
        switch event {
        case .cacheRead(let bytes?):
            cached?.body = .bytes(bytes)
            await cacheAnswered()
        case .cacheRead(nil):
            // The row is damaged or gone: a miss, which the store has counted.
            await cacheAnswered(.miss)
        case .joined(let flight): self.flight = flight
        case .told(let outcome):
            flight = nil  // A follower would keep the whole answer with it.
            networkTime = context.clock.monotonic() - started
            await told(outcome, reader)
        case .networkWaitElapsed:
            if machine.networkWaitElapsed() == .showCached {
                await showCached(.cache(whyNoNetwork: "network-wait"))
            }
        case .deadlineElapsed:
            if let due = request.due(of: flight, now: context.clock.monotonic()) {
                return timers.set(until: due, .deadlineElapsed)
            }
            let timeout = Problem(FlightFailure.timeout, url: request.url)
            switch machine.deadlineElapsed(.problem(timeout)) {
            case .nothing: break
            case .fail(let failure, let afterFinalFrame): await fail(failure, afterFinalFrame)
            case .showCachedAndFail(let failure, let afterFinalFrame):
                await showCachedAndFail(failure, afterFinalFrame)
            case .refuse(let failure): await refuse(failure)
            }
        case .rowChanged: await readFollowed(reader)
        case .originReturned: await askAgain(reader)
        case .originChanged: await tellOrigin(reader)
        case .heartbeatDue:
            timers.beats.lower()
            await readFollowed(reader)
            await say(.frame(.heartbeat(HeartbeatFrame(toldThrough))))
        case .hungUp: nobodyReads()
        case .drainBegan: await drainBegan()
        }
    }

    private mutating func cacheAnswered(_ answer: Machine.CacheAnswer? = nil) async {
        cacheTime = context.clock.monotonic() - started
        switch machine.cacheAnswered(answer ?? request.answer(cached, now: context.clock.now())) {
        case .nothing: break
        case .show: await showCached(.cache(whyNoNetwork: "origin-down"))
        case .askNetwork(let wait): askNetwork(wait: wait)
        case .showAndAskNetwork:
            askNetwork(wait: nil)
            await showCached(.cache(whyNoNetwork: "origin-down"))
        case .showAnd(let afterFinalFrame):
            await showCached(.cache())
            let isGone = cached?.entry.kind == .tombstone
            await conclude(afterFinalFrame, isGone ? .deleted : .cache, cached?.entry.revision)
        case .showAndFail(let failure, let afterFinalFrame):
            await showCachedAndFail(failure, afterFinalFrame)
        case .refuse(let failure): await refuse(failure)
        case .refuseAsMiss: await say(.refusedAsMiss)
        }
    }

    private mutating func drainBegan() async {
        switch machine.drainBegan() {
        case .nothing: break
        case .end:
            await conclude(.end, .shutdown, known ?? cached?.entry.revision)
        case .showCachedAndEnd:
            await showCached(.cache(whyNoNetwork: "shutting-down"))
            await conclude(.end, .shutdown, cached?.entry.revision)
        case .refuse:
            await refuse(.problem(Problem(FlightFailure.shuttingDown, url: request.url)))
        }
    }

    // MARK: Saying

    private mutating func showCached(_ occasion: FetchOutput.SnapshotReason) async {
        guard let cached else { return }
        guard cached.entry.kind != .tombstone else {
            return await tellDeleted(cached.deletion, occasion)
        }
        guard let body = try? await open(cached) else {
            return await refuse(.problem(.evicted(request.url)))
        }
        await show(cached, body, occasion)
    }

    mutating func showCachedAndFail(
        _ failure: FetchFailure,
        _ afterFinalFrame: Machine.AfterFinalFrame
    ) async {
        await showCached(.failure(failure))
        await fail(failure, afterFinalFrame)
    }

    mutating func show(
        _ answer: ShownAnswer,
        _ body: RawAnswer.Body,
        _ occasion: FetchOutput.SnapshotReason
    ) async {
        shown = (answer.entry.id, answer.entry.body)
        shownOverlay = answer.overlay
        toldDeletion = nil
        await say(.shown(answer, body, occasion))
    }

    mutating func tellDeleted(_ frame: DeletedFrame, _ occasion: FetchOutput.SnapshotReason) async {
        if let id = shown?.id ?? cached?.entry.id ?? request.command.id { shown = (id, nil) }
        known = Revision(frame.rev)
        toldDeletion = frame
        await say(.deleted(frame, occasion))
    }

    /// The body as it is printed; nil where it is gone meanwhile.
    func open(_ answer: ShownAnswer) async throws(StoreError) -> RawAnswer.Body? {
        try await answer.open(context.store, asItIs: request.raw != nil, now: context.clock.now())
    }

    mutating func fail(_ failure: FetchFailure, _ afterFinalFrame: Machine.AfterFinalFrame) async {
        await say(.failed(failure))
        await conclude(afterFinalFrame, .error, cached?.entry.revision)
    }

    mutating func refuse(_ failure: FetchFailure) async {
        if case .passed(let head) = failure, let passing {
            return await say(.passed(head, passing))
        }
        await say(.refused(failure))
    }

    mutating func conclude(
        _ afterFinalFrame: Machine.AfterFinalFrame,
        _ outcome: FetchOutcome,
        _ revision: Revision?
    ) async {
        switch afterFinalFrame {
        case .follow: known = revision
        case .end:
            let frame = EndFrame(
                outcome: outcome,
                revision: revision,
                cacheTime: cacheTime,
                networkTime: networkTime
            )
            await say(.frame(.end(frame)))
        }
    }

    mutating func say(_ word: FetchOutput) async {
        guard !isFinished else { return }
        hasSaid = true
        if !(await printer.print(word, beside: cached)) { nobodyReads() }
    }

    private mutating func nobodyReads() {
        machine.clientHungUp()
        isFinished = true
    }
}

enum FetchEvent: Sendable {
    /// Nil where they cannot be read, or are gone.
    case cacheRead([UInt8]?)
    case joined(Flight)
    case told(FlightOutcome)
    case networkWaitElapsed
    case deadlineElapsed
    case rowChanged
    case originReturned
    case originChanged
    case heartbeatDue
    case hungUp
    case drainBegan
}

// MARK: The network's answer

extension FetchSession {
    mutating func told(_ outcome: FlightOutcome, _ reader: StoreReader) async {
        if case .passed(let head) = outcome, head.is2xx, let passing = passing ?? request.noBody {
            guard case .showAnd = machine.networkAnswered(.current(Revision(0))) else { return }
            return await say(.passed(head, passing))
        }
        var view: NetworkView
        do throws(StoreError) {
            let look = NetworkResultReader(
                context: context,
                request: request,
                scope: scope,
                cached: cached
            )
            view = try await look.view(of: outcome, reader)
        } catch {
            view = .failed(.problem(Problem(error)))
        }
        var body: RawAnswer.Body?
        if case .current(let answer) = view, !hasShown(answer.entry.revision) {
            body = try? await open(answer)
            if body == nil { view = .gone }
        }
        let mayPassOn = request.raw != nil && passing?.pipe.isStored != false
        let answer: Machine.NetworkAnswer
        switch view {
        case .current(let shown): answer = .current(shown.entry.revision)
        case .deleted(let frame):
            let isByModifier = frame.source == .modifier
            let revision = Revision(frame.rev)
            answer = isByModifier ? .deletion(revision) : .deleted(revision)
        case .failed(let failure):
            if mayPassOn, failure.isToPassOn { return askNetwork(passingOn: true) }
            let isAnswer = request.raw != nil && failure.isAnswer
            answer = isAnswer ? .deleted(Revision(0)) : .failed(failure)
        // A newer row replaced the answer, or it was evicted and the client can ask again.
        case .gone:
            if mayPassOn { return askNetwork(passingOn: true) }
            answer = .failed(.problem(.evicted(request.url)))
        }
        await tell(machine.networkAnswered(answer), view, body, outcome.occasion)
    }

    /// Whether the client has seen the bytes of a revision, which then are not read again.
    private func hasShown(_ revision: Revision) -> Bool {
        guard case .awaitingNetwork(let shown?) = machine.state else { return false }
        return revision <= shown
    }

    private mutating func tell(
        _ action: Machine.NetworkAction,
        _ view: NetworkView,
        _ body: RawAnswer.Body?,
        _ occasion: FetchOutput.SnapshotReason
    ) async {
        switch (action, view) {
        case (.showAnd(let afterFinalFrame), .current(let answer)):
            guard let body else { return }
            await show(answer, body, occasion)
            await conclude(afterFinalFrame, .network, answer.entry.revision)
        case (.unchangedAnd(let afterFinalFrame), .current(let answer)):
            let revision = cached?.entry.revision ?? answer.entry.revision
            guard case .network(let status, _, _) = occasion else { return }
            await say(.frame(.unchanged(UnchangedFrame(revision: revision, status: status))))
            await conclude(afterFinalFrame, .unchanged, revision)
        case (.deletedAnd(let afterFinalFrame), .deleted(let frame)):
            await tellDeleted(frame, .cache())
            await conclude(afterFinalFrame, .deleted, Revision(frame.rev))
        case (.refuseAsDeleted, .deleted(let frame)):
            await say(.refusedAsDeleted(status: frame.status))
        case (.refuseAsDeleted, .failed(let failure)), (.refuse(let failure), _):
            await refuse(failure)
        case (.fail(let failure, let afterFinalFrame), _): await fail(failure, afterFinalFrame)
        case (.showCachedAndFail(let failure, let afterFinalFrame), _):
            await showCachedAndFail(failure, afterFinalFrame)
        case (.nothing, _), (.showAnd, _), (.unchangedAnd, _), (.deletedAnd, _),
            (.refuseAsDeleted, _):
            break
        }
    }
}
