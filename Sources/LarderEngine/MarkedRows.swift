import LarderAPI
import LarderJSON
package import LarderModel
import LarderNormalize
import LarderStore

/// An entity in an entry on which modifiers wait or have failed.
package struct MarkedRow: Equatable, Sendable {
    /// JSON pointer (RFC 6901) to where it is.
    package let pointer: String
    package let id: EntryID
    package let pending: [String]
    package let failed: [String]
}

/// An entity that a refused modifier would have put into an entry.
package struct LostRow: Equatable, Sendable {
    package let id: EntryID
    package let modifier: String
    /// The object as the program wrote it, as JSON.
    package let value: [UInt8]
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
        let (origins, uid) = (context.origins, scope.scope.uid)
        guard let document = origins.document(id, for: uid),
            let origin = origins.origin(of: id.withoutHeaders, for: uid)?.name
        else { return told }
        if overlay.failed > 0 {
            told.failedRows = try failedRows(of: id.withoutHeaders, document, origin)
        }
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
                MarkedRow(
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
    ) throws(StoreError) -> [LostRow] {
        var rows: [LostRow] = []
        for lost in try look.reader.targets.lostEffects(scope, id) {
            guard let effect = try? Effect(parsing: lost.effect) else { continue }
            for placed in document.placed(by: effect) where rows.count < Limits.markedRowsMax {
                rows.append(
                    LostRow(
                        id: EntryID(EntityName(placed.key, of: origin)),
                        modifier: lost.modifier,
                        value: placed.object.bytes
                    )
                )
            }
        }
        return rows
    }
}
