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
    /// A deleted entity: its tombstone, the pending changes, and whether only an unsettled modifier
    /// deletes it.
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

    package var held: HeldEntity? {
        let isDeleted = kind == .tombstone
        guard isDeleted || kind == .entity, isSound else { return nil }
        return withBody { try? HeldEntity(stored: Array($0), isDeleted: isDeleted) }
    }

    var entity: KnownEntity? {
        held.map { held in
            var known = KnownEntity(held: held, revision: revision, storedAt: storedAt)
            (known.pending.isComplete, known.isMade) = (isComplete, !isComplete)
            return known
        }
    }
}

extension NormalizedRow {
    /// Rebuilds an answer; `skeleton` and `find` read from one transaction.
    ///
    /// `check` throws if an answer that is too large here has to be tried elsewhere.
    func rebuilt(
        _ skeleton: Skeleton?,
        by rebuilder: Rebuilder,
        isPartial: Bool = false,
        check: (RebuildOutcome) throws(StoreError) -> Void = { _ in },
        _ find: (EntryID) throws(StoreError) -> KnownEntity?
    ) throws(StoreError) -> Rebuilt {
        guard let origin = entry.origin, let skeleton,
            let template = try? Template(template, skeleton)
        else { return .missing }
        var shown = entry
        var pending = PendingChanges()
        var isDeletedByModifier = false
        let outcome = try rebuilder.rebuild(
            template,
            skeleton,
            isPartial: isPartial,
            { (key) throws(StoreError) -> HeldEntity in
                guard let found = try find(EntryID(EntityName(key, of: origin))) else {
                    return .unknown
                }
                shown.revision = max(shown.revision, found.revision)
                pending.add(found.pending, of: key)
                if case .deleted = found.held { isDeletedByModifier = found.isMade }
                return found.held
            }
        )
        try check(outcome)
        switch outcome {
        case .shown(let answer):
            let isJSON = answer.bytes.count <= Limits.inlineJSONBytesMax
            shown.body = BodySummary(of: answer.bytes, isJSON: isJSON)
            if shown.body.digest != entry.body.digest {
                // The origin's validators are those of the bytes that it gave.
                (shown.etag, shown.lastModified) = (nil, nil)
            }
            if !answer.isComplete || !pending.isComplete { shown.freshUntil = nil }
            return .shown(RebuiltEntry(entry: shown, answer: answer, pending: pending))
        case .deleted:
            var tombstone = entry.tombstone(isDeletedByModifier ? 410 : 404)
            tombstone.revision = shown.revision
            return .deleted(tombstone, pending, isByModifier: isDeletedByModifier)
        case .evicted, .tooLarge: return .missing
        }
    }
}

package struct OriginNames: Sendable {
    package let rules: [OriginName: EntityRules]
    /// The id of an entity's own URL; nil where its type has none.
    package let ownID: @Sendable (EntityName) -> EntryID?
    /// The origin that an id belongs to, as one scope sees it; nil for an id that is no URL.
    package let origin: @Sendable (EntryID, Scope) -> OriginName?
    /// The rules of an id's origin for it as a document; nil if there are none.
    package let document: @Sendable (EntryID, Scope) -> DocumentRules?
    /// The entities in an origin's answer with an id; nil where it is to be kept whole.
    package let split: @Sendable (EntryID, OriginName, [UInt8]) -> Split?
    /// Whether a user sees no shared row under an id, as its account has a credential.
    package let showsOwnOnly: @Sendable (EntryID, Scope) -> Bool

    package init(
        rules: [OriginName: EntityRules],
        ownID: @escaping @Sendable (EntityName) -> EntryID? = { _ in nil },
        origin: @escaping @Sendable (EntryID, Scope) -> OriginName? = { _, _ in nil },
        document: @escaping @Sendable (EntryID, Scope) -> DocumentRules? = { _, _ in nil },
        split: @escaping @Sendable (EntryID, OriginName, [UInt8]) -> Split? = { _, _, _ in nil },
        showsOwnOnly: @escaping @Sendable (EntryID, Scope) -> Bool = { _, _ in false }
    ) {
        self.rules = rules
        self.ownID = ownID
        self.origin = origin
        self.document = document
        self.split = split
        self.showsOwnOnly = showsOwnOnly
    }

    private static let none = EntityRules(NormalizeRules())

    func rules(of origin: OriginName?) -> EntityRules { origin.flatMap { rules[$0] } ?? Self.none }
}

extension NewChange {
    var parentLines: String? {
        parents.isEmpty ? nil : parents.map(\.text).joined(separator: "\n")
    }
}

extension ReferenceTable {
    /// The documents into which unsettled effects put an entity.
    func placers(of name: TargetName) throws(StoreError) -> [EntryID] {
        guard file == .state else { return [] }
        let sql = """
            SELECT parents FROM change INDEXED BY change_target
            WHERE id = :id AND scope = :scope AND settled = 0 AND parents IS NOT NULL
            """
        let lines = try connection.statement(sql, of: name).all { $0.text("parents") }
        let ids = lines.flatMap { $0.split(separator: "\n") }
            .compactMap { try? EntryID(stored: String($0)) }
        return ids.unique
    }
}
