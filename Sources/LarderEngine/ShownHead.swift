import LarderModel
import LarderStore

/// What is shown under an id, without its bytes.
struct ShownHead: Sendable {
    let entry: Entry
    /// Where the row stands.
    let place: ScopeKey

    private init(_ entry: Entry, in place: ScopeKey) {
        self.entry = entry
        self.place = place
    }

    /// Reads what an id shows, which is no use of it; nil for a miss.
    init?(
        _ reader: StoreReader,
        _ sight: Sight,
        _ id: EntryID,
        now: Timestamp
    ) throws(StoreError) {
        guard let target = try reader.target(sight.own, id) else {
            try self.init(base: reader, sight, id, now: now)
            return
        }
        let base = target.base(in: sight.own, reader, now: now).value
        let shown = try ShownEntry(id, base, target.changes, in: sight.own, reader)
        guard let entry = shown.entry else { return nil }
        self.init(entry, in: sight.own)
    }

    /// Reads an id's row, whatever modifiers make of it; nil when there is none.
    init?(
        base reader: StoreReader,
        _ sight: Sight,
        _ id: EntryID,
        now: Timestamp
    ) throws(StoreError) {
        for place in sight.scopes {
            guard let entry = try reader.entry(place, id, now: now) else { continue }
            self.init(entry, in: place)
            return
        }
        return nil
    }
}
