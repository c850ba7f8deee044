package import LarderEngine
package import LarderModel
package import LarderStore

extension Engine {
    /// The row of an entry that is kept whole, as ``readEntry(_:_:_:now:_:)`` hands it out; nil for a
    /// miss.
    package func withEntry<Value>(
        _ id: EntryID,
        _ scope: ScopeKey,
        _ reader: StoreReader,
        now: Timestamp,
        _ read: (borrowing EntryRow) -> Value
    ) throws(StoreError) -> Value? {
        guard case .row(let value) = try readEntry(id, scope, reader, now: now, read) else {
            return nil
        }
        return value
    }
}
