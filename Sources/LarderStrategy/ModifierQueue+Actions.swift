package import LarderModel

extension ModifierQueue {
    /// A task for the shell; the order within one list does not matter.
    package enum Action: Equatable, Sendable {
        /// Commit the send step, which sets `in_flight` and counts the attempt.
        ///
        /// Then call ``sendCommitted(_:now:)`` or ``sendNotCommitted(_:randomUnit:now:)``.
        ///
        /// The modifiers of `joining` can be joined to it. They are in their order, and each is
        /// joined only if those before it are. If all of them together need no request,
        /// ``sendNeedless(_:joined:now:)`` is called.
        case commitSend(ModifierNumber, joining: [ModifierNumber] = [])
        /// Send the request; then call ``attemptEnded(_:_:rules:randomUnit:now:)``.
        case send(ModifierNumber)
        /// Commit a row's new state, with repetitions until that succeeds; then call
        /// ``changeCommitted(_:now:)``.
        ///
        /// A settled row does not change.
        case changeState(ModifierNumber, Change)
        /// Commit the settle step of a modifier and of its dependants in one transaction.
        ///
        /// The shell repeats this until it succeeds. Then it calls ``settleCommitted(_:now:)``, or
        /// ``answerCommitted(_:now:)`` if a shared row has to show the modifier first.
        ///
        /// Modifiers that are `joined` to it have the same outcome. Confirmed, each of them is told
        /// to have settled.
        case settle(
            ModifierNumber,
            Outcome,
            joined: [ModifierNumber] = [],
            dependants: [ModifierNumber]
        )
        /// Write the settle step of a modifier that waits for an answer of a shared row, and that a
        /// person has given up; the shell then calls ``settleCommitted(_:now:)``.
        case endWait(ModifierNumber)
        /// Ask a captive origin with a GET; the queue hears of an answer by
        /// ``originAnswered(_:randomUnit:now:)``.
        case probe(OriginName)
    }

    /// A new state for a row.
    package struct Change: Equatable, Sendable {
        package let state: ModifierState
        /// A moment of the monotonic clock: the next attempt, or the end of `accepted`.
        ///
        /// Nil in `unknown`: a person decides.
        package let until: Duration?
        package let attempts: Int
        package let answersNotApplied: Int
        package let isStalled: Bool
        /// Whether it may have been applied: it cannot be cancelled then.
        package let isPerhapsApplied: Bool
        package var round = ModifierRound.same
    }

    /// How a modifier leaves the queue.
    package enum Outcome: Equatable, Sendable {
        case confirmed
        /// The dependants fail with `parent_failed`.
        case failed(ModifierReason)
        /// The dependants are cancelled, too.
        case cancelled

        package var ofDependants: Outcome {
            switch self {
            case .confirmed: .confirmed
            case .failed: .failed(.parentFailed)
            case .cancelled: .cancelled
            }
        }
    }

    package enum Refusal: Error, Equatable, Sendable {
        /// No unsettled modifier has this number.
        case notFound
        /// A step of the modifier is being written: ask again after that.
        case notNow
        case inFlight
        /// The modifier may have been applied: it can only be discarded.
        case alreadySent
        /// Modifiers depend on it; all of them are named here.
        case hasDependants([ModifierNumber])
        /// The modifier waits for nothing that a retry would end.
        case nothingToRetry
    }

    /// Why a modifier is not sent now; moments are those of the monotonic clock.
    package enum Wait: Equatable, Sendable {
        case hold(until: Duration)
        /// An earlier modifier of this lane is not settled.
        case lane(Lane, after: ModifierNumber)
        case pausedLane(Lane)
        case dependency(ModifierNumber)
        case backoff(until: Duration)
        case credential
        /// A person has to decide: no clear answer came, or there is a conflict.
        case decision
        /// The origin is down; this modifier or another one tries it at `until`.
        case offline(until: Duration)
        case captive(until: Duration)
        /// The origin is down; the named modifier is in flight as its probe.
        case probe(ModifierNumber)
        case setOffline
        /// The origin told the account to wait; one of its modifiers is tried at `until`.
        ///
        /// Nil while that probe is in flight.
        case rest(until: Duration?)
        /// The origin already has as many modifiers in flight as it may have.
        case turn
        /// The request is in flight.
        case answer
        /// The origin answered 202. A read that shows the change ends the wait, or this moment.
        ///
        /// Nil: only a read ends it.
        case confirmation(until: Duration?)
        /// A step of the modifier is being written.
        case commit
    }
}

extension ModifierQueue {
    /// The first thing that has to end before the modifier is sent.
    ///
    /// Nil if the number is not known here.
    package func waitingFor(_ number: ModifierNumber) -> Wait? {
        guard let slot = slots[number] else { return nil }
        let node = nodes[Int(slot)]
        switch node.state {
        case .committingSend, .changing, .settling: return .commit
        case .inFlight: return .answer
        case .waiting(.accepted(let end)): return .confirmation(until: end)
        case .answered: return .confirmation(until: nil)
        case .waiting(.held(let end)): return .hold(until: end)
        case .waiting(.unknown(nil)), .waiting(.conflict): return .decision
        case .waiting(.authWait): return .credential
        case .waiting(.retryWait(let end)), .waiting(.unknown(.some(let end))):
            return node.isDue ? blocker(node) : .backoff(until: end)
        case .waiting(.queued): return blocker(node)
        }
    }

    private func blocker(_ node: Node) -> Wait {
        if let parent = dependencies[node.number]?.first { return .dependency(parent) }
        switch lanes.blocker(node.places) {
        case .after(let number, let lane): return .lane(lane, after: number)
        case .paused(let lane): return .pausedLane(lane)
        case nil: break
        }
        if case .doubt(_, let probe) = accounts[Int(node.account)].access {
            if probe != nil { return .turn }
            if !accounts[Int(node.account)].access.admits { return .credential }
        }
        switch accounts[Int(node.account)].rest {
        case .open, .due: break
        case .paused(let end), .rampingUp(let end): return .rest(until: end)
        case .halfOpen: return .rest(until: nil)
        }
        switch origins[Int(accountKeys[node.account].origin)].availability {
        case .open: return .turn
        case .rampingUp(let end): return .offline(until: end)
        case .down(let outage, let end):
            return outage.isCaptive ? .captive(until: end) : .offline(until: end)
        case .halfOpen(_, let number): return .probe(number)
        case .setOffline: return .setOffline
        }
    }

    /// The state of a modifier, as its row has it or soon will.
    package func state(of number: ModifierNumber) -> ModifierState? {
        guard let slot = slots[number] else { return nil }
        switch nodes[Int(slot)].state {
        case .waiting(let row), .changing(let row): return row.state
        case .committingSend, .inFlight: return .inFlight
        case .answered: return .accepted
        case .settling(.confirmed): return .confirmed
        case .settling(.failed): return .failed
        case .settling(.cancelled): return .cancelled
        }
    }
}

extension ModifierQueue.Written {
    var state: ModifierState {
        switch self {
        case .held: .held
        case .queued: .queued
        case .retryWait: .retryWait
        case .unknown: .unknown
        case .authWait: .authWait
        case .conflict: .conflict
        case .accepted: .accepted
        }
    }
}

/// Decides what follows when another device has changed what a modifier changes (case 19).
///
/// A round is all attempts under one key. The touched places of each target are compared before a
/// round, and after an answer that says that the origin has another version.
package struct ConflictRules: Equatable, Sendable {
    package var rule: ModifierRules.ConflictRule
    /// Whether the program gave a condition itself, such as If-Match; only it can give another one.
    package var hasOwnCondition = false
    /// Rounds that the daemon has begun since the acceptance or a person's decision, with the first.
    package var rounds = 1

    package init(_ rule: ModifierRules.ConflictRule) { self.rule = rule }

    package enum Step: Equatable, Sendable {
        /// The targets are to be read first.
        case look
        /// Another round, with the next key.
        case again
        /// A person decides.
        case wait
        case fail
    }

    /// Whether a conflict does not wait for a person: the modifier is sent again or given up.
    package func endsConflict(isChanged: Bool) -> Bool {
        switch rule {
        case .server: true
        case .client: !hasOwnCondition
        case .rebase: !hasOwnCondition && !isChanged
        case .manual: false
        }
    }

    /// Before the first attempt of a round; nil: it is sent.
    ///
    /// `isChanged`: a touched place is neither as it was nor as the modifier wants it.
    package func beforeRound(isChanged: Bool) -> Step? {
        guard isChanged, !hasOwnCondition else { return nil }
        switch rule {
        case .client: return nil
        case .server: return .fail
        case .rebase, .manual: return .wait
        }
    }

    /// After a 409, 412 or 428, once the targets have been read; nil: the answer is a refusal.
    ///
    /// `isSameBase`: no target says something else than when the modifier was sent.
    package func afterAnswer(_ status: Int, isChanged: Bool, isSameBase: Bool) -> Step? {
        if status == 409, isSameBase, !isChanged { return nil }
        switch rule {
        case .server: return .fail
        case .manual: return .wait
        case .rebase where hasOwnCondition || isChanged: return .wait
        case .client where hasOwnCondition: return .wait
        case .rebase, .client: return rounds < Limits.conflictRoundsMax ? .again : .fail
        }
    }
}
