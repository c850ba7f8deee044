import Foundation
import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

/// P-02.
@Suite("A damaged state.db of an earlier version")
struct StateVersionTests {
    private static let versions = 1..<Schema.state.steps.count
    private static let url = "https://api.example.com/a"

    /// Rows of every kind that migrations give another meaning, or take away.
    private static let rows: [(version: Int, sql: String)] = [
        (
            2,
            """
            INSERT INTO offline_origin (name) VALUES ('one'), ('two');
            INSERT INTO kept_body (body, size, linked) VALUES (1, 4, 1);
            INSERT INTO kept_chunk (chunk, checksum, data) VALUES (1 << 20, 0, x'00');
            INSERT INTO kept (scope, id, kind, stored_at, rev, status, headers, bytes, json, digest_high,
                digest_low, body, data, size, targeted, shared, pinned_at, state, wanted)
            SELECT '1000:default', id, kind, 0, 7, 200, '', 1, 0, 0, 0, body,
                CASE WHEN body IS NULL THEN x'31' END, 300, targeted, 0, CASE targeted WHEN 0 THEN 0 END,
                0, 0
            FROM (SELECT '\(url)' AS id, 1 AS kind, NULL AS body, 0 AS targeted
                UNION ALL SELECT '\(url) authorization=Bearer x', 1, NULL, 0
                UNION ALL SELECT '\(url) x-api-key=y', 1, 1, 0
                UNION ALL SELECT 'a note =cookie', 0, NULL, 0)
            """
        ),
        (
            3,
            """
            INSERT INTO modifier (number, scope, id, origin, state, reason, depends_on, attempts,
                not_applied, stalled, round, accepted_at, settled_at, rev, digest_high, digest_low,
                size, changes, method, url, headers)
            VALUES (4, '1000:default', 'dead', 'o', 'dead', 'attempts', '', 1, 0, 0, 1, 0, 5, 8, 0, 0,
                    300, 1, 'PUT', '\(url)', ''),
                (5, '1000:default', 'open', 'o', 'queued', NULL, '', 0, 0, 0, 1, 0, NULL, 9, 0, 0,
                    300, 1, 'PUT', '\(url)', '');
            INSERT INTO change (modifier, position, scope, id, settled, effect, before, after)
            VALUES (4, 0, '1000:default', '\(url)', 1, x'00', x'61', x'62'),
                (5, 0, '1000:default', '\(url) cookie=z', 0, x'00', NULL, NULL);
            INSERT INTO kept (scope, id, size, targeted, shared, wanted)
            VALUES ('1000:default', '\(url) cookie=z', 300, 1, 0, 0);
            INSERT INTO history (number, scope, id, origin, method, url, outcome, accepted_at,
                settled_at, rev, digest_high, digest_low)
            VALUES (3, '1000:default', 'over', 'o', 'PUT', '\(url)', 'confirmed', 0, 1, 6, 0, 0);
            INSERT INTO paused_lane (scope, lane) VALUES ('1000:default', 'name:x')
            """
        ),
        (7, "INSERT INTO secret (one, digest_key) VALUES (1, x'000102030405060708090a0b0c0d0e0f')"),
        (16, "UPDATE modifier SET perhaps_applied = 1 WHERE attempts > 0"),
    ]

    /// A closed store whose state.db is of a version, with rows; one that has grown was of an
    /// earlier version when its first rows came.
    private func store(of version: Int, isGrown: Bool = false) async throws -> TemporaryStore {
        let temporary = try TemporaryStore()
        try await temporary.close()
        try Data().write(to: URL(filePath: temporary.statePath))
        let file = try SQLiteConnection(path: temporary.statePath, mode: .readWrite)
        try file.execute(Schema.opening + "; PRAGMA journal_mode=WAL")
        for (index, step) in Schema.state.steps.prefix(version).enumerated() {
            try file.execute(step)
            if isGrown, index == 1 {
                // What comes after stands behind pages of rows, as in a file that was migrated.
                try file.execute("INSERT INTO kept_chunk VALUES (7, 0, zeroblob(100000))")
            }
        }
        for (needed, sql) in Self.rows where needed <= version {
            let eleventh = sql.replacing("INTO kept_", with: "INTO ")
                .replacing("INTO kept", with: "INTO claim")
            try file.execute(version < 11 ? sql : eleventh)
        }
        try file.execute(
            """
            UPDATE revision_block SET next_rev = 500000;
            PRAGMA application_id=\(Schema.applicationID); PRAGMA user_version=\(version)
            """
        )
        return temporary
    }

    /// Everything that the tables say, once the store has opened the file.
    private func said(_ temporary: TemporaryStore, of version: Int) async throws -> [String] {
        try temporary.open()
        try await temporary.close()
        let file = try SQLiteConnection(path: temporary.statePath, mode: .readOnly)
        #expect(try file.integer("PRAGMA user_version") == Int64(Schema.state.steps.count))
        var tables = ["revision_block", "claim", "body", "chunk", "offline_origin"]
        tables += ["modifier", "change", "history", "paused_lane", "reading"]
        // An earlier one has none: each file draws its own.
        if version >= 7 { tables.append("secret") }
        var rows: [String] = []
        for table in tables {
            let columns = try file.prepare("SELECT name FROM pragma_table_info('\(table)')")
            let values = try columns.all { "quote(\($0.text(.only) ?? ""))" }
            let list = try file.prepare(
                "SELECT \(values.joined(separator: " || ', ' || ")) FROM \(table) ORDER BY 1"
            )
            rows += try list.all { "\(table): \($0.text(.only) ?? "")" }
        }
        return rows
    }

    @Test(
        "A salvaged file has the rows of a sound one that is migrated, whatever page is lost",
        arguments: versions
    )
    func migrated(version: Int) async throws {
        let sound = try await said(store(of: version), of: version)
        #expect(
            sound.contains { $0.contains("change: ") && $0.contains("X'62', X'61'") }
                == (version >= 3 && version < 6)
        )
        #expect(sound.contains { $0.contains("Bearer") } == (version >= 7))
        for isGrown in [false, true] {
            let whole = try await store(of: version, isGrown: isGrown)
            let pages = StatePages(path: whole.statePath)
            // The root of an index, the first page, and those that list the tables.
            var lost =
                version > 1
                ? [try pages.root(of: version < 11 ? "kept_pinned" : "claim_pinned")] : []
            lost += try [1] + pages.children(of: 1)
            for page in lost {
                // Without its first page, a file does not say whether it is of this one or the next.
                if page == 1, [5, 15].contains(version) { continue }
                let temporary = try await store(of: version, isGrown: isGrown)
                try StatePages(path: temporary.statePath).write(.noise(StatePages.bytes), at: page)
                let found = try await said(temporary, of: version)
                #expect(found == sound, "page \(page) lost, grown \(isGrown)")
                let state = StateFile.database(in: temporary.directory.path("state"), nil)
                #expect(state.asideSets.count == 1, "page \(page) lost, grown \(isGrown)")
            }
        }
    }
}
