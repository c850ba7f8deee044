import LarderModel
import LarderNormalize

/// Normalized answers in `state.db`, their entities, and the variants of what is pinned or targeted.
extension StateWriter {
    /// Whether a row has what an entry brings; of a normalized one its template, as its entities are
    /// told apart from it.
    func matches(_ row: FoundClaim, _ new: NewEntry) throws(StoreError) -> Bool {
        guard let form = new.form, let skeleton = row.skeleton else {
            return row.matches(new.entry)
        }
        guard row.kind == new.entry.kind, row.checksum == form.checksum else { return false }
        return try reader.references.skeleton(skeleton)?.bytes == form.skeleton.bytes
    }

    /// Writes down to which entities a row refers now; of each of them there is a row from then on.
    func setReferences(
        of row: FoundClaim,
        _ form: AnswerForm?,
        _ entry: Entry,
        _ body: NewBody,
        _ scope: ScopeKey
    ) throws(StoreError) {
        var (references, origin) = (form?.references ?? [], form?.origin)
        if let name = entry.id.entity, case .inline(let bytes) = body,
            let held = try? HeldEntity(stored: bytes, isDeleted: entry.kind == .tombstone)
        {
            (references, origin) = (held.references, name.origin)
        }
        guard let origin, !references.isEmpty else {
            guard row.skeleton != nil || row.kind == .entity else { return }
            return try noteReleasable(try tables.removeReferences(of: row.number), scope)
        }
        var wanted: [Int64: [UInt8]] = [:]
        for reference in references {
            let id = EntryID(EntityName(reference.key, of: origin))
            let child = try makeRow(scope, id, isInPins: row.isPinned || row.isInPins)
            wanted[child, default: []] += reference.place.stored
        }
        try noteReleasable(try tables.setReferences(of: row.number, wanted), scope)
    }

    /// The number of an id's row; where there is none one is made, which waits to be filled.
    @discardableResult
    func makeRow(
        _ scope: ScopeKey,
        _ id: EntryID,
        isHeld: Bool = false,
        isInPins: Bool = false
    ) throws(StoreError) -> Int64 {
        if let found = try find(scope, id) {
            if isHeld, !found.isHeld {
                try connection.execute("UPDATE claim SET held = 1 WHERE claim = \(found.number)")
            }
            return found.number
        }
        try insert(scope, id, id.entity?.origin, isHeld: isHeld, isInPins: isInPins)
        state.unfilled.append(TargetName(scope, id))
        // Maintenance looks whether something keeps it in the end.
        state.releasable.append(TargetName(scope, id))
        return connection.lastInsertedRow
    }

    /// The next row that was made and waits to be filled.
    func takeUnfilled() -> TargetName? { state.unfilled.popLast() }

    // MARK: What is kept for nothing

    /// Lets go of what a row that is emptied or goes has beside itself.
    func letGo(of row: FoundClaim, _ scope: ScopeKey) throws(StoreError) {
        if let body = row.body { try bodies.unlink(body, &state.bodies) }
        if let skeleton = row.skeleton { _ = try tables.giveBack(skeleton) }
        guard row.skeleton != nil || row.kind == .entity else { return }
        try noteReleasable(try tables.removeReferences(of: row.number), scope)
    }

    private func noteReleasable(
        _ rows: [Int64],
        _ scope: ScopeKey
    ) throws(StoreError) {
        for row in rows {
            let text = try connection.text("SELECT id FROM claim WHERE claim = \(row)")
            guard let id = text.flatMap({ try? EntryID(stored: $0) }) else { continue }
            state.releasable.append(TargetName(scope, id))
        }
    }

    /// A reason of an id has gone: where none is left, nothing keeps it and its variants.
    func noteReason(gone scope: ScopeKey, _ id: EntryID) throws(StoreError) {
        guard let row = try find(scope, id), !row.isPinned, !row.isTargeted else { return }
        state.releasable.append(TargetName(scope, id))
        try releaseVariants(of: id, scope)
    }

    /// Nothing keeps the variants of a URL any more.
    func releaseVariants(of id: EntryID, _ scope: ScopeKey) throws(StoreError) {
        guard let prefix = id.variantPrefix else { return }
        let variants = try connection.statement(
            "UPDATE claim SET held = 0 WHERE scope = ?1 AND id >= ?2 AND id < ?3 AND held = 1 RETURNING id"
        )
        variants.bindAll(scope.text, prefix, RowQuery.end(ofPrefix: prefix))
        while try variants.step() {
            guard let id = variants.text(0).flatMap({ try? EntryID(stored: $0) }) else { continue }
            state.releasable.append(TargetName(scope, id))
        }
    }

    /// Whether nothing keeps a row.
    func isFree(_ scope: ScopeKey, _ id: EntryID) throws(StoreError) -> Bool {
        guard let row = try find(scope, id) else { return false }
        return try !reader.isKept(row.number)
    }
}

extension NewEntry {
    /// What its row counts.
    var rowSize: Int64 {
        guard let form, case .inline(let template) = body else {
            return entry.rowSize(in: scope, isChunked: body.isUploaded)
        }
        return entry.rowSize(in: scope, dataBytes: template.count) + form.size
    }
}
