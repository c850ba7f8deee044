import LarderModel
import LarderStrategy

extension QueueScript {
    private var number: ModifierNumber { ModifierNumber(1) }

    /// Brings modifier 1 to a place.
    mutating func go(to place: QueuePlace) throws {
        var record = try record(1, ["x"], resends: place != .doubtful)
        switch place {
        case .held:
            record.state = .held
            record.holdUntil = .start.advanced(by: .seconds(10))
            _ = add([record])
        case .queued:
            _ = queue.originSetOffline(origin, now: now)
            _ = add([record])
        case .committingSend: _ = accept([record])
        case .inFlight: _ = add([record])
        case .retryWait: try end(at: .inFlight, .notNow(retryAfter: nil))
        case .unknown: try end(at: .inFlight, .unclear(.lost))
        case .doubtful:
            _ = add([record])
            _ = finish(1, .unclear(.lost))
        case .authWait: try end(at: .inFlight, .authNeeded)
        case .conflict: try end(at: .inFlight, .conflict(.wait))
        case .accepted: try end(at: .inFlight, .accepted)
        case .changing:
            try go(to: .inFlight)
            _ = end(1, .notNow(retryAfter: nil))
        case .settling:
            try go(to: .inFlight)
            _ = end(1, .confirmed(.none))
        }
    }

    private mutating func end(at place: QueuePlace, _ verdict: ModifierVerdict) throws {
        try go(to: place)
        _ = finish(1, verdict)
    }

    mutating func react(_ event: QueueEvent) throws -> QueueReaction {
        switch event {
        case .sendCommitted: return .actions(queue.sendCommitted(number, now: now))
        case .sendNotCommitted:
            return .actions(queue.sendNotCommitted(number, randomUnit: Self.randomUnit, now: now))
        case .sendConflicted: return .actions(queue.sendConflicted(number, .wait, now: now))
        case .confirmed: return .actions(end(1, .confirmed(.none)))
        case .taken: return .actions(end(1, .accepted))
        case .notNow: return .actions(end(1, .notNow(retryAfter: nil)))
        case .refused: return .actions(end(1, .refused))
        case .conflicted: return .actions(end(1, .conflict(.wait)))
        case .outdated: return .actions(end(1, .conflict(.again)))
        case .authNeeded: return .actions(end(1, .authNeeded))
        case .unclear: return .actions(end(1, .unclear(.gateway)))
        case .captive: return .actions(end(1, .captive))
        case .neverLeft: return .actions(end(1, .neverLeft))
        case .changeCommitted: return .actions(queue.changeCommitted(number, now: now))
        case .settleCommitted: return .actions(queue.settleCommitted(number, now: now))
        case .cancelAsked, .discardAsked, .retryAsked: return byHand(event)
        case .readConfirmed: return .actions(queue.readConfirmed(number, now: now))
        case .credentialChanged:
            return .actions(queue.credentialChanged(at: origin, of: nil, now: now))
        case .timePassed: return .actions(pass(.seconds(3_600)))
        case .acceptedAgain: return .actions(accept([try record(1, ["x"])]))
        }
    }

    private mutating func byHand(_ event: QueueEvent) -> QueueReaction {
        do throws(ModifierQueue.Refusal) {
            switch event {
            case .cancelAsked:
                return .actions(
                    try queue.cancelAsked(number, withDependants: false, now: now)
                )
            case .discardAsked: return .actions(try queue.discardAsked(number, now: now))
            case _: return .actions(try queue.retryAsked(number, now: now))
            }
        } catch {
            return .refused(error)
        }
    }
}
