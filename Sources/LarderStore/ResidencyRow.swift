package import LarderModel

package struct ResidencyRow: Equatable, Sendable {
    package let id: EntryID
    package let scope: Scope
    /// Nil while there is no entry.
    package let kind: EntryKind?
    package let isPinned: Bool
    package let targets: Int
    package let keepsShared: Bool
    /// The accounted size.
    package let size: Int64
    /// Whether something keeps it that is neither a pin nor a change of its own.
    package internal(set) var isNeeded = false
    /// In which order rows are walked through.
    let number: Int64

    package var hasEntry: Bool { kind != nil }
    /// Whether unsettled changes target it, of a shared row of any user, so that nothing takes it away.
    package let isTargeted: Bool

    package var cursor: RowCursor { RowCursor(value: 0, scope: scope.text, id: id.text) }

    /// Reads a row whose columns are ``columns``; nil for a damaged one.
    init?(_ row: SQLiteStatement) {
        guard let id = row.entryID(EntryColumn.id), let scope = row.scope(EntryColumn.scope) else {
            return nil
        }
        self.id = id
        self.scope = scope
        var numbers = RowNumbers(row)
        number = row.integer(EntryColumn.key)
        kind = row.integerOrNil(EntryColumn.kind).map { EntryKind(rawValue: $0) ?? .blob }
        isPinned = !row.isNull(DurableColumn.pinnedAt)
        targets = numbers.count(DurableColumn.targets)
        keepsShared = row.isTrue(DurableColumn.shared)
        size = numbers.size(DurableColumn.size)
        isTargeted = row.isTrue(DurableColumn.targeted)
    }

    static let columns = DurableColumn.row(
        [.key, .scope, .id, .kind],
        [.pinnedAt, .targets, .shared, .size, .targeted]
    )
}

extension PinState {
    /// That of a row of `claim`; nil where it is not pinned.
    init?(claim row: SQLiteStatement) {
        guard !row.isNull(DurableColumn.pinnedAt) else { return nil }
        self = PinState(rawValue: row.integer(DurableColumn.state)) ?? .failed
    }
}
