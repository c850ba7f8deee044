import LarderModel
import LarderStore
import LarderWire

/// What a write of a URL makes of its variants, which no change names.
extension EntryLook {
    /// A row as it lies, with its bytes where changes can be applied to them.
    private struct Lying {
        let entry: Entry?
        let bytes: [UInt8]?
        let chunks: ChunkedBody?

        init(_ row: borrowing EntryRow) {
            entry = row.entry()
            chunks = row.chunkedBody
            bytes = chunks == nil && entry?.body.isJSON == true ? row.withBody { Array($0) } : nil
        }
    }

    /// The first of the places where it is; call it at one moment.
    func base(in places: [ScopeKey], _ reader: StoreReader) throws(StoreError) -> Base {
        let look = EntryLook(id: id, viewer: viewer, now: now, isPartial: isPartial)
        for place in places {
            let read = try look.row(in: place, reader, .none) { row, _, _ in Lying(row) }
            guard let view = read ?? nil else { continue }
            var base = Base(place: place, known: view.known, overlay: view.overlay)
            switch view.content {
            case .row(let row):
                guard let entry = row.entry else { continue }
                var bytes = row.bytes
                if let chunks = row.chunks, entry.body.isJSON {
                    bytes = try reader.bodies.whole(chunks)
                }
                base.value = .value(entry, bytes)
                base.known = entry
            case .made(let entry, let bytes):
                base.value = .value(entry, entry.body.isJSON ? bytes : nil)
            case .deleted(let entry):
                base.value = .deleted(entry)
            }
            return base
        }
        return Base()
    }
}

extension TargetReader {
    /// The unsettled changes of a variant, which are those of its URL, in their order; nil where
    /// there are none.
    func changes(
        ofVariant id: EntryID,
        _ scope: ScopeKey
    ) throws(StoreError) -> [OpenChange]? {
        guard let url = Variants.url(of: id), let changes = try target(scope, url)?.changes else {
            return nil
        }
        let own = try target(scope, id)?.changes ?? []
        return own.isEmpty ? changes : (own + changes).sorted { $0.number < $1.number }
    }

    /// How many dead letters have changed an id, or the URL of which it is a variant.
    func failures(_ scope: ScopeKey, _ id: EntryID) throws(StoreError) -> Int {
        var failures = try deadLetters(scope, id)
        if let url = Variants.url(of: id) {
            failures += try deadLetters(scope, url)
        }
        return failures
    }
}
