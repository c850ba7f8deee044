package import LarderModel

/// The new state of a modifier's row; a settled modifier stays as it is.
package struct ModifierUpdate: Sendable {
    package var number: ModifierNumber
    package let state: ModifierState
    package var nextAttemptAt: Timestamp?
    package var attempts: Int
    package var answersNotApplied: Int
    package var isStalled: Bool
    package var isPerhapsApplied: Bool
    /// Nil leaves the last one.
    package var answer: StoredAnswer?
    package var round = ModifierRound.same
    /// Of a conflict: what was found at the targets, as the engine writes it.
    package var theirs: [EntryID: [UInt8]] = [:]
    /// JSON that tells watchers of a conflict; opaque here.
    package var conflict: [UInt8] = []

    package init(
        number: ModifierNumber,
        state: ModifierState,
        nextAttemptAt: Timestamp?,
        attempts: Int,
        answersNotApplied: Int,
        isStalled: Bool,
        isPerhapsApplied: Bool = false
    ) {
        self.number = number
        self.state = state
        self.nextAttemptAt = nextAttemptAt
        self.attempts = attempts
        self.answersNotApplied = answersNotApplied
        self.isStalled = isStalled
        self.isPerhapsApplied = isPerhapsApplied
    }
}

package struct Settlement: Sendable {
    package let number: ModifierNumber
    package let outcome: Outcome
    /// The last answer; nil leaves the one that is kept.
    package var answer: StoredAnswer?
    /// JSON that tells watchers why the modifier died; opaque here.
    package var problem: [UInt8] = []
    /// JSON that tells watchers the answer; opaque here.
    package var toldAnswer: [UInt8] = []
    /// The rows that show its targets although no change names them.
    package var variants: [VariantRows] = []
    package var isShown = false
    /// Whether the modifier leaves although it waits for an answer of a shared row.
    package var endsWait = false
    /// Of a conflict: what was found at the targets.
    package var theirs: [EntryID: [UInt8]] = [:]
    /// Gives later modifiers the new values that they see when this one is confirmed.
    package var reseeing: SeenValues.Renewal = { _, _, _ in nil }
    /// Whether its targets are to be read again.
    package var isReadAgain = false
    /// Whether its request was a DELETE: a target that it has deleted needs no read.
    package var isDeletion = false
    /// Gives the targets on which it has an effect.
    package var changed: @Sendable () -> Set<EntryID> = { [] }

    package enum Outcome: Sendable {
        /// The new base of each target; called on the writer's thread, once or more often.
        case confirmed(@Sendable (EntryID, TargetBase) -> BaseUpdate)
        case failed(ModifierReason, @Sendable (EntryID, TargetBase) -> LostView)
        case cancelled
    }

    package init(number: ModifierNumber, outcome: Outcome, answer: StoredAnswer? = nil) {
        self.number = number
        self.outcome = outcome
        self.answer = answer
    }
}

package struct VariantPlaces: Equatable, Sendable {
    package let prefix: String
    package let scopes: [ScopeKey]

    package init(prefix: String, scopes: [ScopeKey]) {
        self.prefix = prefix
        self.scopes = scopes
    }
}

/// A part of the rows whose ids begin with a prefix, in the order of their ids.
struct VariantPage {
    /// A read's id and a space.
    let prefix: String
    private var from: String
    /// Whether reads with a body, which have their URL's prefix, are among them.
    private let hasReads: Bool

    init(prefix: String, hasReads: Bool = false) {
        (self.prefix, from, self.hasReads) = (prefix, prefix, hasReads)
    }

    /// The part after an id, which no other can follow before it with a control character.
    func after(_ id: String) -> VariantPage {
        var next = self
        next.from = id + "\u{1}"
        return next
    }

    func bind(to statement: SQLiteStatement, _ scope: ScopeKey) -> SQLiteStatement {
        statement.bind(":scope", scope.text)
        statement.bind(":prefix", prefix)
        statement.bind(":from", from)
        statement.bind(":end", RowQuery.end(ofPrefix: prefix))
        statement.bind(":all", hasReads)
        return statement
    }
}

/// The variants of a target: rows that show it although no change names them.
///
/// When the modifier is confirmed, they get its result or are marked to be fetched again.
package struct VariantRows: Sendable {
    package let places: VariantPlaces
    package let update: @Sendable (VariantRow, TargetBase) -> BaseUpdate

    package init(
        in places: VariantPlaces,
        update: @escaping @Sendable (VariantRow, TargetBase) -> BaseUpdate
    ) {
        self.places = places
        self.update = update
    }
}

package struct VariantRow: Hashable, Sendable {
    package let id: EntryID
    package let place: ScopeKey
}

package struct DepartedModifier: Sendable {
    package let whole: WholeModifier
    package let variants: [VariantRow]
    /// Whether it has not left: it waits for an answer of a shared row.
    package let waits: Bool
    /// Whether it has waited for that before this step, which has changed nothing of it.
    package var hasWaited: Bool { waits && whole.modifier.isAnswered }
    /// The step that settled it.
    package let revision: Revision
}

/// A row that is to be read again, as a write of it has ended.
package struct WantedRead: Sendable {
    package let scope: Scope
    package let id: EntryID
    package let revision: Revision
}

/// A modifier of which bytes may leave from now on, and what its targets are without it.
package struct DepartingModifier: Sendable {
    package internal(set) var whole: WholeModifier
    /// Without those of which nothing is known; bytes in chunks are not read.
    package let bases: [EntryID: TargetBase]
    /// With all bytes: the targets that are compared before the modifier is sent.
    package let compared: [EntryID: TargetBase]
    /// The ETag that the request's own URL gave last, where that is a target's own URL.
    package let etag: String?
    /// Whether that ETag names coded bytes, so that an If-Match needs the one of the plain bytes.
    package let isTagOfCodedBytes: Bool
    /// Effects on the targets that the origin has taken, although base may not show them yet.
    package let taken: [EntryID: [[UInt8]]]
    /// Whether it creates things whose ids the answer is to tell.
    package let createsIDs: Bool
    /// The modifiers whose changes its request makes, too.
    package internal(set) var joined: [WholeModifier] = []
    package internal(set) var decision = SendDecision.send(etag: nil)
}

/// Whether a modifier is sent, as the engine decides in the transaction of the send step.
package enum SendDecision: Equatable, Sendable {
    /// With an If-Match, which stays for the round.
    case send(etag: String?)
    /// Nothing changes: the engine has to look something up first.
    case look
    /// Nothing changes but what was found at the targets.
    case stop(theirs: [EntryID: [UInt8]])
    /// The modifiers that are joined to it are sent alone, and it is looked at again.
    case part
    /// Nothing changes: together with those that are joined to it, the modifier needs no request.
    case needless
}

/// The places of a target that a modifier changes, as the engine writes them.
package struct SeenValues: Equatable, Sendable {
    package let base: [UInt8]
    /// In the view beneath the modifier; nil: the same as in base.
    package let view: [UInt8]?

    package init(base: [UInt8], view: [UInt8]? = nil) {
        (self.base, self.view) = (base, view)
    }

    /// Gives the values that a waiting modifier sees once an earlier one was confirmed; nil: the same.
    ///
    /// The arguments are its change, and the target's base before that and after it. Called on the
    /// writer's thread.
    package typealias Renewal =
        @Sendable (StoredChange, TargetBase, TargetBase) -> SeenValues?

    /// Gives the values that a modifier sees of a target, whose changes are those beneath it.
    ///
    /// Nil if nothing can be compared. The bytes are the effect of the modifier; the last argument
    /// gives the bytes of the request of another one. Called on the writer's thread.
    package typealias Reader =
        @Sendable (EntryID, Target, [UInt8], (ModifierNumber) -> [UInt8]?) -> SeenValues?
}

package enum BaseUpdate: Sendable {
    case keep
    case put(Entry, [UInt8])
    /// The result of an effect: the origin has said nothing of what it does not change.
    case derived(Entry, [UInt8])
    case tombstone(status: Int)
    case markStale
}

/// A target's view without a dead letter and with it; nil if the view shows nothing.
package struct LostView: Equatable, Sendable {
    package var before: [UInt8]?
    package var after: [UInt8]?

    package init(before: [UInt8]? = nil, after: [UInt8]? = nil) {
        self.before = before
        self.after = after
    }
}

package struct ModifierTransition: Equatable, Sendable {
    package let scope: Scope
    package let origin: OriginName
    /// Nil for one that this version does not know.
    package let from: ModifierState?
    package let to: ModifierState
    let wasStalled: Bool
    let isStalled: Bool

    /// Nil where it cannot be told whose it is.
    init?(_ row: QueuedRow, to change: ModifierUpdate) {
        guard let scope = Scope(text: row.scope), let origin = try? OriginName(row.origin) else {
            return nil
        }
        self.scope = scope
        self.origin = origin
        from = row.state
        to = change.state
        wasStalled = row.isStalled
        isStalled = change.isStalled
    }

    /// Whether watchers hear of the step.
    ///
    /// They hear when a modifier starts or stops waiting for an operator or a client. They do not
    /// hear of an attempt, nor of a retry until the modifier is stalled.
    var isTold: Bool {
        switch to {
        case .inFlight: false
        case .retryWait: isStalled && !wasStalled
        case .held, .queued:
            switch from {
            case .inFlight, .held, .queued: false
            case .retryWait: wasStalled
            case .confirmed, .accepted, .unknown, .authWait, .conflict, .failed, .cancelled, nil:
                true
            }
        case .accepted, .unknown, .authWait, .conflict: from != to
        case .confirmed, .failed, .cancelled: true
        }
    }
}
