import LarderModel
import LarderStore
import LarderStrategy
import LarderWire
import Synchronization

extension FetchSession {
    /// Begins to listen for changes of the id that was shown, and looks once what has changed since
    /// it was read.
    mutating func beginFollowing(_ reader: StoreReader) async {
        guard let id = shown?.id else { return }
        // From here on each look reads the row again: a follower keeps no body.
        cached = nil
        repeat {
            if followedOrigin?.name != request.origin.name {
                followedOrigin = FollowedOrigin(request, scope, context, mailbox)
            }
        } while renewRequest()
        following = Following(id, lookupScopes, context, request.variantMarker) {
            [mailbox = mailbox] in
            mailbox.post(.rowChanged)
        }
        await readFollowed(reader)
        guard following?.refresh(request) == false else { return }
        await fail(.problem(.tooManyPolledRows), .end)
    }

    /// Takes the settings of the origin and the credential of the account as they are now; true if
    /// the account sees other rows with them.
    ///
    /// The origin is then asked again, as it may have another answer for the account.
    private mutating func renewRequest() -> Bool {
        let (name, scopes) = (request.origin.name, lookupScopes.scopes)
        request = request.renewed(scope, context) ?? request
        guard request.origin.name != name || lookupScopes.scopes != scopes else { return false }
        if request.policy != .cacheOnly { mailbox.post(.originReturned) }
        return true
    }

    mutating func readFollowed(_ reader: StoreReader) async {
        guard let following else { return }
        following.rowIsRead()
        let published = context.store.changes.published
        var before: Machine?
        do throws(StoreError) {
            let row = try await request.followed(following.id, reader, lookupScopes, in: context)
            if request.variantMarker != nil,
                let answer = try await request.lookUp(on: reader, scope, context)?.entry,
                answer.id != following.id, answer.revision > known ?? Revision(0)
            {
                // The answers vary by other headers now: the session begins to follow this row.
                self.following = nil
                shown?.id = answer.id
                mailbox.post(.rowChanged)
                return
            }
            following.rowWasRead(row?.entry, in: row?.place)
            // A settled variant is requested again, as its target is: only its follower knows the
            // headers.
            let wereSettled = hasPendingWrites
            hasPendingWrites = row?.overlay.pending.isEmpty == false
            if wereSettled, !hasPendingWrites, request.policy != .cacheOnly,
                Variants.url(of: following.id) != nil
            {
                await askAgain(reader)
            }
            before = machine
            switch machine.rowWasRead(row?.followed(after: shown?.body, shownOverlay) ?? .missing) {
            case .nothing: break
            case .show:
                // The row was replaced during the read, so another notice follows.
                guard let row, let body = try await open(row) else { return }
                await show(row, body, .cache())
                known = row.entry.revision
            case .tellDeleted:
                guard let row else { return }
                // The same deletion was told before, under an earlier revision.
                let deletion = row.deletion
                let told = (toldDeletion?.status, toldDeletion?.source)
                guard told != (deletion.status, deletion.source) else { break }
                await tellDeleted(deletion, .cache())
            }
            toldThrough = published
        } catch {
            // The next heartbeat reads the row again, as nothing of it was shown.
            if let before { machine = before }
            context.noteUnread(error)
        }
    }

    mutating func tellOrigin(_ reader: StoreReader) async {
        let state = followedOrigin?.newState(context)
        // The session begins to follow the rows that the account sees now.
        if renewRequest() { following = nil }
        guard let state, let name = followedOrigin?.name else { return }
        await readFollowed(reader)
        await say(.frame(.origin(OriginFrame(toldThrough, name, state: state))))
    }

    /// Asks the origin for news since it was down, and does not wait for the answer: the session
    /// hears of it by the change of the row.
    ///
    /// The origin's settings and the account's credential are those of now, as the stream may have
    /// begun long before.
    ///
    /// The session asks later if the origin has to rest, or if too many requests are in flight, as
    /// after the return of an origin that many follow.
    func askAgain(_ reader: StoreReader) async {
        guard let retries = followedOrigin?.retries else { return }
        if let due = context.originStates.retryAfterEnd(of: request.origin.name, for: scope.scope) {
            return retries.ask(at: due, timers)
        }
        guard let renewed = request.renewed(scope, context) else { return }
        var known: ShownAnswer?
        do throws(StoreError) {
            known = try await renewed.lookUp(on: reader, scope, context)
        } catch {
            context.noteUnread(error)
        }
        context.flightStarter.joinOrStart(renewed, scope, cached: known) {
            [context, timers] outcome in
            guard case .failed(let problem) = outcome, problem.kind == .overloaded else {
                return retries.hadPlace()
            }
            retries.hadNoPlace(timers, randomUnit: context.randomUnit())
        }
    }
}

extension ShownAnswer {
    /// The meaning of the read of a followed row after the body and the overlay that were shown last.
    fileprivate func followed(
        after body: BodySummary?,
        _ overlay: Overlay
    ) -> FetchMachine<FetchFailure>.FollowedRow {
        switch entry.kind {
        case .fetched:
            .entry(entry.revision, isAsTold: entry.body == body && self.overlay == overlay)
        case .tombstone: .tombstone(entry.revision)
        // A kind that no fetch stores: only another configuration can have left it there.
        case .blob, .variants, .entity: .missing
        }
    }
}

extension FetchRequest {
    /// The same with the settings of the origin and the credential of the account as they are now;
    /// nil if the URL has no origin any more.
    fileprivate func renewed(_ scope: ScopeKey, _ context: EngineContext) -> FetchRequest? {
        guard let origin = try? context.origin(of: command.url, in: scope) else { return nil }
        return FetchRequest(command, origin: origin, client: client)
    }
}

/// Hears of changes of a follower's origin and of its account there, and of the origin's return.
///
/// A follower's task uses the value, and hearing ends when that task drops it.
final class FollowedOrigin {
    let name: OriginName
    private let news: Listeners
    /// Keeps changes from piling up.
    private let hasNews = Flag()
    private var seat: Int?
    private var waiting: Interest?
    /// The state that the follower was told last.
    private var told = ""
    let retries = FollowerRetries()

    init(
        _ request: FetchRequest,
        _ scope: ScopeKey,
        _ context: EngineContext,
        _ mailbox: Mailbox<FetchEvent>
    ) {
        name = request.origin.name
        // These are told of changes of origins, too.
        news = context.credentials.news
        seat = news.add { [hasNews] in
            if hasNews.raise() { mailbox.post(.originChanged) }
        }
        told = context.watchers.state(of: name)
        guard request.policy != .cacheOnly else { return }
        waiting = context.originStates.waitForReturn(of: name, as: scope.scope) {
            mailbox.post(.originReturned)
        }
    }

    deinit { news.remove(seat) }

    /// The origin's state; nil if the follower was told this one last.
    func newState(_ context: EngineContext) -> String? {
        hasNews.lower()
        let state = context.watchers.state(of: name)
        guard state != told else { return nil }
        told = state
        return state
    }
}

/// Has a follower ask its origin again later: at one moment, after pauses that grow.
final class FollowerRetries: Sendable {
    private let alarm = DeadlineTimer()
    private let isRunning = Flag()
    // Relaxed: it only makes pauses longer.
    private let failures = Atomic<Int>(0)

    /// Has the follower ask at a moment of the monotonic clock, and at no other.
    func ask(at due: Duration, _ timers: SessionTimers<FetchEvent>) {
        if isRunning.raise() {
            _ = timers.jobs.add { [alarm] in
                await alarm.run(timers.clock) { timers.mailbox.post(.originReturned) }
            }
        }
        alarm.set(due)
    }

    func hadNoPlace(_ timers: SessionTimers<FetchEvent>, randomUnit: Double) {
        let count = failures.wrappingAdd(1, ordering: .relaxed).oldValue
        let ceiling = ProbeMachine.ceiling(after: count)
        let pause = ProbeMachine.pause(upTo: ceiling, randomUnit: randomUnit)
        ask(at: timers.clock.monotonic() + pause, timers)
    }

    func hadPlace() { failures.store(0, ordering: .relaxed) }
}

/// Follows one id: hears of changes, and keeps the row from eviction.
///
/// The row is kept only while its bytes fit into the share of its user.
///
/// A follower's task uses the value, and following ends when that task drops it.
final class Following {
    let id: EntryID
    private let lookupScopes: LookupScopes
    private let context: EngineContext
    private let flag = Flag()
    private var watches: [RowWatch] = []
    /// The bytes counted as held, and the scope of the row; nil while the row is not protected.
    private var held: (bytes: Int64, place: ScopeKey)?
    /// The time of the last answer for the row, as it was read last.
    private var answered: Timestamp?
    private var refreshing: Interest?

    /// `tell` is called when the row has changed, or when the answers may vary by other headers,
    /// and not again before ``rowIsRead()``.
    ///
    /// `marker` is the row that says by which headers they vary.
    init(
        _ id: EntryID,
        _ lookupScopes: LookupScopes,
        _ context: EngineContext,
        _ marker: EntryID? = nil,
        _ tell: @escaping @Sendable () -> Void
    ) {
        self.id = id
        self.lookupScopes = lookupScopes
        self.context = context
        var rows = lookupScopes.scopes.map { ($0, id) }
        // A write to a URL also shows in its variants.
        if let url = Variants.url(of: id) { rows.append((lookupScopes.own, url)) }
        if let marker { rows += lookupScopes.scopes.map { ($0, marker) } }
        watches = rows.map { scope, id in
            context.store.watch(scope, id) { [flag] in
                if flag.raise() { tell() }
            }
        }
    }

    deinit {
        watches = []
        letGo()
    }

    /// Call this before the row is read; later changes are then told.
    func rowIsRead() {
        flag.lower()
    }

    /// Call this after a read, with the entry and the scope of the row; nil if there is none.
    func rowWasRead(_ entry: Entry?, in place: ScopeKey?) {
        answered = entry?.storedAt
        let (place, bytes) = (place ?? lookupScopes.own, Int64(entry?.body.byteCount ?? 0))
        if let held, held == (bytes, place) { return }
        // Before the old place is let go, as they may be the same.
        context.store.protect(place, id)
        letGo()
        guard context.followers.hold(lookupScopes.own, id, bytes: bytes, in: place) else {
            return context.store.release(place, id)
        }
        held = (bytes, place)
    }

    /// Has the row refreshed if a request asks for it; false if its user has too many such rows, as
    /// other followers took the last places since the fetch began.
    func refresh(_ request: FetchRequest) -> Bool {
        guard let interval = request.refresh else { return true }
        refreshing = context.refreshes.follow(
            id,
            lookupScopes.own,
            request.command,
            at: request.origin.name,
            every: interval,
            since: answered,
            isOwn: held?.place == lookupScopes.own,
            context
        )
        return refreshing != nil
    }

    private func letGo() {
        guard let held else { return }
        context.store.release(held.place, id)
        context.followers.letGo(lookupScopes.own, id, bytes: held.bytes, in: held.place)
        self.held = nil
    }
}

/// Followers of entries, the bytes that each user keeps from eviction, and those of frames that
/// wait for slow clients; guarded by a lock.
final class FollowerTable: Sendable {
    private struct State {
        var followers = Quota<UInt32?>(each: Limits.followersPerUserMax)
        /// The accounted bytes of what is held, each follower's counted by itself.
        var bytes: Quota<UInt32?>
        var held = Quota<TargetName>()
        /// The large bodies of frames that followers have yet to take.
        var frames = Quota<UInt32?>(max: Limits.heldBytesMax, each: Limits.heldBytesPerUserMax)
    }

    private let state: Mutex<State>

    /// `maxBytes` is what the cache may hold in all.
    init(maxBytes: Int64) {
        let bytes = Quota<UInt32?>(each: Int(maxBytes / Limits.followedShareDivisor))
        state = Mutex(State(bytes: bytes))
    }

    func setMaxBytes(_ maxBytes: Int64) {
        state.withLock { $0.bytes.eachMax = Int(maxBytes / Limits.followedShareDivisor) }
    }

    func add(_ scope: ScopeKey) -> Bool { state.withLock { $0.followers.take(scope.scope.uid) } }

    func remove(_ scope: ScopeKey) { state.withLock { $0.followers.release(scope.scope.uid) } }

    /// Counts an id and the bytes of its row as held; false if its user holds too much.
    ///
    /// The row may be of another scope.
    func hold(_ scope: ScopeKey, _ id: EntryID, bytes: Int64, in place: ScopeKey) -> Bool {
        state.withLock { state in
            state.bytes.take(scope.scope.uid, Int(bytes))
                && state.held.take(TargetName(place, id))
        }
    }

    func letGo(_ scope: ScopeKey, _ id: EntryID, bytes: Int64, in place: ScopeKey) {
        state.withLock { state in
            state.bytes.release(scope.scope.uid, Int(bytes))
            state.held.release(TargetName(place, id))
        }
    }

    /// Counts the body of a frame until the value ends; nil if such bodies take too much memory.
    func holdFrame(of scope: Scope, bytes: Int) -> Interest? {
        guard state.withLock({ $0.frames.take(scope.uid, bytes) }) else { return nil }
        return Interest { [self] in state.withLock { $0.frames.release(scope.uid, bytes) } }
    }

    func holders(of id: EntryID, in scope: ScopeKey) -> Int {
        state.withLock { $0.held.count(of: TargetName(scope, id)) }
    }

    var count: Int { state.withLock { $0.followers.count } }
}
