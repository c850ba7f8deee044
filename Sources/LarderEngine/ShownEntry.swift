import LarderJSON
package import LarderModel
import LarderNormalize
import LarderStore
import LarderWire

/// What modifiers that are not settled make of an entry: its view, and what is to be said of it.
///
/// Computed at each read from base and the modifiers' effects, in their order (P-04).
struct ShownEntry: Sendable {
    /// The entry as it is shown; nil for a miss.
    let entry: Entry?
    /// The bytes that take the place of base's; nil where base's own are shown.
    let bytes: [UInt8]?
    let overlay: Overlay

    init(
        _ id: EntryID,
        _ target: Target,
        in scope: ScopeKey,
        _ reader: StoreReader
    ) throws(StoreError) {
        try self.init(id, target.base, target.changes, in: scope, reader)
    }

    /// The same over another base than the one that is kept.
    init(
        _ id: EntryID,
        _ known: KeptBase,
        _ changes: [OpenChange],
        in scope: ScopeKey,
        _ reader: StoreReader
    ) throws(StoreError) {
        let view = View.of(TargetContent(known), changes.map(\.known))
        overlay = Overlay(
            pending: changes.compactMap { try? ModifierID($0.modifier) },
            failed: try reader.deadLetters(scope, id),
            isComplete: view.isComplete
        )
        let base = known.entry
        let step = LastStep(of: changes)
        switch view.content {
        case .unknown:
            entry = nil
            bytes = nil
        case .base:
            entry = base
            bytes = nil
        case .deleted:
            if case .deleted(let base) = known {
                entry = base.buried(step)
            } else {
                entry = Entry(id, base, [], .tombstone, status: 404, step)
            }
            bytes = []
        case .json(let value):
            var json = JSONWriter()
            json.value(value)
            let type = base?.body.isJSON == true ? base?.mediaType : nil
            entry = Entry(id, base, json.bytes, mediaType: type ?? MediaType.json, step)
            bytes = json.bytes
        case .body(let place):
            let body = try reader.requestBody(of: changes[place].number)
            entry = Entry(id, base, body?.bytes ?? [], mediaType: body?.mediaType, step)
            bytes = body?.bytes ?? []
        }
    }
}

/// The last of the changes that make an entry.
private struct LastStep {
    let revision: Revision
    let acceptedAt: Timestamp

    init(of changes: [OpenChange]) {
        let last = changes.max { $0.revision < $1.revision }
        revision = last?.revision ?? Revision(0)
        acceptedAt = last?.acceptedAt ?? Timestamp(milliseconds: 0)
    }
}

extension OpenChange {
    /// What it does; nothing where that cannot be read.
    var known: Effect {
        (try? Effect(parsing: effect)) ?? .none
    }
}

/// What is said of an entry beside its bytes, while modifiers touch it.
package struct Overlay: Equatable, Sendable {
    package static let none = Overlay(pending: [], failed: 0, isComplete: true)

    /// The modifiers that are not settled and touch it, in their order.
    package let pending: [ModifierID]
    /// Dead letters that touched it.
    package internal(set) var failed: Int
    package let isComplete: Bool
    /// JSON pointers (RFC 6901) to what is missing of a normalized answer.
    package let missing: [String]

    init(pending: [ModifierID], failed: Int, isComplete: Bool, missing: [String] = []) {
        self.pending = pending
        self.failed = failed
        self.isComplete = isComplete
        self.missing = missing
    }

    /// What is said of modifiers here, with what is said of a normalized answer there.
    package func adding(_ answer: Overlay) -> Overlay {
        let known = Set(pending)
        return Overlay(
            pending: pending + answer.pending.filter { !known.contains($0) },
            failed: failed + answer.failed,
            isComplete: isComplete && answer.isComplete,
            missing: missing + answer.missing
        )
    }

    /// What is to be said of a normalized answer: as modifiers have changed its entities, and where
    /// some are missing.
    init(_ shown: RebuiltEntry) {
        self.init(missing: shown.answer, shown.pending)
    }

    init(missing answer: RebuiltAnswer, _ pending: PendingChanges) {
        self.init(
            pending: pending.ids,
            failed: pending.failed,
            isComplete: answer.isComplete && pending.isComplete,
            missing: answer.missing.map(\.text)
        )
    }
}

extension PendingChanges {
    /// The modifiers, in their order.
    var ids: [ModifierID] {
        modifiers.sorted { $0.key < $1.key }.compactMap { try? ModifierID($0.value) }
    }
}

/// What a read of an entry came to that modifiers target.
package enum ShownRead: Sendable {
    case miss
    /// The entry as the origin gave it.
    case base(Overlay)
    /// An entry that effects made, with its bytes.
    case made(Entry, [UInt8], Overlay)
}

extension Entry {
    /// An entry that no origin has said: what effects made of base.
    ///
    /// Its validators are none that an origin knows, and it is stale; it is as old as base, or where
    /// there is none as the last change.
    fileprivate init(
        _ id: EntryID,
        _ base: Entry?,
        _ bytes: [UInt8],
        _ kind: EntryKind = .fetched,
        status: Int = 200,
        mediaType: String? = nil,
        _ step: LastStep
    ) {
        let isBlob = base?.kind == .blob && kind == .fetched
        let isJSON = bytes.count <= Limits.inlineJSONBytesMax && JSONValidator.accepts(bytes)
        self.init(
            id: id,
            kind: isBlob ? .blob : kind,
            status: status,
            storedAt: base?.storedAt ?? step.acceptedAt,
            revision: max(base?.revision ?? Revision(0), step.revision),
            body: BodySummary(of: bytes, isJSON: isJSON)
        )
        origin = base?.origin
        self.mediaType = mediaType
        headers = base?.headers ?? HeaderFields()
        freshUntil = isBlob ? base?.freshUntil : nil
    }

    /// The tombstone that it is, or that takes its place where only a pin keeps the bytes.
    fileprivate func buried(_ step: LastStep) -> Entry {
        guard kind != .tombstone else { return self }
        return Entry(id, self, [], .tombstone, status: 404, step)
    }
}

extension SnapshotFrame {
    /// The same with what is said of the modifiers that touch it.
    func adding(_ overlay: Overlay) -> SnapshotFrame {
        var frame = self
        frame.pending = overlay.pending.count
        frame.pendingIDs = overlay.pending.prefix(Limits.toldPendingMax).map(\.text)
        frame.failed = overlay.failed
        frame.isComplete = overlay.isComplete
        frame.missing = overlay.missing
        return frame
    }
}
