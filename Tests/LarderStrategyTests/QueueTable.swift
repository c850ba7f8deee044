import LarderModel
import LarderStrategy

/// Where a modifier can be.
enum QueuePlace: CaseIterable {
    case held
    /// Its origin is set offline.
    case queued
    case committingSend
    case inFlight
    case retryWait
    /// It is going to be sent again by itself.
    case unknown
    /// Nobody knows, and a person decides.
    case doubtful
    case authWait
    case conflict
    case accepted
    /// `retry_wait` is being written.
    case changing
    case settling
}

enum QueueEvent: CaseIterable {
    case sendCommitted
    case sendNotCommitted
    /// A change of another device was found before the send step.
    case sendConflicted
    case confirmed
    case taken
    case notNow
    case refused
    /// Another version is there, and a person decides.
    case conflicted
    /// So, and the next round begins.
    case outdated
    case authNeeded
    case unclear
    case captive
    case neverLeft
    case changeCommitted
    case settleCommitted
    case cancelAsked
    case discardAsked
    case retryAsked
    case readConfirmed
    case credentialChanged
    /// An hour, in which whatever ends by itself has ended.
    case timePassed
    case acceptedAgain

    /// How an attempt can end.
    static let ends: Set<QueueEvent> = [
        .confirmed, .taken, .notNow, .refused, .conflicted, .outdated, .authNeeded, .unclear,
        .captive, .neverLeft,
    ]
    /// Commits of steps.
    static let commits: Set<QueueEvent> = [
        .sendCommitted, .sendNotCommitted, .sendConflicted, .changeCommitted, .settleCommitted,
    ]
}

enum QueueReaction: Equatable {
    case actions([ModifierQueue.Action])
    case refused(ModifierQueue.Refusal)
}

/// Every event in every place: what is returned, and where it leads.
///
/// Written out by hand from the contract, not computed from the machine.
struct QueueTable {
    struct Place {
        /// What leads somewhere or is refused; nil: it has left.
        let reactions: [QueueEvent: (QueueReaction, ModifierState?)]
        /// What changes nothing.
        let quiet: Set<QueueEvent>
    }

    let script: QueueScript
    private let half = QueueScript.start + .milliseconds(500)
    private let send = QueueReaction.actions([.commitSend(ModifierNumber(1))])

    init(_ script: QueueScript) {
        self.script = script
    }

    private func settle(_ outcome: ModifierQueue.Outcome) -> QueueReaction {
        .actions([script.settle(1, outcome)])
    }

    private func change(
        _ state: ModifierState,
        _ until: Duration? = nil,
        attempts: Int = 1,
        notApplied: Int = 0,
        isPerhapsApplied: Bool? = nil,
        round: ModifierRound = .same
    ) -> QueueReaction {
        .actions(
            [
                script.change(
                    1,
                    state,
                    until: until,
                    attempts: attempts,
                    notApplied: notApplied,
                    isPerhapsApplied: isPerhapsApplied,
                    round: round
                )
            ]
        )
    }

    func place(_ place: QueuePlace) -> Place {
        switch place {
        case .held: held
        case .queued: queued
        case .committingSend: committingSend
        case .inFlight: inFlight
        case .retryWait:
            waiting(.retryWait, ends: (send, .inFlight), notApplied: 1, isPerhapsApplied: false)
        case .unknown: waiting(.unknown, ends: (send, .inFlight), isPerhapsApplied: true)
        case .doubtful: waiting(.unknown, ends: nil, isPerhapsApplied: true)
        case .authWait: authWait
        case .conflict: conflict
        case .accepted: accepted
        case .changing: changing
        case .settling: settling
        }
    }

    private var held: Place {
        Place(
            reactions: [
                .timePassed: (change(.queued, attempts: 0), .queued),
                .cancelAsked: (settle(.cancelled), .cancelled),
                .discardAsked: (settle(.cancelled), .cancelled),
                .retryAsked: (.refused(.nothingToRetry), .held),
            ],
            quiet: QueueEvent.ends.union(QueueEvent.commits)
                .union([.readConfirmed, .credentialChanged, .acceptedAgain])
        )
    }

    private var queued: Place {
        Place(
            reactions: [
                .cancelAsked: (settle(.cancelled), .cancelled),
                .discardAsked: (settle(.cancelled), .cancelled),
                .retryAsked: (.refused(.nothingToRetry), .queued),
            ],
            quiet: QueueEvent.ends.union(QueueEvent.commits)
                .union([.readConfirmed, .credentialChanged, .timePassed, .acceptedAgain])
        )
    }

    private var committingSend: Place {
        Place(
            reactions: [
                .sendCommitted: (.actions([.send(ModifierNumber(1))]), .inFlight),
                .sendNotCommitted: (.actions([]), .retryWait),
                .sendConflicted: (change(.conflict, attempts: 0), .conflict),
                .cancelAsked: (.refused(.inFlight), .inFlight),
                .discardAsked: (.refused(.inFlight), .inFlight),
                .retryAsked: (.refused(.inFlight), .inFlight),
            ],
            quiet: QueueEvent.ends.union(
                [
                    .changeCommitted, .settleCommitted, .readConfirmed, .credentialChanged,
                    .timePassed, .acceptedAgain,
                ]
            )
        )
    }

    private var inFlight: Place {
        Place(
            reactions: [
                .confirmed: (settle(.confirmed), .confirmed),
                .taken: (change(.accepted, QueueScript.start + .seconds(600)), .accepted),
                .notNow: (change(.retryWait, half, notApplied: 1), .retryWait),
                .refused: (settle(.failed(.refused)), .failed),
                .conflicted: (change(.conflict), .conflict),
                .outdated: (change(.queued, round: .next), .queued),
                .authNeeded: (change(.authWait, attempts: 0), .authWait),
                .unclear: (change(.unknown, half), .unknown),
                .captive: (change(.queued, attempts: 0), .queued),
                .neverLeft: (change(.queued, attempts: 0), .queued),
                .cancelAsked: (.refused(.inFlight), .inFlight),
                .discardAsked: (.refused(.inFlight), .inFlight),
                .retryAsked: (.refused(.inFlight), .inFlight),
            ],
            quiet: QueueEvent.commits.union(
                [.readConfirmed, .credentialChanged, .timePassed, .acceptedAgain]
            )
        )
    }

    /// One that waits for a time or a person, after an attempt or in a conflict.
    private func waiting(
        _ state: ModifierState,
        ends: (QueueReaction, ModifierState)?,
        notApplied: Int = 0,
        isPerhapsApplied: Bool
    ) -> Place {
        let retried = change(.queued, notApplied: notApplied, isPerhapsApplied: isPerhapsApplied)
        var reactions: [QueueEvent: (QueueReaction, ModifierState?)] = [
            .cancelAsked: isPerhapsApplied
                ? (.refused(.alreadySent), state) : (settle(.cancelled), .cancelled),
            .discardAsked: isPerhapsApplied
                ? (settle(.failed(.discarded)), .failed) : (settle(.cancelled), .cancelled),
            .retryAsked: (retried, .queued),
        ]
        var quiet = QueueEvent.ends.union(QueueEvent.commits)
        quiet.formUnion([.readConfirmed, .credentialChanged, .acceptedAgain])
        if let ends { reactions[.timePassed] = ends } else { quiet.insert(.timePassed) }
        return Place(reactions: reactions, quiet: quiet)
    }

    private var authWait: Place {
        Place(
            reactions: [
                .credentialChanged: (change(.queued, attempts: 0), .queued),
                .cancelAsked: (settle(.cancelled), .cancelled),
                .discardAsked: (settle(.cancelled), .cancelled),
                .retryAsked: (change(.queued, attempts: 0), .queued),
            ],
            quiet: QueueEvent.ends.union(QueueEvent.commits)
                .union([.readConfirmed, .timePassed, .acceptedAgain])
        )
    }

    private var conflict: Place {
        Place(
            reactions: [
                .cancelAsked: (settle(.cancelled), .cancelled),
                .discardAsked: (settle(.cancelled), .cancelled),
                .retryAsked: (change(.queued, round: .decided), .queued),
            ],
            quiet: QueueEvent.ends.union(QueueEvent.commits)
                .union([.readConfirmed, .credentialChanged, .timePassed, .acceptedAgain])
        )
    }

    private var accepted: Place {
        Place(
            reactions: [
                .readConfirmed: (settle(.confirmed), .confirmed),
                .timePassed: (settle(.confirmed), .confirmed),
                .cancelAsked: (.refused(.alreadySent), .accepted),
                .discardAsked: (settle(.failed(.discarded)), .failed),
                .retryAsked: (.refused(.nothingToRetry), .accepted),
            ],
            quiet: QueueEvent.ends.union(QueueEvent.commits)
                .union([.credentialChanged, .acceptedAgain])
        )
    }

    private var changing: Place {
        Place(
            reactions: [
                .changeCommitted: (.actions([]), .retryWait),
                .cancelAsked: (.refused(.notNow), .retryWait),
                .discardAsked: (.refused(.notNow), .retryWait),
                .retryAsked: (.refused(.notNow), .retryWait),
            ],
            quiet: QueueEvent.ends.union(
                [
                    .sendCommitted, .sendNotCommitted, .sendConflicted, .settleCommitted,
                    .readConfirmed,
                    .credentialChanged, .timePassed, .acceptedAgain,
                ]
            )
        )
    }

    private var settling: Place {
        Place(
            reactions: [
                .settleCommitted: (.actions([]), nil),
                .cancelAsked: (.refused(.notNow), .confirmed),
                .discardAsked: (.refused(.notNow), .confirmed),
                .retryAsked: (.refused(.notNow), .confirmed),
            ],
            quiet: QueueEvent.ends.union(
                [
                    .sendCommitted, .sendNotCommitted, .sendConflicted, .changeCommitted,
                    .readConfirmed,
                    .credentialChanged, .timePassed, .acceptedAgain,
                ]
            )
        )
    }
}
