import LarderModel
import LarderNormalize

@testable import LarderStore

/// What holds of entities, references and skeletons in every commit, checked on the rows themselves.
///
/// * Sizes and skeletons add up to what `meta` says.
/// * An answer's references are those of its template's own text, an entity's those of its body.
/// * Nobody else refers to anything.
/// * A skeleton counts the answers that name it, and there is none without.
struct AnswerAudit {
    private let connection: SQLiteConnection

    /// Checks `cache.db`, and where `statePath` is given `state.db`, too.
    init(_ path: String, _ scope: ScopeKey, _ origin: OriginName, statePath: String? = nil) throws {
        connection = try SQLiteConnection(path: path, mode: .readOnly)
        try connection.execute("BEGIN")
        defer { connection.rollBack() }
        let sizes = try number("SELECT coalesce(sum(size), 0) FROM recency")
        let shapes = try number(
            "SELECT coalesce(sum(length(data) + \(Limits.rowOverheadBytes)), 0) FROM skeleton"
        )
        let total = try number("SELECT value FROM meta WHERE name = 'bytes'")
        try require(sizes + shapes == total, "\(sizes) + \(shapes) bytes, meta has \(total)")
        try checkSkeletons("entry")
        try checkReferences("entry", EntryColumn.list, scope, origin) { id in
            RowKey(scope, id).number
        }
        if let statePath { _ = try AnswerAudit(state: statePath, scope, origin) }
    }

    private init(state path: String, _ scope: ScopeKey, _ origin: OriginName) throws {
        connection = try SQLiteConnection(path: path, mode: .readOnly)
        let connection = connection
        try connection.execute("BEGIN")
        defer { connection.rollBack() }
        try checkSkeletons("claim")
        try checkReferences("claim", EntryColumn.listOfClaim, scope, origin) { id in
            let row = try connection.prepare(
                "SELECT claim FROM claim WHERE scope = :scope AND id = :id"
            )
            row.bind((":scope", scope.text), (":id", id.text))
            return try row.step() ? row.integer(.only) : nil
        }
    }

    private func checkSkeletons(_ rows: String) throws {
        let wrong = try number(
            """
            SELECT count(*) FROM skeleton WHERE answers <= 0 OR answers <>
                (SELECT count(*) FROM \(rows) WHERE \(rows).skeleton = skeleton.skeleton)
            """
        )
        try require(wrong == 0, "\(wrong) skeletons count wrongly")
        let lost = try number(
            """
            SELECT count(*) FROM \(rows) WHERE skeleton IS NOT NULL
                AND skeleton NOT IN (SELECT skeleton FROM skeleton)
            """
        )
        try require(lost == 0, "\(lost) answers without their skeletons")
    }

    private func checkReferences(
        _ table: String,
        _ columns: String,
        _ scope: ScopeKey,
        _ origin: OriginName,
        _ number: (EntryID) throws -> Int64?
    ) throws {
        var expected: Set<[Int64]> = []
        let reader = ReferenceTable(connection, of: table == "entry" ? .cache : .state)
        let rows = try connection.prepare("SELECT \(columns) FROM \(table) WHERE kind IS NOT NULL")
        while try rows.step() {
            let row = EntryRow(rows)
            try require(row.isSound, "a row that is damaged")
            var keys: [EntityKey] = []
            if let normalized = row.normalized(in: scope) {
                let skeleton = try reader.skeleton(normalized.skeleton)
                guard let skeleton, let template = try? Template(normalized.template, skeleton)
                else { throw Violation("a template that cannot be read") }
                keys = template.references(skeleton).map(\.key)
            } else if case .present(let body, _)? = row.held {
                keys = body.references.map(\.key)
            }
            for key in keys {
                guard let child = try number(EntryID(EntityName(key, of: origin))) else {
                    throw Violation("\(key) has no row, and something refers to it")
                }
                expected.insert([child, rows.integer(EntryColumn.key)])
            }
        }
        var found: Set<[Int64]> = []
        let edges = try connection.prepare("SELECT child, parent FROM reference")
        while try edges.step() { found.insert([edges.integer("child"), edges.integer("parent")]) }
        let difference = found.symmetricDifference(expected)
        try require(difference.isEmpty, "\(difference.count) references too few or too many")
    }

    private func number(_ sql: String) throws -> Int64 { try connection.integer(sql) ?? 0 }
}
