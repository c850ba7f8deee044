package import LarderModel

package struct ModifierTransition: Equatable, Sendable {
    package let scope: Scope
    package let origin: OriginName
    /// Nil for one that this version does not know.
    package let from: ModifierState?
    package let to: ModifierState
    let wasStalled: Bool
    let isStalled: Bool

    /// Nil where it cannot be told whose it is.
    init?(_ row: QueuedRow, to change: ModifierUpdate) {
        guard let scope = Scope(text: row.scope), let origin = try? OriginName(row.origin) else {
            return nil
        }
        self.scope = scope
        self.origin = origin
        from = row.state
        to = change.state
        wasStalled = row.isStalled
        isStalled = change.isStalled
    }

    /// Whether watchers hear of it: of what waits for somebody, or does so no more; not of an
    /// attempt, nor of its repetition until it is stalled.
    var isTold: Bool {
        switch to {
        case .inFlight: false
        case .retryWait: isStalled && !wasStalled
        case .held, .queued:
            switch from {
            case .inFlight, .held, .queued: false
            case .retryWait: wasStalled
            case .confirmed, .accepted, .unknown, .conflict, .authWait, .dead, .cancelled, nil: true
            }
        case .accepted, .unknown, .conflict, .authWait: from != to
        case .confirmed, .dead, .cancelled: true
        }
    }
}
