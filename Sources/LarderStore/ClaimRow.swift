package import LarderModel

/// What is known of a claimed row, without its entry.
package struct ClaimRow: Equatable, Sendable {
    package let id: EntryID
    package let scope: Scope
    /// Nil while there is no entry.
    package let kind: EntryKind?
    package let isPinned: Bool
    /// How many unsettled changes target it.
    package let targets: Int
    /// Whether it keeps the shared row under its id.
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

    /// Where the page after it begins in the order of ids.
    package var cursor: RowCursor { RowCursor(value: 0, scope: scope.text, id: id.text) }

    /// Reads a row whose columns are ``columns``; nil for one with a scope or an id that is none,
    /// which only damage leaves.
    init?(_ statement: SQLiteStatement) {
        guard let id = try? EntryID(stored: statement.text(2) ?? ""),
            let scope = statement.text(1).flatMap(Scope.init(text:))
        else { return nil }
        self.id = id
        self.scope = scope
        var numbers = RowNumbers(statement)
        number = statement.integer(0)
        kind = statement.integerOrNil(3).map { EntryKind(rawValue: $0) ?? .blob }
        isPinned = !statement.isNull(4)
        targets = numbers.count(5)
        keepsShared = statement.integer(6) != 0
        size = numbers.size(7)
        isTargeted = statement.integer(8) != 0
    }

    static let columns = """
        claim, scope, id, kind, pinned_at,
            CASE WHEN targeted THEN (SELECT count(*) FROM change INDEXED BY change_target
                WHERE change.scope = claim.scope AND change.id = claim.id AND settled = 0) END,
            shared, size, targeted
        """

    /// The columns of an entry as ``EntryRow`` has them with its form, but that its number is the row's.
    static let entryColumns = "claim" + EntryRow.columnsWithForm.dropFirst("key".count)
    /// Those of an entry as ``EntryRow`` has them, but that no body is read.
    static let entryColumnsWithoutBody =
        "claim" + EntryRow.columnsWithoutBody.dropFirst("key".count)
    /// The places of ``entryColumns`` with what a writer asks of a row before it changes it.
    static let foundColumns = entryColumns.replacing("scope, id", with: "NULL, NULL")
        .replacing(", headers", with: ", NULL").replacing(", media_type", with: ", NULL")
        .replacing(", data", with: ", NULL")
}
