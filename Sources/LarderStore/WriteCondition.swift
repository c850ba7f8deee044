package import LarderModel

/// What a write hangs on: how a reader sees what stands under its id.
///
/// It is asked before the write; the writer then looks whether the row is still the one that was
/// seen, and if it is not, it is asked again. Of a kept row it is asked in the row's turn.
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

    /// The row of `cache.db` as it was when the condition held.
    struct Seen: Sendable {
        fileprivate let revision: Revision?
    }

    /// Throws `conditionFailed` where it does not hold.
    func check(_ readers: StoreReaders) async throws(StoreError) -> Seen {
        try await readers.read(Reading.current) { [self] reader throws(StoreError) -> Seen in
            // The row first: what changes it after this look is seen by the writer.
            let revision = try reader.withRow(scope, id) { $0.revision }
            guard try holds(reader) else { throw .conditionFailed }
            return Seen(revision: revision)
        }
    }
}

extension CacheWriter {
    /// Whether an id's row is as it was seen; what was not looked at is.
    func isStill(
        _ seen: WriteCondition.Seen?,
        _ scope: ScopeKey,
        _ id: EntryID
    ) throws(StoreError) -> Bool {
        guard let seen else { return true }
        return try find(scope, id).0?.revision == seen.revision
    }
}
