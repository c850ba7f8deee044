package import LarderModel
package import LarderNormalize

package struct ChangeReader {
    let reader: StoreReader
    private var shared: SharedCacheState { reader.shared }

    /// Adds the changes of entries that show changed entities after each step; nil where too many.
    func withEntries(
        showing changes: [Change],
        where isWanted: (EntryID) -> Bool
    ) throws(StoreError) -> [Change]? {
        var all: [Change] = []
        var rest = changes[...]
        while let first = rest.first {
            let step = rest.prefix { $0.revision == first.revision }
            rest = rest.dropFirst(step.count)
            all += step
            for (scope, entities) in Dictionary(grouping: step, by: \.scope) {
                let changed = entities.compactMap(\.changedEntity)
                guard let cause = changed.first?.cause else { continue }
                let known = Set(entities.compactMap(\.id))
                var told = known
                for place in reader.places(of: reader.key(for: scope)) {
                    let found = try reader.answers.entries(
                        of: place,
                        showing: changed.map(\.name),
                        where: { isWanted($0) && !told.contains($0) }
                    )
                    guard let showing = found else { return nil }
                    for (id, keys) in showing.sorted(by: { $0.id.text < $1.id.text }) {
                        told.insert(id)
                        var change = Change(first.revision, scope, .put(id, cause))
                        change.name(changed: keys)
                        all.append(change)
                    }
                }
                for change in entities {
                    let byURL = try shared.byOwnURL(change) { place, id throws(StoreError) in
                        try reader.lists.row(place, id).map { $0.entry.kind != .tombstone } ?? false
                    }
                    guard let change = byURL, let id = change.id, isWanted(id),
                        told.insert(id).inserted
                    else { continue }
                    all.append(change)
                }
            }
            guard all.count - changes.count <= Limits.changesReadyMax else { return nil }
        }
        return all
    }

    func logged(
        after first: Revision,
        through last: Revision,
        of scope: Scope
    ) throws(StoreError) -> [(changes: [Change], through: Revision)] {
        let limit = Limits.changePageRows
        let cached = try reader.cache.reading { file throws(StoreError) in
            try ChangeLogReader(file.connection, hasModifiers: false)
                .changes(after: first, through: last, of: scope, limit: limit)
        }
        let state = try reader.stateReader().connection
        let saved = try ChangeLogReader(state, hasModifiers: true)
            .changes(after: first, through: last, of: scope, limit: limit)
        return [cached, saved].compactMap { $0 }
    }
}

extension Change {
    var changedEntity: (name: EntityName, cause: ChangeCause)? {
        switch event {
        case .put(let id, let cause), .delete(let id, let cause): id.entity.map { ($0, cause) }
        case .evict, .modifier, .remapped: nil
        }
    }
}

package enum ViewChange: Equatable, Sendable {
    /// Something else shows than before.
    case put
    /// The view is deleted, or nothing is known any more.
    case delete

    /// Compares the view of a target other than an entity before and after a step; nil if it is the
    /// same.
    ///
    /// The arguments are base and unsettled changes of both moments, what the rules say of the
    /// target, and a way to the bytes of the requests of these modifiers. It is called on the writer's thread, in the transaction of the
    /// step.
    package typealias Comparison =
        @Sendable (Target, Target, DocumentRules?, (ModifierNumber) -> [UInt8]?) -> ViewChange?
}

/// A target before a step that changes its base, or which modifiers it has.
struct ViewBefore {
    let name: TargetName
    var target: Target?
}

extension Target {
    /// The entity's view; `body` gives the bytes of a modifier's request.
    func entityView(
        _ document: DocumentRules?,
        _ body: (ModifierNumber) -> [UInt8]?
    ) -> EntityView {
        var steps = Limits.viewStepsMax
        return entityView(document, steps: &steps, body)
    }

    func entityView(
        _ document: DocumentRules?,
        steps: inout Int,
        _ body: (ModifierNumber) -> [UInt8]?
    ) -> EntityView {
        let effects = changes.map(\.effect)
        return EntityView(
            base.held,
            stored: effects,
            document,
            isPart: base.isPart,
            steps: &steps
        ) {
            body(changes[$0].number)
        }
    }
}
