package import LarderModel

extension ModifierQueue {
    /// A task for the shell; the order within one list does not matter.
    package enum Action: Equatable, Sendable {
        /// Commit the send step: `in_flight`, the attempt counted.
        ///
        /// Then ``sendCommitted(_:now:)``, or ``sendNotCommitted(_:chance:now:)``.
        case commitSend(ModifierNumber)
        /// Send the request; then ``attemptEnded(_:_:rules:chance:now:)``.
        case send(ModifierNumber)
        /// Commit what the row says from now on, again and again until it is done; then
        /// ``changeCommitted(_:now:)``.
        ///
        /// It changes nothing in a row that is settled.
        case changeState(ModifierNumber, Change)
        /// Commit the settle step of the one and, in the same transaction, of its dependants, again
        /// and again until it is done; then ``settleCommitted(_:now:)``, or where a shared row has
        /// to show it first ``answerCommitted(_:now:)``.
        case settle(ModifierNumber, Outcome, dependants: [ModifierNumber])
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
        /// There is no unsettled modifier of this number.
        case notFound
        /// A step of it is being written: ask again when that is done.
        case notNow
        case inFlight
        /// Bytes of it may have left: it can only be discarded.
        case alreadySent
        /// Modifiers depend on it; all of them are named here.
        case hasDependants([ModifierNumber])
        /// The modifier waits for nothing that a retry would end.
        case nothingToRetry
    }

    /// Why a modifier is not sent now; moments are those of the monotonic clock.
    package enum Wait: Equatable, Sendable {
        case hold(until: Duration)
        /// An earlier one of this lane is not settled.
        case lane(Lane, behind: ModifierNumber)
        case pausedLane(Lane)
        case dependency(ModifierNumber)
        case backoff(until: Duration)
        case credential
        /// A person's: no clear answer came, or there is a conflict.
        case decision
        /// Until the origin is tried again, by it or by another.
        case offline(until: Duration)
        case captive(until: Duration)
        /// The one is being sent, to know whether the origin is back.
        case trial(ModifierNumber)
        case setOffline
        /// Until one of its account is tried, as the origin has told that to wait; nil while it is.
        case rest(until: Duration?)
        /// The origin already has as many modifiers in flight as it may have.
        case turn
        /// The request is in flight.
        case answer
        /// The origin answered 202. A read that shows the change ends the wait, or this moment.
        ///
        /// Nil: only a read ends it.
        case confirmation(until: Duration?)
        /// A step of it is being written.
        case commit
    }
}
