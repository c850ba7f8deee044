import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

/// Answers in the history, and the mark of a modifier that was perhaps applied.
@Suite("Kept answers", .timeLimit(.minutes(5)))
struct KeptAnswerTests {
    private func settle(_ temporary: TemporaryStore, _ name: String, bytes: Int) async throws {
        let number = try await temporary.accept(name, "a")
        var settlement = Settlement(number: number, outcome: .confirmed { _, _ in .keep })
        settlement.answer = StoredAnswer(
            status: 200,
            headers: HeaderFields([.init(name: "ETag", value: "\"1\"")]),
            body: .pattern(bytes),
            at: .epoch
        )
        try await temporary.store.modifiers.settle([settlement], now: .epoch)
    }

    private func lengths(_ temporary: TemporaryStore) async throws -> [Int] {
        try await temporary.store.modifiers.history(of: .all, before: nil, limit: 9)
            .map(\.answerBody.count)
    }

    @Test("A confirmed modifier keeps its answer, which counts in the queue, also over a restart")
    func kept() async throws {
        let temporary = try TemporaryStore()
        let before = temporary.store.modifiers.totals.bytes
        try await settle(temporary, "one", bytes: 5_000)
        let settled = try #require(
            try await temporary.store.modifiers.history(of: .all, before: nil, limit: 9).first
        )
        #expect(settled.answerStatus == 200 && settled.answerBody == .pattern(5_000))
        #expect(settled.answerHeaders["ETag"] == "\"1\"")
        let bytes = temporary.store.modifiers.totals.bytes
        #expect(bytes - before >= 5_000)
        try temporary.crash()
        #expect(temporary.store.modifiers.totals.bytes == bytes)
    }

    @Test("Above queue.history_bytes the oldest answers are forgotten, their states are not")
    func forgotten() async throws {
        let temporary = try TemporaryStore(configure: { $0.queue.historyBytes = 12_000 })
        for name in ["one", "two", "three"] {
            try await settle(temporary, name, bytes: 5_000)
        }
        #expect(try await lengths(temporary) == [5_000, 5_000, 0])
        let bytes = temporary.store.modifiers.totals.bytes
        try temporary.crash()
        #expect(temporary.store.modifiers.totals.bytes == bytes)
        try await settle(temporary, "four", bytes: 11_000)
        #expect(try await lengths(temporary) == [0, 0, 0, 0], "it is above the share of its user")
        try await settle(temporary, "five", bytes: 10_000)
        #expect(try await lengths(temporary) == [10_000, 0, 0, 0, 0])
    }

    @Test("The share of one user in the answers is the user's own answers (case 2)")
    func shares() async throws {
        let temporary = try TemporaryStore(configure: { $0.queue.historyBytes = 12_000 })
        let other = temporary.store.key(for: .own(uid: 1_001, account: .default))
        try await temporary.accept("other", "a", in: other)
        try await settle(temporary, "one", bytes: 5_000)
        try await settle(temporary, "two", bytes: 5_000)
        #expect(try await lengths(temporary) == [5_000, 0])
    }

    @Test("A lower limit forgets old answers instead of refusing a write (case 2)")
    func lowered() async throws {
        var maxBytes: Int64 = 1 << 20
        let temporary = try TemporaryStore(configure: { $0.queue.maxBytes = maxBytes })
        try await settle(temporary, "one", bytes: 60_000)
        #expect(try await lengths(temporary) == [60_000])
        maxBytes = 60_000
        try temporary.crash()
        try await temporary.accept("two", "a")
        #expect(try await lengths(temporary) == [0])
    }

    @Test("Whether a modifier was perhaps applied survives a restart (case 18)")
    func perhapsApplied() async throws {
        let temporary = try TemporaryStore()
        for isPerhapsApplied in [false, true] {
            let number = try await temporary.accept("m\(isPerhapsApplied)", "a")
            #expect(try await temporary.store.modifiers.send(number) != nil)
            let sent = try await temporary.store.modifiers.whole(number)
            #expect(sent?.modifier.isPerhapsApplied == true, "it is in flight")
            var update = ModifierUpdate(number, .retryWait)
            update.isPerhapsApplied = isPerhapsApplied
            try await temporary.store.modifiers.update(update)
            try temporary.crash()
            let whole = try await temporary.store.modifiers.whole(number)
            #expect(whole?.modifier.isPerhapsApplied == isPerhapsApplied)
        }
    }

    @Test(
        "A dead letter that is sent again keeps the mark of each attempt before (case 18)",
        arguments: [
            (ModifierReason.refused, false, false), (.refused, true, true),
            (.conflict, true, true), (.attempts, false, true), (.discarded, false, true),
        ]
    )
    func retried(reason: ModifierReason, isMarked: Bool, expected: Bool) async throws {
        let temporary = try TemporaryStore()
        let number = try await temporary.accept("one", "a")
        #expect(try await temporary.store.modifiers.send(number) != nil)
        var update = ModifierUpdate(number, .retryWait)
        update.isPerhapsApplied = isMarked
        try await temporary.store.modifiers.update(update)
        try await temporary.end(number, .failed(reason) { _, _ in LostView() })
        let next = try await temporary.retry(number)
        let whole = try await temporary.store.modifiers.whole(next)
        #expect(whole?.modifier.isPerhapsApplied == expected)
    }

    @Test("A write of version 15 was perhaps applied if an attempt was counted (case 18)")
    func migrated() async throws {
        let connection = try SQLiteConnection(path: ":memory:", mode: .readWrite)
        for step in Schema.state.steps.prefix(15) { try connection.execute(step) }
        for (number, state, attempts) in [
            (1, "queued", 0), (2, "retry_wait", 1), (3, "unknown", 0), (4, "auth_wait", 0),
        ] {
            try connection.execute(
                """
                INSERT INTO modifier (number, scope, id, origin, state, depends_on, attempts,
                    not_applied, stalled, round, accepted_at, rev, digest_high, digest_low, size,
                    changes, method, url, headers, answer_headers)
                VALUES (\(number), '7:default', 'm\(number)', 'o', '\(state)', '', \(attempts),
                    0, 0, 1, 0, 1, 0, 0, 100, 0, 'PUT', 'https://a.example/', '', 'a: b')
                """
            )
        }
        try connection.execute(Schema.state.steps[15])
        let rows = try connection.prepare(
            "SELECT perhaps_applied AS mark, size FROM modifier ORDER BY number"
        ).all { ($0.integer("mark"), $0.integer("size")) }
        #expect(rows.map(\.0) == [0, 1, 1, 0])
        #expect(rows.map(\.1) == [96, 96, 96, 96])
    }
}
