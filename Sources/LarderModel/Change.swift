/// One thing that a step has changed, as watchers hear of it.
package struct Change: Equatable, Sendable {
    /// The step's number; a step may change several things.
    package var revision: Revision
    package var scope: Scope
    package var event: Event
    /// Of a shared row's change: those who see something of their own under the id, and hear of that.
    package var hiddenFrom: [Scope] = []

    package enum Event: Equatable, Sendable {
        /// Other bytes stand under the id than before.
        case put(EntryID, ChangeCause)
        /// The origin says that it is gone, or a client has deleted its own blob.
        case delete(EntryID, ChangeCause)
        /// It was dropped: nothing is known of it any more.
        case evict(EntryID, EvictionReason, client: ClientTag?)
        /// A modifier has come to another state.
        case modifier(ModifierChange)
    }

    package init(_ revision: Revision, _ scope: Scope, _ event: Event) {
        self.revision = revision
        self.scope = scope
        self.event = event
    }

    /// The entry that it is about; nil for a modifier's.
    package var id: EntryID? {
        switch event {
        case .put(let id, _), .delete(let id, _), .evict(let id, _, _): id
        case .modifier: nil
        }
    }

    /// Says which of the entities in it have brought it about.
    package mutating func name(changed keys: [EntityKey]) {
        guard case .put(let id, var cause) = event else { return }
        cause.changed = Array(keys.prefix(Limits.toldChangedMax))
        event = .put(id, cause)
    }

    /// Says of more entities that they have brought it about.
    package mutating func add(changed keys: [EntityKey]) {
        guard case .put(_, let cause) = event else { return }
        name(changed: cause.changed + keys.filter { !cause.changed.contains($0) })
    }

    /// Who has brought it about, if it said so.
    package var client: ClientTag? {
        switch event {
        case .put(_, let cause), .delete(_, let cause): cause.client
        case .evict(_, _, let client): client
        case .modifier(let change): change.client
        }
    }
}

/// Why an entry has changed.
package struct ChangeCause: Equatable, Sendable {
    package enum Source: Int64, CaseIterable, Sendable {
        case network = 0
        case client = 1
        /// One was accepted, or has left the queue, and the target shows something else.
        case modifier = 2
    }

    package var source: Source
    /// What has brought it, where that is not the id: `fetch:URL`, `modifier:ID`.
    package var text: String?
    package var client: ClientTag?
    /// The entities in it that have another value, the first ``Limits/toldChangedMax``.
    package var changed: [EntityKey] = []

    package init(_ source: Source, text: String? = nil, client: ClientTag? = nil) {
        self.source = source
        self.text = text
        self.client = client
    }
}

/// Why an entry was dropped.
package enum EvictionReason: Int64, CaseIterable, Sendable {
    /// It was used least recently.
    case lru = 0
    /// A blob past its ttl.
    case expired = 1
    /// Somebody has asked for it.
    case request = 2
    /// Its bytes were damaged on the disk.
    case damaged = 3
}

/// What a modifier has come to.
package struct ModifierChange: Equatable, Sendable {
    /// What is to be said beside the state.
    package enum Mark: String, CaseIterable, Sendable {
        /// So many attempts were not applied that somebody should look.
        case stalled
        /// The dead letter is kept no more.
        case dropped
        /// The server has confirmed it; a shared row does not show it yet.
        case answered
    }

    package var id: ModifierID
    package var state: ModifierState
    package var mark: Mark?
    /// Why it is dead.
    package var reason: ModifierReason?
    /// The entries that it changes; those of a settled one show it no more.
    package var targets: [EntryID]
    /// What has gone wrong, as JSON; opaque here, and empty where nothing has.
    package var problem: [UInt8] = []
    /// Who has accepted it, if that one said so.
    package var client: ClientTag?

    package init(id: ModifierID, state: ModifierState, targets: [EntryID]) {
        self.id = id
        self.state = state
        self.targets = targets
    }
}
