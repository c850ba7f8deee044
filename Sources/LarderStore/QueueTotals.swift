package import LarderModel

package struct QueueTotals: Equatable, Sendable {
    /// Unsettled modifiers by state, and dead letters as `dead`; a state without any is left out.
    package var byState: [ModifierState: Int64] = [:]
    /// Modifiers, dead letters, and the bases that are kept for nothing else.
    package var bytes: Int64 = 0
    /// Unsettled ones that their origin did not apply again and again.
    package var stalled: Int64 = 0
    package var waitingForPerson: [UInt32: [ModifierState: Int64]] = [:]
    package var maxModifiers: Int64 = 0
    package var maxBytes: Int64 = 0

    package var count: Int64 { byState.values.reduce(0, +) }
    package var dead: Int64 { byState[.dead] ?? 0 }
    package var unsettled: Int64 { count - dead }

    package var isNearlyFull: Bool { count * 5 > maxModifiers * 4 || bytes / 4 > maxBytes / 5 }
}
