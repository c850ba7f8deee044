import LarderModel

extension ModifierQueue {
    /// The state of a modifier, with the data that it needs.
    enum State: Equatable, Sendable {
        case waiting(Written)
        case committingSend(wasUnknown: Bool)
        case inFlight(wasUnknown: Bool)
        /// As `accepted`, but confirmed: an answer for a shared row ends it.
        case answered
        /// The shell writes the next state, or an edit that leaves the state as it was.
        case changing(to: Written)
        case settling(Outcome)
    }

    /// A state of a row in which the modifier waits.
    enum Written: Equatable, Sendable {
        case held(until: Duration)
        case queued
        case retryWait(until: Duration)
        /// Nil: a person decides.
        case unknown(until: Duration?)
        case authWait
        /// A person decides.
        case conflict
        /// Out of its lanes.
        case accepted(until: Duration)

        var pauseEnd: Duration? {
            switch self {
            case .retryWait(let end), .unknown(.some(let end)): end
            case .held, .queued, .unknown(nil), .authWait, .conflict, .accepted: nil
            }
        }
    }

    /// A modifier; without references, so that a hundred thousand are one block of memory.
    struct Node: Equatable, Sendable {
        let number: ModifierNumber
        let account: Int32
        /// The first of its places in the lanes; -1 without any.
        var places: Int32 = -1
        var closedPlaces: Int32 = 0
        var unmetDependencies: Int32 = 0
        var attempts: Int32
        var attemptsMax: Int32
        var answersNotApplied: Int32
        var state: State
        var expires: Duration?
        var resends: Bool
        /// Whether others may be joined to it, and whether it may be joined to another one.
        var mayLead: Bool
        var mayFollow: Bool
        /// Whether a person decides after each attempt without a clear answer.
        var holds: Bool
        /// Whether the present attempt has an If-Match of the daemon.
        var isConditional = false
        var mayHaveLeft: Bool
        /// Whether bytes may have left before the present attempt.
        var hadLeft: Bool
        /// Whether an attempt ended without a word that denies that it was applied.
        var isPerhapsApplied: Bool
        var isStalled: Bool
        var isDue = false
        /// The end of the origin's Retry-After; until then only an operator ends the pause.
        var floor = Duration.zero
        /// The number of attempts when another modifier's success ended its pause; -1 for never.
        var wokenAfter: Int32 = -1
        /// The version of the origin's settings at its attempt, and of its account's credential.
        var sentWith: Int32 = 0
        var sentUnder: Int32 = 0

        /// Whether it may be sent again after no clear answer.
        var isRepeatable: Bool { resends || isConditional && !holds }

        /// Whether another modifier's success may end its pause.
        ///
        /// It may not twice in a row: traffic must not undo the backoff of a modifier that always
        /// fails.
        var mayBeWoken: Bool { wokenAfter < 0 || attempts > wokenAfter + 1 }

        /// The end of its pause, while that lasts.
        var pauseEnd: Duration? {
            guard case .waiting(let row) = state, !isDue else { return nil }
            return row.pauseEnd
        }

        /// Whether nothing about the modifier itself prevents sending it.
        var isReady: Bool {
            guard closedPlaces == 0, unmetDependencies == 0, case .waiting(let row) = state
            else { return false }
            return row == .queued || isDue && row.pauseEnd != nil
        }

        /// Whether the modifier may still expire: no byte of it can have left in any attempt.
        var mayExpire: Bool {
            guard !mayHaveLeft, !isPerhapsApplied else { return false }
            return switch state {
            case .waiting(.held), .waiting(.queued), .waiting(.retryWait), .waiting(.authWait): true
            case .committingSend, .inFlight, .waiting, .answered, .changing, .settling: false
            }
        }

        var isSettling: Bool {
            if case .settling = state { true } else { false }
        }

        /// The time at which its state ends without an event.
        var end: Duration? {
            switch state {
            case .waiting(.held(let end)), .waiting(.accepted(let end)): end
            case .committingSend, .inFlight, .waiting, .answered, .changing, .settling: pauseEnd
            }
        }

        /// The time at which the queue has to act on it.
        var wake: Duration? {
            guard mayExpire, let expires else { return end }
            return end.map { min($0, expires) } ?? expires
        }
    }

    struct OriginAccountKey: Hashable, Sendable {
        let owner: Int32
        let origin: Int32
    }

    struct OriginUserKey: Hashable, Sendable {
        let uid: UInt32?
        let origin: Int32
    }

    /// The accounts of a user at an origin.
    struct OriginUser: Sendable {
        /// The accounts that have a ready modifier, in turn.
        var accounts = SlotHeap<Turn>()
        /// Attempts of all its accounts between their send step and their end.
        var underWay: Int32 = 0
        /// The ``ModifierQueue/turns`` at its last attempt, or at its first modifier.
        var lastTurn: Int64 = 0

        /// The place among the users of its origin; nil without a ready modifier.
        var turn: Turn? {
            accounts.first.map { account in
                Turn(underWay: underWay, lastTurn: lastTurn, first: account.key.first)
            }
        }
    }

    struct OriginAccount: Sendable {
        let user: Int32
        /// The modifiers that may be sent, by their numbers.
        var ready = SlotHeap<ModifierNumber>()
        /// The modifiers that wait for a credential: the origin refused theirs, or there is none.
        var refused: Set<ModifierNumber> = []
        var access = Access.open
        /// The number of changes of its credential.
        var credential: Int32 = 0
        var rest = Rest.open
        /// Attempts between their send step and their end.
        var underWay: Int32 = 0
        /// The ``ModifierQueue/turns`` at its last attempt, or at its first modifier.
        var lastTurn: Int64 = 0

        /// The place among the accounts of its user; nil without a ready modifier.
        var turn: Turn? {
            ready.first.map { Turn(underWay: underWay, lastTurn: lastTurn, first: $0.key) }
        }

        /// Whether nothing about the account itself keeps its modifiers from being sent.
        var mayBeAsked: Bool { access.admits && rest.admits }
    }

    /// The order of an origin's users, and of each user's accounts: fewer attempts under way go
    /// first, then who has waited longer since the last attempt, then the earlier modifier.
    ///
    /// So the writes of one user do not wait for all earlier writes of another one, however many
    /// accounts that one names.
    struct Turn: Comparable, Sendable {
        let underWay: Int32
        let lastTurn: Int64
        let first: ModifierNumber

        static func < (turn: Turn, other: Turn) -> Bool {
            (turn.underWay, turn.lastTurn, turn.first)
                < (other.underWay, other.lastTurn, other.first)
        }
    }

    /// How far an account's credential is trusted.
    enum Access: Equatable, Sendable {
        case open
        /// Sends one modifier at a time, after so many refusals in a row; the probe is in flight.
        case doubt(refusals: Int, probe: ModifierNumber?)

        var admits: Bool {
            switch self {
            case .open: true
            case .doubt(let refusals, let probe):
                probe == nil && refusals < Limits.credentialRefusalsMax
            }
        }
    }

    /// How an account respects the time for which an origin told it to wait.
    enum Rest: Equatable, Sendable {
        case open
        case paused(until: Duration)
        /// The time is over: the next ready modifier is tried.
        case due
        /// The modifier is in flight as a probe: it shows whether the origin takes more.
        case halfOpen(ModifierNumber)
        /// The origin took one modifier; the others follow from then on.
        case rampingUp(until: Duration)

        var admits: Bool {
            switch self {
            case .open, .due: true
            case .paused, .halfOpen, .rampingUp: false
            }
        }

        var end: Duration? {
            switch self {
            case .paused(let end), .rampingUp(let end): end
            case .open, .due, .halfOpen: nil
            }
        }
    }

    struct Origin: Sendable {
        let name: OriginName
        var availability = OriginAvailability.open
        /// Attempts between their send step and their end.
        var underWay = 0
        /// The users whose accounts have a ready modifier, in turn.
        var users = SlotHeap<Turn>()
        /// Whether a modifier may be sendable now that was not before.
        var isTouched = false
        /// Attempts in a row that ended without an effect; two are an outage.
        var failing = 0
        /// The number of changes of its settings.
        var settings: Int32 = 0
    }

    enum OriginAvailability: Equatable, Sendable {
        case open
        /// The origin has answered again; the waiting modifiers follow from then on.
        case rampingUp(until: Duration)
        case down(Outage, probe: Duration)
        /// The modifier is in flight as a probe: it shows whether the origin is back.
        case halfOpen(Outage, ModifierNumber)
        case setOffline
    }

    struct Outage: Equatable, Sendable {
        var isCaptive: Bool
        /// The number of failed probes.
        var failures: Int
    }
}
