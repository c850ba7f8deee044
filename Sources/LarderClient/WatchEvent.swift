import LarderModel
import LarderWire

/// What a watch tells.
public enum WatchEvent: Sendable {
    /// Other bytes stand under the id.
    case put(WatchedChange)
    /// The server has deleted it, or a client its own blob.
    case deleted(WatchedChange)
    /// It was dropped: nothing is known of it any more. With an `origin` the id is the key of an
    /// entity of it.
    case evicted(id: String, origin: String?, reason: String)
    /// A queued write has come to another state.
    case modifier(WatchedModifier)
    /// An origin is in another state: `online`, `offline`, `captive` or `unknown`.
    case origin(name: String, state: String)
    /// An origin has refused the account's credential, and what was written waits for another one
    /// (`needed`), or it goes on (`resumed`).
    case credential(origin: String, account: String, state: String)
    /// Everything up to this revision was told; `isInitial` ends the entries that there were.
    case reached(revision: Int64, isInitial: Bool)
    /// The daemon does not know any more what has changed since the last event: whatever the program
    /// holds may be old. It goes on from now.
    case lost
    /// There is no daemon at the moment; told once, and the watch goes on by itself.
    case disconnected(LarderError)

    init?(_ element: WatchLines.Element) {
        switch element {
        case .lost: self = .lost
        case .disconnected(let error): self = .disconnected(error)
        case .frame(let frame, _):
            switch frame {
            case .put(let event): self = .put(WatchedChange(event))
            case .delete(let event): self = .deleted(WatchedChange(event))
            case .evict(let event):
                let origin = event.id.entity?.origin.text
                self = .evicted(id: event.id.spelling, origin: origin, reason: event.reason)
            case .modifier(let event): self = .modifier(WatchedModifier(event))
            case .auth(_, let name, let account, let state):
                self = .credential(origin: name.text, account: account.text, state: state)
            case .origin(_, let name, let state): self = .origin(name: name.text, state: state)
            case .bookmark(let revision, let isInitialDone):
                self = .reached(revision: revision.number, isInitial: isInitialDone)
            case .lagged, .heartbeat, .end: return nil
            }
        }
    }
}

/// An entry or an entity that has changed.
public struct WatchedChange: Sendable, Equatable {
    /// The step that has changed it.
    public let revision: Int64
    /// Its id; of a fetched one the URL, of an entity the key.
    public let id: String
    /// Whose entity it is; nil of an entry.
    public let origin: String?
    /// The keys of the entities whose changes an entry shows, where they are known.
    public let changedKeys: [String]
    /// `network`, `client`, or `modifier` where a queued write was accepted or has left the queue.
    public let source: String
    /// What has brought it: `fetch:URL`, `modifier:ID`.
    public let cause: String?
    /// Whether a client of the watching client's ``LarderClient/LarderClient/name`` has made it.
    public let isOwn: Bool
    /// How many changes it stands for, where the program is slower than they are.
    public let count: Int
    /// Whether it was there when the watch began.
    public let isExisting: Bool

    init(_ event: WatchFrame.EntryEvent) {
        revision = event.revision.number
        id = event.id.spelling
        origin = event.id.entity?.origin.text
        changedKeys = event.changed.map(\.text)
        source = event.source
        cause = event.cause
        isOwn = event.isOwn
        count = event.coalesced
        isExisting = event.isInitial
    }
}
