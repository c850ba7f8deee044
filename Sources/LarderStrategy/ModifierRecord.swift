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
    /// When it was accepted, and answered last, by the clock that its other moments are from: so
    /// the durations between them are right, whatever the clock says now.
    package var acceptedAt: Timestamp?
    package var answeredAt: Timestamp?
    package var holdUntil: Timestamp?
    package var expiresAt: Timestamp?
    /// How many counted attempts there may be; nil for any number.
    package var attemptsMax: Int?
    /// Whether it is sent again by itself after no clear answer (``ModifierRequest/resends(_:)``).
    package var resends: Bool
    /// Whether a person decides after each attempt without a clear answer (`after_unknown: hold`).
    package var holds = false
    package var state = ModifierState.queued
    /// Whether the server has confirmed it, and it waits in `accepted` until a shared row shows it.
    package var isAnswered = false
    /// Counted ones.
    package var attempts = 0
    /// Answers that said that it was not applied for now.
    package var answersNotApplied = 0
    package var isStalled = false
    /// When it is tried again, or, in `accepted`, when it is taken for confirmed.
    package var nextAttemptAt: Timestamp?
    /// Whether bytes of it may have left in any attempt, be it counted or not: an attempt was
    /// counted, or an answer is kept.
    package var mayHaveLeft = false

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
