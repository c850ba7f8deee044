import LarderWire

/// One step of a fetch.
///
/// A fetch has one snapshot or two, or in place of the second ``unchanged``, ``deleted`` or
/// ``failed(_:)``, and then ``end(_:)``.
public enum FetchUpdate: Sendable {
    /// What is known of the URL now: first what was cached, then what the network says.
    case snapshot(Snapshot)
    /// The network has what the snapshot before showed.
    case unchanged
    /// It is gone: its origin says or has said so (404 or 410), or a change that waits to be sent.
    case deleted
    /// The network failed after the cached answer, which stays.
    case failed(Problem)
    /// The origin is in another state; told where the URL is followed.
    case origin(OriginFrame)
    /// The last update, with how it went.
    case end(FetchOutcome)
}

extension FetchUpdate {
    /// Nil for a heartbeat, of which no program hears.
    package init?(_ frame: FetchFrame, client: LarderClient) {
        switch frame {
        case .snapshot(let snapshot): self = .snapshot(Snapshot(snapshot, client: client))
        case .unchanged: self = .unchanged
        case .deleted: self = .deleted
        case .problem(let frame): self = .failed(frame.problem)
        case .origin(let origin): self = .origin(origin)
        case .heartbeat, .other: return nil
        case .end(let end): self = .end(end.outcome)
        }
    }
}
