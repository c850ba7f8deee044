/// One step of an entry that is followed; see ``LarderClient/follow(_:options:)``.
public enum FollowUpdate<Value: Sendable>: Sendable {
    /// What is known of the URL now; each view once.
    case value(Value)
    /// The network has what the value before showed.
    case unchanged
    /// The origin says that it is gone; it may come back.
    case deleted
    /// The network failed; what was shown stays, and the stream goes on.
    case failed(Problem)
    /// The origin is in another state; what was shown stays.
    case origin(OriginFrame)
    /// The daemon does not answer; it is tried again, and what was shown stays.
    ///
    /// It comes once, until the daemon is back.
    case disconnected(LarderError)
}
