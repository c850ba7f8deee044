package import LarderModel
package import LarderNormalize

/// Entities that an answer, or a client, brings of one origin.
package struct NewEntities: Sendable {
    package let scope: ScopeKey
    package let origin: OriginName
    package let split: Split
    /// The number that the fetch took when it set out.
    package let fetch: Revision
    package let cause: ChangeCause

    package init(
        _ split: Split,
        of origin: OriginName,
        in scope: ScopeKey,
        fetch: Revision,
        cause: ChangeCause
    ) {
        self.split = split
        self.origin = origin
        self.scope = scope
        self.fetch = fetch
        self.cause = cause
    }
}

extension NewEntities {
    /// By their places.
    var ids: some Sequence<EntryID> {
        split.keys.lazy.map { EntryID(EntityName($0, of: origin)) }
    }
}

/// Entities of an answer that `state.db` keeps, with it merged into them there.
struct SavedEntities: Sendable {
    /// By their places in the answer.
    var merged: [Int: MergedEntity] = [:]
    /// The number of the step, which is open; nil where nothing was merged.
    var step: Revision?
}

/// An answer that is to be kept normalized: stored in one step with its entities.
package struct NewAnswer: Sendable {
    /// Its body is the answer as it came, for where it is kept whole.
    package var entry: NewEntry
    package let entities: NewEntities
    /// What saving it came to, where its id is claimed: then its normalized row shows that.
    var saved: PutReceipt?

    package init(_ entry: NewEntry, _ entities: NewEntities) {
        self.entry = entry
        self.entities = entities
    }
}

/// What storing an answer came to.
package struct AnswerReceipt: Equatable, Sendable {
    package let entry: PutReceipt
    /// Whether it is kept normalized.
    package let isNormalized: Bool
}

/// What storing entities by themselves came to.
package struct EntitiesReceipt: Equatable, Sendable {
    /// Of the step, or the first entity's where nothing has changed.
    package let revision: Revision
    /// Whether nothing was known of the first of them, or that it was deleted.
    package let isNew: Bool
}

/// What a step has made of an entity, and what of it shows.
struct EntityChange: Sendable {
    let name: EntityName
    var key: RowKey
    /// The names of the members that have another value; nil where all that shows of it may differ.
    let members: Set<[UInt8]>?
    let event: Change.Event

    init(_ name: EntityName, at key: RowKey, _ change: MergedEntity.Change, _ event: Change.Event) {
        self.name = name
        self.key = key
        self.event = event
        switch change {
        case .nothing, .created:
            members = nil
        case .members(let names):
            // Half of a surrogate pair is no text: then whatever shows it is told.
            let isText = !names.contains { $0.unicodeScalars.contains("\u{FFFD}") }
            members = isText ? Set(names.map { Array($0.utf8) }) : nil
        }
    }
}
