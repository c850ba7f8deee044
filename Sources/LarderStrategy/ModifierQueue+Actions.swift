package import LarderModel

extension ModifierQueue {
    /// A task for the shell; the order within one list does not matter.
    package enum Action: Equatable, Sendable {
        /// Commit the send step, which sets `in_flight` and counts the attempt.
        ///
        /// Then call ``sendCommitted(_:now:)`` or ``sendNotCommitted(_:randomUnit:now:)``.
        case commitSend(ModifierNumber)
        /// As `commitSend`, with those of the others that can be joined to the modifier.
        ///
        /// They are in their order, and each is joined only if those before it are. If all of them
        /// together need no request, ``sendNeedless(_:joined:now:)`` is called.
        case commitJoined(ModifierNumber, [ModifierNumber])
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
        case settle(ModifierNumber, Outcome, dependants: [ModifierNumber])
        /// As `settle`, with those that are joined to the modifier and have the same outcome.
        ///
        /// Confirmed, each of them is told to have settled.
        case settleJoined(
            ModifierNumber,
            Outcome,
            joined: [ModifierNumber],
            dependants: [ModifierNumber]
        )
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

        package init(
            state: ModifierState,
            until: Duration?,
            attempts: Int,
            answersNotApplied: Int,
            isStalled: Bool,
            isPerhapsApplied: Bool,
            round: ModifierRound = .same
        ) {
            (self.state, self.until, self.isStalled) = (state, until, isStalled)
            (self.attempts, self.answersNotApplied) = (attempts, answersNotApplied)
            (self.isPerhapsApplied, self.round) = (isPerhapsApplied, round)
        }
    }

    /// How a modifier leaves the queue.
    package enum Outcome: Equatable, Sendable {
        case confirmed
        /// The dependants fail with `parent_failed`.
        case failed(ModifierReason)
        /// The dependants are cancelled, too.
        case cancelled

        /// The outcome for the modifiers that depend on this one.
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
