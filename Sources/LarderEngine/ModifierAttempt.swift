import LarderJSON
import LarderModel
import LarderStore
import LarderStrategy
import LarderUpstream
import LarderWire

/// Sends a modifier once: its request, the redirects that it follows, and the meaning of the
/// answer.
struct ModifierAttempt: Sendable {
    struct End: Sendable {
        var verdict: ModifierVerdict
        var answer: Answer?
        /// Whether an unexpected page came over plain http, while the origin answers otherwise.
        var isLonePage = false
    }

    struct Answer: Sendable {
        let status: Int
        let headers: HeaderFields
        /// The whole body where it may say what a target is, else what is quoted of it.
        var body: [UInt8] = []
        /// Whether the body may say what a target is now: a refusal and what is deleted do not.
        var mayShowTarget = false
        /// Whether the upstream sent the request twice; the origin may have received the first.
        let isToRepeat: Bool
        let at: Timestamp

        fileprivate init(_ reply: UpstreamReply, at now: Timestamp) {
            status = reply.status
            headers = reply.headers
            isToRepeat = reply.isToRepeat
            at = now
        }
    }

    let context: EngineContext
    let scope: Scope
    let origin: OriginSettings
    let facts: ModifierRequest
    let headers: HeaderFields
    let body: [UInt8]?
    /// Whether one attempt may be sent twice, as a reused connection may be dead.
    let isRepeatable: Bool
    /// Whether the answer is to tell the ids of what the write creates.
    let createsIDs: Bool
    /// Whether an earlier attempt ended with ``End/isLonePage``.
    let hadLonePage: Bool

    /// Returns nil if the end of the daemon interrupts the attempt: its outcome is then unknown.
    func run() async -> End? {
        guard !context.originStates.isManuallyOffline(origin.name) else {
            return End(verdict: .neverLeft)
        }
        var url = facts.flight.url
        for _ in 0...Limits.redirectsMax {
            let isSent = Flag()
            do throws(UpstreamError) {
                let reply = try await ask(url, isSent)
                if let next = facts.followed(reply.status, reply.headers, from: url) {
                    url = next
                    continue
                }
                return await end(of: reply, from: url)
            } catch {
                return end(of: error, from: url, isSent.isUp)
            }
        }
        // Too many redirects: that is not an answer to the request.
        return End(verdict: .refused)
    }

    private func ask(_ url: WebURL, _ isSent: Flag) async throws(UpstreamError) -> UpstreamReply {
        var request = UpstreamRequest(
            origin: origin,
            method: facts.method,
            url: url,
            headers: facts.flight.carried(headers, to: url),
            body: body,
            timeout: origin.fetch.timeout,
            purpose: .write,
            isRepeatable: isRepeatable
        )
        request.timeout += request.sendingTime
        return try await context.originStates.ask(request, for: scope) { isSent.raise() }
    }

    private func end(of reply: UpstreamReply, from url: WebURL) async -> End {
        let (now, states) = (context.clock.now(), context.originStates)
        let head = reply.head(now: now)
        var end = End(verdict: verdict(of: reply, from: url, now), answer: Answer(reply, at: now))
        if case .captive = end.verdict {
            switch await states.sender(of: reply.status, from: url, for: origin) {
            case .portal: break
            case .origin:
                end.verdict = verdict(of: reply, from: url, now, isOrigins: true)
                if end.verdict.isTaken, !facts.expectsHTML { endWithLonePage(&end) }
            case .notKnown: end.verdict = .unclear(.gateway)
            }
            states.notePage(head, from: url, of: origin)
        } else {
            states.noteAnswer(origin.name)
            states.notePage(head, from: url, of: origin)
            // The queue hears of it with the attempt's end, which tells less of a repeat.
            states.noteRest(of: origin, url, for: scope, head, tellsQueue: reply.isToRepeat)
        }
        await read(reply, from: url, for: &end)
        return end
    }

    private func verdict(
        of reply: UpstreamReply,
        from url: WebURL,
        _ now: Timestamp,
        isOrigins: Bool = false
    ) -> ModifierVerdict {
        facts.verdict(
            reply.status,
            reply.headers,
            from: url,
            rule: origin.modifiers.answer,
            now: now,
            isOrigins: isOrigins
        )
    }

    /// Reads as much of the body as the verdict needs, and corrects it by what the body says.
    private func read(_ reply: UpstreamReply, from url: WebURL, for end: inout End) async {
        let limit = bodyBytesMax(for: end.verdict)
        let (body, isWhole) = await reply.body.read(upTo: limit)
        end.answer?.body = isWhole ? body : Array(body.prefix(Limits.quotedBodyBytesMax))
        guard (200..<300).contains(reply.status), end.verdict.isTaken else { return }
        if isUnexpected(body, isWhole: isWhole, reply.headers) {
            let sender = await context.originStates.sender(of: reply.status, from: url, for: origin)
            let isHTTP = !url.isSecure && origin.modifiers.expect == nil
            switch sender {
            case .portal: end.verdict = .captive
            case .origin where isHTTP: endWithLonePage(&end)
            case .origin, .notKnown: end.verdict = .unclear(.gateway)
            }
            guard end.verdict.isTaken else { return }
        }
        guard origin.modifiers.refusedIf.rule(matching: body) == nil else {
            end.verdict = .refused
            return
        }
        if !isWhole, body.count < limit, !origin.modifiers.refusedIf.isEmpty {
            // The lost part may have been the refusal.
            end.verdict = .unclear(.lost)
            return
        }
        guard case .confirmed = end.verdict else { return }
        let now = context.clock.now()
        let mayBeStored = Freshness(reply.headers, settings: origin.fetch, now: now).mayBeStored
        if isWhole, mayBeStored, mayShowTarget(body) {
            end.answer?.mayShowTarget = facts.method != "DELETE"
        } else {
            // The write is done; only the new state of the target is unknown, or may not be kept.
            end.verdict = .confirmed(.none)
        }
    }

    /// Whether a body may say what a target is.
    ///
    /// An empty body does not, nor does a text such as "Created" in answer to JSON.
    private func mayShowTarget(_ body: [UInt8]) -> Bool {
        !body.isEmpty && (!MediaType.isAnyJSON(facts.essence) || JSONValidator.accepts(body))
    }

    /// Ends with an unexpected page over plain http, while the origin answers another request.
    ///
    /// The page may be of a portal that has just gone (case 25), so the write has no clear answer.
    /// If a page comes again in the same way, the origin sends it.
    private func endWithLonePage(_ end: inout End) {
        end.isLonePage = true
        if !hadLonePage { end.verdict = .unclear(.gateway) }
    }

    /// Bytes of an answer's body that can change the verdict or say what a target is.
    private func bodyBytesMax(for verdict: ModifierVerdict) -> Int {
        let rules = origin.modifiers
        var isRead = verdict.isTaken && (!rules.refusedIf.isEmpty || rules.expect == .json)
        if case .confirmed(let shown) = verdict {
            isRead = isRead || shown != .none || createsIDs || facts.mayShowEntity
        }
        return isRead ? Limits.inlineJSONBytesMax : Limits.quotedBodyBytesMax
    }

    /// Whether the body of a 2xx is none that the origin gives.
    private func isUnexpected(_ body: [UInt8], isWhole: Bool, _ headers: HeaderFields) -> Bool {
        if facts.isUnexpected(body, headers) { return true }
        guard origin.modifiers.expect == .json, isWhole else { return false }
        let mark = JSONTokenizer.byteOrderMark
        let text = body.starts(with: mark) ? Array(body.dropFirst(mark.count)) : body
        let isBlank = text.allSatisfy { [0x09, 0x0A, 0x0D, 0x20].contains($0) }
        return !isBlank && !JSONValidator.accepts(text)
    }

    private func end(of error: UpstreamError, from url: WebURL, _ hasLeft: Bool) -> End? {
        switch error {
        case .cancelled where Task.isCancelled || context.isDraining:
            return hasLeft ? nil : End(verdict: .neverLeft)
        case .unreachable, .closed(host: _, hasLeft: false), .addressRefused:
            guard origin.isHost(of: url) else {
                // The origin has answered, with a redirect to a host that is down.
                context.originStates.noteAnswer(origin.name)
                return End(verdict: .notNow(retryAfter: nil))
            }
            context.originStates.noteConnectFailure(origin.name)
            return End(verdict: .neverLeft)
        case .shortage:
            return End(verdict: .neverLeft)
        case .closed, .timedOut, .brokenOff, .undecodable, .expandsTooMuch, .headTooLarge,
            .cancelled:
            return End(verdict: hasLeft ? .unclear(.lost) : .neverLeft)
        }
    }
}

/// Data of a modifier between its send step and the step that follows its attempt.
struct Attempted {
    /// The modifier to send; nil once it is sent.
    private var departing: DepartingModifier?
    /// Whether its request has an If-Match of the daemon.
    private(set) var isConditional = false
    private(set) var verdict: ModifierVerdict?
    private(set) var answer: ModifierAttempt.Answer?
    private var keptHeaders = HeaderFields()
    /// Number of a fetch that starts when the answer came; its entities are as new as that.
    private(set) var fetch: Revision?
    var conflict: Conflicts.Finding?
    /// Whether the answer may tell the ids of what the modifier creates.
    private(set) var createsIDs = true
    /// Whether base has shown the effect, which the origin then said itself.
    var isShownByRead = false
    /// Whether this attempt or one before ended with a page, while the origin answers otherwise.
    var hasLonePage = false

    init(_ departing: DepartingModifier? = nil) {
        self.departing = departing
        createsIDs = departing?.createsIDs ?? true
        isConditional = departing?.whole.modifier.etag != nil
    }

    var keptAnswer: StoredAnswer? {
        answer.map { answer in
            StoredAnswer(
                status: answer.status,
                headers: keptHeaders,
                body: Array(answer.body.prefix(Limits.quotedBodyBytesMax)),
                at: answer.at
            )
        }
    }

    mutating func ended(
        _ end: ModifierAttempt.End,
        isPortals: Bool,
        _ keptHeaders: HeaderFields,
        _ conflict: Conflicts.Finding,
        _ fetch: Revision?
    ) {
        (verdict, self.conflict, self.fetch) = (end.verdict, conflict, fetch)
        // The answer of a portal is not one of the origin.
        (answer, self.keptHeaders) = (isPortals ? nil : end.answer, keptHeaders)
        hasLonePage = hasLonePage || end.isLonePage
    }

    /// The row has the answer and the conflict from now on, however long the modifier waits.
    mutating func forgetAnswer() { (answer, conflict) = (nil, nil) }

    mutating func takeDeparting() -> DepartingModifier? { departing.take() }
}
