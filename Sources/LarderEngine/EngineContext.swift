import LarderModel
import LarderStore
import LarderStrategy
import LarderUpstream
import LarderWire
import Logging
import Synchronization

final class EngineContext: Sendable {
    let store: Store
    let upstream: any Upstream
    let clock: any EngineClock
    private let table: Mutex<OriginTable>
    // Relaxed: it only keeps reads from looking into the table while no origin is shared.
    private let sharesAny: Atomic<Bool>
    let sharedScope: ScopeKey
    let health: OriginHealthTable
    let watch = OriginWaiters()
    let watchers: WatchHub
    let keeper = PinFetchRunner()
    let refreshes = RefreshRunner()
    let prefetches = PrefetchRunner()
    let modifiers = ModifierQueueRunner()
    /// Keeps answers from undoing writes that they do not know of, and from replacing later ones.
    let reads = ReadsInFlight()
    let variants: Variants
    /// Origins that an operator set offline; no request leaves for them.
    let offline: Mutex<Set<OriginName>>
    let credentials: CredentialTable
    /// Limits how many answers are split at the same time: a device has no more processors.
    let splitting = AsyncSemaphore(places: Limits.answersSplitMax)
    let work = WorkQueue()
    let flights = FlightTable()
    /// Clients that are told when the daemon ends.
    let sessions = Listeners()
    /// Batches whose answers are in memory, by users.
    let batches = Mutex(Quota<UInt32?>(max: Limits.batchesMax, each: Limits.batchesPerUserMax))
    let followers: FollowerTable
    let logger: Logger
    private let failures = FailureLog()
    let meter = EngineMeter()
    private let random: Mutex<any RandomNumberGenerator & Sendable>
    // Relaxed: set once; a flight that reads it late words its failure differently.
    private let draining = Atomic<Bool>(false)
    // Relaxed: counters for reports.
    private let hits = Atomic<Int64>(0)
    private let misses = Atomic<Int64>(0)

    init(
        store: Store,
        upstream: any Upstream,
        clock: any EngineClock,
        origins: OriginTable,
        random: any RandomNumberGenerator & Sendable,
        logger: Logger
    ) {
        self.store = store
        variants = Variants(digestKey: store.digestKey)
        watchers = WatchHub(store.changes)
        self.upstream = upstream
        self.clock = clock
        table = Mutex(origins)
        sharesAny = Atomic(origins.hasSharedOrigins)
        sharedScope = store.key(for: .shared)
        let offline = Origins.offlineOrigins(store, logger)
        self.offline = Mutex(offline)
        credentials = CredentialTable(CredentialTable.stored(store, logger))
        followers = FollowerTable(maxBytes: store.limits.maxBytes.bytes)
        self.random = Mutex(random)
        self.logger = logger
        health = OriginHealthTable(origins, now: clock.now())
        store.setOrigins(origins.names(credentials))
        for name in offline { originStates.changed(name) }
    }

    var flightStarter: FlightStarter { FlightStarter(context: self) }
    var originStates: OriginStates { OriginStates(context: self) }

    var origins: OriginTable { table.withLock { $0 } }

    var hasSharedOrigins: Bool { sharesAny.load(ordering: .relaxed) }

    /// Replaces the origin table.
    ///
    /// Flights keep the settings with which they started. Only one task at a time may call this.
    func replaceOrigins(_ new: OriginTable) {
        let old = table.withLock { table in
            defer { table = new }
            return table
        }
        sharesAny.store(new.hasSharedOrigins, ordering: .relaxed)
        store.setOrigins(new.names(credentials))
        health.replace(old, with: new, now: clock.now())
        for origin in old.known {
            if new[origin.name] == nil {
                originStates.forget(origin.name)
            } else {
                originStates.changed(origin.name)
            }
        }
        credentials.originsChanged(old, new)
        for origin in new.known where old[origin.name]?.settings != origin.settings {
            let rules = old[origin.name]?.settings.modifiers ?? ModifierRules()
            originStates.settingsChanged(
                origin.name,
                hasOtherRules: rules != origin.settings.modifiers
            )
        }
    }

    var isDraining: Bool {
        get { draining.load(ordering: .relaxed) }
        set { draining.store(newValue, ordering: .relaxed) }
    }

    func count(isHit: Bool) {
        if isHit {
            hits.add(1, ordering: .relaxed)
        } else {
            misses.add(1, ordering: .relaxed)
        }
    }

    var lookups: (hits: Int64, misses: Int64) {
        (hits.load(ordering: .relaxed), misses.load(ordering: .relaxed))
    }

    /// A number in 0..<1.
    func randomUnit() -> Double {
        random.withLock { Double($0.next() >> 11) / 9_007_199_254_740_992 }
    }

    func modifierID(at now: Timestamp) -> ModifierID {
        random.withLock { random in
            ModifierID.ulid(at: now, using: &random)
        }
    }

    func noteUnstored(_ id: EntryID, _ error: StoreError) {
        note("an answer was not stored", error, of: id)
    }

    func noteUnread(_ error: StoreError) { note("the cache was not read", error) }

    /// The origin of a URL, with the credential of the scope's account.
    func origin(of url: WebURL, in scope: ScopeKey) throws(Problem) -> OriginSettings {
        guard let origin = admitted({ $0.origin(of: url, for: scope.scope.uid) }) else {
            throw Problem(unknownOriginOf: url)
        }
        return credentials.settings(of: origin, for: scope.scope)
    }

    /// The origin with a name, as it is for all users; a public host's to the daemon's owner only.
    func origin(named name: OriginName, for uid: UInt32?) throws(Problem) -> OriginSettings {
        guard let origin = admitted({ $0.origin(named: name, for: uid) }) else {
            throw Problem(.noSuchOrigin, "there is no origin '\(name)'")
        }
        return origin
    }

    /// Finds an origin, and remembers a public host that a client asks for.
    private func admitted(_ find: (OriginTable) -> OriginSettings?) -> OriginSettings? {
        let table = origins
        let origin = find(table)
        if let origin, table[origin.name] == nil, health.admit(origin, now: clock.now()),
            let forgotten = health.dropOldest(besides: watch.waitedFor)
        {
            originStates.forget(forgotten)
        }
        return origin
    }

    /// The origin has said what an entry is now; nil: that it is not there.
    func noteRead(of id: EntryID, in scope: ScopeKey, _ body: BodySummary?) {
        guard (store.modifiers.totals.byState[.accepted] ?? 0) > 0 else { return }
        if store.modifiers.isTarget(scope, id) { modifiers.post(.targetRead(id, scope, body)) }
    }

    /// Scopes whose writes an answer for an id may show.
    ///
    /// Call this before the answer is stored. A pin that keeps the bytes of a deleted shared row
    /// does not view that row after it.
    func viewers(of id: EntryID, in scope: ScopeKey) async -> [ScopeKey] {
        guard (store.modifiers.totals.byState[.accepted] ?? 0) > 0,
            store.modifiers.isTarget(scope, id)
        else { return [] }
        do throws(StoreError) {
            return try await store.modifiers.viewers(of: id, in: scope)
        } catch {
            noteUnread(error)
            return []
        }
    }

    /// Retries the work until it succeeds, because what it writes must not be lost.
    func retryUntilSuccess(
        _ trouble: Logger.Message,
        _ work: () async throws(StoreError) -> Void
    ) async {
        var pause = Limits.modifierRetryBase
        while !Task.isCancelled {
            do throws(StoreError) {
                return try await work()
            } catch {
                note(trouble, error)
                guard await self.pause(after: error, pause) else { return }
            }
            pause = min(pause * 2, Limits.modifierRetryMax)
        }
    }

    /// Sleeps before a retry; false if the work is not to be retried.
    func pause(after error: StoreError, _ time: Duration = Limits.modifierRetryBase) async -> Bool {
        if case .closed = error { return false }
        return (try? await clock.sleep(for: time)) != nil
    }

    func note(_ trouble: Logger.Message, _ error: StoreError, of id: EntryID? = nil) {
        failures.write(trouble, error, of: id, to: logger, at: clock.monotonic())
    }

    /// Reads off the event loops, for a client.
    func read<Value: Sendable>(
        _ look: @escaping @Sendable (StoreReader) throws(StoreError) -> Value
    ) async throws(Problem) -> Value {
        try await storing(await store.read(look))
    }
}

extension OriginSettings {
    /// Refuses a client's credential in a field that the origin's configuration sets: only one of
    /// the two can be sent.
    func refuseConfigured(_ headers: HeaderFields) throws(Problem) {
        let field = headers.fields.first { field in
            HeaderFields.holdsSecret(field.name) && self.headers[field.name] != nil
        }
        guard let field else { return }
        throw Problem(
            .badRequest,
            "headers: the origin '\(name)' is configured with a '\(field.name)' of its own",
            hint: "Leave the header out, or use an origin without it."
        )
    }

    /// Refuses a header of a modifier that may be a secret: a modifier outlives its program, so it
    /// refers to the credential of its account instead.
    func refuseSecret(in headers: HeaderFields, of scope: Scope) throws(Problem) {
        let key = modifiers.idempotency.header
        let field = headers.fields.first { field in
            guard !field.name.isEqual(to: key), !field.name.isEqual(to: "Idempotency-Key") else {
                return false
            }
            return HeaderFields.holdsSecret(field.name)
                || account?.header.isEqual(to: field.name) == true
        }
        guard let field else { return }
        throw Problem(
            .badRequest,
            "headers: '\(field.name)' cannot be given for a modifier, which is sent with the "
                + "credential of its account",
            hint: "Leave the header out, and set the credential: "
                + CredentialName(scope, at: name).loginCommand
        )
    }
}

/// Does something with the store for a client, and throws the store's error as a problem.
func storing<Value>(
    _ work: @autoclosure () async throws(StoreError) -> Value
) async throws(Problem) -> Value {
    try await storingAll(work)
}

func storingAll<Value>(
    _ work: () async throws(StoreError) -> Value
) async throws(Problem) -> Value {
    do throws(StoreError) {
        return try await work()
    } catch {
        throw Problem(error)
    }
}

/// Logs failures of the store, in each span of ``Limits/noticeTime`` only the first few of an event.
///
/// A disk that fails may do so at every request.
final class FailureLog: Sendable {
    private struct Span {
        let end: Duration
        var count = 1
    }

    /// The last span of each event.
    private let spans = Mutex<[String: Span]>([:])

    /// Takes the moment from a monotonic clock.
    func write(
        _ event: Logger.Message,
        _ error: StoreError,
        of id: EntryID?,
        to logger: Logger,
        at moment: Duration
    ) {
        guard let leftOut = count("\(event)", at: moment) else { return }
        var fields: [LogKey: Logger.MetadataValue] = [.reason: "\(error.message)"]
        (fields[.statement], fields[.id]) = (error.statement.map { "\($0)" }, id.map { "\($0)" })
        if leftOut > 0 { fields[.count] = "\(leftOut)" }
        logger.warning(event, metadata: .larder(fields))
    }

    /// How many of an event were left out in the span before this one; nil if this one is left out.
    private func count(_ event: String, at moment: Duration) -> Int? {
        spans.withLock { spans in
            let last = spans[event]
            guard var span = last, moment < span.end else {
                spans[event] = Span(end: moment + Limits.noticeTime)
                return max(0, (last?.count ?? 0) - Limits.noticesMax)
            }
            span.count += 1
            spans[event] = span
            return span.count <= Limits.noticesMax ? 0 : nil
        }
    }
}
