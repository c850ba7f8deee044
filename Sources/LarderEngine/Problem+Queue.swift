import LarderModel
import LarderWire

/// Why a command of the queue is refused.
extension Problem {
    static func noSuchModifier(_ id: ModifierID) -> Problem {
        Problem(.noSuchModifier, "there is no modifier '\(id)'")
    }

    /// Nobody was told that it was done.
    static func notWritten(_ report: ModifierReport, _ end: Wait.End) -> Problem {
        if case .daemonEnds = end { return .daemonEnds }
        return Problem(
            .overloaded,
            "what was asked of '\(report.id)' is not written down yet",
            hint: "GET /v1/modifiers/ID says what has become of it; GET /v1/status how the disk is."
        )
    }

    static func alreadySettled(_ report: ModifierReport) -> Problem {
        Problem(.alreadySettled, "'\(report.id)' is \(report.state.rawValue)")
    }
}
