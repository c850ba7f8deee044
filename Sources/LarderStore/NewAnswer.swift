package import LarderModel
package import LarderNormalize

/// Entities that an answer, or a client, brings of one origin.
package struct NewEntities: Sendable {
    package let scope: ScopeKey
    package let origin: OriginName
    package let split: Split
    package let fetch: Revision
    package let cause: ChangeCause
    package let hidesShared: Bool

    package init(
        _ split: Split,
        of origin: OriginName,
        in scope: ScopeKey,
        fetch: Revision,
        cause: ChangeCause,
        hidesShared: Bool = false
    ) {
        self.hidesShared = hidesShared
        self.split = split
        self.origin = origin
        self.scope = scope
        self.fetch = fetch
        self.cause = cause
    }
}

extension NewEntities {
    func form(_ saved: SavedEntities) -> (template: [UInt8], form: AnswerForm)? {
        let merged = split.keys.indices.compactMap { saved.merged[$0] }
        return merged.count == split.keys.count ? form(merged) : nil
    }

    func form(_ merged: [MergedEntity]) -> (template: [UInt8], form: AnswerForm)? {
        guard
            let template = split.template(merged).flatMap({ try? Template($0, split.skeleton) })
        else { return nil }
        return (template.bytes, AnswerForm(template, split.skeleton, of: origin))
    }

    var ids: some Sequence<EntryID> { split.keys.lazy.map { EntryID(EntityName($0, of: origin)) } }
}

/// That an entity is gone, as an answer or a client says.
package struct EntityRemoval: Sendable {
    let name: EntityName
    let scope: ScopeKey
    let fetch: Revision
    let cause: ChangeCause
    /// That of ``NewEntry``.
    let hidesShared: Bool

    package init(
        of name: EntityName,
        in scope: ScopeKey,
        fetch: Revision,
        cause: ChangeCause,
        hidesShared: Bool = false
    ) {
        (self.name, self.scope, self.fetch) = (name, scope, fetch)
        (self.cause, self.hidesShared) = (cause, hidesShared)
    }
}

/// Entities of an answer that `state.db` keeps, with it merged into them there.
struct SavedEntities: Sendable {
    var merged: [Int: MergedEntity] = [:]
    /// The number of the step, which is open; nil where nothing was merged.
    var step: Revision?
}

package struct NewAnswer: Sendable {
    /// Its body is the answer as it came, for where it is kept whole.
    package var entry: NewEntry
    package let entities: NewEntities

    package init(_ entry: NewEntry, _ entities: NewEntities) {
        self.entry = entry
        self.entities = entities
    }
}

package struct AnswerReceipt: Equatable, Sendable {
    package let entry: PutReceipt
    package let isNormalized: Bool
}

package struct EntitiesReceipt: Equatable, Sendable {
    package let revision: Revision
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
        case .nothing, .created: members = nil
        case .members(let names):
            // Half of a surrogate pair is no text: then whatever shows it is told.
            let isText = !names.contains { $0.unicodeScalars.contains("\u{FFFD}") }
            members = isText ? Set(names.map { Array($0.utf8) }) : nil
        }
    }
}
