import LarderModel
import LarderTestSupport
import LarderUpstream
import LarderWire

@testable import LarderEngine

/// What the origin says.
extension EngineSimulation {
    func answerSomething() {
        guard var request = pick(answerable) else { return }
        if hasList, request.kind == .read {
            // The model knows answers for the list and its entities only in the order of the requests.
            request = answerable.first { $0.kind == .read } ?? request
        }
        switch request.kind {
        case .read: answerRead(request)
        case .check: answerCheck(request)
        case .probe: answerProbe(request)
        case .write: answerWrite(request)
        }
    }

    /// The origin does what it is asked for.
    func answerWell(_ request: SimulatedOrigin.Request) {
        switch request.kind {
        case .read where isOfList(request): tellList(request, origin.server)
        case .read: tell(request, origin.server[request.path], isPrivate: mayBePrivate())
        case .check: tellCheck(request, origin.server[request.path])
        case .probe: reply(request, 404)
        case .write: confirm(request)
        }
    }

    // MARK: Reads

    private func answerRead(_ request: SimulatedOrigin.Request) {
        switch draw(0..<20) {
        case 0: fail(request, Self.broken)
        case 1: fail(request, Self.away)
        case 2: reply(request, 500)
        case 3: reply(request, 503)
        case 4: reply(request, 511)
        case 5 where isShared && !judges.contains { $0.mayHavePinned(request.path) }:
            guard let reading = reading(request) else { return }
            put(.refusedRead(request.path, reading))
            reply(request, 403)
        default:
            // What it was when the request set out, or what it is now.
            let isStale = randomUnit(1, of: 2)
            let server = isStale ? request.departed : origin.server
            if isOfList(request) { return tellList(request, server) }
            tell(request, server[request.path], isPrivate: mayBePrivate())
        }
    }

    private func mayBePrivate() -> Bool { isShared && randomUnit(1, of: 2) }

    func tell(
        _ request: SimulatedOrigin.Request,
        _ resource: SimulatedServer.Resource,
        isPrivate: Bool
    ) {
        // One that may be private to more than one user.
        guard var reading = reading(request) else { return fail(request, Self.broken) }
        var headers: [String: String] = [:]
        if isPrivate, let sender = senders[request.number]?.payer {
            headers["Cache-Control"] = "private"
            reading = PlainReading(since: reading.since, user: sender)
        }
        guard let value = resource.value else {
            put(.answeredRead(request.path, .deleted, reading))
            return reply(request, randomUnit(1, of: 2) ? 404 : 410, headers)
        }
        guard request.request.headers["If-None-Match"] != resource.etag else {
            put(.confirmedRead(request.path, .value(value), reading))
            return reply(request, 304, ["ETag": resource.etag])
        }
        if !isShared {
            if let later = answeredReads[request.path], later.number > request.number {
                reading.later = later.moment
            } else {
                answeredReads[request.path] = request
            }
        }
        headers["Content-Type"] = "application/json"
        if randomUnit(3, of: 4) { headers["ETag"] = resource.etag }
        if randomUnit(1, of: 4) {
            headers["Cache-Control", default: "max-age=30"] += ", no-transform"
        }
        put(.answeredRead(request.path, .value(value), reading))
        reply(request, 200, headers, text(value, request.path))
    }

    /// A GET after a 412: the origin says what there is, or does not.
    private func answerCheck(_ request: SimulatedOrigin.Request) {
        user = checker
        switch draw(0..<12) {
        case 0:
            put(.answeredCheck(request.path, .notNow))
            fail(request, randomUnit(1, of: 2) ? Self.broken : Self.away)
        case 1:
            put(.answeredCheck(request.path, .notNow))
            reply(request, pick([401, 408, 429, 500, 503, 511]) ?? 503)
        case 2:
            put(.answeredCheck(request.path, .nothing))
            reply(request, pick([304, 400, 403]) ?? 403)
        case 3:
            put(.answeredCheck(request.path, .nothing))
            reply(request, 200, ["Content-Type": "text/plain"], "words")
        default:
            let isStale = randomUnit(1, of: 2)
            tellCheck(request, (isStale ? request.departed : origin.server)[request.path])
        }
    }

    /// The answer to a probe shows whether the origin is back, and has no value of a target.
    private func answerProbe(_ request: SimulatedOrigin.Request) {
        switch draw(0..<6) {
        case 0: fail(request, randomUnit(1, of: 2) ? Self.broken : Self.away)
        case 1: reply(request, 511)
        default: reply(request, pick([200, 401, 404, 500]) ?? 404)
        }
    }

    private func tellCheck(
        _ request: SimulatedOrigin.Request,
        _ resource: SimulatedServer.Resource
    ) {
        user = checker
        let view = resource.value.map { PlainView.value($0, isComplete: true) } ?? .deleted
        guard judge.queues.allSatisfy({ $0.isShownByCheck(request.path, view) }) else {
            // Otherwise it is a conflict, which is not modelled.
            put(.answeredCheck(request.path, .notNow))
            return reply(request, 503)
        }
        guard let value = resource.value else {
            put(.answeredCheck(request.path, .said(.deleted)))
            return reply(request, randomUnit(1, of: 2) ? 404 : 410)
        }
        put(.answeredCheck(request.path, .said(.value(value))))
        reply(request, 200, ["Content-Type": "application/json"], text(value, request.path))
    }

    // MARK: Writes

    func answerWrite(_ request: SimulatedOrigin.Request) {
        let modifier = modifier(of: request)
        user = modifier.user
        let mayCheck = mayCheck()
        let isRepeat = judge.queues.allSatisfy { $0[modifier.id]?.mayBeApplied == true }
        let isListed = modifier.changes.contains { $0.path == PlainQueue.list }
        if isRepeat, !isListed, randomUnit(1, of: 2), mayCheck {
            checker = user
            put(.attemptEnded(modifier.id, .preconditionFailed))
            return reply(request, 412)
        }
        switch draw(0..<100) {
        case 0..<34: confirm(request)
        case 34..<46 where temporary.contains { $0.create == modifier.id }: confirm(request)
        case 34..<46:
            switch draw(0..<3) {
            case 0: apply(request)
            case 1: origin.server.promise(work(of: request), key: request.key)
            default: break
            }
            put(.attemptEnded(modifier.id, .accepted))
            reply(request, 202)
        case 46..<57:
            let status = pick([408, 425, 429, 500, 503]) ?? 503
            let verdict: PlainVerdict =
                status == 500 ? .serverFailed : status == 503 ? .busy : .notNow
            put(.attemptEnded(modifier.id, verdict))
            let headers = randomUnit(1, of: 2) ? ["Retry-After": "\(draw(0..<20))"] : [:]
            reply(request, status, headers)
        case 57..<67:
            let isGone = request.request.method == "DELETE"
            let gone = isGone ? [] : [404, 410]
            // To another attempt than a repeat these tell of a conflict.
            let conflicts = isRepeat ? [409, 428] : []
            let status = pick([400, 403, 422] + gone + conflicts) ?? 400
            put(.attemptEnded(modifier.id, .refused(status)))
            reply(request, status)
        case 67..<72:
            put(.attemptEnded(modifier.id, .authNeeded))
            reply(request, randomUnit(1, of: 2) ? 401 : 407)
        case 72..<86:
            if randomUnit(1, of: 2) { apply(request) }
            let kind = draw(0..<5)
            put(.attemptEnded(modifier.id, kind == 2 ? .captive : .unclear))
            switch kind {
            case 0: reply(request, 502)
            case 1: reply(request, 504)
            case 2: reply(request, 511)
            case 3: fail(request, .timedOut(.head))
            default: fail(request, Self.broken)
            }
        default:
            put(.attemptEnded(modifier.id, .neverLeft))
            fail(request, Self.away)
        }
    }

    private func confirm(_ request: SimulatedOrigin.Request) {
        let modifier = modifier(of: request)
        user = modifier.user
        apply(request)
        let isDelete = request.request.method == "DELETE"
        if isDelete, randomUnit(1, of: 3) {
            put(.attemptEnded(modifier.id, .confirmed(nil)))
            return reply(request, randomUnit(1, of: 2) ? 404 : 410)
        }
        if let new = temporary.first(where: { $0.create == modifier.id }) {
            return confirmCreate(request, new.id)
        }
        let targets = modifier.changes.filter { $0.path != PlainQueue.list }
        let path = origin.server.current((pick(targets) ?? targets[0]).path)
        guard !isDelete, randomUnit(1, of: 2), let value = origin.server[path].value else {
            put(.attemptEnded(modifier.id, .confirmed(nil)))
            let isTold = settings.modifiers.answer == .auto && randomUnit(1, of: 2)
            return isTold
                ? reply(request, 200, ["Content-Type": "application/json"], "{\"ok\":1}")
                : reply(request, 204)
        }
        put(.attemptEnded(modifier.id, .confirmed((path, value))))
        var headers = ["Content-Type": "application/json"]
        if randomUnit(1, of: 2) { headers["ETag"] = origin.server[path].etag }
        if request.path == path, randomUnit(1, of: 2) {
            headers["Preference-Applied"] = "return=representation"
            return reply(request, 200, headers, text(value, path))
        }
        let isCreated = randomUnit(1, of: 3)
        headers[isCreated ? "Location" : "Content-Location"] = path
        reply(request, isCreated ? 201 : 200, headers, text(value, path))
    }

    private func text(_ value: PlainValue, _ path: String) -> String {
        value.text(of: entity(path))
    }

    func modifier(of request: SimulatedOrigin.Request) -> PlainModifier {
        guard let modifier = plain[request.modifier] else {
            preconditionFailure("a write of nobody: \(request.key)")
        }
        return modifier
    }

    func apply(_ request: SimulatedOrigin.Request) {
        origin.server.apply(work(of: request), key: request.key)
    }

    private func work(of request: SimulatedOrigin.Request) -> SimulatedServer.Work {
        let changes = modifier(of: request).changes
        guard let plain = request.plain else { return .changes(changes) }
        guard case .create(let object) = plain,
            case .addObject(let id, _, let hasForm)? = changes.first?.effect
        else { return .request(plain, of: request.path) }
        let effect = PlainEffect.addObject(id: id, object, hasForm: hasForm)
        return .changes([PlainModifier.Change(path: request.path, effect: effect)])
    }

    func reply(
        _ request: SimulatedOrigin.Request,
        _ status: Int,
        _ headers: [String: String] = [:],
        _ body: String = ""
    ) {
        note("  answers \(status) to \(request.request.method) \(request.path) \(headers) \(body)")
        let reply = SimulatedOrigin.Reply(status: status, headers: headers, body: body)
        origin.answer(request.number, .success(reply))
    }

    func fail(_ request: SimulatedOrigin.Request, _ error: UpstreamError) {
        note("  \(error) to \(request.request.method) \(request.path)")
        origin.answer(request.number, .failure(error))
    }

    static let broken = UpstreamError.brokenOff(reason: "simulated")
    static let away = UpstreamError.unreachable(
        host: "api.example.com",
        reason: "simulated"
    )

    // MARK: The end

    /// P-02: nobody interferes any more, so everything comes to an end; and what is shown is what
    /// the server has.
    func finish() throws {
        try settle()
        note("the end begins")
        origin.isOffline = false
        for index in judges.indices {
            for lane in ["name:x", "name:y", "id:https://api.example.com/a"] {
                guard judges[index].queues.contains(where: { $0.paused.contains(lane) }) else {
                    continue
                }
                user = index
                setLane(lane, isPaused: false)
                try settle()
            }
        }
        for _ in 0..<400 where try !isFinished() {}
        let left = judges.flatMap { $0.queues.first?.unsettled ?? [] }
        try require(left.isEmpty, "P-02: \(left) never end")
        for _ in 0..<20 where !daemon.hasCache {
            clock.advance(by: Limits.touchFlushTime)
            try settle()
        }
        for index in judges.indices { try readAll(index) }
        for id in accepted {
            let isKnown = judges[plain[id]?.user ?? 0].queues
                .allSatisfy { $0.outcomes[id] != nil || $0[id] != nil }
            try require(isKnown, "P-02: \(id) is nowhere")
        }
    }

    /// A user reads what the server has.
    private func readAll(_ index: Int) throws {
        user = index
        hasUnknownSender = false
        for path in readable { fetch(path, .networkOnly) }
        let begun = fetches.suffix(readable.count)
        try settle()
        for _ in 0..<300 where begun.contains(where: { $0.answer == nil }) {
            // A fetch may have joined a flight that pauses before its next request.
            if let request = origin.waiting.first {
                answerWell(request)
            } else {
                clock.advance(by: untilDue)
            }
            try settle()
        }
        while let request = origin.waiting.first {
            answerWell(request)
            try settle()
        }
        if hasList { try requireList(index) }
        for path in readable where path != PlainQueue.list {
            let expected: PlainQueue.Base =
                origin.server[path].value.map { .value($0) } ?? .deleted
            let base = judges[index].queues.first?.base(path)
            // No answer shows what has left the list.
            let isSwept = hasList && expected == .deleted && base == .unknown
            try require(
                base == expected || isSwept || hasUnknownSender,
                "\(path) is \(String(describing: base)) in the end"
            )
        }
    }

    /// Does what brings the end nearer.
    private func isFinished() throws -> Bool {
        let left = judges.flatMap { $0.queues.first?.unsettled ?? [] }
        if let request = origin.waiting.first {
            answerWell(request)
        } else if left.isEmpty {
            return true
        } else if let refused = left.first(where: { $0.standing == .authWait }) {
            decide(refused, .retry)
        } else if let answered = left.first(where: { $0.standing == .answered }),
            daemon.engine.context.originStates.isDown(settings.name),
            fetches.allSatisfy({ $0.answer != nil }), randomUnit(1, of: 2)
        {
            // No read begins by itself while the origin counts as away.
            user = answered.user
            fetch(answered.changes[0].path, .networkOnly)
        } else if let open = left.first(where: { $0.waitsForPerson }) {
            decide(open, randomUnit(1, of: 2) ? .retry : .discard)
        } else {
            clock.advance(by: untilDue)
        }
        try settle()
        return false
    }
}
