import LarderModel
import LarderTestSupport
import LarderUpstream

/// Lives in which one rule of the model decides what is shown: a search over seeds meets these rarely.
extension EngineSimulation {
    private static let old = PlainValue(["count": .number(1)])
    private static let new = PlainValue(["count": .number(2)])
    private static let other = PlainValue(["count": .number(3)])

    /// With more than one user if the rule is one about shared rows.
    convenience init(showing rule: PlainRule, without missing: PlainRule? = nil) throws {
        var settings = try Self.settings()
        settings.isShared = [.answeredShows, .readEndsAnswered].contains(rule)
        switch rule {
        case .joinedEndTogether, .sentGroupStays, .unsentGroupParts, .needlessIsCancelled:
            settings.modifiers.coalesce = .net
        case _: break
        }
        try self.init(
            settings,
            users: settings.isShared ? 2 : 1,
            // An even seed has writes compared.
            seed: rule == .othersAreCompared ? 0 : 1,
            SeededRandom(seed: 0),
            without: missing
        )
        origin.server.write("/a", Self.old)
    }

    /// A write of a value that was read, and what the rule is about.
    func live(showing rule: PlainRule) throws {
        try settle()
        fetch("/a", .networkOnly)
        try tellRead()
        if rule == .othersAreCompared { setLane("id:https://api.example.com/a", isPaused: true) }
        try settle()
        try write("/a", .put(Self.new))
        try settle()
        switch rule {
        case .readConfirmsAccepted:
            apply(try waiting(.write))
            try answerWrite(.accepted, 202)
            fetch("/a", .networkOnly)
            try tellRead()
        case .overtakenReadIsLate:
            origin.server.write("/a", Self.other)
            fetch("/a", .networkOnly)
            try settle()
            apply(try waiting(.write))
            try answerWrite(.confirmed(nil), 204)
            try tellRead(isStale: true)
        case .appliedIsNotCancelled:
            try answerWrite(.unclear)
            try decideFirst(.cancel)
        case .retryStartsRound:
            try answerWrite(.refused(422), 422)
            try decideFirst(.retry)
        case .refusedRepeatIsUnknown:
            try answerWrite(.unclear)
            try passUntilSent()
            try answerWrite(.refused(422), 422)
        case .othersAreCompared: try liveCompared()
        case .newCredentialWakes:
            try answerWrite(.authNeeded, 401)
            try renewCredential()
        case .refusedCredentialWaits: try answerWrite(.authNeeded, 401)
        case .portalIsNoAnswer: try answerWrite(.captive, 511)
        case .answeredShows, .readEndsAnswered:
            apply(try waiting(.write))
            try answerWrite(.confirmed(nil), 204)
            // The daemon asks by itself.
            if rule == .readEndsAnswered { try tellRead() }
        case .joinedEndTogether, .sentGroupStays, .unsentGroupParts, .needlessIsCancelled:
            try liveJoined(showing: rule)
        case _: preconditionFailure("no life shows \(rule)")
        }
        try end()
    }

    /// Writes wait for the answer to the first one, and are one request then, or none.
    private func liveJoined(showing rule: PlainRule) throws {
        let last = rule == .needlessIsCancelled ? 2 : 4
        for number in [3, last] {
            try write("/a", .merge("count", .number(number)))
            try settle()
        }
        apply(try waiting(.write))
        try answerWrite(.confirmed(nil), 204)
        switch rule {
        case .joinedEndTogether:
            apply(try waiting(.write))
            try answerWrite(.confirmed(nil), 204)
        case .sentGroupStays:
            try answerWrite(.unclear)
            try write("/a", .merge("count", .number(5)))
            try passUntilSent()
        case .unsentGroupParts: try answerWrite(.neverLeft, error: Self.away)
        case _: break
        }
    }

    /// Another device's edit is read while a write waits, which is then not sent.
    private func liveCompared() throws {
        origin.server.write("/a", Self.other)
        fetch("/a", .networkOnly)
        try tellRead()
        setLane("id:https://api.example.com/a", isPaused: false)
        try settle()
    }

    private func passUntilSent() throws {
        for _ in 0..<100 where !answerable.contains(where: { $0.kind == .write }) {
            clock.advance(by: untilDue)
            try settle()
        }
    }

    /// While a read is under way that shows a write that was answered 202, a write without an effect
    /// is confirmed.
    func liveWithoutEffect() throws {
        try settle()
        fetch("/a", .networkOnly)
        try tellRead()
        try write("/a", .put(Self.new))
        try settle()
        apply(try waiting(.write))
        try answerWrite(.accepted, 202)
        fetch("/a", .networkOnly)
        try settle()
        try write("/a", .none)
        try settle()
        try answerWrite(.confirmed(nil), 204)
        try tellRead()
        try end()
    }

    private func waiting(
        _ kind: SimulatedOrigin.Request.Kind
    ) throws -> SimulatedOrigin.Request {
        guard let request = answerable.first(where: { $0.kind == kind }) else {
            throw NotAsked(log: log)
        }
        return request
    }

    /// Answers the read that is under way as everybody is answered.
    private func tellRead(isStale: Bool = false) throws {
        try settle()
        let request = try waiting(.read)
        let server = isStale ? request.departed : origin.server
        tell(request, server["/a"], isPrivate: false)
        try settle()
    }

    /// Answers the write that is under way; without a status the answer is lost, or as `error` says.
    private func answerWrite(
        _ verdict: PlainVerdict,
        _ status: Int? = nil,
        error: UpstreamError = EngineSimulation.broken
    ) throws {
        let request = try waiting(.write)
        put(.attemptEnded(request.modifier, verdict))
        if let status { reply(request, status) } else { fail(request, error) }
        try settle()
    }

    private func decideFirst(_ decision: Decision) throws {
        guard let first = judge.queues.first?.modifiers.first else { throw NotAsked(log: log) }
        decide(first, decision)
        try settle()
    }

    /// The daemon has not asked for what a life is about, which is no word of the judge.
    private struct NotAsked: Error {
        let log: [String]
    }
}
