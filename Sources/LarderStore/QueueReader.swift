package import LarderModel

struct QueueReader {
    let state: StateReader
    var connection: SQLiteConnection { state.connection }

    private static let targets = """
        SELECT \(ChangeColumn.list([.id, .effect, .scope, .implied])) FROM change
        WHERE modifier = :modifier ORDER BY position
        """

    /// With their targets; one that lacks changes, or has some of another scope, is unreadable.
    fileprivate func found(
        _ statement: SQLiteStatement,
        after last: Int64,
        isKnown: (([UInt8]) -> Bool)? = nil
    ) throws(StoreError) -> [FoundModifier] {
        try statement.page(by: ModifierColumn.number, after: last) {
            row throws(StoreError) -> FoundModifier? in
            let number = ModifierNumber(row.integer(ModifierColumn.number))
            guard var modifier = StoredModifier(row) else { return .unreadable(number) }
            let scope = modifier.scope.text
            let targets = try connection.statement(Self.targets, (":modifier", number.value))
            modifier.targets = try targets.all { row in
                if let isKnown, !isKnown(Array(row.bytes(ChangeColumn.effect))) { return nil }
                let id = row.entryID(ChangeColumn.id)
                if let id, row.isTrue(ChangeColumn.implied) { modifier.implied.insert(id) }
                return row.isText(ChangeColumn.scope, scope) ? id : nil
            }
            let isWhole = modifier.targets.count == modifier.changeCount
            return isWhole ? .readable(modifier) : .unreadable(number)
        }
    }

    /// A modifier with its request's body, or with the first bytes of it.
    func modifier(
        _ number: ModifierNumber,
        bodyBytesMax: Int? = nil
    ) throws(StoreError) -> WholeModifier? {
        try state.inTransaction { () throws(StoreError) in
            try connection.modifier(number, bodyBytesMax: bodyBytesMax)
        }
    }

    fileprivate func head(
        of number: ModifierNumber
    ) throws(StoreError) -> (id: ModifierID?, state: ModifierState?, isAnswered: Bool)? {
        try connection.statement(
            "SELECT id, state, answered FROM modifier WHERE number = :number",
            (":number", number.value)
        ).first { row in
            let id = row.text("id").flatMap { try? ModifierID($0) }
            return (id, row.text("state").flatMap(ModifierState.init), row.isTrue("answered"))
        }
    }

    private static let submissions = [
        ("modifier", ""), ("history", "ORDER BY history DESC LIMIT 1"),
    ].map { table, order in
        """
        SELECT digest_high, digest_low, number, rev, settled_at, origin, url FROM \(table)
        WHERE scope = :scope AND id = :id \(order)
        """
    }

    func submission(of id: ModifierID, _ scope: ScopeKey) throws(StoreError) -> Submission? {
        for sql in Self.submissions {
            let statement = try connection.statement(sql, (":scope", scope.text), (":id", id.text))
            guard try statement.step() else { continue }
            return Submission(
                number: ModifierNumber(statement.integer("number")),
                revision: Revision(statement.integer("rev")),
                digest: statement.digest("digest_high", "digest_low"),
                isSettled: !statement.isNull("settled_at"),
                origin: statement.text("origin") ?? "",
                url: statement.text("url").flatMap { try? WebURL($0) }
            )
        }
        return nil
    }
}

extension SQLiteConnection {
    /// A modifier of a `state.db` with its changes; the caller holds a transaction.
    func modifier(
        _ number: ModifierNumber,
        bodyBytesMax: Int? = nil
    ) throws(StoreError) -> WholeModifier? {
        let columns = bodyBytesMax.map { bytes in
            ModifierColumn.list(nil, [.body: "substr(\(ModifierColumn.body.sql), 1, \(bytes))"])
        }
        let row = try statement(
            "SELECT \(columns ?? ModifierColumn.whole) FROM modifier WHERE number = :number",
            (":number", number.value)
        )
        guard try row.step(), var modifier = StoredModifier(row) else { return nil }
        let changes = try statement(
            "SELECT \(ChangeColumn.whole) FROM change WHERE modifier = :modifier ORDER BY position",
            (":modifier", number.value)
        ).all(StoredChange.init)
        modifier.targets = changes.map(\.id)
        modifier.implied = Set(changes.filter(\.isImplied).map(\.id))
        let answer = modifier.answerStatus.map { status in
            StoredAnswer(
                status: status,
                headers: HeaderFields(lines: row.text(ModifierColumn.answerHeaders) ?? ""),
                body: Array(row.bytes(ModifierColumn.answerBody)),
                at: modifier.answerAt
            )
        }
        return WholeModifier(
            modifier: modifier,
            body: Array(row.bytes(ModifierColumn.body)),
            changes: changes,
            answer: answer
        )
    }
}

extension ModifierStore {
    private func inQueue<Value: Sendable>(
        _ read: @escaping @Sendable (QueueReader) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        try await store.read { reader throws(StoreError) in try read(reader.stateReader().queue) }
    }

    package func wantedReads() async throws(StoreError) -> [WantedRead] {
        try await inQueue { queue throws(StoreError) in
            let sql = """
                SELECT substr(target, 1, instr(target, char(10)) - 1) AS scope,
                    substr(target, instr(target, char(10)) + 1) AS id, rev
                FROM reading ORDER BY rev
                """
            return try queue.connection.statement(sql).all { row in
                var numbers = RowNumbers(row)
                guard let scope = row.scope("scope"), let id = row.entryID("id") else { return nil }
                return WantedRead(scope: scope, id: id, revision: numbers.revision("rev"))
            }
        }
    }

    package func pausedLanes() async throws(StoreError) -> [(scope: Scope, lane: Lane)] {
        try await inQueue { queue throws(StoreError) in
            try queue.connection.statement("SELECT scope, lane FROM paused_lane").all { row in
                guard let scope = row.scope("scope"),
                    let lane = row.text("lane").flatMap({ try? Lane(stored: $0) })
                else { return nil }
                return (scope, lane)
            }
        }
    }

    /// A page of the unsettled modifiers after `number`, in the order of their numbers; those that
    /// cannot be read are among them.
    ///
    /// `isKnown` says of an effect's bytes whether there is such an effect; without it all are.
    package func unsettled(
        after number: ModifierNumber?,
        limit: Int = Limits.pageRowsMax,
        isKnown: (@Sendable ([UInt8]) -> Bool)? = nil
    ) async throws(StoreError) -> [FoundModifier] {
        let last = number?.value ?? 0
        let sql = """
            SELECT \(ModifierColumn.withoutBytes) FROM modifier NOT INDEXED
            WHERE settled_at IS NULL AND number > :after ORDER BY number LIMIT :limit
            """
        return try await inQueue { queue throws(StoreError) in
            let rows = try queue.connection.statement(sql, (":after", last), (":limit", limit))
            return try queue.found(rows, after: last, isKnown: isKnown)
        }
    }

    package func page(
        _ filter: ModifierFilter,
        after number: ModifierNumber?,
        limit: Int
    ) async throws(StoreError) -> [FoundModifier] {
        try await inQueue { queue throws(StoreError) in
            let statement = try queue.connection.statement(filter.sql, of: filter.scopes)
            statement.bind((":after", number?.value ?? 0), (":limit", limit))
            if let state = filter.state { statement.bind(":state", state.rawValue) }
            if let lane = filter.laneName { statement.bind(":lane", lane.text) }
            if let target = filter.target { statement.bind(":target", target.text) }
            return try queue.found(statement, after: number?.value ?? 0)
        }
    }

    package func whole(
        _ number: ModifierNumber,
        bodyBytesMax: Int? = nil
    ) async throws(StoreError) -> WholeModifier? {
        try await inQueue { queue throws(StoreError) in
            try queue.modifier(number, bodyBytesMax: bodyBytesMax)
        }
    }

    /// Id and state of an unsettled modifier or a dead letter, without effects and body.
    ///
    /// A body has up to 16 MiB. An unreadable value is nil.
    package func head(
        _ number: ModifierNumber
    ) async throws(StoreError) -> (id: ModifierID?, state: ModifierState?, isAnswered: Bool)? {
        try await inQueue { queue throws(StoreError) in try queue.head(of: number) }
    }

    /// Whether a modifier was settled without being confirmed, as far as the history goes back.
    ///
    /// The last outcome counts, because a dead letter may have been sent again.
    package func hasFailed(_ number: ModifierNumber) async throws(StoreError) -> Bool {
        try await inQueue { queue throws(StoreError) in
            if let head = try queue.head(of: number) { return head.state == .failed }
            let outcome = try queue.connection.statement(
                "SELECT outcome FROM history WHERE number = :number ORDER BY history DESC LIMIT 1",
                (":number", number.value)
            ).first { $0.text(.only) ?? "" }
            return outcome.map { $0 != ModifierState.confirmed.rawValue } ?? false
        }
    }

    package func withTargets(
        _ number: ModifierNumber
    ) async throws(StoreError) -> (WholeModifier, [EntryID: Target])? {
        try await store.read { reader throws(StoreError) in
            guard let whole = try reader.stateReader().queue.modifier(number) else { return nil }
            let scope = reader.key(for: whole.modifier.scope)
            var targets: [EntryID: Target] = [:]
            for id in whole.modifier.targets { targets[id] = try reader.targets.target(scope, id) }
            return (whole, targets)
        }
    }

    package func number(
        _ id: ModifierID,
        of scope: ScopeKey
    ) async throws(StoreError) -> ModifierNumber? {
        try await submissions(of: [id], scope)[id]?.number
    }

    package func submissions(
        of ids: [ModifierID],
        _ scope: ScopeKey
    ) async throws(StoreError) -> [ModifierID: Submission] {
        try await inQueue { queue throws(StoreError) in
            var found: [ModifierID: Submission] = [:]
            for id in ids { found[id] = try queue.submission(of: id, scope) }
            return found
        }
    }

    package func oldestAcceptedAt() async throws(StoreError) -> Timestamp? {
        let sql = """
            SELECT accepted_at FROM modifier INDEXED BY modifier_open
            WHERE settled_at IS NULL ORDER BY number LIMIT 1
            """
        return try await inQueue { queue throws(StoreError) in
            try queue.connection.integer(sql).map(Timestamp.init(milliseconds:))
        }
    }

    package func settled(
        _ number: ModifierNumber,
        of scope: ScopeKey
    ) async throws(StoreError) -> SettledModifier? {
        let sql = """
            SELECT \(HistoryColumn.list) FROM history
            WHERE number = :number AND scope = :scope ORDER BY history DESC LIMIT 1
            """
        return try await inQueue { queue throws(StoreError) in
            try queue.connection
                .statement(sql, (":number", number.value), (":scope", scope.text))
                .first { SettledModifier($0) }
        }
    }

    /// A row of the queue that is not readable as a modifier, as a dead letter with what is left.
    package func unreadable(
        _ number: ModifierNumber
    ) async throws(StoreError) -> SettledModifier? {
        let sql = "SELECT \(HistoryColumn.unreadable) FROM modifier WHERE number = :number"
        return try await inQueue { queue throws(StoreError) in
            try queue.connection.statement(sql, (":number", number.value))
                .first { SettledModifier($0, isDamaged: true) }
        }
    }

    package func history(
        of scopes: RowScopes,
        before number: Int64?,
        limit: Int,
        bytesMax: Int = .max
    ) async throws(StoreError) -> [SettledModifier] {
        let sql = """
            SELECT \(HistoryColumn.list) FROM history NOT INDEXED
            WHERE history < :before AND \(scopes.condition) ORDER BY history DESC LIMIT :limit
            """
        return try await inQueue { queue throws(StoreError) in
            let statement = try queue.connection.statement(sql, of: scopes)
            statement.bind((":before", number ?? .max), (":limit", limit))
            defer { statement.reset() }
            var (rows, bytes): ([SettledModifier], Int) = ([], 0)
            while try statement.step() {
                guard let row = SettledModifier(statement) else { continue }
                rows.append(row)
                bytes += row.answerBody.count
                if bytes >= bytesMax { break }
            }
            return rows
        }
    }
}

/// The queue of a `state.db`, read without a ``Store``: for a daemon that is about to be removed.
package enum UnsentModifiers {
    /// Hands each modifier that the origin has not confirmed to `use`, in the order of acceptance,
    /// dead letters included.
    ///
    /// The result is the number of modifiers that cannot be read. A missing file has none. The file
    /// is not migrated: one of another version is an error.
    package static func read(
        inStateDirectory directory: String,
        _ use: (WholeModifier) -> Void
    ) throws(StoreError) -> Int {
        let path = StateFile.database(in: directory, nil).path
        let file = DatabaseFile(path: path, schema: .state, synchronous: "FULL", faults: nil)
        guard path.isThere else { return 0 }
        let connection = try file.openReader(cacheBytes: Limits.statePageCacheBytes)
        let known = file.schema.steps.count
        switch try file.schema.version(of: connection) {
        case .known(known): break
        case .empty: return 0
        case .known(let found):
            let reason = "it has version \(found) and was not migrated to version \(known)"
            throw .cannotOpen(path: path, reason: reason)
        case .newer(let found): throw file.newer(found)
        }
        // All reads see one commit, also while a daemon runs.
        try connection.execute("BEGIN")
        defer { connection.rollBack() }
        var unreadable = 0
        let numbers = try connection.statement("SELECT number FROM modifier ORDER BY number")
            .all { row in ModifierNumber(row.integer(.only)) }
        for number in numbers {
            guard let whole = try connection.modifier(number),
                whole.changes.count == whole.modifier.changeCount
            else {
                unreadable += 1
                continue
            }
            if !whole.modifier.isAnswered { use(whole) }
        }
        return unreadable
    }
}
