/// A change that a step made, as watchers receive it.
package struct Change: Equatable, Sendable {
    /// The step's number; a step may change several things.
    package var revision: Revision
    package var scope: Scope
    package var event: Event
    /// For a shared row: scopes that have a row of their own under the id, and hear of that one.
    package var hiddenFrom: [Scope] = []

    package enum Event: Equatable, Sendable {
        /// The id has other bytes than before.
        case put(EntryID, ChangeCause)
        /// The origin deleted the entry, or a client deleted its own blob.
        case delete(EntryID, ChangeCause)
        /// The entry was evicted: nothing is known of it any more.
        case evict(EntryID, EvictionReason, client: ClientTag?)
        case modifier(ModifierChange)
        /// A thing with a temporary id has the origin's id from now on.
        case remapped(EntryID, EntryID)
    }

    package init(_ revision: Revision, _ scope: Scope, _ event: Event) {
        self.revision = revision
        self.scope = scope
        self.event = event
    }

    /// The entry that changed; nil for a modifier's change.
    package var id: EntryID? {
        switch event {
        case .put(let id, _), .delete(let id, _), .evict(let id, _, _): id
        case .modifier, .remapped: nil
        }
    }

    /// Names the entities in the entry that caused the change.
    package mutating func name(changed keys: [EntityKey]) {
        guard case .put(let id, var cause) = event else { return }
        cause.changed = Array(keys.prefix(Limits.toldChangedMax))
        event = .put(id, cause)
    }

    package mutating func add(changed keys: [EntityKey]) {
        guard case .put(_, let cause) = event else { return }
        name(changed: cause.changed + keys.filter { !cause.changed.contains($0) })
    }

    package var client: ClientTag? {
        switch event {
        case .put(_, let cause), .delete(_, let cause): cause.client
        case .evict(_, _, let client): client
        case .modifier(let change): change.client
        case .remapped: nil
        }
    }
}

package struct ChangeCause: Equatable, Sendable {
    package enum Source: Int64, CaseIterable, Sendable {
        case network = 0
        case client = 1
        /// A modifier was accepted or left the queue, and the target shows another value.
        case modifier = 2
    }

    package var source: Source
    /// Cause of the change, if it is not the id itself: `fetch:URL`, `modifier:ID`.
    package var text: String?
    package var client: ClientTag?
    /// Entities of the entry with another value, the first ``Limits/toldChangedMax``.
    package var changed: [EntityKey] = []

    package init(_ source: Source, text: String? = nil, client: ClientTag? = nil) {
        self.source = source
        self.text = text
        self.client = client
    }
}

/// Name from a client's `Larder-Client` header, by which the client recognizes its own changes.
///
/// Tags of two users are never equal.
package struct ClientTag: Hashable, Sendable {
    package let uid: UInt32
    package let name: String

    /// Takes 1 to 64 visible ASCII characters; nil for what is none.
    package init?(uid: UInt32, name: String) {
        guard (1...Limits.clientNameBytesMax).contains(name.utf8.count),
            name.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        self.uid = uid
        self.name = name
    }

    /// The form in a row: `UID:NAME`.
    package var text: String { "\(uid):\(name)" }

    /// Reads ``text``; nil for what is none.
    package init?(text: String) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let uid = Scope.uid(parts[0]) else { return nil }
        self.init(uid: uid, name: String(parts[1]))
    }
}

package enum EvictionReason: Int64, CaseIterable, Sendable {
    /// The entry was the least recently used.
    case lru = 0
    /// A blob past its ttl.
    case expired = 1
    case request = 2
    case damaged = 3
}

package struct ModifierChange: Equatable, Sendable {
    package enum Mark: String, CaseIterable, Sendable {
        /// So many attempts were not applied that an operator should look.
        case stalled
        /// The dead letter is no longer kept.
        case dropped
        /// The modifier has other changes and another request; its state is as it was.
        case edited
        /// The origin has confirmed the modifier; a shared row does not show it yet.
        case answered
    }

    package var id: ModifierID
    package var state: ModifierState
    package var mark: Mark?
    package var reason: ModifierReason?
    /// The modifier's targets; those of a settled one no longer show it.
    package var targets: [EntryID]
    /// Problem of the modifier as JSON, or its conflict; opaque here, empty if there is none.
    package var problem: [UInt8] = []
    /// Answer to a settled modifier as JSON, opaque here; empty if there is none.
    package var answer: [UInt8] = []
    package var client: ClientTag?

    package init(id: ModifierID, state: ModifierState, targets: [EntryID]) {
        self.id = id
        self.state = state
        self.targets = targets
    }
}

/// The kinds of frames that a watcher can choose, as they travel.
package enum WatchKind: String, CaseIterable, Sendable {
    case put
    case delete
    case evict
    case modifier
    case remapped
    case auth
    case origin
    case prefetch
}
