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
        guard let (document, origin) = origins.rules(of: id.withoutHeaders, for: uid) else {
            return View.of(base, effects, isPart: isPart, steps: &steps)
        }
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
            var own = view.overlay
            own.missing = []
            // An entity that only modifiers know does not make the document incomplete.
            if view.source == .modifier { own.isComplete = true }
            overlay = overlay.adding(own)
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

/// Finds the entities that the effects of a modifier put into documents or take out of their lists
/// (case 28).
///
/// Each is a target of the modifier, too, and so one of its lanes. The members of one that is put
/// somewhere show over the entity's base.
struct PlacedChanges: EnginePart {
    let context: EngineContext

    /// The changes, and one for each entity that only an effect names.
    ///
    /// `effects` are those of the changes, and `documents` is what
    /// ``documents(_:_:_:known:)`` has of their targets. Objects after the first
    /// ``Limits/placedEntitiesMax``, or after so many bytes, are shown as they were written.
    func adding(
        to changes: [NewChange],
        _ effects: [Effect],
        _ documents: [EntryID: [TargetContent]],
        _ scope: ScopeKey
    ) -> [NewChange] {
        let (origins, uid) = (context.origins, scope.scope.uid)
        var all = changes
        var places: [EntryID: Int] = [:]
        for (place, change) in changes.enumerated() { places[change.id] = place }
        var members: [EntryID: JSONValue] = [:]
        var waiting = Array(zip(changes.map(\.id), effects))
        var (next, byteCount) = (0, 0)
        placing: while next < waiting.count {
            let (parent, effect) = waiting[next]
            next += 1
            for (id, written) in origins.placed(by: effect, in: parent, for: uid) {
                // A change that the program gives says what the entity is.
                let isNamed = places[id].map { !all[$0].isImplied } ?? false
                let object = written.laid(over: .object([]))
                let merged = object.laid(over: members[id] ?? .object([]))
                guard let said = Effect.assigning(merged)?.bytes else { continue }
                byteCount += said.count
                // Entities that effects take out of lists are targets all the same.
                guard byteCount <= Limits.placedBytesMax else { break placing }
                if places[id] == nil {
                    guard all.count - changes.count < Limits.placedEntitiesMax else { return all }
                    places[id] = all.count
                    var implied = NewChange(of: id, said, scope, context)
                    implied.isImplied = true
                    all.append(implied)
                }
                guard let place = places[id] else { continue }
                if id != parent, !all[place].parents.contains(parent) {
                    all[place].parents.append(parent)
                }
                guard !isNamed else { continue }
                members[id] = merged
                all[place].effect = said
                if let own = Effect.assigning(object) { waiting.append((id, own)) }
            }
        }
        for (change, effect) in zip(changes, effects) {
            let named = (documents[change.id] ?? [.unknown]).flatMap { content in
                origins.named(by: effect, in: change.id, on: content, for: uid)
            }
            for id in named where places[id] == nil {
                guard all.count - changes.count < Limits.placedEntitiesMax else { return all }
                places[id] = all.count
                var implied = NewChange(of: id, Effect.none.bytes, scope, context)
                implied.isImplied = true
                all.append(implied)
            }
        }
        return all
    }

    /// The views of documents with lists from which effects remove elements by a member's value.
    ///
    /// Of a document that writes change it gives the view and base, because the view lacks the
    /// elements of a write that is edited. `known` has those of the write before, which often
    /// changes the same list.
    func documents(
        _ targets: [EntryID],
        _ effects: [Effect],
        _ scope: ScopeKey,
        known: [EntryID: [TargetContent]]
    ) async throws(Problem) -> [EntryID: [TargetContent]] {
        let ids = zip(targets, effects).compactMap { (id, effect) -> EntryID? in
            let isNeeded =
                effect.removesByMember && context.origins.document(id, for: scope.scope.uid) != nil
            return isNeeded ? id : nil
        }
        let before = known.filter { ids.contains($0.key) }
        let unread = ids.filter { before[$0] == nil }
        guard !unread.isEmpty else { return before }
        return try await storing(
            await context.look(as: scope) { look throws(StoreError) in
                look.isUse = false
                var documents = before
                for id in unread {
                    let isTarget = look.context.store.modifiers.isTarget(scope, id)
                    var found: [TargetContent] = []
                    for form in isTarget ? [ShownView.view, .base] : [.view] {
                        look.form = form
                        guard case .bytes(let bytes)? = try look.answer(of: id)?.body,
                            let value = try? JSONValue(parsing: bytes)
                        else { continue }
                        found.append(.json(value))
                    }
                    documents[id] = found.isEmpty ? [.unknown] : found
                }
                return documents
            }
        )
    }
}

extension OriginTable {
    /// The entities that an effect puts into a target, with the objects that say so.
    ///
    /// An object within such an object is one that the outer entity has.
    func placed(
        by effect: Effect,
        in target: EntryID,
        for uid: UInt32?
    ) -> [(id: EntryID, object: JSONValue)] {
        guard let (document, origin) = rules(of: target, for: uid) else { return [] }
        return document.placed(by: effect).map { placed in
            (id: EntryID(EntityName(placed.key, of: origin)), object: placed.object)
        }
    }

    /// The entities that an effect puts into a target or takes out of its lists.
    func named(
        by effect: Effect,
        in target: EntryID,
        on content: TargetContent,
        for uid: UInt32?
    ) -> [EntryID] {
        guard let (document, origin) = rules(of: target, for: uid) else { return [] }
        return document.named(by: effect, on: content).map { EntryID(EntityName($0, of: origin)) }
    }

    fileprivate func rules(
        of target: EntryID,
        for uid: UInt32?
    ) -> (document: DocumentRules, origin: OriginName)? {
        guard let document = document(target, for: uid),
            let origin = target.entity?.origin ?? origin(of: target, for: uid)?.name
        else { return nil }
        return (document, origin)
    }
}

extension Effect {
    /// Whether it may name elements that it removes by a member's value alone.
    fileprivate var removesByMember: Bool {
        if case .all(let effects) = self { return effects.contains(where: \.removesByMember) }
        guard case .listRemove(let changes) = self else { return false }
        return changes.contains { $0.key != nil }
    }

    /// Assigns each member of an object; nil for one that no stored effect can hold.
    fileprivate static func assigning(_ object: JSONValue) -> Effect? {
        let assignments = (object.members ?? []).map { member in
            JSONAssignment(JSONPointer(tokens: [member.name]), member.value)
        }
        let effect = assignments.isEmpty ? Effect.none : .set(assignments)
        return (try? Effect(parsing: effect.bytes)) == nil ? nil : effect
    }
}

extension JSONValue {
    /// The members of an object, each once, over those of another.
    fileprivate func laid(over other: JSONValue) -> JSONValue {
        var all: [JSONMember] = []
        var places: [JSONName: Int] = [:]
        for member in (other.members ?? []) + (members ?? []) {
            let name = JSONName(member.name)
            if let place = places[name] {
                all[place].value = member.value
            } else {
                places[name] = all.count
                all.append(member)
            }
        }
        return .object(all)
    }
}

/// Finds the entities of an entry on which modifiers wait or have failed.
struct RowMarks {
    let look: EntryReader
    private var context: EngineContext { look.context }
    private var scope: ScopeKey { look.scope }

    /// The view with the places of its entities on which modifiers wait or have failed, and with
    /// what refused ones would have put there.
    func marked<Row>(
        _ view: EntryView<Row>?,
        of id: EntryID
    ) throws(StoreError) -> EntryView<Row>? {
        guard var view else { return nil }
        var bytes: [UInt8]?
        if case .made(let entry, let made) = view.content, entry.body.isJSON { bytes = made }
        view.overlay = try marked(view.overlay, of: id, bytes)
        return view
    }

    /// The overlay with its rows; `bytes` are those that are shown, if they are JSON.
    func marked(
        _ overlay: Overlay,
        of id: EntryID,
        _ bytes: [UInt8]?
    ) throws(StoreError) -> Overlay {
        let marks = overlay.marks
        var told = overlay
        told.marks = [:]
        guard look.form == .view, !marks.isEmpty || overlay.failed > 0, !id.isEntity else {
            return told
        }
        let url = id.withoutHeaders
        guard let (document, origin) = context.origins.rules(of: url, for: scope.scope.uid) else {
            return told
        }
        if overlay.failed > 0 { told.failedRows = try failedRows(of: url, document, origin) }
        guard !marks.isEmpty, let bytes, bytes.count <= Limits.inlineJSONBytesMax else {
            return told
        }
        try look.reader.loopBudget.take(bytes: bytes.count)
        guard let value = try? JSONValue(parsing: bytes) else { return told }
        let places = document.places(
            of: Set(marks.keys),
            in: value,
            atMost: Limits.markedRowsMax
        )
        told.rows = places.compactMap { place in
            marks[place.key].map { marks in
                SnapshotRow(
                    pointer: place.pointer.text,
                    id: EntryID(EntityName(place.key, of: origin)),
                    pending: marks.pending,
                    failed: marks.failed
                )
            }
        }
        return told
    }

    private func failedRows(
        of id: EntryID,
        _ document: DocumentRules,
        _ origin: OriginName
    ) throws(StoreError) -> [FailedRow] {
        var rows: [FailedRow] = []
        for lost in try look.reader.targets.lostEffects(scope, id) {
            guard let effect = try? Effect(parsing: lost.effect) else { continue }
            for placed in document.placed(by: effect) where rows.count < Limits.markedRowsMax {
                rows.append(
                    FailedRow(
                        id: EntryID(EntityName(placed.key, of: origin)),
                        modifier: lost.modifier,
                        value: RawJSON(unchecked: placed.object.bytes)
                    )
                )
            }
        }
        return rows
    }
}
