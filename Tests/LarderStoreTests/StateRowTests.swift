import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

/// P-02, P-13: a disk can hold any number.
@Suite("Rows of state.db that say what cannot be", .timeLimit(.minutes(5)))
struct StateRowTests {
    static let numbers: [Int64] = [-1, 1 << 60, .max]

    /// What damages the row of a modifier: it becomes a dead letter, and its neighbours do not.
    static let ofModifiers = [
        "hold_until", "expires_at", "attempts_max", "attempts", "not_applied", "next_attempt_at",
        "round", "accepted_at", "rev", "answer_status", "changes", "settled_at", "number",
    ]
    /// What harms nobody, or costs the bytes of one row.
    static let ofRows = [
        "modifier SET size", "modifier SET stalled", "modifier SET digest_high",
        "claim SET size", "claim SET bytes", "claim SET rev", "claim SET stored_at",
        "claim SET status",
        "claim SET kind", "claim SET body", "claim SET targeted", "claim SET pinned_at",
        "claim SET claim",
        "claim SET state", "claim SET gone_status", "claim SET fresh_until", "claim SET shared",
        "change SET settled", "change SET change", "change SET modifier", "change SET position",
        "history SET number", "history SET history", "history SET rev", "history SET attempts",
        "history SET answer_status", "history SET settled_at", "body SET body",
        "body SET size", "body SET linked", "chunk SET chunk",
        "chunk SET checksum", "revision_block SET next_rev", "sqlite_sequence SET seq",
        "change_log SET change", "change_log SET kind", "change_log_start SET rev",
        "paused_lane SET paused_lane", "reading SET rev",
    ]

    /// A store with one row at least in every table, and its WAL not written back.
    private func prepared() async throws -> TemporaryStore {
        let temporary = try TemporaryStore()
        for id in ["a", "b", "c"] { try await temporary.answer(id, "[1]") }
        try await temporary.answer("large", "\"" + String(repeating: "x", count: 150_000) + "\"")
        for id in ["large", "c"] { try await temporary.pin(id) }
        for name in ["m0", "m1", "m2"] { try await temporary.accept(name, "a", "b") }
        try await temporary.confirm(try await temporary.accept("gone", "a"))
        let lane = try Lane(given: "name:x")
        try await temporary.store.modifiers.setPaused(temporary.scope, lane, true)
        return temporary
    }

    /// Changes the copy of the files with which it goes on.
    private func damage(_ temporary: TemporaryStore, _ sql: String) throws {
        try temporary.crash { folder in
            let path = folder.path("state/state.db")
            let file = try SQLiteConnection(path: path, mode: .readWrite)
            file.keepWALOnClose(true)
            try file.execute("PRAGMA ignore_check_constraints=ON; PRAGMA wal_autocheckpoint=0")
            try file.execute(sql)
        }
    }

    @Test(
        "A modifier with such a number is a dead letter, and the others wait as before",
        arguments: ofModifiers,
        numbers
    )
    func modifiers(column: String, number: Int64) async throws {
        let temporary = try await prepared()
        let sql = "UPDATE OR IGNORE modifier SET \(column) = \(number) WHERE id = 'm1'"
        try damage(temporary, sql)
        let reading = StateReading(temporary)
        try await reading.all()
        let left = try await temporary.store.modifiers.unsettled(after: nil).compactMap(\.readable)
        #expect(left.map(\.id.text).filter { $0 != "m1" } == ["m0", "m2"])
        #expect(try temporary.count("modifier") ?? 0 >= 3)
        let isOf = Set(left.map(\.id.text)).contains("m1")
        #expect(isOf || temporary.store.modifiers.totals.failed > 0)
        try await goOn(temporary, reading)
    }

    @Test("A row with such a number costs itself at most", arguments: ofRows, [1 << 60, .max])
    func rows(column: String, number: Int64) async throws {
        let temporary = try await prepared()
        // Of all rows, or of one where they would be equal.
        try damage(
            temporary,
            """
            UPDATE OR IGNORE \(column) = \(number);
            UPDATE OR IGNORE \(column) = \(number - 1)
            """
        )
        let reading = StateReading(temporary)
        try await reading.all()
        try await goOn(temporary, reading)
    }

    private func goOn(_ temporary: TemporaryStore, _ reading: StateReading) async throws {
        let next = try await temporary.accept("next", "b")
        try await temporary.confirm(next, "[2]")
        try await temporary.answer("c", "[3]")
        try await temporary.store.maintain()
        try await temporary.store.settle()
        try await temporary.reopen()
        #expect(temporary.store.files.findings == [])
        try await reading.all()
    }
}
