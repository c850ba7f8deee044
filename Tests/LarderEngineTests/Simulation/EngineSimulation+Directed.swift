import LarderModel
import LarderTestSupport
import LarderUpstream
import LarderWire

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
        case .joinedEndTogether, .sentGroupStays, .unsentGroupParts, .needlessIsCancelled,
            .editPartsGroup:
            settings.modifiers.coalesce = .net
        case .emptyFormShows: Self.addList(to: &settings, 1)
        case _: break
        }
        let isCompared =
            [.othersAreCompared, .serverMayWin, .clientMayWin, .ownIsNotOthers].contains(rule)
        try self.init(
            settings,
            users: settings.isShared ? 2 : 1,
            // Writes are compared with the seeds 0 and, where they may be joined, 4.
            seed: rule == .editPartsGroup ? 4 : isCompared ? 0 : 7,
            SeededRandom(seed: 0),
            withList: rule == .emptyFormShows,
            without: missing
        )
        origin.server.write("/a", Self.old)
    }

    /// A write of a value that was read, and what the rule is about.
    func live(showing rule: PlainRule) throws {
        try settle()
        fetch("/a", .networkOnly)
        try tellRead()
        if compares, rule != .editPartsGroup {
            setLane("id:https://api.example.com/a", isPaused: true)
        }
        try settle()
        try writeFirst(showing: rule)
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
        case .othersAreCompared, .serverMayWin, .clientMayWin: try liveCompared()
        case .ownIsNotOthers:
            try write("/a", .put(Self.other))
            setLane("id:https://api.example.com/a", isPaused: false)
            try settle()
            apply(try waiting(.write))
            try answerWrite(.confirmed(nil), 204)
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
        case .joinedEndTogether, .sentGroupStays, .unsentGroupParts, .needlessIsCancelled,
            .editPartsGroup:
            try liveJoined(showing: rule)
        case _: try liveAnswered(showing: rule)
        }
        try end()
    }

    /// Has the write accepted that the rule is about.
    private func writeFirst(showing rule: PlainRule) throws {
        switch rule {
        case .additionCountsOnce: try write("/a", .add("count", 1))
        case .unknownStaysIncomplete:
            origin.server.write("/b", Self.other)
            try write("/b", .merge("count", .number(1)))
        case .attemptsAreLimited: try write("/a", .put(Self.new)) { $0.attemptsMax = 1 }
        case .serverErrorIsUnclear: try write("/a", .add("count", 1)) { $0.attemptsMax = 1 }
        case .serverMayWin: try write("/a", .put(Self.new)) { $0.onConflict = .server }
        case .clientMayWin: try write("/a", .put(Self.new)) { $0.onConflict = .client }
        case .emptyFormShows: try acceptObject()
        case _: try write("/a", .put(Self.new))
        }
    }

    /// The first write is sent, and the answer or its absence shows the rule.
    private func liveAnswered(showing rule: PlainRule) throws {
        switch rule {
        case .emptyFormShows: break
        case .additionCountsOnce:
            apply(try waiting(.write))
            fetch("/a", .networkOnly)
            try tellRead()
            try answerWrite(.confirmed(nil), 204)
        case .unknownStaysIncomplete:
            apply(try waiting(.write))
            try answerWrite(.confirmed(nil), 204)
        case .acceptedIsLimited:
            apply(try waiting(.write))
            try answerWrite(.accepted, 202)
            clock.advance(by: settings.modifiers.acceptedLimit + .seconds(1))
            try settle()
        case .notNowIsRepeated, .attemptsAreLimited: try answerWrite(.notNow, 429)
        case .serverErrorIsUnclear: try answerWrite(.serverFailed, 500)
        case .refusedRepeatIsChecked:
            apply(try waiting(.write))
            try answerWrite(.unclear)
            try passUntilSent()
            try answerWrite(.preconditionFailed, 412)
        case .stoppedIsUnknown: try reopen(losingCache: false)
        case .dependantsAreCancelled:
            try answerWrite(.notNow, 429)
            try write("/b", .put(Self.new)) { $0.dependsOn = [try ModifierID("m1")] }
            try settle()
            try decideFirst(.cancel)
        case _: preconditionFailure("no life shows \(rule)")
        }
    }

    /// Writes wait for the answer to the first one, and are one request then, or none.
    private func liveJoined(showing rule: PlainRule) throws {
        let name = rule == .editPartsGroup ? "liked" : "count"
        try write("/a", .merge(name, .number(3)))
        try settle()
        try write("/a", .merge("count", .number(rule == .needlessIsCancelled ? 2 : 4)))
        try settle()
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
        case .editPartsGroup:
            try answerWrite(.notNow, 429)
            origin.server.write("/a", PlainValue(["count": .number(7)]))
            fetch("/a", .networkOnly)
            try tellRead()
            try passUntilSent()
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
