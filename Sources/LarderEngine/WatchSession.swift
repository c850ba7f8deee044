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
            let interest = known ?? WatchInterest(command)
            let page = try await context.store.changes(
                after: after,
                through: through,
                of: scope.scope,
                showing: { interest.covers($0) }
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

/// Tells the present entries before changes.
///
/// The session does not have to remember which entries it told:
/// - Prefixes do not overlap.
/// - Ids come from the command.
/// - A shared entry is told only if no row of the watcher's own hides it.
///
/// An entry that changes meanwhile may be told from both its scopes.
extension WatchSession {
    mutating func list() async -> End? {
        do throws(StoreError) {
            if command.wants(.put), let end = try await listEntries() { return end }
        } catch {
            context.noteUnread(error)
            return cut(because: Problem(error))
        }
        hub.change(number) { machine, _ in machine.listingEnded() }
        return nil
    }

    private mutating func listEntries() async throws(StoreError) -> End? {
        let ids = Set(command.ids)
        if !ids.isEmpty {
            let heads = try await heads(of: command.ids.unique)
            if let end = await tell(heads) { return end }
        }
        let places = context.hasSharedOrigins ? [scope, context.sharedScope] : [scope]
        for prefix in command.prefixesApart {
            for place in places {
                if let end = try await list(prefix, in: place, besides: ids) { return end }
            }
        }
        return nil
    }

    /// Tells the entries of a scope; of the shared scope, only those that the watcher sees.
    private mutating func list(
        _ prefix: String,
        in place: ScopeKey,
        besides told: Set<EntryID>
    ) async throws(StoreError) -> End? {
        var filter = RowFilter(.one(place))
        filter.prefix = prefix
        let limit = Limits.pageRowsDefault
        var cursor: RowCursor?
        repeat {
            filter.shownAt = context.clock.now()
            let entries = Entries(context: context)
            let page = try await entries.page(
                filter,
                as: scope,
                order: .id,
                after: cursor,
                limit: limit
            )
            cursor = page.next
            let heads = page.heads.filter { head in
                let id = head.entry.id
                guard !told.contains(id) else { return false }
                return place == scope || context.sharedScope(of: id, for: scope) != nil
            }
            if let end = await tell(heads) { return end }
        } while cursor != nil
        return nil
    }

    /// Tells a page of the present entries.
    ///
    /// If the daemon ends, it cuts the listing without a revision. With one, the client would go on
    /// with changes and never hear of the rest.
    private mutating func tell(_ heads: [EntryHead]) async -> End? {
        guard !context.isDraining else {
            guard hasSent else { return .refused(.daemonEnds) }
            _ = await send([.end(WatchEndFrame(.shutdown, nil))])
            return .finished
        }
        var frames: [WatchFrame] = []
        var told: [(EntryID, Revision)] = []
        for head in heads {
            let entry = head.entry
            guard let said = entry.kind.source else { continue }
            let source = head.source == .modifier ? ChangeCause.Source.modifier : said
            told.append((entry.id, entry.revision))
            frames.append(
                .put(ChangeFrame(entry.revision, entry.id, source: "\(source)", isInitial: true))
            )
        }
        guard !frames.isEmpty else { return nil }
        hub.change(number) { machine, _ in machine.entriesWereListed(told) }
        return await send(frames)
    }

    private func heads(of ids: [EntryID]) async throws(StoreError) -> [EntryHead] {
        try await context.look(as: scope) { look throws(StoreError) in
            try ids.map { id throws(StoreError) in try look.head(of: id) }
                .compactMap { $0 }
        }
    }
}

extension WatchOrder {
    /// The prefixes that no other one covers, so that no id begins with two of them; of a watch of
    /// everything the empty one.
    fileprivate var prefixesApart: [String] {
        guard !prefixes.isEmpty else { return ids.isEmpty ? [""] : [] }
        var apart: [String] = []
        for prefix in prefixes.sorted(by: { $0.utf8.count < $1.utf8.count }) {
            let isCovered = apart.contains { prefix.utf8.starts(with: $0.utf8) }
            if !isCovered { apart.append(prefix) }
        }
        return apart
    }
}

extension EntryKind {
    /// The source of bytes of this kind; nil for a kind without bytes.
    fileprivate var source: ChangeCause.Source? {
        switch self {
        case .blob: .client
        case .fetched, .entity: .network
        case .tombstone, .variants: nil
        }
    }
}

/// The shared rows that a watcher sees: those that no row of its own hides.
extension WatchSession {
    /// The notices that the watcher sees, in the form in which it sees them.
    ///
    /// A change of a shared row is left out if a row of the watcher's own has hidden it since. When
    /// such a row goes, the watcher sees the shared row.
    ///
    /// A notice that cannot be looked up is told.
    func seen(_ notices: [WatchMachine.Notice]) async -> [WatchMachine.Notice] {
        let ids = Set(notices.compactMap { sharedID(in: $0) })
        guard !ids.isEmpty || !command.wants(.evict) else { return notices }
        var rows: [EntryID: Rows] = [:]
        do throws(StoreError) {
            if !ids.isEmpty { rows = try await self.rows(of: ids) }
        } catch {
            context.noteUnread(error)
        }
        var seen: [WatchMachine.Notice] = []
        for notice in notices {
            if let shown = self.notice(notice, rows), isWanted(shown) {
                seen.append(shown)
            } else if !notice.hasMore, let last = seen.indices.last,
                seen[last].revision == notice.revision
            {
                seen[last].hasMore = false
            }
        }
        return seen
    }

    /// Evictions are looked at even if the client did not ask for them: they may reveal a shared
    /// row.
    private func isWanted(_ notice: WatchMachine.Notice) -> Bool {
        guard case .change(let change, _) = notice.content, case .evict = change.event else {
            return true
        }
        return command.wants(.evict)
    }

    /// The id of a notice that depends on both rows; nil for other notices.
    private func sharedID(in notice: WatchMachine.Notice) -> EntryID? {
        guard case .change(let change, _) = notice.content, let id = change.id else { return nil }
        if change.scope == .shared { return isWanted(notice) ? id : nil }
        guard case .evict = change.event, command.wants(.put),
            context.sharedScope(of: id, for: scope) != nil
        else { return nil }
        return id
    }

    private struct Rows: Sendable {
        var own: Revision?
        /// The kind of the shared row; nil if the watcher does not see one.
        var shared: EntryKind?
        var isOfSharedOrigin: Bool
    }

    private func rows(of ids: Set<EntryID>) async throws(StoreError) -> [EntryID: Rows] {
        let now = context.clock.now()
        let lookups = ids.map { (id: $0, lookupScopes: context.lookupScopes(scope, $0)) }
        return try await context.store.read { reader throws(StoreError) in
            var rows: [EntryID: Rows] = [:]
            for (id, lookupScopes) in lookups {
                let own = try reader.entry(lookupScopes.own, id, now: now)
                var found = Rows(own: own?.revision, isOfSharedOrigin: lookupScopes.shared != nil)
                if let shared = lookupScopes.shared,
                    !reader.isHidden(id, in: shared, from: lookupScopes.own)
                {
                    found.shared = try reader.entry(shared, id, now: now)?.kind
                }
                rows[id] = found
            }
            return rows
        }
    }

    private func notice(
        _ notice: WatchMachine.Notice,
        _ rows: [EntryID: Rows]
    ) -> WatchMachine.Notice? {
        guard case .change(let change, let coalesced) = notice.content, let id = change.id,
            sharedID(in: notice) != nil, let found = rows[id]
        else { return notice }
        guard change.scope == .shared else { return revealed(notice, change, id, found) }
        // A later put replaces those before it, and one of them may be of an own row.
        guard let own = found.own else { return found.isOfSharedOrigin ? notice : nil }
        let isOlder = own < change.revision && (coalesced == 1 || own <= handedOut)
        return isOlder ? nil : notice
    }

    /// An own row is gone: the watcher now sees the shared row, if there is one.
    private func revealed(
        _ notice: WatchMachine.Notice,
        _ change: Change,
        _ id: EntryID,
        _ found: Rows
    ) -> WatchMachine.Notice {
        guard found.own == nil, found.shared == .fetched, command.wants(.put) else { return notice }
        var notice = notice
        var told = change
        told.event = .put(id, ChangeCause(.network, client: change.client))
        notice.content = .change(told, coalesced: 1)
        return notice
    }
}
