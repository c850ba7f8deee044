package import LarderModel

/// A condition on what a reader sees under the id of a write.
///
/// The writer then checks that the row is still the one that was seen. If it is not, the condition
/// is checked again.
package struct WriteCondition: Sendable {
    private let name: TargetName
    private let holds: @Sendable (StoreReader) throws(StoreError) -> Bool

    package init(
        _ scope: ScopeKey,
        _ id: EntryID,
        holds: @escaping @Sendable (StoreReader) throws(StoreError) -> Bool
    ) {
        name = TargetName(scope, id)
        self.holds = holds
    }

    struct Seen: Sendable {
        let name: TargetName
        let cached: Revision?
        let saved: Revision?
    }

    func check(_ readers: StoreReaders) async throws(StoreError) -> Seen {
        try await readers.read(Reading.current) { [self] reader throws(StoreError) -> Seen in
            // The row first: what changes it after this look is seen by the writer.
            let saved =
                reader.shared.residency.covers(name.scope, name.id)
                ? try reader.stateReader().revision(name.scope, name.id) : nil
            let seen = Seen(
                name: name,
                cached: try? reader.withRow(name.scope, name.id) { $0.revision },
                saved: saved
            )
            guard try holds(reader) else { throw .conditionFailed }
            return seen
        }
    }
}
