package import LarderModel
package import LarderNormalize

/// What is known of an entity, and since when.
package struct KnownEntity: Sendable {
    package let held: HeldEntity
    /// The step that last changed it.
    package let revision: Revision
    /// When it was last said.
    package let storedAt: Timestamp
}

/// What a normalized answer is put together from.
extension StoreReader {
    /// Carries out reads that see one moment: no commit comes between them (rule: no torn tree).
    package func atOneMoment<Value, Failure: Error>(
        _ work: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let isOutermost = hold == .none
        if isOutermost { hold = .begun }
        defer { if isOutermost { hold = .none } }
        return try work()
    }

    /// The entities in a normalized answer's own text, with the members that it shows of each.
    package func shownEntities(
        of row: NormalizedRow
    ) throws(StoreError) -> [(key: EntityKey, members: [String])] {
        let found = try reading { file throws(StoreError) in
            try file.references().skeleton(row.skeleton)
        }
        guard let skeleton = found ?? nil, let template = try? Template(row.template, skeleton)
        else { return [] }
        return template.references(skeleton).map { reference in
            (reference.key, reference.place.memberNames(skeleton))
        }
    }

    /// What is known of an entity; nil where nothing is.
    package func entity(
        _ scope: ScopeKey,
        _ id: EntryID,
        now: Timestamp,
        isUse: Bool = true
    ) throws(StoreError) -> KnownEntity? {
        let found = try withEntry(scope, id, now: now, isUse: isUse) { row in
            row.held.map { KnownEntity(held: $0, revision: row.revision, storedAt: row.storedAt) }
        }
        return found ?? nil
    }

    /// The entries that show what steps have changed, as the references are now.
    ///
    /// Nil where they are too many to be followed; `isWanted` says of which entries it matters.
    package func entries(
        of scope: ScopeKey,
        showing entities: [EntityName],
        where isWanted: (EntryID) -> Bool
    ) throws(StoreError) -> [(id: EntryID, changed: [EntityKey])]? {
        let changes = entities.map { name in
            let id = EntryID(name)
            return EntityChange(
                name,
                at: RowKey(scope, id),
                .created,
                .put(id, ChangeCause(.network))
            )
        }
        let showing = try reading { file throws(StoreError) in
            let limit = Limits.followedOnReturnMax
            return try file.references().entries(showing: changes, limit: limit, where: isWanted)
        }
        guard let showing else { return [] }
        return showing.isWhole ? Array(showing.entries.values) : nil
    }

    /// The rows that refer to an entity, each with where.
    package func referrers(
        _ scope: ScopeKey,
        _ name: EntityName
    ) throws(StoreError) -> [(id: EntryID, place: Reference.Place, skeleton: Skeleton?)] {
        let found = try reading { file throws(StoreError) in
            let references = try file.references()
            var rows: [(EntryID, Reference.Place, Skeleton?)] = []
            for parent in try references.parents(of: RowKey(scope, EntryID(name))) {
                let skeleton = try parent.skeleton.map { number throws(StoreError) in
                    try references.skeleton(number)
                }
                rows.append((parent.id, parent.place, skeleton ?? nil))
            }
            return rows
        }
        return (found ?? []).map { (id: $0.0, place: $0.1, skeleton: $0.2) }
    }
}
