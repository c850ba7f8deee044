import LarderModel
package import LarderWire

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
    /// The origin is in another state, `online`, `offline`, `captive` or `unknown`; told where the
    /// URL is followed.
    case origin(name: String, state: String)
    /// The last update, with how it went.
    case end(FetchOutcome)

    /// How a fetch went.
    public enum FetchOutcome: String, Sendable {
        /// The network's answer was the last word.
        case network
        /// The network confirmed what was cached.
        case unchanged
        /// The last word was that it is gone.
        case deleted
        /// The network was not asked, or not waited for.
        case cache
        /// The network failed after the cached answer.
        case error
        /// The daemon ends; it may have had more to say.
        case shutdown
    }
}

extension FetchUpdate {
    /// Nil for a heartbeat, of which no program hears.
    package init?(_ frame: FetchFrame, client: LarderClient) {
        switch frame {
        case .snapshot(let snapshot): self = .snapshot(Snapshot(snapshot, client: client))
        case .unchanged: self = .unchanged
        case .deleted: self = .deleted
        case .error(let problem): self = .failed(problem)
        case .origin(_, let name, let state): self = .origin(name: name.text, state: state)
        case .heartbeat: return nil
        case .end(let end): self = .end(FetchOutcome(end.outcome))
        }
    }
}

extension FetchUpdate.FetchOutcome {
    fileprivate init(_ outcome: LarderWire.FetchOutcome) {
        self =
            switch outcome {
            case .network: .network
            case .unchanged: .unchanged
            case .deleted: .deleted
            case .cache: .cache
            case .error: .error
            case .shutdown: .shutdown
            }
    }
}
