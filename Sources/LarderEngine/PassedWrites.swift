package import LarderModel
import LarderNormalize
package import LarderStore
import LarderStrategy
import LarderUpstream
package import LarderWire
import Logging
import Synchronization

/// A write on the raw routes that goes to its origin while the client waits for the answer.
package struct PassedWrite: Sendable {
    package enum Body: Sendable {
        case none
        case bytes([UInt8])
        /// The body as it comes from the client; the byte count is nil if it comes in chunks.
        case upload(BodyPipe, byteCount: Int64?)
    }

    let method: String
    let url: WebURL
    let origin: OriginSettings
    let headers: HeaderFields
    let isSafe: Bool
    let scope: ScopeKey
}

/// Passes writes on to their origins.
///
/// The daemon sends such a write once. It stores neither the write nor the answer.
package struct PassedWrites: EnginePart {
    let context: EngineContext

    /// Checks that a write may leave now; nil if the client hangs up.
    ///
    /// Waits for the user's queued writes of the same URL within the origin's `timeout`.
    package func ready(
        _ write: RawWriteCommand,
        to url: WebURL,
        _ origin: OriginSettings,
        _ scope: ScopeKey,
        cancellation: ClientCancellation
    ) async throws(Problem) -> PassedWrite? {
        try origin.refuseConfigured(write.headers)
        guard !context.originStates.isManuallyOffline(origin.name) else {
            throw Problem(offline: origin.name)
        }
        if context.health[origin.name]?.state == .captive {
            await context.originStates.probe(origin.name)
            guard context.health[origin.name]?.state != .captive else {
                throw Problem(.captive(host: url.host), url: url)
            }
        }
        if !write.isSafe {
            guard try await isLaneFree(url, origin, scope, cancellation) else { return nil }
        }
        // The URL may name a thing that has got its real id meanwhile.
        let order = try TemporaryNames(context: context).current(FetchOrder(url: url), in: scope)
        guard order.policy != .cacheOnly else {
            throw Problem(
                .unsupported,
                "\(url) names a thing that has no id at the origin yet",
                hint: "Send it with Prefer: respond-async, so that it waits for the id."
            )
        }
        return PassedWrite(
            method: write.method,
            url: order.url,
            origin: origin,
            headers: try await withTagsOfOrigin(write.headers, order.url, origin, scope),
            isSafe: write.isSafe,
            scope: scope
        )
    }

    /// The fields of a write, in whose If-Match the origin's tag replaces a tag of the daemon's.
    ///
    /// The daemon's tag names plain bytes. If the origin still has them, its ETag of these bytes is
    /// the tag to send.
    private func withTagsOfOrigin(
        _ headers: HeaderFields,
        _ url: WebURL,
        _ origin: OriginSettings,
        _ scope: ScopeKey
    ) async throws(Problem) -> HeaderFields {
        guard let given = headers.list("If-Match"), given.contains("\"larder-") else {
            return headers
        }
        let request = FetchRequest(FetchOrder(url: url), origin: origin.plain)
        let outcome = await context.flightStarter.answer(to: request, scope, startsNew: true)
        switch outcome {
        case .failed(let problem), .refused(_, let problem): throw problem
        case .current(let answer)
        where EntityTagList.containsStrongly(answer.entry.body.digest.entityTag, in: [given]):
            guard let tag = answer.entry.etag, tag.hasPrefix("\""), !answer.entry.isDecoded else {
                throw Problem(
                    .unsupported,
                    "If-Match: the origin gives no strong ETag for \(url)",
                    hint: "Leave If-Match out; then the last write wins."
                )
            }
            var headers = headers
            headers.set("If-Match", tag)
            return headers
        case .current, .deleted, .passed:
            throw Problem(.preconditionFailed, "\(url) is not what the request expects")
        }
    }

    /// Waits until no queued write has the URL as its target; false if the client hangs up.
    private func isLaneFree(
        _ url: WebURL,
        _ origin: OriginSettings,
        _ scope: ScopeKey,
        _ cancellation: ClientCancellation
    ) async throws(Problem) -> Bool {
        let written = WrittenURL(context: context, url: url, scope: scope)
        let ids = written.targets.filter { store.modifiers.isTarget(scope, $0) }
        guard !ids.isEmpty else { return true }
        let outcome = try await context.wait(
            upTo: origin.fetch.timeout,
            cancellation,
            on: context.modifiers.settlements
        ) { () async throws(Problem) -> Void? in
            for id in ids {
                var filter = ModifierFilter(.one(scope))
                (filter.target, filter.isUnsettled, filter.isUnanswered) = (id, true, true)
                let waiting = filter
                let left = try await storing(
                    await store.modifiers.page(waiting, after: nil, limit: 1)
                )
                guard left.isEmpty else { return nil }
            }
            return ()
        }
        switch outcome {
        case .came: return true
        case .ended(.clientLeft): return false
        case .ended(.daemonEnds): throw .daemonEnds
        case .ended(.timeIsOver):
            throw Problem(
                .overloaded,
                "queued writes of \(url) have not been sent, and this one may not overtake them",
                hint: "See them with: cachectl queue list"
            )
        }
    }

    /// Sends a write, and returns the origin's answer when its head is there.
    ///
    /// Returns nil when the client has hung up.
    package func send(
        _ write: PassedWrite,
        _ body: PassedWrite.Body,
        cancellation: ClientCancellation
    ) async throws(Problem) -> RawReply? {
        guard context.flights.enter(write.scope) else {
            throw Problem(FlightFailure.overloaded, url: write.url)
        }
        let answer = PassThroughBody()
        cancellation.whenGivenUp { answer.giveUp() }
        return await withCheckedContinuation { continuation in
            let head = FirstReply(continuation)
            let run = PassedWriteRun(
                context: context,
                write: write,
                body: body,
                answer: answer,
                progress: RequestProgress(now: clock.monotonic()),
                begin: { answer in head.tell(.answer(answer)) }
            )
            let isTaken = context.work.add { [context] in
                let problem = await run.run()
                context.flights.leave(write.scope)
                head.tell(problem.map { .problem($0, HeaderFields()) })
            }
            guard !isTaken else { return }
            context.flights.leave(write.scope)
            head.tell(.problem(.daemonEnds, HeaderFields()))
        }
    }
}

/// Resumes the client's task with the first reply; later ones change nothing.
private final class FirstReply: Sendable {
    private let waiting: Mutex<CheckedContinuation<RawReply?, Never>?>

    init(_ continuation: CheckedContinuation<RawReply?, Never>) { waiting = Mutex(continuation) }

    func tell(_ reply: sending RawReply?) {
        waiting.withLock { $0.take() }?.resume(returning: reply)
    }
}

/// A write on its way to its origin, and the answer on its way back.
private struct PassedWriteRun: Sendable {
    private enum End {
        case sent(Problem?)
        /// The origin said nothing for the time that it has.
        case timeIsOver
        /// The answer is on its way, or the daemon ends.
        case watched
        /// The client has hung up, or has all of the answer.
        case over
    }

    let context: EngineContext
    let write: PassedWrite
    let body: PassedWrite.Body
    let answer: PassThroughBody
    let progress: RequestProgress
    let begin: @Sendable (sending RawAnswer) -> Void
    /// Whether a byte may have left.
    private let isSent = Flag()

    private var facts: ModifierRequest {
        ModifierRequest(
            method: write.method,
            url: write.url,
            headers: write.headers,
            targets: [],
            baseIsJSON: false,
            hasPages: context.health[write.origin.name]?.hasPages ?? false,
            expect: write.origin.modifiers.expect,
            redirectHosts: write.origin.redirectHosts
        )
    }

    /// Returns the problem in place of an answer; nil if the answer's head was told, or if no client
    /// waits for it.
    func run() async -> Problem? {
        defer {
            if case .upload(let pipe, _) = body { pipe.finish(isWhole: false) }
            answer.giveUp()
        }
        return await withTaskGroup(of: End.self) { group in
            group.addTask { .sent(await send()) }
            group.addTask { await watch() }
            group.addTask {
                await answer.pipe.untilOver()
                return .over
            }
            var problem: Problem?
            for await end in group {
                switch end {
                case .watched: continue
                case .timeIsOver:
                    problem = timedOut()
                case .sent(let found): problem = problem ?? found
                case .over: break
                }
                group.cancelAll()
            }
            return problem
        }
    }

    /// Ends the request if the origin neither takes the body nor answers.
    private func watch() async -> End {
        let time = write.origin.fetch.timeout
        while let due = progress.due(after: time, now: context.clock.monotonic()) {
            guard (try? await context.clock.sleep(until: due)) != nil else { return .watched }
            if progress.expire(after: time, now: context.clock.monotonic()) { return .timeIsOver }
        }
        return .watched
    }

    private func send() async -> Problem? {
        do throws(UpstreamError) {
            let scope = write.scope.scope
            let reply = try await context.originStates.ask(request, for: scope) { [isSent] in
                isSent.raise()
            }
            guard progress.end() else { throw .timedOut(.head) }
            if let problem = await judge(reply) { return problem }
            begin(reply)
            await pass(reply.body)
            return nil
        } catch {
            if error.isConnectFailure {
                context.originStates.noteConnectFailure(write.origin.name)
            }
            // The origin may have done it.
            if isSent.isUp, !error.isConnectFailure, !write.isSafe {
                await written(write.url).invalidate()
            }
            guard !Task.isCancelled else { return context.isDraining ? .daemonEnds : nil }
            return problem(error)
        }
    }

    private var request: UpstreamRequest {
        var request = UpstreamRequest(
            origin: write.origin,
            method: write.method,
            url: write.url,
            headers: write.headers,
            timeout: Limits.requestTimeMax,
            purpose: .passedWrite,
            isRepeatable: write.isSafe || isRepeatable
        )
        switch body {
        case .none: break
        case .bytes(let bytes): request.body = bytes
        case .upload(let pipe, let byteCount):
            request.purpose = .upload
            request.upload = UpstreamUpload(byteCount: byteCount) { [progress, context] in
                progress.awaitOthers()
                let piece = try await pipe.next()
                progress.awaitOrigin(now: context.clock.monotonic())
                return piece
            }
        }
        return request
    }

    /// Whether a reused connection that was dead may be replaced, as for a modifier (case 22).
    ///
    /// A request with a condition leaves once: an origin that has taken it answers a second one with
    /// 412, as if another program had made a change.
    private var isRepeatable: Bool {
        let isConditional = write.headers.haveCondition || write.headers["If"] != nil
        guard !isConditional else { return false }
        let rules = write.origin.modifiers
        let hasKey = write.headers[rules.idempotency.header] != nil
        return facts.resends(rules.afterUnknown, isHonoured: rules.idempotency.isHonoured && hasKey)
    }

    /// Notes what the head of the answer says; returns a problem if it is not the origin's.
    private func judge(_ reply: UpstreamReply) async -> Problem? {
        let (states, origin) = (context.originStates, write.origin)
        let head = reply.head(now: context.clock.now())
        let verdict = facts.verdict(
            reply.status,
            reply.headers,
            from: write.url,
            rule: origin.modifiers.answer,
            now: context.clock.now()
        )
        if case .captive = verdict {
            guard await states.sender(of: reply.status, from: write.url, for: origin) == .origin
            else { return Problem(.captive(host: write.url.host), url: write.url) }
        } else {
            states.noteAnswer(origin.name)
        }
        states.notePage(head, from: write.url, of: origin)
        states.noteRest(of: origin, write.url, for: write.scope.scope, head)
        if !write.isSafe, (200..<400).contains(reply.status) {
            for place in [write.url] + write.url.named(by: write.headers, reply.headers) {
                await written(place).invalidate()
            }
        }
        return nil
    }

    private func written(_ url: WebURL) -> WrittenURL {
        WrittenURL(context: context, url: url, scope: write.scope)
    }

    private func begin(_ reply: UpstreamReply) {
        let status = CacheStatus(.forwarded(.method, status: reply.status))
        var fields = RawFields.passingOn(reply.headers.endToEnd, status)
        for field in reply.headers.cookies.fields { fields.append(field.name, field.value) }
        let count = reply.headers["Content-Length"].flatMap { Int64($0) }
        let body = RawAnswer.Body.passed(answer, byteCount: count)
        begin(RawAnswer(status: reply.status, fields: fields, body: body))
    }

    private func pass(_ body: UpstreamBody) async {
        do throws(UpstreamError) {
            while let piece = try await body.next() {
                guard await answer.pipe.offer(piece) else { return }
            }
            answer.pipe.finish(isWhole: true)
        } catch {
            answer.giveUp()
        }
    }

    private func timedOut() -> Problem {
        guard isSent.isUp else {
            return problem(.shortage(reason: "no connection was free within the timeout"))
        }
        context.originStates.noteResponseTimeout(write.origin.name)
        return problem(.timedOut(.head))
    }

    private func problem(_ error: UpstreamError) -> Problem {
        var problem = Problem(FlightFailure(error), url: write.url)
        guard isSent.isUp, !error.isConnectFailure, !write.isSafe else { return problem }
        problem.detail += "; it may have received the \(write.method)"
        problem.retryable = isRepeatable
        problem.hint = "Read the URL again before you repeat the request."
        return problem
    }
}
