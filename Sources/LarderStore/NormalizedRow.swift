package import LarderModel
package import LarderNormalize

package struct NormalizedRow: Sendable {
    package internal(set) var entry: Entry
    package let scope: ScopeKey
    let template: [UInt8]
    package let skeleton: Int64
    let file: BodyFile
}

package enum Rebuilt: Sendable {
    case shown(RebuiltEntry)
    /// It was an entity that is deleted: its tombstone, what modifiers have made of it, and whether
    /// only one says so that is not settled.
    case deleted(Entry, PendingChanges, isByModifier: Bool)
    /// An entity that it shows was evicted, or it is damaged or has become too large: a miss.
    case missing
}

package struct RebuiltEntry: Sendable {
    /// With the summary of the bytes as they are now and the latest revision of all that it shows;
    /// stale where something is missing.
    package let entry: Entry
    package let answer: RebuiltAnswer
    package let pending: PendingChanges
}

extension EntryRow {
    package func normalized(in scope: ScopeKey) -> NormalizedRow? {
        guard let skeleton, kind == .fetched, let entry = entry() else { return nil }
        return NormalizedRow(
            entry: entry,
            scope: scope,
            template: withBody { Array($0) },
            skeleton: skeleton,
            file: file
        )
    }
}

/// Puts an answer together; `skeleton` and `find` read from one transaction.
struct RowRebuilding {
    let rebuilder: Rebuilder
    let isPartial: Bool
    /// Throws where what is too large here has to be tried elsewhere.
    let check: (RebuildOutcome) throws(StoreError) -> Void

    func rebuild(
        _ row: NormalizedRow,
        skeleton: Skeleton?,
        _ find: (EntryID) throws(StoreError) -> KnownEntity?
    ) throws(StoreError) -> Rebuilt {
        guard let origin = row.entry.origin, let skeleton,
            let template = try? Template(row.template, skeleton)
        else { return .missing }
        var revision = row.entry.revision
        var pending = PendingChanges()
        var isDeletedByModifier = false
        let outcome = try rebuilder.rebuild(
            template,
            skeleton,
            isPartial: isPartial,
            { (key) throws(StoreError) -> FoundEntity in
                guard let found = try find(EntryID(EntityName(key, of: origin))) else {
                    return .evicted
                }
                revision = max(revision, found.revision)
                pending.add(found.pending)
                if case .deleted = found.held { isDeletedByModifier = found.isMade }
                return FoundEntity(found.held)
            }
        )
        try check(outcome)
        switch outcome {
        case .shown(let answer):
            return .shown(RebuiltEntry(row.entry, answer, pending, revision: revision))
        case .deleted:
            var tombstone = row.entry.tombstone(isDeletedByModifier ? 410 : 404)
            tombstone.revision = revision
            return .deleted(tombstone, pending, isByModifier: isDeletedByModifier)
        case .evicted, .tooLarge: return .missing
        }
    }
}

extension RowRebuilding {
    init(ofBasesIn row: NormalizedRow, _ shared: SharedCacheState) {
        let rules = shared.origins.rules(of: row.entry.origin)
        rebuilder = Rebuilder(rules, bytesMax: shared.rebuiltBytesMax)
        isPartial = false
        check = { _ in }
    }
}

extension RebuiltEntry {
    fileprivate init(
        _ entry: Entry,
        _ answer: RebuiltAnswer,
        _ pending: PendingChanges,
        revision: Revision
    ) {
        var entry = entry
        let isJSON = answer.bytes.count <= Limits.inlineJSONBytesMax
        let body = BodySummary(of: answer.bytes, isJSON: isJSON)
        if body.digest != entry.body.digest {
            // The origin's validators are those of the bytes that it gave.
            entry.etag = nil
            entry.lastModified = nil
        }
        entry.body = body
        entry.revision = revision
        if !answer.isComplete || !pending.isComplete { entry.freshUntil = nil }
        self.entry = entry
        self.answer = answer
        self.pending = pending
    }
}
