package import LarderAPI
import LarderEngine
package import LarderModel
package import LarderStore

extension Engine {
    /// The row of an entry that is kept whole, as it lies, whatever modifiers make of it; nil for a
    /// miss.
    package func withEntry<Value>(
        _ id: EntryID,
        _ scope: ScopeKey,
        _ reader: StoreReader,
        now: LarderModel.Timestamp,
        _ read: (borrowing EntryRow) -> Value
    ) throws(StoreError) -> Value? {
        let found = try view(of: id, for: scope, reader, now: now, as: .base) { row, _ in
            read(row)
        }
        guard let found, case .row(let value) = found.content else { return nil }
        return value
    }

    /// The text that `GET /v1/entries/{id}` answers, whichever way it is kept; nil for a miss, and
    /// empty for what is deleted.
    package func text(
        of id: EntryID,
        _ scope: ScopeKey,
        _ reader: StoreReader,
        now: LarderModel.Timestamp,
        as form: ShownView = .view
    ) throws(StoreError) -> String? {
        var plain: String?
        let isPlain = fastPathRow(of: id, for: scope, reader, now: now) { row in
            plain = row.withBody { String(decoding: $0, as: UTF8.self) }
        }
        if isPlain { return plain }
        let found = try view(of: id, for: scope, reader, now: now, as: form) { row, _ in
            row.withBody { String(decoding: $0, as: UTF8.self) }
        }
        guard let found else { return nil }
        switch found.content {
        case .row(let text): return text
        case .made(_, let bytes): return String(decoding: bytes, as: UTF8.self)
        case .deleted: return ""
        }
    }
}
