package import LarderModel

/// A target as its view is made of it: what the server said last, and the unsettled changes.
package struct Target: Sendable {
    /// The entry in its row; nil while nothing is known.
    ///
    /// Also that of a pin whose origin has deleted it, see ``isDeleted``.
    package let entry: Entry?
    /// Whether the server has deleted it.
    package let isDeleted: Bool
    package let body: Body
    /// Whether the entry is that of the shared row.
    package var isOfSharedRow = false
    /// In the order of their numbers.
    package internal(set) var changes: [OpenChange]

    package enum Body: Sendable {
        case inline([UInt8])
        /// It is no JSON, so no view needs its bytes.
        case chunked(ChunkedBody)
    }

    /// The base that the changes are applied to.
    package var base: TargetBase {
        guard let entry else { return .unknown }
        var bytes: [UInt8]?
        if case .inline(let inline) = body { bytes = inline }
        guard !isDeleted || entry.id.isEntity else { return .deleted(entry) }
        return TargetBase(entry, bytes)
    }
}

/// Which modifiers a list is about.
package struct ModifierFilter: Sendable {
    package var scopes: RowScopes
    package var state: ModifierState?
    /// Without the dead letters.
    package var isUnsettled = false
    /// Without those that the server has confirmed.
    package var isUnanswered = false
    /// Those that change this id.
    package var target: EntryID?
    package var laneName: LaneName?

    package init(_ scopes: RowScopes) {
        self.scopes = scopes
    }
}

/// What is remembered of a modifier that has left the queue.
package struct SettledModifier: Equatable, Sendable {
    /// Where it stands in the order of settling.
    package let place: Int64
    package let number: ModifierNumber
    package let scope: Scope
    package let id: String
    package let origin: String
    package let method: String
    package let url: String
    package let outcome: ModifierState
    package let reason: ModifierReason?
    package let answerStatus: Int?
    package let acceptedAt: Timestamp
    package let settledAt: Timestamp
    package let revision: Revision
    /// The first of the ids that it changed; none of one that was settled by an earlier version.
    package let targets: [EntryID]
    package let attempts: Int
    /// That of its last round.
    package let idempotencyKey: String
    package let bodyByteCount: Int
    /// The lane that it was given by name.
    package let laneName: LaneName?
    /// Nil also of one that was settled by an earlier version.
    package let answeredAt: Timestamp?

    init?(_ row: SQLiteStatement) {
        guard let scope = row.text(2).flatMap(Scope.init(text:)),
            let outcome = row.text(7).flatMap(ModifierState.init(rawValue:))
        else { return nil }
        var numbers = RowNumbers(row)
        place = numbers.number(0, in: Limits.rowNumbers)
        number = ModifierNumber(numbers.number(1, in: Limits.rowNumbers))
        self.scope = scope
        id = row.text(3) ?? ""
        origin = row.text(4) ?? ""
        method = row.text(5) ?? ""
        url = row.text(6) ?? ""
        self.outcome = outcome
        reason = row.text(8).flatMap(ModifierReason.init(rawValue:))
        answerStatus = numbers.statusOrNil(9)
        acceptedAt = numbers.moment(10)
        settledAt = numbers.moment(11)
        revision = numbers.revision(12)
        let lines = row.text(13) ?? ""
        targets = lines.split(separator: "\n").compactMap { try? EntryID(stored: String($0)) }
        attempts = numbers.count(14)
        idempotencyKey = row.text(15) ?? id
        bodyByteCount = numbers.byteCount(16)
        laneName = row.text(17).flatMap { try? LaneName($0) }
        answeredAt = numbers.momentOrNil(18)
        guard numbers.areSound, outcome.isSettled else { return nil }
    }

    static let columns = """
        history, number, scope, id, origin, method, url, outcome, reason, answer_status, \
        accepted_at, settled_at, rev, targets, attempts, key, bytes, lane, answer_at
        """
}
