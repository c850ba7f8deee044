package import LarderModel

/// A modifier as it travels: what was asked, how it stands, and what it changes.
package struct ModifierReport: Equatable, Report {
    /// Something that is true of a modifier beside its state.
    package enum Mark: String, Sendable, CaseIterable {
        /// A lane of it is paused.
        case paused
        /// So many attempts were not applied that somebody should look.
        case stalled
        /// One of its effects does not fit what is there, and is left out of the view.
        case inapplicable
        /// The server has confirmed it; a shared row does not show it yet.
        case answered
    }

    /// Whether the server has confirmed it.
    package var isAnswered: Bool { marks.contains(.answered) }

    /// Whether it is settled, or counts as confirmed for who waits.
    package var isDone: Bool { state.isSettled || isAnswered }

    /// What the origin last answered to it.
    package struct Answer: Equatable, Sendable {
        package var status: Int
        /// Of its body at most ``Limits/quotedBodyBytesMax`` bytes.
        package var body: [UInt8]
        package var at: Timestamp
        /// Of the first answer that left open whether the modifier was applied, where there was one.
        package var unclearStatus: Int?

        package init(status: Int, body: [UInt8], at: Timestamp, unclearStatus: Int? = nil) {
            self.status = status
            self.body = body
            self.at = at
            self.unclearStatus = unclearStatus
        }
    }

    /// Why it is not sent now.
    package struct Wait: Equatable, Sendable {
        /// Such as `hold`, `lane`, `dependency`, `backoff`, `rest`, `offline`.
        package var reason: String
        /// The lane, the modifier, the origin or the account that it waits for.
        package var name: String?
        package var until: Timestamp?

        package init(reason: String, name: String?, until: Timestamp?) {
            self.reason = reason
            self.name = name
            self.until = until
        }
    }

    /// A target's view without the modifier and with it.
    package struct Effect: Equatable, Sendable {
        package var target: EntryID
        package var before: ViewReport
        package var after: ViewReport

        package init(target: EntryID, before: ViewReport, after: ViewReport) {
            self.target = target
            self.before = before
            self.after = after
        }
    }

    package var id: ModifierID
    package var state: ModifierState
    package var reason: ModifierReason?
    package var marks: [Mark] = []
    package var lanes: [Lane] = []
    package var targets: [EntryID] = []
    package var method: String
    package var url: String
    package var bodyByteCount: Int
    package var idempotencyKey: String
    /// Those that count.
    package var attempts: Int
    package var nextAttemptAt: Timestamp?
    package var waitingFor: Wait?
    package var answer: Answer?
    package var dependants: [ModifierID] = []
    package var uid: UInt32
    package var account: AccountName
    package var acceptedAt: Timestamp
    package var settledAt: Timestamp?
    package var revision: Revision
    /// One for each target; only where one modifier is shown.
    package var effects: [Effect] = []

    package init(
        id: ModifierID,
        state: ModifierState,
        method: String,
        url: String,
        bodyByteCount: Int,
        idempotencyKey: String,
        attempts: Int,
        uid: UInt32,
        account: AccountName,
        acceptedAt: Timestamp,
        revision: Revision
    ) {
        self.id = id
        self.state = state
        self.method = method
        self.url = url
        self.bodyByteCount = bodyByteCount
        self.idempotencyKey = idempotencyKey
        self.attempts = attempts
        self.uid = uid
        self.account = account
        self.acceptedAt = acceptedAt
        self.revision = revision
    }
}
