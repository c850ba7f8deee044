import LarderAPI
import LarderJSON
import LarderModel
import LarderNormalize
import LarderStore
import LarderStrategy

/// Shows the entities that effects put into a document as they are at the moment of the read.
struct PlacedEntities {
    let look: EntryReader
    private(set) var overlay = Overlay.none
    private(set) var revision = Revision(0)
    private var known: [EntityKey: Found] = [:]

    private enum Found {
        /// Nothing is known of it, so it shows as the program wrote it.
        case unknown
        case deleted
        /// With `isMade`, only modifiers say what it is.
        case value(JSONValue, isMade: Bool)
    }

    init(_ look: EntryReader) {
        self.look = look
    }

    /// The view of a target; takes what it needs from `steps`.
    mutating func view(
        of id: EntryID,
        on known: TargetBase,
        _ changes: [OpenChange],
        steps: inout Int
    ) throws(StoreError) -> View {
        let (origins, uid) = (look.context.origins, look.scope.scope.uid)
        let (base, isPart, effects) = (TargetContent(known), known.isPart, changes.map(\.known))
        guard let document = origins.document(id, for: uid),
            let origin = origins.origin(of: id.withoutHeaders, for: uid)?.name
        else { return View.of(base, effects, isPart: isPart, steps: &steps) }
        return try document.view(of: base, effects, isPart: isPart, steps: &steps) {
            (placed) throws(StoreError) in
            switch try find(EntityName(placed.key, of: origin)) {
            case .unknown: placed.object
            case .deleted: nil
            case .value(let value, isMade: true): value
            case .value(let value, isMade: false):
                value.trimmed(like: placed.object, beside: placed.neighbours)
            }
        }
    }

    private mutating func find(_ name: EntityName) throws(StoreError) -> Found {
        if let found = known[name.key] { return found }
        let view: EntryView<Entry?>? = try look.view(of: name)
        let found: Found
        switch view?.content {
        case .deleted?: found = .deleted
        case .made(_, let bytes)?:
            let value = try? JSONValue(parsing: bytes, depthMax: Limits.jsonDepthMax)
            let isMade = view?.source == .modifier
            found = value.map { .value($0, isMade: isMade) } ?? .unknown
        case .row?, nil: found = .unknown
        }
        if let view, let entry = view.entry {
            revision = max(revision, entry.revision)
            // An entity that only modifiers know does not make the document incomplete.
            let isComplete = view.source == .modifier || view.overlay.isComplete
            overlay = overlay.adding(
                Overlay(
                    pending: view.overlay.pending,
                    failed: view.overlay.failed,
                    isComplete: isComplete,
                    marks: view.overlay.marks
                )
            )
        }
        known[name.key] = found
        return found
    }
}

extension EntryID {
    /// The URL of a variant; any other id as it is.
    var withoutHeaders: EntryID { Variants.url(of: self) ?? self }
}

extension JSONValue {
    /// The members that the program wrote or that its neighbours have: others came for other answers.
    fileprivate func trimmed(like written: JSONValue, beside names: Set<String>) -> JSONValue {
        guard case .object(let members) = self, case .object(let other) = written else {
            return self
        }
        let own = Set(other.map(\.name))
        return .object(
            members.compactMap { member in
                guard own.contains(member.name) || names.contains(member.name) else { return nil }
                guard let inner = written[member.name] else { return member }
                let value = member.value.trimmed(like: inner, beside: [])
                return JSONMember(name: member.name, value: value)
            }
        )
    }
}
