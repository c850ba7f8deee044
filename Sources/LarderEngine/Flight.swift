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
    private let context: EngineContext
    private let progress: RequestProgress
    private let waiters: Mutex<Waiters>
    // Both orders: a client that is told of the end reads what was stored before it.
    private let hasBecomePrivate = Atomic<Bool>(false)

    private struct Waiters {
        /// The time up to which a client may wait, even if the origin is silent.
        var deadline: Duration
        var waiting: [@Sendable (FlightOutcome) -> Void] = []
        /// Clients of others than the one that started the flight: none of them gets a private answer.
        var others: [@Sendable (FlightOutcome) -> Void] = []
        /// Clients that want only the head of the answer.
        var wantingHead: [@Sendable (FlightOutcome) -> Void] = []
        /// The head of the answer whose body is arriving, if no other fields may be shown.
        var head: PassedHead?
        /// The status of the answer whose body is arriving.
        var status: Int?
        var outcome: FlightOutcome?

        /// Returns the callbacks to call; the list is empty after that.
        mutating func finish(_ outcome: FlightOutcome?) -> [@Sendable (FlightOutcome) -> Void] {
            self.outcome = outcome
            defer { (waiting, others, wantingHead) = ([], [], []) }
            return waiting + others + wantingHead
        }
    }

    init(_ plan: Plan, context: EngineContext, now: Duration, deadline: Duration) {
        progress = RequestProgress(now: now)
        self.plan = plan
        self.context = context
        waiters = Mutex(Waiters(deadline: deadline))
    }

    /// Calls `tell` once with the outcome, and keeps the flight going until `deadline` at least.
    ///
    /// The call may come before this returns, on any thread. With `wantsHead` the outcome may be the
    /// head of an answer whose body is arriving. With `isOther` the call comes as soon as the answer
    /// is private, with an outcome that does not count then.
    func join(
        until deadline: Duration,
        wantsHead: Bool,
        isOther: Bool,
        _ tell: @escaping @Sendable (FlightOutcome) -> Void
    ) {
        let outcome = waiters.withLock { waiters -> FlightOutcome? in
            waiters.deadline = max(waiters.deadline, deadline)
            if let outcome = waiters.outcome { return outcome }
            if isOther, isPrivate { return ofAnother }
            if wantsHead, let head = waiters.head { return .passed(head) }
            let list = wantsHead ? \Waiters.wantingHead : isOther ? \.others : \.waiting
            waiters[keyPath: list].append(tell)
            return nil
        }
        if let outcome { tell(outcome) }
    }

    /// Whether a shared origin's answer is only for the client that started the flight.
    ///
    /// The store keeps such an answer in the scope of that client.
    var isPrivate: Bool { hasBecomePrivate.load(ordering: .acquiring) }

    func becomePrivate() {
        hasBecomePrivate.store(true, ordering: .releasing)
        var others: [@Sendable (FlightOutcome) -> Void] = []
        waiters.withLock { swap(&others, &$0.others) }
        for tell in others { tell(ofAnother) }
    }

    private var ofAnother: FlightOutcome { .failed(Problem(.overloaded, of: plan)) }

    /// Runs the flight to its end, then tells all clients that joined.
    func run() async {
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
        // From here on no client may join.
        context.flights.remove(self)
        context.refreshes.landed(self, outcome, context)
        end(outcome)
    }

    /// Tells all clients that joined; also of a flight that never ran, which they would wait for.
    func end(_ outcome: FlightOutcome) {
        for tell in waiters.withLock({ $0.finish(outcome) }) { tell(outcome) }
    }

    /// Tells the head of an answer that is passed on.
    ///
    /// From now on the deadline of one that is not stored is long: a stream of events may be silent.
    func handOver(_ head: PassedHead) {
        let deadline = context.clock.monotonic() + (plan.isStored ? .zero : Limits.requestTimeMax)
        let waiting = waiters.withLock { waiters in
            waiters.deadline = max(waiters.deadline, deadline)
            return waiters.finish(nil)
        }
        for tell in waiting { tell(.passed(head)) }
    }

    /// Tells the head of an answer that is received to the clients that want only the head, and to
    /// the client that takes the body while it is stored.
    ///
    /// Nil if no client takes the body. An entity of the answer may be newer in the store, so that
    /// other bytes show. The body may be a refusal.
    func handOver(_ reply: UpstreamReply, from source: WebURL?, isStored: Bool) -> StreamedBody? {
        guard
            plan.rules == nil && plan.origin.fetch.refusedIf.isEmpty
                || !ResponseHead.isJSON(reply.headers)
        else { return nil }
        let head = PassedHead(reply, from: source, isOfRange: true)
        let wanting = waiters.withLock { waiters in
            defer { waiters.wantingHead = [] }
            waiters.head = head
            return waiters.wantingHead
        }
        for tell in wanting { tell(.passed(head)) }
        guard isStored, let pipe = plan.pipe, reply.status == 200,
            reply.headers["Content-Length"] != "0"
        else { return nil }
        handOver(head)
        return StreamedBody(pipe, byteCount: head.byteCount)
    }

    /// The earliest end of the origin's time.
    func originDue(now: Duration) -> Duration {
        progress.due(after: plan.origin.fetch.timeout, now: now) ?? now
    }

    private func due(now: Duration) -> Duration {
        max(waiters.withLock { $0.deadline }, originDue(now: now))
    }

    func remaining() -> Duration {
        let now = context.clock.monotonic()
        return max(.zero, due(now: now) - now)
    }

    /// Returns when the time is over; it may be prolonged while this waits.
    private func watchDeadline() async -> FlightOutcome? {
        while remaining() > .zero {
            let due = self.due(now: context.clock.monotonic())
            guard (try? await context.clock.sleep(until: due)) != nil else { break }
        }
        return nil
    }
}

// MARK: The body

extension Flight {
    /// Asks the origin, whose time begins again with each piece of the body.
    ///
    /// A body that is stored has to come at the least rate of ``Limits/bodyTime(byteCount:)``.
    func ask(_ request: UpstreamRequest) async throws(UpstreamError) -> UpstreamReply {
        waiters.withLock { ($0.status, $0.head) = (nil, nil) }
        var reply = try await context.originStates.ask(request, for: plan.payer.scope)
        guard plan.isStored else { return reply }
        let (status, body, clock) = (reply.status, reply.body, context.clock)
        var (byteCount, time) = (0, Duration.zero)
        reply.body = UpstreamBody { [self] () async throws(UpstreamError) -> [UInt8]? in
            let start = clock.monotonic()
            progress.awaitOrigin(now: start)
            waiters.withLock { $0.status = status }
            var piece: [UInt8]?
            defer {
                if piece == nil {
                    progress.awaitOrigin(now: clock.monotonic())
                } else {
                    progress.awaitOthers()
                }
            }
            piece = try await body.next()
            byteCount += piece?.count ?? 0
            time += clock.monotonic() - start
            let most = max(plan.origin.fetch.timeout, Limits.bodyTime(byteCount: byteCount))
            guard time <= most else { throw .timedOut(.body) }
            return piece
        }
        return reply
    }

    /// A failure as a problem; that of a body that fell silent has the status of the answer.
    func problem(_ failure: FlightFailure) -> Problem {
        var problem = Problem(failure, of: plan)
        guard failure == .timeout, let status = waiters.withLock({ $0.status }) else {
            return problem
        }
        problem.detail = "\(plan.key.url.originText) stopped in the middle of its answer"
        problem.originStatus = status
        return problem
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
        case .passed(var head):
            head.cookies = HeaderFields()
            return .passed(head)
        case .failed: return self
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
    /// Why the store did not take its bytes, although it may be kept.
    var unstored: StoreError?
    /// Whether the origin forbids that it is kept, with `no-store` or with its status.
    var isForbidden = false
    /// Whether a confirmed write is newer: the row shows instead, with what was used of the answer.
    var isOvertaken = false
    /// Whether it is kept normalized: what it shows may be newer than its bytes.
    var isNormalized = false
    /// The last revision that was told when its request left, if the answer of a later request has
    /// its row: that one shows once it is written.
    var lateSince: Revision?
    /// Cookies that the origin sets; only the client that asked gets them, and they are not stored.
    var cookies = HeaderFields()

    var isResult: Bool { Freshness.isResult(status, of: entry.request?.method ?? .get) }
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
    /// A flight lasts for the origin's own timeout even if its first client waits less, and then as
    /// long as its body arrives: the answer is then stored anyway.
    ///
    /// With `isAlone` the request joins no flight of the shared scope. With `pipe` a new flight
    /// hands its answer over as it arrives. It stores the answer only with ``BodyPipe/isStored``;
    /// otherwise it ends when the client no longer reads. `joined` gets the flight before its outcome
    /// is told.
    func joinOrStart(
        _ request: FetchRequest,
        _ scope: ScopeKey,
        cached: ShownAnswer?,
        isAlone: Bool = false,
        startsNew: Bool = false,
        isUse: Bool = true,
        pipe: BodyPipe? = nil,
        joined: @escaping @Sendable (Flight) -> Void = { _ in },
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
        let deadline = now + max(request.timeout, origin.fetch.timeout)
        let found = context.flights.join(plan, startsNew: startsNew, now: now) {
            Flight(plan, context: context, now: now, deadline: deadline)
        }
        guard let (flight, isNew) = found else {
            return tell(.failed(Problem(FlightFailure.overloaded, url: request.url)))
        }
        joined(flight)
        let wantsHead = cached == nil && pipe == nil && request.wantsHead(context, scope)
        let isOther = flight.plan.payer != scope
        flight.join(until: deadline, wantsHead: wantsHead, isOther: isOther) { result in
            guard isOther, flight.isPrivate else { return tell(result.told(scope, origin, isNew)) }
            // The answer is private to another client.
            joinOrStart(
                request,
                scope,
                cached: nil,
                isAlone: true,
                isUse: isUse,
                joined: joined,
                tell
            )
        }
        if isNew { send(flight) } else { context.meter.count { $0.flightsJoined += 1 } }
    }

    private func send(_ flight: Flight) {
        let started = context.clock.monotonic()
        let isTaken = context.work.add { [context] in
            await flight.run()
            context.meter.count { $0.network.record(context.clock.monotonic() - started) }
        }
        if isTaken {
            context.meter.count { $0.flightsStarted += 1 }
        } else {
            context.flights.remove(flight)
            let problem = Problem(FlightFailure.shuttingDown, url: flight.plan.key.url)
            flight.end(.failed(problem))
        }
    }
}
