package import LarderModel

extension RefreshMachine {
    /// The settings of an origin changed: from now on it is asked for a row at most every `least`.
    ///
    /// The intervals that followers and pins ask for stay, so that a lower bound gives them back.
    package mutating func bounded(
        _ origin: OriginName,
        by least: Duration,
        now: Duration,
        randomUnit: Double
    ) {
        defer { checkInvariants() }
        for (row, polled) in rows where polled.account.origin == origin {
            change(row, now: now, randomUnit) { $0.least = least }
        }
    }
}
