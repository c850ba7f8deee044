package import LarderModel

package struct Pin: Equatable, Sendable {
    package let id: EntryID
    package let scope: Scope
    package let state: PinState
    package let trouble: PinTrouble?
    package let origin: OriginName?
    package internal(set) var entry: Entry?
    /// What it counts against `pins.max_bytes`.
    package let size: Int64
    package let pinnedAt: Timestamp
    package let isWanted: Bool
    package let number: Int64
    let keepsShared: Bool

    init?(_ row: SQLiteStatement) {
        guard let id = row.entryID(EntryColumn.id), let scope = row.scope(EntryColumn.scope) else {
            return nil
        }
        self.id = id
        self.scope = scope
        number = row.integer(EntryColumn.key)
        origin = row.text(EntryColumn.origin).flatMap { try? OriginName($0) }
        entry = Self.entry(row)
        var numbers = RowNumbers(row)
        size = numbers.size(DurableColumn.size)
        pinnedAt = numbers.moment(DurableColumn.pinnedAt)
        state = PinState(rawValue: row.integer(DurableColumn.state)) ?? .failed
        trouble = row.text(DurableColumn.problem).map {
            PinTrouble(problem: $0, reason: row.text(DurableColumn.reason) ?? "")
        }
        isWanted = row.isTrue(DurableColumn.wanted)
        keepsShared = row.isTrue(DurableColumn.shared)
    }

    static func entry(_ statement: SQLiteStatement) -> Entry? {
        let hasBytes = statement.integerOrNil(EntryColumn.kind).map {
            $0 != EntryKind.tombstone.rawValue
        }
        return hasBytes == true ? EntryRow(statement).entry() : nil
    }

    static let columns = DurableColumn.row(
        EntryColumn.listed,
        [.size, .pinnedAt, .state, .problem, .reason, .wanted, .shared]
    )
}

package enum PinOutcome: Equatable, Sendable {
    /// Its bytes are kept; whether it was not pinned before.
    case held(isNew: Bool)
    /// There are no bytes yet, and there is somewhere to fetch them from.
    case waiting(isNew: Bool)
    /// What is cached is too large for the room that pins have.
    case tooLarge(PinTrouble)
    case miss
}

extension PinTrouble {
    init(deleted status: Int) {
        self.init(problem: "deleted", reason: "the origin answered \(status): it has deleted it")
    }
}
