import LarderAPI
import LarderModel
import LarderStore
import LarderStrategy
import LarderUpstream
import LarderWire
import Logging
import Synchronization

/// The states of origins: down, back, offline by an operator, or at rest.
///
/// Results of requests change them.
struct OriginStates: EnginePart {
    let context: EngineContext

    func isDown(_ name: OriginName) -> Bool {
        isManuallyOffline(name) || context.health[name]?.isDown ?? false
    }

    func isManuallyOffline(_ name: OriginName) -> Bool {
        context.offline.withLock { $0.contains(name) }
    }

    /// Calls `tell` each time an origin is back from being down or offline, until the cancellation
    /// ends.
    ///
    /// While the origin is down, it is probed.
    ///
    /// `tell` is called on any thread and must be quick.
    func waitForReturn(
        of name: OriginName,
        as scope: Scope,
        _ tell: @escaping @Sendable () -> Void
    ) -> Interest {
        let (number, action) = context.watch.wait(for: name, as: scope, tell)
        begin(action, for: name)
        return Interest { [watch = context.watch] in watch.leave(name, number) }
    }

    func changed(_ name: OriginName) {
        let (told, action) = context.watch.changed(name) {
            (context.health[name]?.isDown ?? false, isManuallyOffline(name))
        }
        begin(action, for: name)
        let isUpdate = context.watchers.originChanged(name) {
            let state = isManuallyOffline(name) ? .offline : context.health[name]?.state ?? .unknown
            return state.rawValue
        }
        if isUpdate { context.credentials.noteNews() }
        for tell in told { tell() }
    }

    func forget(_ name: OriginName) {
        context.watch.forget(name)
        context.watchers.originForgotten(name)
    }

    /// The settings of an origin changed: waiting requests are tried with the new ones.
    func settingsChanged(_ name: OriginName, hasOtherRules: Bool) {
        context.health.change(name) { $0.settingsChanged() }
        context.modifiers.post(.originChanged(name, hasOtherRules: hasOtherRules))
        context.keeper.post(.originChanged(name, of: nil))
        context.refreshes.settingsChanged(of: name, context)
    }

    private func begin(_ action: ProbeMachine.LoopAction, for name: OriginName) {
        guard case .pause(let ceiling) = action else { return }
        // Refused only when the engine ends, and the machine with it.
        _ = context.work.add { await self.probe(name, afterUpTo: ceiling) }
    }

    private func probe(_ name: OriginName, afterUpTo first: Duration) async {
        var pause = ProbeMachine.pause(upTo: first, randomUnit: context.randomUnit())
        while true {
            guard (try? await clock.sleep(for: pause)) != nil else { return }
            switch context.watch.pauseEnded(name, rest: { rest(of: name, for: $0) }) {
            case .stop: return
            case .rest(let rest): pause = rest
            case .ask:
                await probe(name)
                guard !Task.isCancelled,
                    case .pause(let next) = context.watch.machine(of: name, { $0.probeEnded() })
                else { return }
                pause = ProbeMachine.pause(upTo: next, randomUnit: context.randomUnit())
            }
        }
    }

    /// Asks an origin at its base URL, and notes the answer.
    func probe(_ name: OriginName) async {
        guard let origin = context.origins[name]?.settings ?? context.health.implicitOrigin(name)
        else { return }
        do throws(UpstreamError) {
            let reply = try await ask(origin, origin.baseURL)
            guard !origin.baseURL.isSecure, !isOwn(reply.status, reply.headers, of: origin) else {
                noteProbe(of: origin, reply.status, reply.headers)
                return
            }
            // The origin's own page or redirect may be there; a portal has one everywhere.
            try await probeNowhere(origin)
        } catch {
            noteFailure(of: name, error)
        }
    }

    /// Asks for a path that is nowhere, and notes the answer; false if it was not the origin's.
    @discardableResult
    private func probeNowhere(_ origin: OriginSettings) async throws(UpstreamError) -> Bool {
        let nowhere = String(UInt64(context.randomUnit() * 0x1p64), radix: 16)
        let base = origin.baseURL
        let path = base.path.hasSuffix("/") ? base.path : base.path + "/"
        let reply = try await ask(origin, (try? base.resolving(path + "larder-\(nowhere)")) ?? base)
        var headers = reply.headers
        // A portal may give its pages another type, or none.
        if FlightRules.isPage(startingWith: await reply.body.read(upTo: 256).bytes) {
            headers.set("Content-Type", "text/html")
        }
        return noteProbe(of: origin, reply.status, headers, isPagePortals: true)
    }

    private func ask(
        _ origin: OriginSettings,
        _ url: WebURL
    ) async throws(UpstreamError) -> UpstreamReply {
        let timeout = min(origin.fetch.timeout, Limits.silenceTime)
        let request = UpstreamRequest(origin: origin, url: url, timeout: timeout)
        return try await context.upstream.ask(request) {}
    }

    /// Notes an answer to a request without a client; false if it was not the origin's.
    ///
    /// `isPagePortals`: a page over plain http is a portal's even if none was seen before.
    @discardableResult
    func noteProbe(
        of origin: OriginSettings,
        _ status: Int,
        _ headers: HeaderFields,
        isPagePortals: Bool = false
    ) -> Bool {
        guard isOwn(status, headers, of: origin, isPagePortals: isPagePortals) else {
            notePortal(origin.name)
            return false
        }
        note(origin.name) { $0.answered(now: $1) }
        return true
    }

    private func isOwn(
        _ status: Int,
        _ headers: HeaderFields,
        of origin: OriginSettings,
        isPagePortals: Bool = false
    ) -> Bool {
        let rules = FlightRules(
            url: origin.baseURL,
            cachedIsJSON: false,
            accept: nil,
            redirectHosts: origin.redirectHosts,
            // The base URL may give something else than JSON.
            expect: origin.modifiers.expect == .any ? .any : nil
        )
        let head = ResponseHead(status: status, headers: headers, now: clock.now())
        let wasCaptive = isCaptive(origin.name)
        let isPages = isPagePortals && (200..<300).contains(status)
        return rules.isOwn(head, wasCaptive: wasCaptive || isPages)
    }

    enum Sender {
        case portal
        case origin
        /// The origin could not be asked once more.
        case notKnown
    }

    /// Finds out who sent an answer that looks like a portal's, and notes it.
    ///
    /// | answer | what decides |
    /// |---|---|
    /// | 511 | a portal's: no origin generates it (RFC 6585 6) |
    /// | a page over https | the origin's: a portal has no certificate for its host |
    /// | any, while the origin is captive | a portal's |
    /// | a page over http | a portal's if a path that is nowhere gives a page too |
    /// | a redirect to another host over http | a portal's if the base URL redirects so too |
    /// | one of these two, and the origin does not answer | not known: a write is unclear |
    ///
    /// The last two can be specific to one URL, so they must not mark the origin for all clients.
    func sender(of status: Int, from url: WebURL, for origin: OriginSettings) async -> Sender {
        let isPage = (200..<300).contains(status)
        if isPage, url.isSecure { return .origin }
        if status == 511 || isCaptive(origin.name) {
            notePortal(origin.name)
            return .portal
        }
        do throws(UpstreamError) {
            if isPage { return try await probeNowhere(origin) ? .origin : .portal }
            let reply = try await ask(origin, origin.baseURL)
            return noteProbe(of: origin, reply.status, reply.headers) ? .origin : .portal
        } catch {
            return .notKnown
        }
    }

    private func isCaptive(_ origin: OriginName) -> Bool {
        context.health[origin]?.isCaptive(clock.now()) ?? false
    }

    func noteFailure(of name: OriginName, _ error: UpstreamError) {
        if error.isConnectFailure { noteConnectFailure(name) }
        if case .timedOut = error { noteResponseTimeout(name) }
    }

    // MARK: Results of requests

    func noteAnswer(_ origin: OriginName) {
        context.watch.machine(of: origin) { $0.requestAnswered() }
        note(origin) { $0.answered(now: $1) }
    }

    /// Notes whether the origin has pages: over https nothing else can have sent one.
    func notePage(_ head: ResponseHead, from url: WebURL, of origin: OriginSettings) {
        guard url.isSecure, head.isPage, origin.isHost(of: url),
            context.health[origin.name]?.hasPages != true
        else { return }
        context.health.change(origin.name) { $0.pageCame() }
    }

    func noteConnectFailure(_ origin: OriginName) {
        note(origin) { $0.connectFailed(now: $1) }
    }

    func noteResponseTimeout(_ origin: OriginName) {
        note(origin) { $0.responseTimedOut(now: $1) }
    }

    /// Asks the upstream, and notes it when the origin has said nothing for ``Limits/silenceTime``
    /// since the request left; the request goes on.
    ///
    /// The wait for one of our own connections and the time of an upload are not the origin's.
    func ask(
        _ request: UpstreamRequest,
        for scope: Scope,
        onSent: @escaping @Sendable () -> Void = {}
    ) async throws(UpstreamError) -> UpstreamReply {
        var asked = request
        asked.user = scope.uid
        let request = asked
        let (departures, departure) = AsyncStream<Void>.makeStream()
        // Cancelled as this returns.
        async let _: Void = noteResponseTimeout(of: request, after: departures)
        let reply = try await context.upstream.ask(request) {
            onSent()
            if request.upload == nil { departure.finish() }
        }
        context.credentials.noteAnswer(reply.status, to: request, for: scope, in: context)
        return reply
    }

    /// Notes that no answer has come for some time since the request left.
    func noteResponseTimeout(
        of request: UpstreamRequest,
        after departures: AsyncStream<Void>
    ) async {
        // A host that the origin redirects to is another server.
        guard request.origin.isHost(of: request.url) else { return }
        for await _ in departures { break }
        let time = Limits.silenceTime + request.sendingTime
        guard (try? await clock.sleep(for: time)) != nil else { return }
        noteResponseTimeout(request.origin.name)
    }

    func notePortal(_ origin: OriginName) {
        note(origin) { $0.portalAnswered(now: $1) }
    }

    private func note(_ origin: OriginName, _ event: (inout OriginHealth, Timestamp) -> Bool) {
        let now = clock.now()
        let news = context.health.change(origin) { event(&$0, now) ? $0.state : nil }
        guard let state = news ?? nil else { return }
        switch state {
        case .online:
            context.keeper.post(.originAnswered(origin))
            let turn: ModifierQueueRunner.Turn = { [context] machine, now in
                // Without modifiers there is nothing to wake, so no randomUnit is drawn.
                let randomUnit = machine.count == 0 ? 0 : context.randomUnit()
                return machine.originAnswered(origin, randomUnit: randomUnit, now: now)
            }
            context.modifiers.post(.originReturned(origin, turn))
        case .offline, .captive:
            let turn: ModifierQueueRunner.Turn = { [context] machine, now in
                // No modifier waits for the origin; later ones find out by themselves.
                guard machine.count > 0 else { return [] }
                let (isCaptive, randomUnit) = (state == .captive, context.randomUnit())
                return machine.originWentDown(
                    origin,
                    isCaptive: isCaptive,
                    randomUnit: randomUnit,
                    now: now
                )
            }
            context.modifiers.post(.told(turn))
        case .unknown: break
        }
        logger.info(
            "an origin's state changed",
            metadata: .larder([.origin: "\(origin)", .state: "\(state.rawValue)"])
        )
        changed(origin)
    }
}

extension UpstreamReply {
    func head(now: Timestamp) -> ResponseHead {
        ResponseHead(status: status, headers: headers, now: now)
    }
}

extension UpstreamError {
    /// Whether there was no connection that would take a request.
    var isConnectFailure: Bool {
        switch self {
        case .unreachable, .closed(host: _, hasLeft: false): true
        case .closed, .addressRefused, .timedOut, .brokenOff, .undecodable, .expandsTooMuch,
            .headTooLarge, .shortage, .cancelled:
            false
        }
    }
}

/// Origins that told an account to wait; requests that no client waits for leave them alone
/// meanwhile.
extension OriginStates {
    /// Notes the rest that the answer of a URL asks for, if that is on the origin's host.
    func noteRest(
        of origin: OriginSettings,
        _ url: WebURL,
        for scope: Scope,
        _ head: ResponseHead,
        tellsQueue: Bool = true
    ) {
        guard let time = head.rest, origin.isHost(of: url) else { return }
        let (name, now) = (origin.name, clock.monotonic())
        let end = context.health.change(name) {
            $0.askedForRest(of: scope, for: time, now: now)
        }
        guard let end, tellsQueue else { return }
        let moment = clock.bootMoment(of: end)
        context.modifiers.post(
            .told { $0.originAskedToWait(name, for: scope, until: moment, now: $1) }
        )
    }

    /// The end of an origin's rest for an account, on the monotonic clock; nil if there is no rest.
    func retryAfterEnd(of origin: OriginName, for scope: Scope) -> Duration? {
        let now = clock.monotonic()
        let isShared =
            context.hasSharedOrigins && context.origins[origin]?.settings.isShared == true
        let health = context.health[origin]
        let ends = [
            health?.retryAfterEnd(of: scope, now: now),
            isShared ? health?.retryAfterEnd(of: .shared, now: now) : nil,
        ]
        return ends.compactMap { $0 }.max()
    }

    /// The time that an origin's rest for an account still lasts.
    func rest(of origin: OriginName, for scope: Scope) -> Duration {
        retryAfterEnd(of: origin, for: scope).map { max(.zero, $0 - clock.monotonic()) } ?? .zero
    }

    /// The condition of an origin, as far as `asker` may know it; without an `asker`, all of it.
    ///
    /// If only accounts of other users have to wait, `asker` is told of the rest but not whose it
    /// is.
    func condition(of name: OriginName, toldTo asker: ClientStatus?) -> OriginCondition {
        let health = context.health[name] ?? OriginHealth(now: clock.now())
        let (isOffline, now) = (isManuallyOffline(name), clock.monotonic())
        var condition = OriginCondition(
            state: isOffline ? .offline : .init(rawValue: health.state.rawValue),
            since: health.state == .unknown && !isOffline ? nil : .init(health.since),
            offline: isOffline
        )
        let rests = health.retryAfters.filter { $0.value > now }
        let known = rests.filter { rest in
            guard let asker, !asker.administrator, let uid = rest.key.uid else { return true }
            return uid == asker.user
        }
        if let last = (known.isEmpty ? rests : known).max(by: { $0.value < $1.value }) {
            condition.retryAfterUntil = .init(clock.now().advanced(by: last.value - now))
            condition.retryAfterFor = known.isEmpty ? nil : last.key.userAndAccount
        }
        return condition
    }
}
