package import LarderModel

/// What a modifier's row says from now on; nothing is changed in one that is settled.
package struct ModifierUpdate: Sendable {
    package let number: ModifierNumber
    package let state: ModifierState
    package var nextAttemptAt: Timestamp?
    package var attempts: Int
    package var answersNotApplied: Int
    package var isStalled: Bool
    /// Nil leaves the last one.
    package var answer: StoredAnswer?
    /// Nil leaves it.
    package var round: Int?

    package init(
        number: ModifierNumber,
        state: ModifierState,
        nextAttemptAt: Timestamp?,
        attempts: Int,
        answersNotApplied: Int,
        isStalled: Bool
    ) {
        self.number = number
        self.state = state
        self.nextAttemptAt = nextAttemptAt
        self.attempts = attempts
        self.answersNotApplied = answersNotApplied
        self.isStalled = isStalled
    }
}

/// How a modifier leaves the queue.
package struct Settlement: Sendable {
    package let number: ModifierNumber
    package let outcome: Outcome
    /// The last answer; nil leaves the one that is kept.
    package var answer: StoredAnswer?
    /// What watchers are told of its death, as JSON; opaque here.
    package var problem: [UInt8] = []

    package enum Outcome: Sendable {
        /// What becomes of the base of each target, from what it is now; called in its turn, once
        /// or more often.
        case confirmed(@Sendable (EntryID, KeptBase) -> BaseUpdate)
        /// A dead letter, with the view of each target before and after.
        case dead(ModifierReason, @Sendable (EntryID, KeptBase) -> LostView)
        case cancelled
    }

    package init(number: ModifierNumber, outcome: Outcome, answer: StoredAnswer? = nil) {
        self.number = number
        self.outcome = outcome
        self.answer = answer
    }
}

/// What a confirmed modifier makes of a base.
package enum BaseUpdate: Sendable {
    case keep
    /// Bytes that stand inline may be as many as they like.
    case put(Entry, NewBody)
    case tombstone(status: Int)
    /// What is there is to be asked for again.
    case markStale
}

/// What is shown without a dead letter and with it; nil where that is nothing.
package struct LostView: Equatable, Sendable {
    package var before: [UInt8]?
    package var after: [UInt8]?

    package init(before: [UInt8]? = nil, after: [UInt8]? = nil) {
        self.before = before
        self.after = after
    }
}

/// What left the queue in one settle step.
package struct SettleReceipt: Equatable, Sendable {
    /// Those that were not settled before.
    package var settled: [ModifierNumber] = []
    package let revision: Revision
}
