import LarderModel
import LarderStore
import LarderStrategy
import LarderWire

/// Runs one client's watch: carries out the actions of its ``WatchMachine``, in one task.
struct WatchSession {
    enum Event: Sendable {
        case news
        case heartbeatDue
        case timeElapsed
        case rowChanged(EntryID)
        case hungUp
    }

    enum End {
        case finished
        case refused(Problem)
    }

    let context: EngineContext
    let scope: ScopeKey
    let command: WatchOrder
    let client: ClientTag?
    let timers: SessionTimers<Event>
    let number: Int
    let emit: ([WatchFrame]) async -> Bool

    private(set) var held: [EntryID: Following] = [:]
    private(set) var hasSent = false
    /// The end of the time, by the monotonic clock, and the last revision before it.
    private(set) var deadline: Duration?
    private(set) var lastInTime: Revision?
    /// The revision of the last notice that was handed out, told or not.
    private(set) var handedOut = Revision(0)
    var hub: WatchHub { context.watchers }
    private var mailbox: Mailbox<Event> { timers.mailbox }

    /// Runs until the client, the time or the daemon ends, or until the watcher lags.
    ///
    /// Returns the problem that the client gets instead of a stream; nil if there is none.
    mutating func run() async -> Problem? {
        deadline = command.timeout.map { context.clock.monotonic() + $0 }
        let jobs = timers.jobs
        async let running: Void = jobs.run(cancellingTheRest: true)
        timers.beat(every: command.heartbeat, .heartbeatDue)
        if let time = command.timeout { timers.set(time, .timeElapsed) }
        handedOut = hub.told(number)
        for id in command.ids { await hold(id) }
        var events = mailbox.events.makeAsyncIterator()
        var end: End?
        while end == nil { end = await step(&events) }
        jobs.finish()
        await running
        held = [:]
        if case .refused(let problem) = end { return problem }
        return nil
    }

    private mutating func step(_ events: inout AsyncStream<Event>.Iterator) async -> End? {
        // Changes that were answered before the daemon began to end are still told.
        let isDraining = context.isDraining
        if isDraining { hub.distribute() }
        switch hub.next(number) {
        case .tell(let notices):
            let seen = await seen(notices)
            handedOut = notices.last?.revision ?? handedOut
            if !seen.isEmpty, let end = await send(seen.map(frame)) { return end }
            return isOverTime() ? await tellEnd(.timeout) : nil
        case .readLog where isDraining, .wait where isDraining: return await tellEnd(.shutdown)
        case .list: return await list()
        case .readLog(let after, let through): return await readLog(after, through)
        case .tellLagged(let revision, let droppedAfter):
            _ = await send([.lagged(LaggedFrame(revision, droppedAfter: droppedAfter))])
            return .finished
        case .end: return .finished
        case .wait:
            guard let event = await events.next(isolation: #isolation) else { return .finished }
            return await handle(event)
        }
    }

    private mutating func handle(_ event: Event) async -> End? {
        switch event {
        case .news: return nil
        case .heartbeatDue:
            timers.beats.lower()
            switch hub.beatIsDue(number) {
            case .beat(let told): return await send([.heartbeat(HeartbeatFrame(told))])
            case .tell(let notice): return await send([frame(notice)])
            }
        case .rowChanged(let id):
            await hold(id)
            return nil
        case .timeElapsed: return await tellEnd(.timeout)
        case .hungUp: return .finished
        }
    }

    private mutating func tellEnd(_ outcome: WatchOutcome) async -> End {
        _ = await send([.end(WatchEndFrame(outcome, hub.told(number)))])
        return .finished
    }

    /// Whether the time is over, and more was told than what was published in it: a stream that
    /// always has something to tell ends too.
    private mutating func isOverTime() -> Bool {
        guard let deadline, context.clock.monotonic() >= deadline else { return false }
        let last = lastInTime ?? hub.published
        lastInTime = last
        return hub.told(number) > last
    }

    /// Ends it in the middle, with no frame that says where to go on: the client comes back as it
    /// came.
    func cut(because problem: Problem) -> End { hasSent ? .finished : .refused(problem) }

    mutating func send(_ frames: [WatchFrame]) async -> End? {
        hasSent = true
        return await emit(frames) ? nil : .finished
    }

    // MARK: The log

    private mutating func readLog(_ after: Revision, _ through: Revision) async -> End? {
        do throws(StoreError) {
            let known = hub.change(number) { machine, _ in machine.interest }
            let cancellation = known ?? WatchInterest(command)
            let page = try await context.store.changes(
                after: after,
                through: through,
                of: scope.scope,
                showing: { cancellation.covers($0) }
            )
            if let page {
                hub.change(number) { machine, published in
                    machine.pageWasRead(page.changes, through: page.through, published: published)
                }
            } else if hasSent {
                hub.change(number) { machine, _ in machine.pageWasGone() }
            } else {
                return .refused(Problem(since: after, oldest: context.store.changes.start))
            }
            return nil
        } catch {
            context.noteUnread(error)
            return cut(because: Problem(error))
        }
    }

    // MARK: Protection from eviction

    private mutating func hold(_ id: EntryID) async {
        let lookupScopes = context.lookupScopes(scope, id)
        let following =
            held[id]
            ?? Following(id, lookupScopes, context) { [mailbox = mailbox] in
                mailbox.post(.rowChanged(id))
            }
        held[id] = following
        following.rowIsRead()
        do throws(StoreError) {
            let now = context.clock.now()
            let row = try await context.store.read {
                reader throws(StoreError) -> (entry: Entry, place: ScopeKey)? in
                for place in lookupScopes.scopes {
                    guard !reader.isHidden(id, in: place, from: lookupScopes.own),
                        let entry = try reader.entry(place, id, now: now)
                    else { continue }
                    return (entry, place)
                }
                return nil
            }
            following.rowWasRead(row?.entry, in: row?.place)
        } catch {
            context.noteUnread(error)
        }
    }

    // MARK: Frames

    private func frame(_ notice: WatchMachine.Notice) -> WatchFrame {
        switch notice.content {
        case .change(let change, let coalesced):
            return frame(change, coalesced, hasMore: notice.hasMore)
        case .status(.origin(let name), let state):
            return .origin(OriginFrame(notice.revision, name, state: state))
        case .status(.credential(let name), let state):
            let account = scope.scope.account
            return .auth(AuthFrame(notice.revision, name, account, state: state))
        case .status(.prefetch(let name), let state):
            let account = scope.scope.account
            return .prefetch(PrefetchFrame(notice.revision, name, account, state: state))
        case .bookmark(let isInitialDone):
            return .bookmark(BookmarkFrame(notice.revision, isInitialDone: isInitialDone))
        }
    }

    /// The ids of entities that an entry shows, which are of its origin.
    private func entities(_ keys: [EntityKey], in id: EntryID) -> [EntryID] {
        guard !keys.isEmpty else { return [] }
        let url = id.urlOfRequest ?? id.urlOfVariant ?? id
        let origin =
            id.entity?.origin ?? context.origins.origin(of: url, for: scope.scope.uid)?.name
        return origin.map { origin in keys.map { EntryID(EntityName($0, of: origin)) } } ?? []
    }

    private func frame(_ change: Change, _ coalesced: Int, hasMore: Bool) -> WatchFrame {
        let isOwn = client != nil && change.client == client
        switch change.event {
        case .put(let id, let cause), .delete(let id, let cause):
            let frame = ChangeFrame(
                change.revision,
                id,
                source: "\(cause.source)",
                cause: cause.text ?? (cause.source == .network ? "fetch:\(id)" : nil),
                changed: entities(cause.changed, in: id),
                isOwn: isOwn,
                coalesced: coalesced,
                hasMore: hasMore
            )
            if case .put = change.event { return .put(frame) }
            return .delete(frame)
        case .evict(let id, let reason, _):
            return .evict(
                EvictFrame(
                    change.revision,
                    id,
                    reason: "\(reason)",
                    isOwn: isOwn,
                    hasMore: hasMore
                )
            )
        case .remapped(let id, let real):
            return .remapped(RemappedFrame(change.revision, id, as: real, hasMore: hasMore))
        case .modifier(let modifier):
            return .modifier(
                ModifierFrame(change.revision, modifier, isOwn: isOwn, hasMore: hasMore)
            )
        }
    }
}
