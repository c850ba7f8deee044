import LarderWire

/// Which modifiers a list is of.
public enum ModifierSelection: Equatable, Sendable {
    /// Those that are to be sent or answered, and those that failed for good.
    case open
    /// Those that are to be sent or answered.
    case unsettled
    /// The history, the latest first.
    case settled
    /// Those in one state.
    case state(LarderAPI.ModifierState)
}

extension ModifierSelection {
    /// The parameter `state`.
    var text: String? {
        switch self {
        case .open: nil
        case .unsettled: "unsettled"
        case .settled: "settled"
        case .state(let state): state.rawValue
        }
    }
}
