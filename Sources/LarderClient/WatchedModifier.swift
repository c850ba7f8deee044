import LarderModel
import LarderWire

/// A queued write that has come to another state.
public struct WatchedModifier: Sendable {
    /// The step in which it has.
    public let revision: Int64
    /// Its id.
    public let id: String
    /// `held`, `queued`, `retry_wait`, `accepted`, `unknown`, `conflict`, `auth_wait`, `confirmed`,
    /// `dead` or `cancelled`.
    public let state: String
    /// Of a dead one why: `refused`, `attempts`, `expired`, `parent-failed`, `discarded`,
    /// `unreadable`.
    public let reason: String?
    /// The ids that it changes; of a dead or cancelled one those that show it no more.
    public let targets: [String]
    /// The same for entities.
    public let entities: [EntityID]
    /// Of a dead one what went wrong, with what the origin answered.
    public let error: LarderError?
    /// Whether it was tried so often that somebody should look.
    public let isStalled: Bool
    /// Whether the dead letter is kept no more.
    public let isDropped: Bool
    /// Whether a client of the watching client's ``LarderClient/LarderClient/name`` has written it.
    public let isOwn: Bool

    init(_ event: WatchFrame.ModifierEvent) {
        let change = event.change
        revision = event.revision.number
        id = change.id.text
        state = change.state.rawValue
        reason = change.reason?.rawValue
        targets = change.targets.filter { !$0.isEntity }.map(\.text)
        entities = change.targets.compactMap(\.entity).map(EntityID.init)
        error = (try? Problem(decoding: change.problem)).map { .problem($0) }
        isStalled = change.mark == .stalled
        isDropped = change.mark == .dropped
        isOwn = event.isOwn
    }
}
