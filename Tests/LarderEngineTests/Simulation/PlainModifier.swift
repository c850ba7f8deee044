/// A modifier as the model knows it.
struct PlainModifier: Hashable, CustomStringConvertible {
    struct Change: Hashable, CustomStringConvertible {
        let path: String
        let effect: PlainEffect

        var description: String { "\(path) \(effect)" }

        /// The same for an origin that declares no empty form.
        var withoutForm: Change {
            guard case .addObject(let id, let object, _) = effect else { return self }
            return Change(path: path, effect: .addObject(id: id, object, hasForm: false))
        }
    }

    enum Standing: Hashable {
        /// Held while its hold lasts, else queued.
        case waiting
        /// Waiting, as before: its send step could not be written, and is tried again.
        case unsent
        case inFlight(wasUnknown: Bool)
        /// In flight still: the origin is asked for what each of these is, the first one now.
        case checking([String], isAsked: Bool, found: [String: PlainQueue.Base])
        case retryWait
        case unknown
        case authWait
        /// A person decides between it and what another device has written.
        case conflict(theirs: [String: PlainQueue.Base])
        case accepted(until: Duration)
        /// Confirmed, and shown until a read that started later shows a shared row.
        case answered
        case failed(String)
    }

    /// The decision about a write if another device has changed the same members.
    enum OnConflict {
        case person
        case server
        case client
    }

    /// The queue's next step after an attempt without a clear answer.
    enum Unclear {
        case auto
        case resend
        case hold
    }

    let id: String
    /// Whose it is.
    let user: Int
    /// Of one that is answered, those that no read has ended yet.
    var changes: [Change]
    let method: String
    var lanes: Set<String>
    var dependsOn: [String]
    let attemptsMax: Int?
    let unclear: Unclear
    /// Whether a repetition of its own request does no more than the first one.
    let isRepeatable: Bool
    /// Whether its POST has the object that it creates.
    var isCreate = false
    /// Nil for one that is not compared with what others have written.
    var onConflict: OnConflict?
    var holdUntil: Duration?
    var expiresAt: Duration?
    var round = 1
    var attempts = 0
    /// Answers that it was not applied.
    var notApplied = 0
    /// Whether a person decides although it may be repeated, as a repeat was refused.
    var needsPerson = false
    var standing = Standing.waiting
    var mayHaveLeft = false
    var hadLeft = false
    /// Whether an answer leaves open, however unlikely, that it was applied (case 18).
    var isPerhapsApplied = false
    /// Whether nobody knows how an attempt of this round ended.
    var mayBeApplied = false
    /// The write in whose request it is.
    var joinedInto: String?
    /// Whether a repetition of the request does no more that it makes with others; nil without others.
    var joinedIsRepeatable: Bool?
    /// What its targets' bases were when it was sent: by value, as one that is given back is the same.
    var sentOn: [String: PlainQueue.Base] = [:]
    /// The bases that the write has seen of its targets, without unknown ones.
    var seen: [String: PlainQueue.Seen] = [:]
    /// What its targets showed before it; empty while a revert restores no snapshot.
    var snapshot: [String: PlainQueue.Base] = [:]

    var description: String {
        let named = lanes.filter { $0.hasPrefix("name:") }.sorted()
        let terms = [
            "\(id) \(method) \(changes) \(named)", dependsOn.isEmpty ? nil : "after \(dependsOn)",
            attemptsMax.map { "attempts<=\($0)" }, resends ? nil : "not resent",
            holdUntil.map { "held until \($0)" }, expiresAt.map { "expires at \($0)" },
        ]
        return terms.compactMap { $0 }.joined(separator: ", ")
    }

    /// Whether it is sent again after an unclear end.
    var resends: Bool {
        switch unclear {
        case .auto: joinedIsRepeatable ?? isRepeatable
        case .resend: true
        case .hold: false
        }
    }

    /// Whether it has had as many attempts as it may have.
    var isSpent: Bool { attemptsMax.map { attempts >= $0 } ?? false }

    /// Whether it is unknown after a 500, although that is unlikely to have applied it.
    var isUnclearOnError: Bool { holds || !resends && (isSpent || notApplied >= 4) }

    /// Whether a person decides after each attempt without a clear answer.
    var holds: Bool { unclear == .hold }

    /// The same for every attempt of one round (P-05).
    var key: String { round > 1 ? "\(id).\(round)" : id }

    /// Whether it is unknown until a person decides.
    var waitsForPerson: Bool {
        if case .conflict = standing { return true }
        return standing == .unknown && (!resends || needsPerson)
    }

    var isDead: Bool {
        if case .failed = standing { true } else { false }
    }

    /// When its state ends by itself.
    var end: Duration? {
        switch standing {
        case .waiting, .unsent, .retryWait, .authWait: mayHaveLeft ? nil : expiresAt
        case .accepted(let end): end
        case .inFlight, .checking, .unknown, .conflict, .answered, .failed: nil
        }
    }

    /// Its name among the states of the design.
    func state(at now: Duration) -> String {
        switch standing {
        case .waiting: holdUntil.map { $0 > now } ?? false ? "held" : "queued"
        case .inFlight, .checking: "in_flight"
        case .unsent, .retryWait: "retry_wait"
        case .unknown: "unknown"
        case .authWait: "auth_wait"
        case .conflict: "conflict"
        case .accepted: "accepted"
        case .answered: "answered"
        case .failed: "failed"
        }
    }

    var isUnderWay: Bool {
        switch standing {
        case .inFlight, .checking: true
        case .waiting, .unsent, .retryWait, .unknown, .authWait, .conflict, .accepted, .answered,
            .failed:
            false
        }
    }

    func changes(_ path: String) -> [PlainEffect] {
        changes.filter { $0.path == path }.map(\.effect)
    }

    /// Visible changes that the program names: a read of their targets can show them.
    private var named: [Change] {
        visible.filter { if case .place = $0.effect { false } else { true } }
    }

    /// Those of its changes that show.
    var visible: [Change] { changes.filter { $0.effect != .none } }

    /// Whether it does something, and all of it is so in its targets as they are, where others that
    /// came later have done their part too.
    func isShown(before later: [PlainModifier] = [], in base: (String) -> PlainView) -> Bool {
        !named.isEmpty
            && named.allSatisfy { change in
                let effects = [change.effect] + later.flatMap { $0.changes(change.path) }
                var view: PlainView? = base(change.path)
                for effect in effects { view = view.flatMap { effect.applied(to: $0) } }
                return view == base(change.path) && view != .unknown
            }
    }
}
