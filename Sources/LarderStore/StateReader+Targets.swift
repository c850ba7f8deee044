import LarderModel
import LarderNormalize

extension StateReader {
    /// The base and the changes of a target, in one transaction: no settlement comes between.
    func target(
        _ scope: ScopeKey,
        _ id: EntryID,
        upTo last: ModifierNumber = ModifierNumber(.max),
        changesMax: Int = .max
    ) throws(StoreError) -> Target {
        try inTransaction { () throws(StoreError) in
            var unknown = Target(changes: try openChanges(scope, id, upTo: last, changesMax))
            guard let saved = try base(TargetName(scope, id)) else { return unknown }
            unknown.isOfSharedRow = saved.claim.name.scope != scope
            guard let entry = saved.entry else {
                unknown.damaged = saved.claim.digest
                return unknown
            }
            var target = unknown
            target.entry = entry
            target.body = saved.chunked.map(Target.Body.chunked) ?? .inline(saved.inline)
            target.isDeleted = saved.claim.goneStatus != nil || entry.kind == .tombstone
            if target.isDeleted { return target }
            if let normalized = saved.normalized {
                try allowance.take(bytes: normalized.template.count)
                guard case .shown(let shown) = try rebuild(normalized) else { return unknown }
                (target.entry, target.body) = (shown.entry, .inline(shown.answer.bytes))
                return target
            }
            guard let chunked = saved.chunked else {
                try allowance.take(bytes: saved.inline.count)
                return target
            }
            guard entry.body.isJSON else { return target }
            try allowance.admitChunks()
            do throws(StoreError) {
                target.body = .inline(try chunks.bytes(of: chunked))
                return target
            } catch .badChunk {
                unknown.damaged = entry.body.digest
                return unknown
            }
        }
    }

    /// A target's own row where it has an entry, else the shared one that it keeps, unless that is
    /// hidden.
    private func base(_ name: TargetName) throws(StoreError) -> SavedEntry? {
        let own = try saved(name)
        guard let own, own.claim.keepsShared else {
            return own?.claim.hasEntry == true ? own : nil
        }
        // A shared row that is not hidden has an entry.
        guard try sharedRows.isHidden(name.id, from: name.scope) == false else { return nil }
        return try saved(TargetName(shared.sharedScope, name.id))
    }

    private func saved(_ name: TargetName) throws(StoreError) -> SavedEntry? {
        try claim(SavedEntry.columns, name.scope.text, name.id).first { SavedEntry($0, name) }
    }

    func rebuild(_ row: NormalizedRow) throws(StoreError) -> Rebuilt {
        let rebuilding = RowRebuilding(ofBasesIn: row, shared)
        let skeleton = try references.skeleton(row.skeleton)
        return try rebuilding.rebuild(row, skeleton: skeleton) { (id) throws(StoreError) in
            try withEntry(row.scope, id) { $0.entity } ?? nil
        }
    }

    private func openChanges(
        _ scope: ScopeKey,
        _ id: EntryID,
        upTo last: ModifierNumber,
        _ changesMax: Int
    ) throws(StoreError) -> [OpenChange] {
        let sql = """
            SELECT \(OpenChangeColumn.list) FROM change INDEXED BY change_target
                JOIN modifier ON number = change.modifier AND modifier.scope = change.scope
            WHERE change.scope = :scope AND change.id = :id AND settled = 0
                AND change.modifier <= :last
            ORDER BY change.modifier, position LIMIT :limit
            """
        let statement = try connection.statement(sql)
        statement.bind(
            (":scope", scope.text),
            (":id", id.text),
            (":last", last.value),
            (":limit", changesMax)
        )
        var changes: [OpenChange] = []
        while try statement.step() {
            try allowance.take(bytes: statement.bytes(OpenChangeColumn.effect).count, changes: 1)
            changes.append(OpenChange(statement))
        }
        return changes
    }

    /// How many effects a target's unsettled changes have, and what they hold, without reading them.
    func unsettledEffects(
        _ scope: ScopeKey,
        _ id: EntryID
    ) throws(StoreError) -> (count: Int64, bytes: Int64) {
        let sql = """
            SELECT count(*) AS count, coalesce(sum(length(effect)), 0) AS bytes FROM change INDEXED BY change_target
            WHERE scope = :scope AND id = :id AND settled = 0
            """
        let statement = try connection.statement(sql, (":scope", scope.text), (":id", id.text))
        return try statement.first { ($0.integer("count"), $0.integer("bytes")) } ?? (0, 0)
    }

    func requestBody(
        of number: ModifierNumber
    ) throws(StoreError) -> (bytes: [UInt8], mediaType: String?)? {
        try connection.statement(
            "SELECT body, media_type FROM modifier WHERE number = :number AND body IS NOT NULL",
            (":number", number.value)
        ).first { (Array($0.bytes("body")), $0.text("media_type")) }
    }

    /// What the changes of dead letters target, one for each change; without what cannot be read.
    func deadTargets() throws(StoreError) -> [(scope: Scope, id: EntryID)] {
        try connection.prepare(
            "SELECT scope, id FROM change INDEXED BY change_target WHERE settled = 1"
        ).all { row in
            guard let scope = row.scope("scope"), let id = row.entryID("id") else { return nil }
            return (scope, id)
        }
    }

    func deadLetters(_ scope: ScopeKey, _ id: EntryID) throws(StoreError) -> Int {
        let sql = """
            SELECT count(DISTINCT modifier) FROM change INDEXED BY change_target
            WHERE scope = :scope AND id = :id AND settled = 1
            """
        let statement = try connection.statement(sql, (":scope", scope.text), (":id", id.text))
        return try statement.first { Int($0.integer(.only)) } ?? 0
    }
}

private enum OpenChangeColumn: Int32, TableColumn {
    case modifier, id, state, rev, effect, acceptedAt, answered

    static let list = list(
        nil,
        [.modifier: "change.modifier", .id: "modifier.id", .rev: "modifier.rev"]
    )
}

extension OpenChange {
    fileprivate init(_ row: SQLiteStatement) {
        typealias Column = OpenChangeColumn
        var numbers = RowNumbers(row)
        number = ModifierNumber(row.integer(Column.modifier))
        modifier = row.text(Column.id) ?? ""
        state = row.text(Column.state).flatMap(ModifierState.init(rawValue:)) ?? .conflict
        revision = numbers.revision(Column.rev)
        acceptedAt = numbers.moment(Column.acceptedAt)
        effect = Array(row.bytes(Column.effect))
        isAnswered = row.isTrue(Column.answered)
    }
}
