package import LarderModel

/// A modifier's row, without bytes.
package struct StoredModifier: Equatable, Sendable {
    package let number: ModifierNumber
    package let scope: Scope
    package let id: ModifierID
    package let origin: OriginName
    package private(set) var state: ModifierState
    package private(set) var reason: ModifierReason?
    package let lane: LaneName?
    package let dependsOn: [ModifierNumber]
    package let holdUntil: Timestamp?
    package let expiresAt: Timestamp?
    package let attemptsMax: Int?
    package private(set) var attempts: Int = 0
    package private(set) var answersNotApplied: Int = 0
    package private(set) var isStalled: Bool = false
    package private(set) var nextAttemptAt: Timestamp?
    package let afterUnknown: ModifierRules.UnknownRule?
    package let ifMatch: ModifierRules.MatchRule?
    package let onConflict: ModifierRules.ConflictRule?
    /// The If-Match of its present round.
    package private(set) var etag: String?
    /// Rounds that another version at the origin has led to, since a person last decided.
    package private(set) var conflicts: Int = 0
    private var denied: Int = 0
    /// The idempotency key of its first round.
    package let key: String?
    package private(set) var round: Int = 1
    package let acceptedAt: Timestamp
    /// The modifier whose request makes its changes, too.
    package private(set) var joinedInto: ModifierID?
    package private(set) var answerAt: Timestamp?
    /// Status of the first answer that left open whether the modifier was applied.
    package private(set) var unclearStatus: Int?
    package private(set) var settledAt: Timestamp?
    package let revision: Revision
    package let client: String?
    package let digest: Digest
    package let size: Int64
    package let method: String
    package let url: WebURL
    package let mediaType: String?
    package private(set) var answerStatus: Int?
    package let headers: HeaderFields
    package let bodyByteCount: Int
    /// Whether the server has confirmed it, and a shared row does not show it yet.
    package private(set) var isAnswered: Bool = false
    /// Whether an attempt ended without a word that denies that it was applied, or is in flight.
    package private(set) var isPerhapsApplied: Bool = false
    /// The kind of credential without which it is not sent; nil for none.
    package let credential: CredentialNeed?
    package internal(set) var targets: [EntryID] = []
    /// Targets that only its effects name.
    package internal(set) var implied: Set<EntryID> = []
    let changeCount: Int

    /// Whether bytes of it may have left in any attempt.
    package var mayHaveLeft: Bool { attempts > 0 || answerStatus != nil }

    /// Whether an earlier attempt may have been applied: no answer denies it.
    package var isRepeat: Bool {
        state == .inFlight && attempts - 1 > answersNotApplied + denied
    }

    /// Whether an attempt that has ended may have been applied, so that the next one is a repeat.
    package var mayBeApplied: Bool { attempts > answersNotApplied + denied }

    /// The row after its send step.
    mutating func sent(etag: String?) {
        (state, isPerhapsApplied, nextAttemptAt, self.etag) = (.inFlight, true, nil, etag)
        attempts += 1
    }

    /// Reads a row with ``ModifierColumn/withoutBytes``; nil for an unknown or damaged one.
    init?(_ row: SQLiteStatement) {
        typealias Column = ModifierColumn
        guard let scope = row.scope(Column.scope),
            let id = row.text(Column.id).flatMap({ try? ModifierID($0) }),
            let origin = row.text(Column.origin).flatMap({ try? OriginName($0) }),
            let state = row.text(Column.state).flatMap(ModifierState.init(rawValue:)),
            let url = row.text(Column.url).flatMap({ try? WebURL($0) }),
            let method = row.text(Column.method), !method.isEmpty
        else { return nil }
        var numbers = RowNumbers(row)
        number = ModifierNumber(numbers.number(Column.number, in: Limits.rowNumbers))
        self.scope = scope
        self.id = id
        self.origin = origin
        self.state = state
        self.url = url
        self.method = method
        reason = row.text(Column.reason).flatMap(ModifierReason.init(rawValue:))
        lane = row.text(Column.lane).flatMap { try? LaneName($0) }
        dependsOn = Self.numbers(row.text(Column.dependsOn) ?? "")
        holdUntil = numbers.momentOrNil(Column.holdUntil)
        expiresAt = numbers.momentOrNil(Column.expiresAt)
        attemptsMax = numbers.countOrNil(Column.attemptsMax)
        attempts = numbers.count(Column.attempts)
        answersNotApplied = numbers.count(Column.notApplied)
        isStalled = row.isTrue(Column.stalled)
        nextAttemptAt = numbers.momentOrNil(Column.nextAttemptAt)
        afterUnknown = row.text(Column.afterUnknown).flatMap(ModifierRules.UnknownRule.init)
        ifMatch = row.text(Column.ifMatch).flatMap(ModifierRules.MatchRule.init)
        onConflict = row.text(Column.onConflict).flatMap(ModifierRules.ConflictRule.init)
        etag = row.text(Column.etag)
        conflicts = numbers.count(Column.conflicts)
        denied = numbers.count(Column.denied)
        joinedInto = row.text(Column.joinedInto).flatMap { try? ModifierID($0) }
        key = row.text(Column.key)
        round = numbers.count(Column.round)
        acceptedAt = numbers.moment(Column.acceptedAt)
        settledAt = numbers.momentOrNil(Column.settledAt)
        revision = numbers.revision(Column.rev)
        client = row.text(Column.client)
        digest = row.digest(Column.digestHigh, .digestLow)
        size = numbers.size(Column.size)
        mediaType = row.text(Column.mediaType)
        answerStatus = numbers.statusOrNil(Column.answerStatus)
        headers = HeaderFields(lines: row.text(Column.headers) ?? "")
        changeCount = numbers.count(Column.changes)
        answerAt = numbers.momentOrNil(Column.answerAt)
        unclearStatus = numbers.statusOrNil(Column.unclearStatus)
        bodyByteCount = numbers.byteCount(Column.bodyBytes)
        isAnswered = row.isTrue(Column.answered)
        isPerhapsApplied =
            row.isTrue(Column.perhapsApplied) || [.inFlight, .unknown, .accepted].contains(state)
        credential = row.text(Column.credential).flatMap(CredentialNeed.init)
        // An unreadable lane or dependency would send the modifier out of order. A dependency on a
        // later modifier would make it wait forever. An unknown credential would not be missed.
        guard numbers.areSound, (lane == nil) == row.isNull(Column.lane),
            (afterUnknown == nil) == row.isNull(Column.afterUnknown),
            (credential == nil) == row.isNull(Column.credential),
            (ifMatch == nil) == row.isNull(Column.ifMatch),
            (onConflict == nil) == row.isNull(Column.onConflict),
            Self.text(dependsOn) == row.text(Column.dependsOn) ?? "",
            (state == .failed) == (settledAt != nil), state == .failed || !state.isSettled,
            settledAt != nil || dependsOn.allSatisfy({ $0.value < number.value })
        else { return nil }
    }

    /// The row of a modifier that was accepted just now; nil for one that was there before.
    package init?(_ new: NewModifier, _ acceptance: Acceptance, at now: Timestamp) {
        guard case .accepted(let number, let revision, _, let dependsOn) = acceptance else {
            return nil
        }
        self.number = number
        scope = new.scope.scope
        id = new.id
        origin = new.origin
        state = new.state
        lane = new.lane
        self.dependsOn = dependsOn
        holdUntil = new.holdUntil
        expiresAt = new.expiresAt
        attemptsMax = new.attemptsMax
        afterUnknown = new.afterUnknown
        ifMatch = new.ifMatch
        onConflict = new.onConflict
        key = new.key
        credential = new.credential
        acceptedAt = now
        self.revision = revision
        client = new.client?.text
        digest = new.digest
        size = new.size
        method = new.request.method
        url = new.request.url
        mediaType = new.request.mediaType
        headers = new.request.headers
        bodyByteCount = new.request.body.count
        targets = new.changes.map(\.id)
        implied = Set(new.changes.filter(\.isImplied).map(\.id))
        changeCount = new.changes.count
    }

    static func text(_ numbers: [ModifierNumber]) -> String {
        numbers.map { String($0.value) }.joined(separator: " ")
    }

    static func numbers(_ text: String) -> [ModifierNumber] {
        text.split(separator: " ").compactMap { Int64($0).map(ModifierNumber.init) }
    }
}

package enum FoundModifier: Equatable, Sendable {
    case readable(StoredModifier)
    /// The modifier's row stays as it is; its effect is unknown.
    case unreadable(ModifierNumber)

    package var readable: StoredModifier? {
        if case .readable(let modifier) = self { modifier } else { nil }
    }

    package var number: ModifierNumber {
        switch self {
        case .readable(let modifier): modifier.number
        case .unreadable(let number): number
        }
    }
}

package struct WholeModifier: Equatable, Sendable {
    package internal(set) var modifier: StoredModifier
    package let body: [UInt8]
    package let changes: [StoredChange]
    package let answer: StoredAnswer?

    package var request: QueuedRequest {
        QueuedRequest(
            method: modifier.method,
            url: modifier.url,
            headers: modifier.headers,
            mediaType: modifier.mediaType,
            body: body
        )
    }
}

package struct StoredChange: Equatable, Sendable {
    let row: Int64
    package let id: EntryID
    package let effect: [UInt8]
    /// The view without a dead letter's effect; `after` is the view with it.
    package let before: [UInt8]?
    package let after: [UInt8]?
    /// The touched places when the modifier was accepted; nil where they cannot be compared.
    package let seen: SeenValues?
    /// The same places when a conflict was found.
    package let theirs: [UInt8]?
    /// The ``SentBases/mark`` of base when the change was first sent in its round.
    package let sent: [UInt8]?
    /// Whether only effects of the modifier name it.
    package let isImplied: Bool

    /// Reads a row of the table `change`; nil if its id is invalid.
    init?(_ row: SQLiteStatement) {
        guard let id = row.entryID(ChangeColumn.id) else { return nil }
        self.id = id
        self.row = row.integer(ChangeColumn.change)
        sent = row.bytesOrNil(ChangeColumn.sent)
        effect = Array(row.bytes(ChangeColumn.effect))
        before = row.bytesOrNil(ChangeColumn.before)
        after = row.bytesOrNil(ChangeColumn.after)
        seen = row.bytesOrNil(ChangeColumn.seen).map { base in
            SeenValues(base: base, view: row.bytesOrNil(ChangeColumn.seenView))
        }
        theirs = row.bytesOrNil(ChangeColumn.theirs)
        isImplied = row.isTrue(ChangeColumn.implied)
    }
}

/// An origin's answer to a modifier, cut to what is kept of it.
package struct StoredAnswer: Equatable, Sendable {
    package let status: Int
    package let headers: HeaderFields
    package let body: [UInt8]
    package let at: Timestamp?

    package init(status: Int, headers: HeaderFields, body: [UInt8], at: Timestamp?) {
        self.at = at
        self.status = status
        self.headers = headers
        self.body = body
    }
}

package struct OpenChange: Equatable, Sendable {
    package let number: ModifierNumber
    package let modifier: String
    package let state: ModifierState
    package let revision: Revision
    package let acceptedAt: Timestamp
    package let effect: [UInt8]
    package var isAnswered = false
}
