package import LarderModel

/// The facts of an unsettled modifier's row that decisions need.
///
/// The request and the effects are left out.
package struct ModifierRecord: Equatable, Sendable {
    package let number: ModifierNumber
    /// The user and account of its lanes and credentials.
    package let scope: Scope
    package let origin: OriginName
    /// The lanes of its targets and the named lane; a repeated lane counts once.
    package var lanes: [Lane]
    /// The modifiers that must be confirmed before it.
    ///
    /// Settled ones are left out, or named as failed.
    package var dependsOn: [ModifierNumber] = []
    /// The time of its acceptance; `answeredAt` is the time of its last answer.
    ///
    /// All its times are from the same clock. So the durations between them are right, even if the
    /// clock is wrong now.
    package var acceptedAt: Timestamp?
    package var answeredAt: Timestamp?
    package var holdUntil: Timestamp?
    package var expiresAt: Timestamp?
    /// The largest number of counted attempts; nil for any number.
    package var attemptsMax: Int?
    /// Whether it is sent again automatically after no clear answer
    /// (``ModifierRequest/resends(_:)``).
    package var resends: Bool
    /// Whether a person decides after each attempt without a clear answer (`after_unknown: hold`).
    package var holds = false
    /// Whether others may be joined to it, and whether it may be joined to another one (case 17).
    package var mayLead = false
    package var mayFollow = false
    /// The modifier whose request makes its changes, too.
    package var joinedInto: ModifierNumber?
    package var state = ModifierState.queued
    /// Whether the origin has confirmed it while it waits in `accepted` for a shared row to show
    /// it.
    package var isAnswered = false
    /// The number of counted attempts.
    package var attempts = 0
    /// The number of answers that said that it was not applied for now.
    package var answersNotApplied = 0
    package var isStalled = false
    /// The time of the next attempt; in `accepted` the time at which it counts as confirmed.
    package var nextAttemptAt: Timestamp?
    /// Whether bytes of it may have left in any attempt, counted or not.
    ///
    /// This is so if an attempt was counted, or if an answer is kept.
    package var mayHaveLeft = false
    /// Whether an attempt ended, or broke off, without a word that denies that it was applied.
    package var isPerhapsApplied = false

    package init(
        number: ModifierNumber,
        scope: Scope,
        origin: OriginName,
        lanes: [Lane],
        resends: Bool
    ) {
        self.number = number
        self.scope = scope
        self.origin = origin
        self.lanes = lanes
        self.resends = resends
    }
}
