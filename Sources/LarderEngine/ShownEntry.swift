import LarderAPI
import LarderJSON
package import LarderModel
import LarderNormalize
import LarderStore
import LarderWire

/// The result of unsettled modifiers on a base: their part of an ``EntryView``.
struct ShownEntry: Sendable {
    private(set) var entry: Entry?
    /// The bytes that replace those of base; nil if the bytes of base are shown.
    let bytes: [UInt8]?
    let overlay: Overlay
    /// Whether only modifiers say that the entry exists, or that it does not.
    let isMade: Bool

    init(
        _ id: EntryID,
        _ known: TargetBase,
        _ changes: [OpenChange],
        _ look: EntryReader
    ) throws(StoreError) {
        let (scope, reader) = (look.scope, look.reader)
        var placed = PlacedEntities(look)
        let view = try reader.loopBudget.viewing { (steps) throws(StoreError) in
            let view = try placed.view(of: id, on: known, changes, steps: &steps)
            return (view, view.isCut)
        }
        var own = Overlay(
            pending: changes.filter { !$0.isAnswered }.compactMap { try? ModifierID($0.modifier) },
            failed: 0,
            isComplete: view.isComplete
        )
        try own.addFailures(of: id, scope, reader)
        overlay = own.adding(placed.overlay)
        let base = known.entry
        isMade = view.isMade(on: known)
        switch view.content {
        case .unknown: bytes = nil
        case .base:
            entry = base
            // A shared row does not tell which views one user's changes showed before.
            if case .value(let row, let known) = known,
                !row.isComplete || changes.contains(where: { $0.revision > row.revision })
                    || placed.revision > row.revision
            {
                bytes = known
            } else {
                bytes = nil
            }
        case .deleted:
            switch known {
            case .deleted(let base) where base.kind == .tombstone: entry = base
            // Only a pin keeps its bytes.
            case .deleted(let base):
                entry = Entry(base.id, base, [], .tombstone, status: 404, by: changes)
            case _: entry = Entry(id, base, [], .tombstone, status: 410, by: changes)
            }
            bytes = []
        case .json(let value):
            let type = base?.body.isJSON == true ? base?.mediaType : nil
            let made = value.bytes
            bytes = made
            entry = Entry(id, base, made, mediaType: type ?? MediaType.json, by: changes)
        case .body(let place):
            let body = try reader.targets.requestBody(of: changes[place].number)
            entry = Entry(id, base, body?.bytes ?? [], mediaType: body?.mediaType, by: changes)
            bytes = body?.bytes ?? []
        }
        // The revision counts every change: a view that equals base may replace one that did not.
        // It counts the tombstone too, as a value may replace a deletion.
        guard let shown = entry else { return }
        let known =
            if case .deleted(let tombstone) = known { tombstone.revision } else { shown.revision }
        let least = max(shown.revision, known, placed.revision)
        entry?.revision = changes.map(\.revision).reduce(least, max)
    }
}

extension View {
    /// Whether only effects say what is shown, and no server.
    fileprivate func isMade(on base: TargetBase) -> Bool {
        switch (base, content) {
        case (_, .unknown): false
        case (_, .base): base.isPart
        case (_, .deleted): isChanged
        case (.unknown, .json), (.unknown, .body), (.deleted, .json), (.deleted, .body): true
        case (.value, .json), (.value, .body), (.entity, .json), (.entity, .body): base.isPart
        }
    }
}

extension OpenChange {
    /// The effect of the change; `none` if it cannot be read.
    var known: Effect {
        (try? Effect(parsing: effect)) ?? .none
    }
}

extension Entry {
    /// An entry that no origin has sent: the result of effects on base.
    ///
    /// No origin knows its validators, and it is stale. It is as old as base, or as the last change
    /// if there is no base.
    init(
        _ id: EntryID,
        _ base: Entry?,
        _ bytes: [UInt8],
        _ kind: EntryKind = .fetched,
        status: Int = 200,
        mediaType: String? = nil,
        by changes: [OpenChange]
    ) {
        let isBlob = base?.kind == .blob && kind == .fetched
        let isJSON = bytes.count <= Limits.inlineJSONBytesMax && JSONValidator.accepts(bytes)
        self.init(
            id: id,
            kind: isBlob ? .blob : kind,
            status: status,
            storedAt: base?.storedAt ?? changes.last?.acceptedAt ?? Timestamp(milliseconds: 0),
            revision: changes.map(\.revision).reduce(base?.revision ?? Revision(0), max),
            body: BodySummary(of: bytes, isJSON: isJSON)
        )
        origin = base?.origin
        self.mediaType = mediaType
        headers = base?.headers ?? HeaderFields()
        freshUntil = isBlob ? base?.freshUntil : nil
    }
}

/// Facts about an entry besides its bytes, while modifiers touch it.
package struct Overlay: Equatable, Sendable {
    package static let none = Overlay(pending: [], failed: 0, isComplete: true)
    /// That of a row which is only a part of its target.
    static let ofPart = Overlay(pending: [], failed: 0, isComplete: false)

    /// The modifiers that are not settled and touch it, in their order.
    package let pending: [ModifierID]
    package internal(set) var failed: Int
    /// The ids of the first dead letters on each target, so that each counts once.
    var failedIDs: Set<String> = []
    package internal(set) var isComplete: Bool
    /// JSON pointers (RFC 6901) to what is missing of a normalized answer.
    package internal(set) var missing: [String] = []
    /// Modifiers that wait or have failed on entities of the entry, until ``rows`` says where they are.
    var marks: [EntityKey: EntityMarks] = [:]
    var rows: [SnapshotRow] = []
    var failedRows: [FailedRow] = []

    /// Counts the dead letters that changed an id itself.
    mutating func addFailures(
        of id: EntryID,
        _ scope: ScopeKey,
        _ reader: StoreReader
    ) throws(StoreError) {
        failed = try reader.targets.failures(scope, id)
        guard failed > 0 else { return }
        failedIDs = Set(try reader.targets.lostEffects(scope, id).map(\.modifier))
    }

    /// This overlay of modifiers, combined with that of a normalized answer.
    package func adding(_ answer: Overlay) -> Overlay {
        let known = Set(pending)
        return Overlay(
            pending: pending + answer.pending.filter { !known.contains($0) },
            failed: failed + answer.failed - failedIDs.intersection(answer.failedIDs).count,
            failedIDs: failedIDs.union(answer.failedIDs),
            isComplete: isComplete && answer.isComplete,
            missing: missing + answer.missing,
            marks: marks.merging(answer.marks) { own, _ in own }
        )
    }
}

extension Overlay {
    /// The overlay of a normalized answer: modifiers of its entities, and entities that are
    /// missing.
    init(_ pending: PendingChanges, missing answer: RebuiltAnswer? = nil) {
        let changes = pending.modifiers.sorted { $0.key < $1.key }
        self.init(
            pending: changes.compactMap { try? ModifierID($0.value) },
            failed: pending.failed,
            failedIDs: pending.failedModifiers,
            isComplete: answer?.isComplete != false && pending.isComplete,
            missing: answer?.missing.map(\.text) ?? [],
            marks: pending.marks
        )
    }
}
