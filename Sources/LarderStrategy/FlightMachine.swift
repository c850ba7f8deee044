package import LarderModel

/// Decides for one request to an origin, which any number of clients share, what is asked,
/// followed, repeated, stored and told.
///
/// # Terms
///
/// - *conditional*: asked with the validators of what is cached, so that a 304 can confirm it.
/// - *attempt*: one request on the wire. Redirects and repetitions are attempts of one flight.
///
/// # States
///
/// ```
///           started              headArrived
///    idle ───────────► asking ──┬───────────► receiving ──► storing ──┐
///                      ▲  ▲ ▲   ├───────────► refreshing ─────────────┤
///                      │  │ └───┤ redirect         │ gone             ▼
///         pauseEnded   │  └─────┼──────────────────┘                finished
///                 pausing ◄─────┤ failure, 502, 503, 504              ▲ ▲
///                               ├─────────────────────────────────────┘ │ passed
///                               └──────────────────────────────► passing ┘
/// ```
///
/// `passing` replaces `receiving` for an answer that is passed on and not kept
/// (``FlightRules/BodyHandling/passThrough``).
///
/// From every state `gaveUp` (the deadline, the daemon's end) leads to `finished`; what arrives after
/// that changes nothing.
///
/// # Invariants (``checkInvariants()``)
///
/// 1. A flight has at most ``Limits/retriesMax`` repetitions and ``Limits/redirectsMax`` redirects.
///    It asks again at most ``Limits/overtakesMax`` times because a write overtook an answer
///    (P-06), and once more if a body cannot be decoded.
/// 2. A 304 is believed only for a conditional attempt. An attempt is conditional only if it asks
///    the URL that gave the cached answer, with the flight's own method. After a 304 that met
///    nothing to confirm, and after a body that broke off, every further attempt is unconditional.
/// 3. No repetition once the origin counted as down at the start, and none past the deadline.
/// 4. `finished` is the end.
/// 5. A flight that passes its answer on asks without a condition, as there is no row to confirm.
///    It never asks again once the client has the head. A kept answer goes to a client while it
///    arrives only after ``handedOver()``; no failure leads to another request then.
/// 6. A POST is never conditional (RFC 9110 13.1.2).
package struct FlightMachine: Equatable, Sendable {
    package enum State: Equatable, Sendable {
        case idle
        case asking(Attempt)
        case pausing(Attempt)
        case receiving(Receiving)
        case refreshing(Attempt)
        case storing
        /// The body goes to the one client as it arrives.
        case passing
        case finished
    }

    package struct Attempt: Equatable, Sendable {
        package let url: WebURL
        package var method = ReadMethod.get
        package let isConditional: Bool
    }

    /// The use of the body that is arriving.
    package enum Receiving: Equatable, Sendable {
        case answer
        /// The origin's explanation of a refusal, to be quoted.
        case refusal(status: Int)
    }

    package private(set) var state = State.idle
    private(set) var retries = 0
    private(set) var redirects = 0
    private(set) var overtakes = 0
    /// The freshness that the redirects to the last asked URL leave to its answer; nil without any.
    package private(set) var redirectFreshness: Freshness?
    /// The request headers by which any followed redirect varies.
    private var redirectNames: Set<String> = []
    /// The URL that gave the cached answer's validators; nil if no 304 can confirm one.
    private(set) var validatedURL: WebURL?
    /// The last URL that was asked.
    private var lastURL: WebURL
    /// Whether a body could not be decoded, so that the origin is to send plain bytes.
    package private(set) var wantsIdentity = false
    /// Whether a client has the head, and gets the body while it is kept.
    package private(set) var isHandedOver = false
    let rules: FlightRules
    let mayRetry: Bool

    /// The URL that is being asked; nil if none is.
    package var askedURL: WebURL? {
        if case .asking(let attempt) = state { attempt.url } else { nil }
    }

    package init(_ rules: FlightRules, isOriginDown: Bool) {
        self.rules = rules
        mayRetry = !isOriginDown
        lastURL = rules.url
    }

    /// The URL of the answer, if redirects led there from the flight's own URL.
    package var source: WebURL? { lastURL == rules.url ? nil : lastURL }

    // MARK: Started

    package mutating func started(at url: WebURL, over cached: Entry?) -> Attempt {
        let hasValidators = cached.map { $0.etag != nil || $0.lastModified != nil } ?? false
        return started(at: url, hasValidators: hasValidators, from: cached?.source)
    }

    /// The first attempt, which is conditional if a cached answer has validators of this URL.
    ///
    /// `source`: the URL that gave the cached answer after redirects.
    package mutating func started(
        at url: WebURL,
        hasValidators: Bool,
        from source: WebURL? = nil
    ) -> Attempt {
        precondition(state == .idle, "a flight starts once")
        defer { checkInvariants() }
        if hasValidators, rules.bodyHandling != .passThrough, rules.method != .post {
            validatedURL = source ?? url
        }
        return ask(url, rules.method)
    }

    private mutating func ask(
        _ url: WebURL,
        _ method: ReadMethod,
        after redirectFreshness: Freshness? = nil
    ) -> Attempt {
        (lastURL, self.redirectFreshness) = (url, redirectFreshness)
        let attempt = Attempt(
            url: url,
            method: method,
            isConditional: url == validatedURL && method == rules.method
        )
        state = .asking(attempt)
        return attempt
    }

    // MARK: The head arrived

    package enum HeadAction: Equatable, Sendable {
        case nothing
        /// Read the body and store it.
        case receive
        /// Tell the head, and pass the body on as it arrives.
        case pass
        /// Read as much of the body as fits, and report it with the status.
        case quote(status: Int)
        /// Confirm the cached answer, without a body.
        case refresh
        /// Store a tombstone: the origin says that the thing does not exist.
        case writeTombstone(status: Int)
        case ask(Attempt)
        /// Pause, then call ``pauseEnded()`` and ask again.
        case pause(Duration)
        case giveUp(FlightFailure)
    }

    /// The origin has sent the head of its answer.
    ///
    /// - `remaining`: the time to the deadline.
    /// - `randomUnit`: a random number in 0..<1 for full jitter.
    /// - `rest`: how long the origin wants no request.
    package mutating func headArrived(
        _ head: ResponseHead,
        remaining: Duration,
        rest: Duration = .zero,
        randomUnit: Double
    ) -> HeadAction {
        guard case .asking(let attempt) = state else { return .nothing }
        defer { checkInvariants() }
        if let host = rules.captivePortal(head, from: attempt.url) {
            return finish(.captive(host: host))
        }
        guard !rules.isSuspect(head, from: attempt.url) else {
            return finish(.captive(host: attempt.url.host))
        }
        switch head.status {
        case 206:
            return finish(.badAnswer("206 to a request without a range"))
        case 200..<300:
            return succeeded(head)
        case 304:
            guard attempt.isConditional else { return finish(.badAnswer("304 to a plain request")) }
            state = .refreshing(attempt)
            return .refresh
        case 301, 302, 303, 307, 308:
            return redirected(head, attempt)
        case 404, 410:
            state = .storing
            return .writeTombstone(status: head.status)
        case 502, 503, 504:
            let asked = max(head.retryAfter ?? .zero, rest)
            let pause = retryPause(asked, remaining, randomUnit)
            guard let pause else { return refused(head.status) }
            state = .pausing(attempt)
            return .pause(pause)
        default:
            return refused(head.status)
        }
    }

    private mutating func succeeded(_ head: ResponseHead) -> HeadAction {
        switch rules.bodyHandling {
        case .passThrough:
            state = .passing
            return .pass
        case .stored(let bytesMax):
            guard !head.isEndless else { return finish(.endless) }
            guard (head.contentLength ?? 0) <= bytesMax else { return finish(.tooLarge) }
            state = .receiving(.answer)
            return .receive
        }
    }

    private mutating func refused(_ status: Int) -> HeadAction {
        guard rules.bodyHandling != .passThrough else {
            state = .passing
            return .pass
        }
        state = .receiving(.refusal(status: status))
        return .quote(status: status)
    }

    private mutating func redirected(_ head: ResponseHead, _ attempt: Attempt) -> HeadAction {
        guard let location = head.location else {
            return finish(.badAnswer("\(head.status) without a Location"))
        }
        switch rules.redirect(from: attempt.url, to: location) {
        case .refused(let failure):
            return finish(failure)
        case .allowed(let url):
            guard redirects < Limits.redirectsMax else {
                return finish(.badAnswer("more than \(Limits.redirectsMax) redirects"))
            }
            guard let method = FlightRules.method(attempt.method, after: head.status) else {
                return finish(.badAnswer("\(head.status) to a POST, which would become a GET"))
            }
            redirects += 1
            redirectNames.formUnion(head.redirectNames)
            let freshness = head.redirectFreshness?.limited(by: redirectFreshness, FetchSettings())
            return .ask(ask(url, method, after: freshness))
        }
    }

    private mutating func finish(_ failure: FlightFailure) -> HeadAction {
        state = .finished
        return .giveUp(failure)
    }

    // MARK: It failed

    package enum FailureAction: Equatable, Sendable {
        case nothing
        case ask(Attempt)
        case pause(Duration)
        case giveUp(FlightFailure)
    }

    package mutating func attemptFailed(
        _ failure: FlightFailure,
        remaining: Duration,
        rest: Duration = .zero,
        randomUnit: Double
    ) -> FailureAction {
        let url: Attempt
        switch state {
        case .asking(let attempt): url = attempt
        // A body that broke off is asked for again from its beginning.
        case .receiving where !isHandedOver:
            (validatedURL, lastURL, redirectFreshness) = (nil, rules.url, nil)
            url = Attempt(url: rules.url, method: rules.method, isConditional: false)
            if case .undecodable = failure, !wantsIdentity {
                defer { checkInvariants() }
                wantsIdentity = true
                return .ask(ask(rules.url, rules.method))
            }
        case .passing, .receiving:
            // A client already has a part of the body.
            defer { checkInvariants() }
            state = .finished
            return .giveUp(failure)
        case .idle, .pausing, .refreshing, .storing, .finished: return .nothing
        }
        defer { checkInvariants() }
        guard failure.isRetryable, let pause = retryPause(rest, remaining, randomUnit) else {
            state = .finished
            return .giveUp(failure)
        }
        state = .pausing(url)
        return .pause(pause)
    }

    /// The pause before the next repetition; nil if the flight does not ask again.
    private mutating func retryPause(
        _ asked: Duration,
        _ remaining: Duration,
        _ randomUnit: Double
    ) -> Duration? {
        guard mayRetry, retries < Limits.retriesMax else { return nil }
        let ceiling = Limits.retryBase.doubled(retries)
        let pause = max(asked, Limits.retryMin, ceiling * randomUnit)
        guard pause <= Limits.retryAfterMax, pause < remaining else { return nil }
        retries += 1
        return pause
    }

    /// Nil if the flight has finished meanwhile.
    package mutating func pauseEnded() -> Attempt? {
        guard case .pausing(let attempt) = state else { return nil }
        defer { checkInvariants() }
        state = .asking(attempt)
        return attempt
    }

    // MARK: The body and the store

    /// The freshness of the answer that arrives, as far as the redirects to it leave it.
    package func freshness(
        of status: Int,
        _ headers: HeaderFields,
        _ settings: FetchSettings,
        now: Timestamp
    ) -> Freshness {
        Freshness(headers, status: status, method: rules.method, settings: settings, now: now)
            .limited(by: redirectFreshness, settings)
    }

    /// The fields of the answer that arrives, with the names of followed redirects in its Vary.
    ///
    /// A 304 without a Vary changes none.
    package func varied(_ headers: HeaderFields) -> HeaderFields {
        var isConfirmation = false
        if case .refreshing = state { isConfirmation = true }
        guard !redirectNames.isEmpty, !isConfirmation || headers["Vary"] != nil else {
            return headers
        }
        var varied = headers
        let names = redirectNames.union(headers.listed("Vary")).sorted()
        varied.set("Vary", names.joined(separator: ", "))
        return varied
    }

    package enum BodyAction: Equatable, Sendable {
        case nothing
        case store
        case report(status: Int)
    }

    /// The body has arrived: all of an answer, or the quoted part of a refusal.
    package mutating func bodyArrived() -> BodyAction {
        guard case .receiving(let purpose) = state else { return .nothing }
        defer { checkInvariants() }
        switch purpose {
        case .answer:
            state = .storing
            return .store
        case .refusal(let status):
            state = .finished
            return .report(status: status)
        }
    }

    /// The shell told a client the head of an answer that is being received.
    package mutating func handedOver() {
        guard state == .receiving(.answer) else { return }
        defer { checkInvariants() }
        isHandedOver = true
    }

    /// The shell passed the body on to its end, or the client has left.
    ///
    /// False after the end.
    package mutating func passed() -> Bool {
        guard state == .passing || isHandedOver && state == .receiving(.answer) else {
            return false
        }
        defer { checkInvariants() }
        state = .finished
        return true
    }

    package enum RefreshAction: Equatable, Sendable {
        case nothing
        case tell
        case ask(Attempt)
    }

    /// The shell recorded the confirmation of the 304, or found the row evicted or replaced.
    package mutating func refreshed(isGone: Bool) -> RefreshAction {
        guard case .refreshing(let attempt) = state else { return .nothing }
        defer { checkInvariants() }
        guard isGone else {
            state = .finished
            return .tell
        }
        validatedURL = nil
        return .ask(ask(attempt.url, attempt.method, after: redirectFreshness))
    }

    /// The answer was stored, or cannot be stored; the clients are told in both cases.
    ///
    /// False after the end.
    package mutating func stored() -> Bool {
        guard state == .storing else { return false }
        defer { checkInvariants() }
        state = .finished
        return true
    }

    package enum OvertakenAction: Equatable, Sendable {
        case nothing
        case ask(Attempt)
        /// Tell what is cached: it has the result of the writes (case 8).
        case tellCached
    }

    /// The store refused the answer, as it may be older than a confirmed write.
    ///
    /// The origin confirmed a write of the same thing after the flight had asked.
    package mutating func overtaken() -> OvertakenAction {
        guard state == .storing else { return .nothing }
        defer { checkInvariants() }
        guard overtakes < Limits.overtakesMax else {
            state = .finished
            return .tellCached
        }
        overtakes += 1
        // The cached answer is from before the write, too: a 304 must not confirm it.
        validatedURL = nil
        return .ask(ask(rules.url, rules.method))
    }

    /// The deadline has passed, or the daemon is ending.
    ///
    /// False after the end.
    package mutating func gaveUp() -> Bool {
        guard state != .finished else { return false }
        defer { checkInvariants() }
        state = .finished
        return true
    }
}
