package import LarderModel

/// What a write hangs on: how a reader sees what stands under its id.
///
/// It is asked before the write; the writer then looks whether the row is still the one that was
/// seen, and if it is not, it is asked again.
package struct WriteCondition: Sendable {
    private let scope: ScopeKey
    private let id: EntryID
    private let holds: @Sendable (StoreReader) throws(StoreError) -> Bool

    package init(
        _ scope: ScopeKey,
        _ id: EntryID,
        holds: @escaping @Sendable (StoreReader) throws(StoreError) -> Bool
    ) {
        self.scope = scope
        self.id = id
        self.holds = holds
    }

    /// The rows of both files as they were when the condition held.
    struct Seen: Sendable {
        let scope: ScopeKey
        let id: EntryID
        let cached: Revision?
        let saved: Revision?
    }

    func check(_ readers: StoreReaders) async throws(StoreError) -> Seen {
        try await readers.read(Reading.current) { [self] reader throws(StoreError) -> Seen in
            // The row first: what changes it after this look is seen by the writer.
            let saved =
                reader.shared.claims.covers(scope, id)
                ? try reader.stateReader().revision(scope, id) : nil
            let seen = Seen(
                scope: scope,
                id: id,
                cached: try? reader.withRow(scope, id) { $0.revision },
                saved: saved
            )
            guard try holds(reader) else { throw .conditionFailed }
            return seen
        }
    }
}

extension StoreWriter {
    /// Whether an id's rows are as they were seen; what was not looked at is.
    func isStill(_ seen: WriteCondition.Seen?) throws(StoreError) -> Bool {
        guard let seen else { return true }
        let cached = try cacheIfAny?.rows.find(seen.scope, seen.id).row?.revision
        let saved = try claimed(seen.scope, seen.id)?.revision
        return saved == seen.saved && (isCacheLeftOut || cached == seen.cached)
    }
}
