package import LarderModel

package struct Pin: Equatable, Sendable {
    package let id: EntryID
    package let scope: Scope
    package let state: PinState
    /// Why it is neither held nor waiting.
    package let trouble: PinTrouble?
    /// Where it is fetched from; nil for a client's blob.
    package let origin: OriginName?
    /// The entry whose bytes are kept; nil while there are none.
    package internal(set) var entry: Entry?
    /// What it counts against `pins.max_bytes`.
    package let size: Int64
    package let pinnedAt: Timestamp
    /// Whether it is to be fetched as soon as its origin answers.
    package let isWanted: Bool
    /// In which order pins are walked through.
    package let number: Int64
    let keepsShared: Bool

    /// Reads a row whose columns are ``columns``; nil for a damaged one.
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

    /// That of a row; nil where it has no bytes.
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
    /// There is nothing to pin, and nowhere to fetch it from.
    case miss
}

extension PinTrouble {
    /// The origin has deleted what is pinned.
    init(deleted status: Int) {
        self.init(problem: "deleted", reason: "the origin answered \(status): it has deleted it")
    }
}
