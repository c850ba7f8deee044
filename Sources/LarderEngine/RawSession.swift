import LarderModel
import LarderStore
import LarderStrategy
import LarderWire

/// One client's request on the raw routes: like ``FetchSession`` the shell of a ``FetchMachine``,
/// but that it is over with the first thing that is shown, which goes out as it is.
///
/// An answer that is not to be kept, or for which the cache has no room, is asked for anew by a
/// flight of its own that passes it on: at most one more request for each client.
struct RawSession {
    enum Event: Sendable {
        case told(FlightOutcome)
        case networkWaitElapsed
        case deadlineElapsed
        case hungUp
        case drainBegan
    }

    private typealias Machine = FetchMachine<RawFailure>
    private var sight: Sight { context.sight(scope, request) }

    let context: EngineContext
    let flights: FlightBoard
    let scope: ScopeKey
    let request: FetchRequest
    let rules: RawRules
    let conditions: RawConditions
    let mailbox: Mailbox<Event>
    /// What waits beside the session: each posts an event.
    private let timers = WorkQueue()

    private var machine = Machine()
    private var cached: CachedAnswer?
    /// Set once the answer is asked for to be passed on.
    private var passing: PassedBody?
    private var reply: RawReply?
    /// What the origin has set at this client with the answer that is shown.
    private var cookies = HeaderFields()
    private var isOver = false

    init(
        _ context: EngineContext,
        _ flights: FlightBoard,
        _ scope: ScopeKey,
        _ request: FetchRequest,
        _ rules: RawRules,
        _ conditions: RawConditions,
        _ mailbox: Mailbox<Event>
    ) {
        self.context = context
        self.flights = flights
        self.scope = scope
        self.request = request
        self.rules = rules
        self.conditions = conditions
        self.mailbox = mailbox
    }

    /// Runs until it is known what the client gets; nil when it has hung up.
    mutating func run(_ reader: StoreReader) async -> RawReply? {
        do throws(StoreError) {
            cached = try await request.lookUp(on: reader, sight, in: context)
        } catch {
            guard rules.policy != .cacheOnly else {
                return .problem(Problem(error), HeaderFields())
            }
            // The network may know it all the same.
            context.noteUnread(error)
        }
        context.count(isHit: cached != nil)
        let action = machine.started(
            rules.policy,
            networkWait: request.networkWait,
            isOriginDown: context.isDown(request.origin.name),
            isResting: context.rest(of: request.origin.name, for: scope.scope) != nil
        )
        // The events are handled here and not in the body of a task group, which would run on
        // another thread: the reader is its event loop's.
        let timers = timers
        async let running: Void = timers.run(cancellingTheRest: true)
        setTimer(request.timeout, .deadlineElapsed)
        switch action {
        case .askCache:
            await cacheAnswered()
        case .askBoth(let wait):
            if let wait { setTimer(wait, .networkWaitElapsed) }
            askNetwork()
            await cacheAnswered()
        case .askNetwork:
            askNetwork()
            // What is cached only lends its validators, unless a write deletes it.
            if cached?.isDeletedByModifier == true { await cacheAnswered() }
        }
        var events = mailbox.events.makeAsyncIterator()
        while !isOver, let event = await events.next() {
            await handle(event, reader)
        }
        timers.finish()
        await running
        return reply
    }

    // MARK: Asking

    private func setTimer(_ time: Duration, _ event: Event) {
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

    private mutating func askNetwork() {
        guard rules.isKept else { return passOn() }
        flights.boardForAll(request, scope, cached: cached) { [mailbox] outcome in
            mailbox.post(.told(outcome))
        }
    }

    /// Asks by a flight of its own, whose body goes through this.
    private mutating func passOn() {
        let body = PassedBody()
        passing = body
        flights.passOn(request, scope, to: body.handover) { [mailbox] outcome in
            mailbox.post(.told(outcome))
        }
    }

    // MARK: Events

    private mutating func handle(_ event: Event, _ reader: StoreReader) async {
        switch event {
        case .told(let outcome):
            await told(outcome, reader)
        case .networkWaitElapsed:
            switch machine.networkWaitElapsed() {
            case .nothing: break
            case .showCached: await showCached(.hit, detail: "network-wait")
            }
        case .deadlineElapsed:
            let timeout = RawFailure.problem(Problem(FlightFailure.timeout, url: request.url))
            switch machine.deadlineElapsed(timeout) {
            case .nothing, .fail: break
            case .showCachedAndFail(let failure, _): await showCached(insteadOf: failure)
            case .refuse(let failure): refuse(failure)
            }
        case .hungUp:
            machine.clientHungUp()
            isOver = true
        case .drainBegan:
            switch machine.drainBegan() {
            case .nothing, .end: break
            case .showCachedAndEnd: await showCached(.hit, detail: "shutting-down")
            case .refuse:
                refuse(.problem(Problem(FlightFailure.shuttingDown, url: request.url)))
            }
        }
    }

    private mutating func cacheAnswered() async {
        switch machine.cacheAnswered(cacheAnswer) {
        case .nothing: break
        case .show: await showCached(.hit, detail: "origin-down")
        case .showAndAskNetwork:
            askNetwork()
            await showCached(.hit, detail: "origin-down")
        case .showAnd: await showCached(.hit)
        case .askNetwork(let wait):
            if let wait { setTimer(wait, .networkWaitElapsed) }
            askNetwork()
        case .showAndFail(let failure, _): await showCached(insteadOf: failure)
        case .refuse(let failure): refuse(failure)
        case .refuseAsMiss:
            let problem = Problem(.miss, "nothing is cached for \(request.url)", status: 504)
            refuse(problem, CacheStatus(.none, detail: problem.kind.rawValue))
        }
    }

    private var cacheAnswer: Machine.CacheAnswer {
        guard let cached else { return .miss }
        let entry = cached.entry
        guard entry.kind == .fetched else {
            return cached.isDeletedByModifier
                ? .deletion(entry.revision) : .tombstone(entry.revision)
        }
        let now = context.clock.now()
        let freshFor = entry.freshUntil.map { until in
            entry.isStale(at: now) ? min(.zero, until.since(now)) : until.since(now)
        }
        let age = RawFields.age(of: entry, now: now)
        switch rules.grade(age: age, freshFor: freshFor) {
        case .fresh: return .hit(entry.revision, isFresh: true)
        case .stale: return .hit(entry.revision, isFresh: false)
        case .refused: return .miss
        }
    }

    // MARK: The network

    private mutating func told(_ outcome: FlightOutcome, _ reader: StoreReader) async {
        switch outcome {
        case .landed(.current(let answer)):
            await current(answer, reader)
        case .landed(.deleted(let revision, let status, _)):
            if let shown = await targeted(reader), shown.entry.kind != .tombstone,
                let body = await open(shown)
            {
                return showNetwork(shown.entry, shown.overlay, forwarded(status: status), body)
            }
            guard case .refuseAsDeleted = machine.networkAnswered(.deleted(revision)) else {
                return
            }
            refuseAsDeleted(status, forwarded(status: status))
        case .landed(.failed(let problem)):
            if let shown = await targeted(reader), shown.isDeletedByModifier {
                return tellDeletion(shown)
            }
            if passing == nil, problem.kind.isOfKeeping { return passOn() }
            await failed(.problem(problem))
        case .refused(let refusal, _):
            if passing == nil, !refusal.isWhole { return passOn() }
            await refused(refusal.status, .refused(refusal))
        case .passed(let head) where (200..<300).contains(head.status):
            guard case .showAnd = machine.networkAnswered(.current(Revision(0))) else { return }
            showPassed(head)
        case .passed(let head):
            await refused(head.status, .passed(head))
        }
    }

    private mutating func current(_ answer: Landing.Answer, _ reader: StoreReader) async {
        let now = context.clock.now()
        let read = try? await context.answer(sight, answer.entry.id, on: reader, now: now)
        if let read, read.isDeletedByModifier { return tellDeletion(read) }
        let found = read.flatMap { $0.entry.kind == .fetched ? $0 : nil }
        cookies = answer.cookies
        var status = forwarded(status: answer.status)
        status.isStored = found?.known?.revision == answer.entry.revision
        if context.hasChanges(scope, answer.entry.id) {
            if !answer.isKept { return await showUnkept(answer, status, reader) }
        } else if let body = answer.body?.exactBytes, found?.isNormalized != true {
            return showNetwork(answer.entry, .none, status, .bytes(body))
        }
        // What was replaced meanwhile was so by something newer; what was evicted is asked anew.
        guard let found, let body = await open(found) else {
            if passing == nil { return passOn() }
            return await failed(.problem(evictedMeanwhile))
        }
        showNetwork(found.entry, found.overlay, status, body)
    }

    private mutating func showNetwork(
        _ entry: Entry,
        _ overlay: Overlay,
        _ status: CacheStatus,
        _ body: RawAnswer.Body
    ) {
        guard case .showAnd = machine.networkAnswered(.current(entry.revision)) else { return }
        finish(show(entry, overlay, status) { body })
    }

    /// Shows what the client's own modifiers make of an answer that only was told.
    private mutating func showUnkept(
        _ answer: Landing.Answer,
        _ status: CacheStatus,
        _ reader: StoreReader
    ) async {
        do throws(StoreError) {
            switch try await context.seen(answer, in: scope, on: reader) {
            case .current(let answer):
                guard let body = answer.body?.exactBytes else { return passOn() }
                showNetwork(answer.entry, answer.overlay, status, .bytes(body))
            case .deleted(let revision, let code, let source):
                guard source == .modifier else {
                    guard case .refuseAsDeleted = machine.networkAnswered(.deleted(revision))
                    else { return }
                    return refuseAsDeleted(code, status)
                }
                guard case .deletedAnd = machine.networkAnswered(.deletion(revision)) else {
                    return
                }
                refuse(.deleted(request.url.text, by: source), status)
            case .failed(let problem):
                await failed(.problem(problem))
            }
        } catch {
            await failed(.problem(Problem(error)))
        }
    }

    /// The origin lives and says no: that is the answer, unless it says only that it cannot answer
    /// now, and something cached can (RFC 5861 4).
    private mutating func refused(_ status: Int, _ words: RawFailure) async {
        if [500, 502, 503, 504].contains(status) { return await failed(words) }
        guard case .refuseAsDeleted = machine.networkAnswered(.deleted(Revision(0))) else { return }
        refuse(words)
    }

    /// What the client sees now, where modifiers of its own have a part in it.
    private func targeted(_ reader: StoreReader) async -> CachedAnswer? {
        guard let id = try? EntryID(request.url), context.isTargeted(scope, id) else { return nil }
        return try? await context.answer(sight, id, on: reader, now: context.clock.now())
    }

    /// A write that was accepted meanwhile deletes it.
    private mutating func tellDeletion(_ shown: CachedAnswer) {
        guard case .deletedAnd = machine.networkAnswered(.deletion(shown.entry.revision)) else {
            return
        }
        refuse(.deleted(request.url.text, by: shown.source), CacheStatus(.hit))
    }

    private mutating func failed(_ failure: RawFailure) async {
        switch machine.networkAnswered(.failed(failure)) {
        case .nothing, .showAnd, .unchangedAnd, .deletedAnd, .fail, .refuseAsDeleted: break
        case .showCachedAndFail(let failure, _): await showCached(insteadOf: failure)
        case .refuse(let failure): refuse(failure)
        }
    }

    // MARK: What the client gets

    private mutating func showCached(insteadOf failure: RawFailure) async {
        await showCached(forwarded(status: failure.status).way, detail: failure.detail)
    }

    private mutating func showCached(_ way: CacheStatus.Way, detail: String? = nil) async {
        if let cached, cached.entry.kind == .tombstone {
            let status = CacheStatus(way, detail: detail)
            guard cached.isDeletedByModifier else {
                return refuseAsDeleted(cached.entry.status, status)
            }
            return refuse(.deleted(request.url.text, by: cached.source), status)
        }
        guard let cached, let body = await open(cached) else {
            return refuse(evictedMeanwhile, CacheStatus(way, detail: ProblemKind.miss.rawValue))
        }
        finish(show(cached.entry, cached.overlay, CacheStatus(way, detail: detail)) { body })
    }

    private func show(
        _ entry: Entry,
        _ overlay: Overlay,
        _ status: CacheStatus,
        _ body: () -> RawAnswer.Body
    ) -> RawAnswer {
        let now = context.clock.now()
        var fields = RawFields.of(entry, status, pending: overlay.pending.count, now: now)
        for cookie in cookies.fields { fields.append(cookie.name, cookie.value) }
        let isMet = conditions.isMet(
            status: entry.status,
            entityTag: entry.entityTag,
            lastModified: entry.lastModified,
            now: now
        )
        return isMet
            ? RawAnswer(status: 304, fields: fields, body: .none)
            : RawAnswer(status: entry.status, fields: fields, body: body())
    }

    private mutating func showPassed(_ head: PassedHead) {
        guard let passing else { return }
        var fields = RawFields.passingOn(head.headers, forwarded(status: head.status))
        for cookie in head.cookies.fields { fields.append(cookie.name, cookie.value) }
        let isMet = conditions.isMet(
            status: head.status,
            entityTag: head.headers["ETag"],
            lastModified: head.headers["Last-Modified"],
            now: context.clock.now()
        )
        finish(
            isMet
                ? RawAnswer(status: 304, fields: fields, body: .none)
                : RawAnswer(
                    status: head.status,
                    fields: fields,
                    body: .passed(passing, byteCount: head.byteCount)
                )
        )
    }

    /// The body of what is cached; nil when it is gone meanwhile.
    private func open(_ answer: CachedAnswer) async -> RawAnswer.Body? {
        if let chunks = answer.chunks {
            let reader = try? await context.store.openBody(
                chunks,
                of: answer.place,
                answer.entry.id,
                now: context.clock.now()
            )
            return reader.flatMap { $0 }.map { .stored($0) }
        }
        if let made = answer.made { return .bytes(made) }
        guard case .ready(let body) = answer.body else { return nil }
        return body.exactBytes.map { .bytes($0) }
    }

    private func forwarded(status: Int?) -> CacheStatus {
        let reason: CacheStatus.Reason =
            switch cached?.entry {
            case let entry? where entry.kind == .fetched:
                entry.isStale(at: context.clock.now())
                    ? .stale : rules.asksNetwork ? .request : .bypass
            case .some, nil: .nothingCached
            }
        return CacheStatus(.forwarded(reason, status: status))
    }

    private var evictedMeanwhile: Problem {
        Problem(.badAnswer, "what was cached for \(request.url) was evicted meanwhile")
    }

    private mutating func refuse(_ failure: RawFailure) {
        var status = forwarded(status: failure.status)
        status.detail = failure.detail
        switch failure {
        case .problem(let problem):
            refuse(problem, status)
        case .refused(let refusal):
            var fields = RawFields.passingOn(refusal.headers, status)
            for cookie in refusal.cookies.fields { fields.append(cookie.name, cookie.value) }
            finish(RawAnswer(status: refusal.status, fields: fields, body: .bytes(refusal.body)))
        case .passed(let head):
            showPassed(head)
        }
    }

    private mutating func refuseAsDeleted(_ origin: Int, _ status: CacheStatus) {
        var problem = Problem(
            .deleted,
            "the origin says that \(request.url) is gone",
            status: origin
        )
        problem.originStatus = origin
        refuse(problem, status)
    }

    private mutating func refuse(_ problem: Problem, _ status: CacheStatus) {
        var fields = HeaderFields()
        fields.append("Cache-Status", status.text)
        reply = .problem(problem, fields)
        isOver = true
    }

    private mutating func finish(_ answer: RawAnswer) {
        reply = .answer(answer)
        isOver = true
    }
}

extension FrameBody {
    /// The bytes where they are at hand; as yet unchanged for a frame.
    fileprivate var exactBytes: [UInt8]? {
        switch self {
        case .json(let bytes), .bytes(let bytes): bytes
        case .href: nil
        }
    }
}

extension ProblemKind {
    /// Whether the answer is there and only cannot be kept.
    fileprivate var isOfKeeping: Bool {
        self == .entryTooLarge || self == .cacheFull || self == .storage
    }
}
