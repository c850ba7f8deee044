import LarderModel

/// One thing that whoever watches an id has to be told.
struct CrowdEvent: Sendable {
    enum Ground: Sendable {
        /// The row under the id has changed, which the log knows.
        case row
        /// The answer shows an entity that has changed: who comes back hears of it by the
        /// references of then.
        case shown
        /// The answer holds an entity that has changed, and its bytes stay equal: nobody is told
        /// but, it may be, who comes back.
        case equal
    }

    let kind: WatchKind
    let ground: Ground
    /// Nil where the step's answer does not name it.
    let revision: Revision?
    /// The entities by which an answer has changed.
    var changed: Set<EntityKey> = []

    /// Whether whoever watches has to be told.
    var isDue: Bool {
        switch ground {
        case .row, .shown: true
        case .equal: false
        }
    }
}

/// What was done, by the ids that it concerns; whoever writes an id is the only one who does.
struct CrowdHistory: Sendable {
    private(set) var events: [EntryID: [CrowdEvent]] = [:]
    /// The steps that have changed entities.
    private(set) var entitySteps: Set<Revision> = []

    mutating func add(_ id: EntryID, _ event: CrowdEvent) {
        events[id, default: []].append(event)
        if let revision = event.revision, id.entity != nil { entitySteps.insert(revision) }
    }

    mutating func merge(_ other: CrowdHistory) {
        events.merge(other.events) { _, _ in preconditionFailure("an id has two writers") }
        entitySteps.formUnion(other.entitySteps)
    }
}
