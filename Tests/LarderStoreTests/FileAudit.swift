import LarderModel

@testable import LarderStore

/// What holds of a `cache.db` in every commit, checked on the rows themselves.
///
/// * SQLite finds nothing wrong with the file.
/// * Every entry has its recency, and the reverse; their copies agree, and it has the entry's uid.
/// * Every size is what the documented formula makes of the row, and `meta` has their sum.
/// * Every body has its bytes and its digest. A linked body is named by exactly one entry.
/// * There is no chunk without its body.
/// * Every mark hides a shared row that is there, from a user.
/// * `meta.rev` is not below any row's revision.
struct FileAudit {
    /// Bodies that no entry names, still to be removed.
    private(set) var unlinkedBodies: Int64 = 0
    private(set) var bytes: Int64 = 0
    private(set) var entries: Int64 = 0
    private(set) var owners: [UInt32: Int64] = [:]
    private var highest: Int64 = 0
    private var linked: Set<Int64> = []
    private let connection: SQLiteConnection

    init(_ path: String) throws {
        connection = try SQLiteConnection(path: path, mode: .readOnly)
        try connection.execute("BEGIN")
        let verdict = try connection.text("PRAGMA integrity_check") ?? ""
        try require(verdict == "ok", verdict)
        try checkRows()
        try checkTotals()
        try checkBodies()
        // A transaction left open would hold up the truncation of the WAL.
        try connection.execute("COMMIT")
    }

    private mutating func checkRows() throws {
        let rows = try connection.prepare(
            """
            SELECT \(RecencyColumn.row(Set(EntryColumn.allCases))), expires_at,
                recency.stored_at AS recency_stored_at
            FROM entry JOIN recency USING (key)
            """
        )
        while try rows.step() {
            guard let entry = EntryRow(rows).entry() else { throw Violation("an id that is none") }
            let id = entry.id.text
            let body = rows.integerOrNil("body")
            let size = rows.integer("size")
            let expected = entry.documentedSize(
                scope: rows.text("scope") ?? "",
                isChunked: body != nil
            )
            try require(size == expected, "\(id): size \(size), expected \(expected)")
            try require(
                rows.integer("recency_stored_at") == rows.integer("stored_at"),
                "\(id): stored_at"
            )
            let expiry = entry.kind == .blob ? rows.integerOrNil("fresh_until") : nil
            try require(rows.integerOrNil("expires_at") == expiry, "\(id): expires_at")
            let uid = rows.text("scope").flatMap(Scope.init(text:))?.uid
            try require(rows.integer("owner") == uid.map(Int64.init) ?? -1, "\(id): owner")
            if let body {
                try require(linked.insert(body).inserted, "\(id): a body with two names")
                try checkChunks(of: body, entry)
            } else {
                let digest = Checksum.digest(rows.bytes("data"))
                try require(rows.bytes("data").count == entry.body.byteCount, "\(id): length")
                try require(digest == entry.body.digest, "\(id): digest")
            }
            bytes += size
            if let uid { owners[uid, default: 0] += size }
            entries += 1
            highest = max(highest, entry.revision.number)
        }
    }

    private mutating func checkTotals() throws {
        let wrong = try number(
            """
            SELECT count(*) FROM hidden LEFT JOIN entry USING (key)
            WHERE entry.scope IS NOT 'shared' OR hidden.scope = 'shared'
            """
        )
        try require(wrong == 0, "\(wrong) marks hide no shared row")
        bytes += 64 * (try number("SELECT count(*) FROM hidden"))
        let total = try number("SELECT value FROM meta WHERE name = 'bytes'")
        try require(total == bytes, "meta has \(total) bytes, its rows \(bytes)")
        for (what, sql) in [
            ("meta", "SELECT value FROM meta WHERE name = 'entries'"),
            ("entry", "SELECT count(*) FROM entry"),
            ("recency", "SELECT count(*) FROM recency"),
        ] {
            let count = try number(sql)
            try require(count == entries, "\(what) has \(count) rows, not \(entries)")
        }
        let noted = try number("SELECT value FROM meta WHERE name = 'rev'")
        try require(noted >= highest, "meta.rev \(noted) is below \(highest)")
    }

    private mutating func checkBodies() throws {
        let named = try number("SELECT count(*) FROM body WHERE linked = 1")
        try require(named == linked.count, "\(named) linked bodies, \(linked.count) names")
        unlinkedBodies = try number("SELECT count(*) FROM body WHERE linked = 0")
        let orphans = try number(
            "SELECT count(*) FROM chunk WHERE chunk >> 20 NOT IN (SELECT body FROM body)"
        )
        try require(orphans == 0, "\(orphans) chunks without a body")
    }

    private func checkChunks(of body: Int64, _ entry: Entry) throws {
        let id = entry.id.text
        let noted = try connection.integer("SELECT size FROM body WHERE body = \(body) AND linked")
        let chunks = try connection.prepare(
            "SELECT chunk, checksum, data FROM chunk WHERE chunk >> 20 = \(body) ORDER BY chunk"
        )
        var digest = RunningDigest()
        var position: Int64 = 0
        while try chunks.step() {
            let bytes = chunks.bytes("data")
            try require(
                chunks.integer("chunk") == BodyTable.chunkKey(body, position),
                "\(id): chunk missing"
            )
            try require(digest.byteCount % Limits.inlineBodyBytesMax == 0, "\(id): short chunk")
            try require(
                Checksum.chunk(bytes) == chunks.integer("checksum"),
                "\(id): chunk checksum"
            )
            digest.update(Array(bytes))
            position += 1
        }
        try require(digest.byteCount == entry.body.byteCount, "\(id): chunks' length")
        let whole = digest.digest()
        try require(whole == entry.body.digest, "\(id): chunks' digest")
        let size = Int64(entry.body.byteCount) + position * 64
        try require(noted == size, "\(id): body.size is not \(size)")
    }

    private func number(_ sql: String) throws -> Int64 {
        try connection.integer(sql) ?? -1
    }
}

struct Violation: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

func require(_ holds: Bool, _ otherwise: @autoclosure () -> String) throws {
    guard holds else { throw Violation(otherwise()) }
}

extension Entry {
    /// The size of a row as the schema documents it, written apart from the store's own.
    func documentedSize(scope: String, isChunked: Bool) -> Int64 {
        let texts = [scope, id.text, origin?.text, mediaType, etag, lastModified]
        let metadata = texts.reduce(0) { $0 + ($1?.utf8.count ?? 0) }
        let fields = headers.fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 }
        let chunks = isChunked ? (body.byteCount + 65_535) / 65_536 : 0
        return Int64(256 + metadata + fields + body.byteCount + chunks * 64)
    }
}
