import LarderJSON
import LarderModel
import LarderStore
import LarderStrategy
import LarderUpstream
import LarderWire
import Logging

/// Runs one flight from its first attempt to its end.
///
/// One task carries out the steps that ``FlightMachine`` decides, one after the other.
struct FlightRun: ~Copyable {
    private enum Step {
        case ask(FlightMachine.Attempt)
        case pause(Duration)
        case finish(FlightOutcome)
    }

    private let flight: Flight
    private let context: EngineContext
    private var plan: Flight.Plan
    private let rules: FlightRules
    private var machine: FlightMachine
    private var read: ReadsInFlight.Read?
    /// The last revision that was told when the present attempt started.
    private var start = Revision(0)
    /// The number that tells which entities are later; nil if the answer is not split.
    private var number: Revision?
    private var url: WebURL { plan.key.url }
    private var rest: Duration {
        context.originStates.rest(of: plan.origin.name, for: plan.key.scope.scope)
    }

    init(_ flight: Flight, _ context: EngineContext) {
        self.flight = flight
        self.context = context
        plan = flight.plan
        let rules = FlightRules(
            url: plan.key.url,
            method: plan.key.content?.method ?? .get,
            cachedIsJSON: plan.cached?.body.isJSON ?? false,
            accept: plan.key.headers.list("Accept"),
            redirectHosts: plan.origin.redirectHosts,
            isCaptive: context.health[plan.origin.name]?.isCaptive(context.clock.now()) ?? false,
            bodyHandling: plan.isStored
                ? .stored(bytesMax: context.store.maxEntryBytes) : .passThrough,
            expect: plan.origin.modifiers.expect
        )
        self.rules = rules
        machine = FlightMachine(rules, isOriginDown: plan.isOriginDown)
    }

    consuming func run() async -> FlightOutcome {
        defer { finished() }
        var step = Step.ask(machine.started(at: url, over: plan.cached))
        while true {
            switch step {
            case .ask(let attempt):
                step = await ask(attempt)
            case .pause(let duration):
                try? await context.clock.sleep(for: duration)
                if !Task.isCancelled, let attempt = machine.pauseEnded() {
                    step = .ask(attempt)
                } else {
                    step = .finish(cutShort())
                }
            case .finish(let outcome):
                if !machine.stored() { _ = machine.gaveUp() }
                return outcome
            }
        }
    }

    private mutating func depart() {
        finished()
        read = context.reads.departed(plan.key.id, in: plan.key.scope)
        start = context.store.changes.published
        // Without a number nothing is split off: only a full disk has none.
        if plan.rules != nil { number = try? context.store.nextRevision() }
    }

    private mutating func finished() {
        if let read = read.take() { context.reads.finished(read) }
    }

    /// A write is newer than the answer, of which nothing was stored.
    private mutating func overtaken(_ outcome: FlightOutcome) -> Step {
        switch machine.overtaken() {
        case .ask(let attempt): return .ask(attempt)
        case .tellCached:
            guard case .current(var answer) = outcome else { return .finish(outcome) }
            (answer.isOvertaken, answer.isKept) = (true, false)
            return .finish(.current(answer))
        case .nothing: return .finish(cutShort())
        }
    }

    private func cutShort() -> FlightOutcome {
        failed(context.isDraining ? .shuttingDown : .timeout)
    }

    private func failed(_ failure: FlightFailure) -> FlightOutcome {
        .failed(flight.problem(failure))
    }

    // MARK: One attempt

    private mutating func ask(_ attempt: FlightMachine.Attempt) async -> Step {
        // An operator may have set the origin offline since the flight started.
        guard !context.originStates.isManuallyOffline(plan.origin.name) else {
            return .finish(.failed(Problem(offline: plan.origin.name)))
        }
        depart()
        // The flight watches its deadline itself, as a client that joins later may move it.
        var request = UpstreamRequest(
            origin: plan.origin,
            method: attempt.method.rawValue,
            url: attempt.url,
            headers: plan.headers(for: attempt, rules),
            timeout: Limits.requestTimeMax,
            purpose: plan.pipe == nil ? .read : .passingOn
        )
        if attempt.method != .get {
            (request.isRead, request.body) = (true, plan.key.content?.bytes)
        }
        request.acceptsCodings = plan.acceptsCodings && !machine.wantsIdentity
        do throws(UpstreamError) {
            let reply = try await flight.ask(request)
            return try await arrived(reply)
        } catch {
            if Task.isCancelled { return .finish(cutShort()) }
            if error.isConnectFailure, plan.origin.isHost(of: attempt.url) {
                context.originStates.noteConnectFailure(plan.origin.name)
            }
            return attemptFailed(FlightFailure(error))
        }
    }

    private mutating func attemptFailed(_ failure: FlightFailure) -> Step {
        let action = machine.attemptFailed(
            failure,
            remaining: flight.remaining(),
            rest: rest,
            randomUnit: context.randomUnit()
        )
        switch action {
        case .ask(let attempt): return .ask(attempt)
        case .pause(let duration): return .pause(duration)
        case .giveUp(let failure): return .finish(failed(failure))
        case .nothing: return .finish(cutShort())
        }
    }

    private mutating func arrived(_ reply: UpstreamReply) async throws(UpstreamError) -> Step {
        // The part that a client asked for counts as any other body that is passed on.
        let isPart = reply.status == 206 && plan.pipe != nil && plan.key.headers["Range"] != nil
        let now = context.clock.now()
        let head =
            isPart
            ? ResponseHead(status: 200, headers: reply.headers, now: now) : reply.head(now: now)
        let asked = machine.askedURL ?? url
        context.originStates.noteRest(of: plan.origin, asked, for: plan.key.scope.scope, head)
        if head.isPrivate, plan.key.scope == context.sharedScope {
            // From now on the answer belongs to the client that started the flight. A 304 finds no
            // row there to confirm, so the flight asks again.
            plan.key.scope = plan.payer
            flight.becomePrivate()
        }
        var action = machine.headArrived(
            head,
            remaining: flight.remaining(),
            rest: rest,
            randomUnit: context.randomUnit()
        )
        if case .giveUp(.captive(let host)) = action {
            guard !rules.isSuspect(head, from: asked) else {
                return .finish(failed(.captive(host: host)))
            }
            let states = context.originStates
            if await states.sender(of: reply.status, from: asked, for: plan.origin) == .origin {
                action = .giveUp(rules.ownWay(reply.status, host: host))
            }
        } else {
            context.originStates.noteAnswer(plan.origin.name)
            context.originStates.notePage(head, from: asked, of: plan.origin)
        }
        switch action {
        case .receive: return try await receive(reply)
        case .pass: return await pass(reply)
        case .quote: return await quote(reply)
        case .refresh: return await refresh(reply)
        case .writeTombstone(let status): return await writeTombstone(status, reply)
        case .ask(let attempt): return .ask(attempt)
        case .pause(let duration): return .pause(duration)
        case .giveUp(let failure): return .finish(await plan.end(failure, reply, asked))
        case .nothing: return .finish(cutShort())
        }
    }

    // MARK: Received answers

    private mutating func receive(_ reply: UpstreamReply) async throws(UpstreamError) -> Step {
        let (now, settings) = (context.clock.now(), plan.origin.fetch)
        let freshness = machine.freshness(of: reply.status, reply.headers, settings, now: now)
        guard let id = plan.rowID(context) else {
            return .finish(.failed(Problem(.badURL, "'\(url)' is too long for an id")))
        }
        var receiver = BodyReceiver(
            context.store,
            isStored: freshness.mayBeStored,
            for: TargetName(plan.key.scope, id),
            goesOnInMemory: true,
            mayBeCutJSON: reply.endsWithConnection && ResponseHead.isJSONInASCII(reply.headers)
        )
        var client = flight.handOver(reply, from: machine.source, isStored: freshness.mayBeStored)
        if client != nil { machine.handedOver() }
        let taken: BodyReceiver.ReceivedBody
        do {
            while let piece = try await reply.body.next() {
                await client?.offer(piece)
                try await receiver.take(piece, now: now)
            }
            taken = try await receiver.finish(now: now)
        } catch {
            receiver.abandon()
            if let error = error as? UpstreamError { throw error }
            if let client { return await pass(restOf: reply, to: await client.release()) }
            let fault = error as? Problem ?? Problem(.internal, "a body failed: \(error)")
            return .finish(receiver.isOverLimit ? plan.tooLarge(reply, freshness) : .failed(fault))
        }
        if taken.isCutOff {
            context.store.bodies.abandon(taken.body?.upload)
            throw .brokenOff(reason: "its body ended inside a JSON value")
        }
        guard case .store = machine.bodyArrived() else { return .finish(cutShort()) }
        if let refusal = plan.refusal(in: taken, reply) {
            context.store.bodies.abandon(taken.body?.upload)
            return .finish(refusal)
        }
        let outcome = await store(taken, reply, freshness)
        client?.finish()
        let use = read?.overtakenUse
        guard use != .nothing else { return overtaken(outcome) }
        guard case .current(var answer) = outcome else { return .finish(outcome) }
        guard use == nil else {
            context.noteRead(of: answer.entry.id, in: plan.key.scope, nil)
            answer.isOvertaken = true
            return .finish(.current(answer))
        }
        await plan.noteUnkept(answer, context)
        await context.noteAnswer(answer, plan, read?.fence)
        return .finish(outcome)
    }

    private func store(
        _ taken: BodyReceiver.ReceivedBody,
        _ reply: UpstreamReply,
        _ freshness: Freshness
    ) async -> FlightOutcome {
        do {
            let (headers, said) = (plan.key.headers, machine.varied(reply.headers))
            let names = Variants.names(in: said)
            let id = try context.variants.id(
                of: EntryID(url, plan.key.content),
                names: names,
                request: headers,
                origin: plan.origin
            )
            var entry = Entry(
                id,
                status: reply.status,
                said,
                of: plan.origin.name,
                at: context.clock.now(),
                freshness,
                taken.summary
            )
            (entry.request, entry.source) = (plan.key.content, machine.source)
            if taken.body != nil, isLate(entry.id) {
                context.store.bodies.abandon(taken.body?.upload)
                entry.revision = try unstoredRevision(of: entry)
                // Waiting writes may show in the entities of the row, which the bytes do not have.
                let bytes = plan.rules == nil ? taken.bytes : nil
                var answer = FlightAnswer(entry: entry, bytes: bytes, status: reply.status)
                answer.lateSince = start
                return .current(answer)
            }
            let body = FrameBody(entry, in: plan.key.scope.scope, bytes: taken.bytes)
            let isAddressed = if case .href = body { true } else { false }
            if let error = taken.unstored {
                if isAddressed { throw error }
                context.noteUnstored(entry.id, error)
            }
            // An address that will lead to no row is not an answer.
            if taken.body == nil, isAddressed { return plan.tooLarge(reply, freshness) }
            let varying = names.contains { headers[$0] != nil } ? names : []
            let kept = try await put(entry, taken, varying: varying, isAddressed: isAddressed)
            if let read, kept == nil || read.overtakenUse == .nothing {
                context.reads.answerNotStored(of: read, for: entry.id, in: plan.key.scope)
            }
            entry.revision = try kept?.revision ?? unstoredRevision(of: entry)
            let bytes = isAddressed ? nil : taken.bytes
            var answer = FlightAnswer(entry: entry, bytes: bytes, status: reply.status)
            (answer.cookies, answer.unstored) = (reply.headers.cookies, taken.unstored)
            (answer.isKept, answer.isForbidden) = (kept != nil, !freshness.mayBeStored)
            answer.isNormalized = kept?.isNormalized ?? false
            return .current(answer)
        } catch {
            context.store.bodies.abandon(taken.body?.upload)
            switch error {
            case let error as StoreError: return .failed(Problem(error))
            case let error as ModelError: return .failed(Problem(error))
            default: return .failed(Problem(.internal, "storing failed: \(error)"))
            }
        }
    }

    private func isLate(_ id: EntryID) -> Bool {
        guard let read else { return false }
        return !context.reads.takesAnswer(of: read, for: id, in: plan.key.scope)
    }

    /// Stores the answer and returns its revision; nil if clients get it without being stored, because
    /// a rule or the room forbids that.
    ///
    /// The answer gets its own id if the request carried a header by which answers vary.
    private func put(
        _ entry: Entry,
        _ taken: BodyReceiver.ReceivedBody,
        varying names: [String],
        isAddressed: Bool
    ) async throws(StoreError) -> (revision: Revision, isNormalized: Bool)? {
        guard let body = taken.body else { return nil }
        do throws(StoreError) {
            var new = NewEntry(entry, body, of: plan, since: start, context)
            if !names.isEmpty { new.cause = "fetch:\(url)" }
            let now = entry.storedAt
            let kept: (revision: Revision, isNormalized: Bool)
            let fence = read?.fence
            if let receipt = try await context.putSplit(new, taken, plan, number, fence) {
                kept = (receipt.entry.revision, receipt.isNormalized)
            } else {
                kept = (try await context.store.put(new, now: now, fence: fence).revision, false)
            }
            if !names.isEmpty || plan.leavesVariant(for: entry.id) { try await remember(names) }
            return kept
        } catch {
            if isAddressed { throw error }
            context.store.bodies.abandon(body.upload)
            noteUnstored(entry.id, error)
            return nil
        }
    }

    /// Notes an answer that could not be stored but is told, so its user has seen it.
    private func noteUnstored(_ id: EntryID, _ error: StoreError) {
        let scope = plan.key.scope
        if context.hidesShared(id, scope) { context.reads.ownStored(id, in: scope) }
        context.noteUnstored(id, error)
    }

    private func remember(_ names: [String]) async throws(StoreError) {
        guard let id = try? plan.key.id.map(Variants.markerID) else { return }
        let (bytes, now) = (Array(names.joined(separator: ",").utf8), context.clock.now())
        let body = BodySummary(of: bytes, isJSON: false)
        let entry = Entry(id: id, kind: .variants, storedAt: now, body: body)
        let new = NewEntry(scope: plan.key.scope, entry: entry, body: .inline(bytes))
        _ = try await context.store.put(new, now: now)
    }

    /// The revision of an answer that is not stored.
    ///
    /// If the bytes are those of the cached answer, it is the cached revision: a client that has
    /// seen one has seen the other. Otherwise it is a new one.
    private func unstoredRevision(of entry: Entry) throws(StoreError) -> Revision {
        if let cached = plan.cached, cached.body == entry.body { return cached.revision }
        return try context.store.nextRevision()
    }

    private mutating func refresh(_ reply: UpstreamReply) async -> Step {
        guard let cached = plan.cached else { return attemptFailed(.badAnswer("304 to nothing")) }
        let (said, hops) = (machine.varied(reply.headers), machine.redirectFreshness)
        let confirmed = cached.confirmed(by: said, plan.origin.fetch, hops, at: context.clock.now())
        let outcome: RefreshOutcome
        do throws(StoreError) {
            let (scope, fence, isUse) = (plan.key.scope, read?.fence, plan.isUse)
            // A row that gets another Vary is no longer found if the whole answer does not come.
            outcome =
                try await plan.varies(by: said)
                ? .gone : context.store.refresh(confirmed, in: scope, fence: fence, isUse: isUse)
        } catch {
            // The answer is confirmed all the same; only later reads find the row unconfirmed.
            context.noteUnstored(cached.id, error)
            outcome = .refreshed(confirmed)
        }
        switch (outcome, machine.refreshed(isGone: outcome == .gone)) {
        case (.refreshed(let entry), .tell):
            var answer = FlightAnswer(entry: entry, bytes: nil, status: 304)
            (answer.isNormalized, answer.cookies) = (plan.isNormalized, reply.headers.cookies)
            await context.noteAnswer(answer, hasEntity: plan.isNormalized, plan, read?.fence)
            return .finish(.current(answer))
        case (_, .ask(let attempt)):
            return .ask(attempt)
        case (_, .tell), (_, .nothing):
            return .finish(cutShort())
        }
    }

    private mutating func writeTombstone(_ status: Int, _ reply: UpstreamReply) async -> Step {
        let (now, names) = (context.clock.now(), Variants.names(in: machine.varied(reply.headers)))
        guard let id = plan.rowID(context, names) else {
            return .finish(.failed(Problem(.badURL, "'\(url)' is too long for an id")))
        }
        var entry = Entry(tombstone: id, status: status, plan.origin.name, at: now)
        entry.request = plan.key.content
        let viewers = await context.viewers(of: id, in: plan.key.scope)
        if isLate(id) {
            var answer = FlightAnswer(entry: entry, bytes: nil, status: status)
            answer.lateSince = start
            return .finish(.current(answer))
        }
        let new = NewEntry(entry, .inline([]), of: plan, since: start, context)
        do throws(StoreError) {
            if let fence = read?.fence, let name = context.entity(at: id, in: plan.key.scope),
                fence.covers(plan.key.scope, EntryID(name))
            {
                return overtaken(unstored(entry))
            }
            let receipt = try await context.writeTombstone(
                new,
                plan,
                number: number,
                fence: read?.fence,
                now: now
            )
            if read?.overtakenUse != nil { return overtaken(unstored(entry)) }
            if try await plan.beginsVariant(names, context) { try await remember(names) }
            for scope in viewers { context.noteRead(of: id, in: scope, nil) }
            let words = plan.quotesOrigin ? await OriginRefusal(whole: reply) : nil
            return .finish(.deleted(receipt.revision, status: status, words))
        } catch {
            noteUnstored(id, error)
            return .finish(FlightOutcome(unstoredDeletion: status, context.store))
        }
    }

    /// A deletion that is told only if nothing is cached.
    private func unstored(_ tombstone: Entry) -> FlightOutcome {
        guard plan.cached == nil else {
            return .current(FlightAnswer(entry: tombstone, bytes: nil, status: tombstone.status))
        }
        return FlightOutcome(unstoredDeletion: tombstone.status, context.store)
    }

    /// Reports a refusal with the part of its body that arrives; the status is known in any case.
    private mutating func quote(_ reply: UpstreamReply) async -> Step {
        let (quoted, isWhole) = await reply.body.read(upTo: Limits.quotedBodyBytesMax)
        guard case .report(let status) = machine.bodyArrived() else { return .finish(cutShort()) }
        await context.noteRefusal(status, plan, read?.fence)
        let problem = plan.refusal(status, context.credentials)
        return .finish(FlightOutcome(OriginRefusal(reply, quoted, isWhole: isWhole), problem))
    }

    private mutating func pass(_ reply: UpstreamReply) async -> Step {
        guard let pipe = plan.pipe else { return .finish(cutShort()) }
        flight.handOver(PassedHead(reply, from: machine.source))
        return await pass(restOf: reply, to: pipe)
    }

    private mutating func pass(restOf reply: UpstreamReply, to pipe: BodyPipe) async -> Step {
        do throws(UpstreamError) {
            while let piece = try await reply.body.next() {
                // No client waits for the outcome.
                guard await pipe.offer(piece) else { return .finish(cutShort()) }
            }
            pipe.finish(isWhole: machine.passed())
            return .finish(cutShort())
        } catch {
            pipe.finish(isWhole: false)
            context.logger.notice(
                "an origin broke its answer off",
                metadata: .larder([
                    .origin: "\(plan.origin.name)", .id: "\(url.text)", .reason: "\(error)",
                ])
            )
            return attemptFailed(FlightFailure(error))
        }
    }
}
