import LarderModel
import LarderNormalize
import LarderStore
import LarderStrategy
import LarderUpstream
import LarderWire
import Synchronization

/// A request in flight to an origin, shared by all clients of a scope that want the same.
final class Flight: Sendable {
    struct Key: Hashable, Sendable {
        var scope: ScopeKey
        let url: WebURL
        var content: RequestContent?
        let headers: HeaderFields
        var normalizes = true
        /// The number of the account's credential: a new one makes a new request.
        var credential: Int?

        /// See ``FetchOrder/id``.
        var id: EntryID? { try? EntryID(url, content) }
    }

    struct Plan: Sendable {
        var key: Key
        /// The scope of the client that started the flight, against whose share it counts.
        let payer: ScopeKey
        let origin: OriginSettings
        let cached: Entry?
        /// Whether a 304 answers the client.
        ///
        /// A client that does not see the row, as the shared one is hidden, needs the bytes.
        var takesConfirmation = true
        let isOriginDown: Bool
        /// The rules by which the answer is normalized; nil to keep it whole.
        let rules: EntityRules?
        var isNormalized = false
        let client: ClientTag?
        /// Whether a client waits for the answer: a poll is no use of the row.
        var isUse = true
        /// Whether the client wants what the origin says besides of an entry that it does not have,
        /// or that is elsewhere.
        var quotesOrigin = false
        /// Takes the answer as it arrives; nil for an answer that is stored and that clients may
        /// share.
        let pipe: BodyPipe?

        var isStored: Bool { pipe?.isStored ?? true }

        /// Whether the body may come in a content coding.
        ///
        /// A part of a coded body cannot be decoded, and a coded body does not tell its length.
        var acceptsCodings: Bool {
            origin.fetch.compresses && key.headers["Range"] == nil && pipe?.isStored != true
        }

        var cause: ChangeCause { ChangeCause(.network, text: "fetch:\(key.url)", client: client) }
    }

    let plan: Plan
    /// The time until which clients may join, on the monotonic clock.
    let joinDeadline: Duration
    private let context: EngineContext
    private let waiters: Mutex<Waiters>
    // Both orders: a client that is told of the end reads what was stored before it.
    private let hasBecomePrivate = Atomic<Bool>(false)

    private struct Waiters {
        var deadline: Duration
        var waiting: [@Sendable (FlightOutcome) -> Void] = []
        var outcome: FlightOutcome?

        /// Returns the callbacks to call; the list is empty after that.
        mutating func finish(_ outcome: FlightOutcome?) -> [@Sendable (FlightOutcome) -> Void] {
            self.outcome = outcome
            defer { waiting = [] }
            return waiting
        }
    }

    init(_ plan: Plan, context: EngineContext, deadline: Duration, joinDeadline: Duration) {
        self.joinDeadline = joinDeadline
        self.plan = plan
        self.context = context
        waiters = Mutex(Waiters(deadline: deadline))
    }

    /// Calls `tell` once with the outcome, and keeps the flight going until `deadline` at least.
    ///
    /// The call may come before this returns, on any thread.
    func join(until deadline: Duration, _ tell: @escaping @Sendable (FlightOutcome) -> Void) {
        let outcome = waiters.withLock { waiters in
            waiters.deadline = max(waiters.deadline, deadline)
            if waiters.outcome == nil { waiters.waiting.append(tell) }
            return waiters.outcome
        }
        if let outcome { tell(outcome) }
    }

    /// Whether a shared origin's answer is only for the client that started the flight.
    ///
    /// The store keeps such an answer in the scope of that client.
    var isPrivate: Bool { hasBecomePrivate.load(ordering: .acquiring) }

    func becomePrivate() { hasBecomePrivate.store(true, ordering: .releasing) }

    /// Runs the flight to its end, then tells all clients that joined.
    ///
    /// `isLanding` is called right before that; from then on no client may join.
    func run(isLanding: () -> Void) async {
        let store = context.store
        let cachedID = plan.cached?.id
        if let cachedID { store.protect(plan.key.scope, cachedID) }
        let outcome = await withTaskGroup(of: FlightOutcome?.self) { group in
            group.addTask { await FlightRun(self, self.context).run() }
            group.addTask { await self.watchDeadline() }
            if let pipe = plan.pipe, !plan.isStored {
                group.addTask {
                    await pipe.untilOver()
                    return nil
                }
            }
            var outcome: FlightOutcome?
            for await result in group {
                // The deadline only hurries the flight, which still reports its own outcome.
                if let result { outcome = result }
                group.cancelAll()
            }
            return outcome ?? .failed(Problem(FlightFailure.timeout, url: plan.key.url))
        }
        if let cachedID { store.release(plan.key.scope, cachedID) }
        plan.pipe?.finish(isWhole: false)
        isLanding()
        context.refreshes.landed(self, outcome, context)
        end(outcome)
    }

    /// Tells all clients that joined; also of a flight that never ran, which they would wait for.
    func end(_ outcome: FlightOutcome) {
        for tell in waiters.withLock({ $0.finish(outcome) }) { tell(outcome) }
    }

    /// Tells the head of an answer that is passed on.
    ///
    /// From now on the deadline is long, because the body takes the time that the client takes.
    func handOver(_ head: PassedHead) {
        let deadline = context.clock.monotonic() + Limits.requestTimeMax
        let waiting = waiters.withLock { waiters in
            waiters.deadline = deadline
            return waiters.finish(nil)
        }
        for tell in waiting { tell(.passed(head)) }
    }

    /// Tells the head of an answer that is stored while the client takes it; nil if the client waits
    /// for the stored answer.
    ///
    /// An entity of the answer may be newer in the store, so that other bytes show. The body may be
    /// a refusal.
    func handOver(stored reply: UpstreamReply) -> StreamedBody? {
        guard let pipe = plan.pipe, reply.status == 200, reply.headers["Content-Length"] != "0",
            plan.rules == nil && plan.origin.fetch.refusedIf.isEmpty
                || !ResponseHead.isJSON(reply.headers)
        else { return nil }
        var head = PassedHead(reply)
        head.isOfRange = true
        handOver(head)
        return StreamedBody(pipe, byteCount: head.byteCount)
    }

    private var deadline: Duration { waiters.withLock { $0.deadline } }

    func remaining() -> Duration { max(.zero, deadline - context.clock.monotonic()) }

    /// Returns when the deadline has passed; it may be moved while this waits.
    private func watchDeadline() async -> FlightOutcome? {
        while true {
            let due = deadline
            guard (try? await context.clock.sleep(until: due)) != nil, deadline > due else {
                return nil
            }
        }
    }
}

enum FlightOutcome: Sendable {
    case current(FlightAnswer)
    /// With the origin's words where a raw route asked.
    case deleted(Revision, status: Int, OriginRefusal? = nil, isStored: Bool = true)
    case failed(Problem)
    case refused(OriginRefusal, Problem)
    /// The head of an answer whose body now goes through the plan's ``BodyPipe``.
    case passed(PassedHead)

    /// A refusal, with a problem that quotes it.
    init(_ refusal: OriginRefusal, _ problem: Problem) {
        var problem = problem
        problem.originStatus = refusal.status
        problem.quote(refusal.body)
        self = .refused(refusal, problem)
    }

    /// Tells a deletion even though the store could not write it.
    init(unstoredDeletion status: Int, _ store: Store) {
        do throws(StoreError) {
            self = .deleted(try store.nextRevision(), status: status, isStored: false)
        } catch {
            self = .failed(Problem(error))
        }
    }

    /// The outcome for clients that joined another client's flight: without cookies, which are for
    /// the client that asked.
    var forOthers: FlightOutcome {
        switch self {
        case .current(var answer):
            answer.cookies = HeaderFields()
            return .current(answer)
        case .refused(var refusal, let problem):
            refusal.cookies = HeaderFields()
            return .refused(refusal, problem)
        case .deleted(let revision, let status, var words, let isStored):
            words?.cookies = HeaderFields()
            return .deleted(revision, status: status, words, isStored: isStored)
        case .failed, .passed: return self
        }
    }

    var occasion: FetchOutput.SnapshotReason {
        switch self {
        case .current(let answer):
            .network(status: answer.status, isStored: answer.isKept, cookies: answer.cookies)
        case .deleted(_, let status, _, _):
            .network(status: status, isStored: false, cookies: HeaderFields())
        case .failed, .refused, .passed:
            .cache()
        }
    }
}

struct FlightAnswer: Sendable {
    var entry: Entry
    /// Nil if the bytes are in the store: a 304 has confirmed them, or a frame cannot show them.
    let bytes: [UInt8]?
    /// The status that the origin answered with: 200, or 304.
    let status: Int
    /// Whether the store has it: else it is only told.
    var isKept = true
    /// Whether the origin forbids that it is kept, with `no-store` or with its status.
    var isForbidden = false
    /// Whether a confirmed write is newer: the row shows instead, with what was used of the answer.
    var isOvertaken = false
    /// Whether it is kept normalized: what it shows may be newer than its bytes.
    var isNormalized = false
    /// The last revision that was told when its request left, if the answer of a later request has
    /// its row: that one shows once it is written.
    private(set) var lateSince: Revision?
    /// Cookies that the origin sets; only the client that asked gets them, and they are not stored.
    var cookies = HeaderFields()

    /// See ``Freshness/isResult(_:of:)``.
    var isResult: Bool { Freshness.isResult(status, of: entry.request?.method ?? .get) }

    init(entry: Entry, bytes: [UInt8]?, status: Int) {
        (self.entry, self.bytes, self.status) = (entry, bytes, status)
    }

    /// An answer for whose row that of a later request came first.
    init(late entry: Entry, _ bytes: [UInt8]?, status: Int, since start: Revision) {
        self.init(entry: entry, bytes: bytes, status: status)
        lateSince = start
    }
}

struct OriginRefusal: Equatable, Sendable {
    let status: Int
    var headers: HeaderFields
    var cookies = HeaderFields()
    let body: [UInt8]
    let isWhole: Bool

    init(_ reply: UpstreamReply, _ body: [UInt8], isWhole: Bool) {
        (status, headers) = (reply.status, reply.headers.endToEnd)
        cookies = reply.headers.cookies
        (self.body, self.isWhole) = (body, isWhole)
    }
}

struct PassedHead: Equatable, Sendable {
    let status: Int
    let headers: HeaderFields
    var cookies = HeaderFields()
    let byteCount: Int64?
    /// Whether it answers a range of the whole body, which is being stored.
    var isOfRange = false

    init(_ reply: UpstreamReply) {
        status = reply.status
        var headers = reply.headers.endToEnd
        if headers.isOfDecodedBody, let tag = headers["ETag"], tag.hasPrefix("\"") {
            // A strong tag would name the coded bytes.
            headers.set("ETag", "W/\(tag)")
        }
        self.headers = headers
        cookies = reply.headers.cookies
        byteCount = reply.headers["Content-Length"].flatMap { Int64($0) }
    }
}

struct FlightStarter: Sendable {
    let context: EngineContext

    /// Asks the network for a request of which nothing is shown, and returns what it says.
    ///
    /// With `startsNew` it joins no request that is in flight already.
    func answer(
        to request: FetchRequest,
        _ scope: ScopeKey,
        cached: ShownAnswer? = nil,
        startsNew: Bool = false,
        isUse: Bool = true
    ) async -> FlightOutcome {
        await withCheckedContinuation { continuation in
            joinOrStart(request, scope, cached: cached, startsNew: startsNew, isUse: isUse) {
                continuation.resume(returning: $0)
            }
        }
    }

    /// Calls `tell` with the network's answer to a request.
    ///
    /// `cached` is the view of the client, which a new flight revalidates.
    ///
    /// A flight lasts for the origin's own timeout even if its first client waits less: the answer
    /// is then stored anyway.
    ///
    /// With `isAlone` the request joins no flight of the shared scope. With `pipe` a new flight
    /// hands its answer over as it arrives. It stores the answer only with ``BodyPipe/isStored``;
    /// otherwise it ends when the client no longer reads.
    func joinOrStart(
        _ request: FetchRequest,
        _ scope: ScopeKey,
        cached: ShownAnswer?,
        isAlone: Bool = false,
        startsNew: Bool = false,
        isUse: Bool = true,
        pipe: BodyPipe? = nil,
        _ tell: @escaping @Sendable (FlightOutcome) -> Void
    ) {
        let origin = request.origin
        // Nothing leaves for it.
        guard !context.originStates.isManuallyOffline(origin.name) else {
            return tell(.failed(Problem(offline: origin.name)))
        }
        do throws(Problem) {
            // The origin's settings may be others than when the body came.
            try request.content?.checkSettings(request.url, origin)
        } catch {
            return tell(.failed(error))
        }
        let plan = Flight.Plan(
            key: Flight.Key(
                scope: isAlone ? scope : context.place(of: request, scope, cached),
                url: request.url,
                content: request.content,
                headers: request.headers,
                normalizes: request.normalizes,
                credential: origin.account?.number
            ),
            payer: scope,
            origin: origin,
            cached: cached?.known,
            takesConfirmation: cached != nil || startsNew,
            isOriginDown: context.originStates.isDown(origin.name),
            rules: request.normalizes ? context.origins.entityRules[origin.name] : nil,
            isNormalized: cached?.isNormalized ?? false,
            client: request.client,
            isUse: isUse,
            quotesOrigin: request.quotesOrigin,
            pipe: pipe
        )
        let now = context.clock.monotonic()
        let joinDeadline = now + origin.fetch.timeout
        let deadline = max(now + request.timeout, joinDeadline)
        let joined = context.flights.join(plan, startsNew: startsNew, now: now) {
            Flight(plan, context: context, deadline: deadline, joinDeadline: joinDeadline)
        }
        guard let (flight, isNew) = joined else {
            return tell(.failed(Problem(FlightFailure.overloaded, url: request.url)))
        }
        flight.join(until: deadline) { outcome in
            guard flight.isPrivate, flight.plan.payer != scope else {
                return tell(isNew ? outcome : outcome.forOthers)
            }
            // The answer is private to another client.
            joinOrStart(request, scope, cached: nil, isAlone: true, isUse: isUse, tell)
        }
        if isNew { send(flight) } else { context.meter.count { $0.flightsJoined += 1 } }
    }

    private func send(_ flight: Flight) {
        let table = context.flights
        let started = context.clock.monotonic()
        let isTaken = context.work.add { [context] in
            await flight.run { table.remove(flight) }
            context.meter.count { $0.network.record(context.clock.monotonic() - started) }
        }
        if isTaken {
            context.meter.count { $0.flightsStarted += 1 }
        } else {
            table.remove(flight)
            let problem = Problem(FlightFailure.shuttingDown, url: flight.plan.key.url)
            flight.end(.failed(problem))
        }
    }
}
