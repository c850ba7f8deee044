import LarderModel
import LarderNormalize
import LarderTestSupport
import Testing

@testable import LarderStore

/// A row of `state.db` counts once in a total, and in the share of one user, also where it only came along
/// with another row.
@Suite("Payers of shared rows")
struct SharedPayerTests {
    private static let long = String(repeating: "x", count: 3_000)
    private static let feed =
        #"[{"type":"A","id":1,"x":1,"by":{"type":"B","id":1,"n":"\#(long)"}}]"#
    private static let alone = #"[{"type":"A","id":1,"x":1}]"#

    @Test("Entities of a targeted shared answer count in the queue of a user who targets it")
    func targeted() async throws {
        let fixture = try AnswerFixture()
        let shared = fixture.shared
        try await fixture.put("feed", Self.feed, in: shared)
        let one = try await fixture.temporary.accept("one", "feed", isOfSharedRow: true)
        #expect(try fixture.payers() == [1_000, 1_000, 1_000])
        #expect(try fixture.bytes(1_000) > 3_000)
        #expect(try fixture.bytes(1_000) == fixture.store.modifiers.totals.bytes)
        try await fixture.store.requireInvariants()
        let other = fixture.store.key(for: .own(uid: 2_000, account: .default))
        let two = try await fixture.temporary.accept("two", "feed", isOfSharedRow: true, in: other)
        #expect(try fixture.bytes(1_000) > 3_000 && fixture.bytes(2_000) < 2_000)
        try await fixture.cancel(one)
        #expect(try fixture.payers() == [2_000, 2_000, 2_000])
        #expect(try fixture.bytes(1_000) == 0 && fixture.bytes(2_000) > 3_000)
        try await fixture.store.requireInvariants()
        try fixture.temporary.crash()
        #expect(try fixture.bytes(2_000) == fixture.store.modifiers.totals.bytes)
        try await fixture.store.requireInvariants()
        try await fixture.cancel(two)
        #expect(try fixture.bytes(2_000) > 3_000, "rows that wait for demotion count")
        try await fixture.store.requireInvariants()
        try await fixture.store.maintain()
        #expect(try fixture.bytes(2_000) == 0 && fixture.store.modifiers.totals.bytes == 0)
        try await fixture.store.requireInvariants()
        try await fixture.temporary.close()
    }

    @Test("Variants of a targeted shared URL count in the share of a user who targets it")
    func variants() async throws {
        let fixture = try AnswerFixture()
        let (url, temporary) = ("https://a.example/x", fixture.temporary)
        for id in [url, url + " accept=b"] {
            try await temporary.answer(id, "\"\(Self.long)\"", in: fixture.shared)
        }
        let number = try await temporary.accept("one", url, isOfSharedRow: true)
        #expect(try fixture.payers() == [1_000, 1_000])
        try await temporary.answer(url + " accept=c", "\"\(Self.long)\"", in: fixture.shared)
        #expect(try fixture.payers() == [1_000, 1_000, 1_000])
        #expect(try fixture.bytes(1_000) > 9_000)
        try await fixture.store.requireInvariants()
        let other = fixture.store.key(for: .own(uid: 2_000, account: .default))
        try await temporary.accept("two", url, isOfSharedRow: true, in: other)
        try await fixture.cancel(number)
        #expect(try fixture.payers() == [2_000, 2_000, 2_000])
        try await fixture.store.requireInvariants()
        try await temporary.close()
    }

    @Test(
        "A pinned shared normalized answer counts its entities in pins, those that come later too"
    )
    func pinned() async throws {
        let fixture = try AnswerFixture()
        try await fixture.put("feed", Self.alone, in: fixture.shared)
        #expect(try await fixture.pin("feed") == .held(isNew: true))
        let before = fixture.store.pins.totals
        #expect(before.users[1_000]?.bytes == before.bytes)
        try await fixture.put("feed", Self.feed, in: fixture.shared)
        let totals = fixture.store.pins.totals
        #expect(totals.bytes > before.bytes + 3_000)
        #expect(totals.count == 1 && totals.users[1_000]?.bytes == totals.bytes)
        #expect(try fixture.bytes(1_000) == 0 && fixture.store.modifiers.totals.bytes == 0)
        try fixture.temporary.crash()
        #expect(fixture.store.pins.totals == totals)
        try await fixture.store.requireInvariants()
        try await fixture.temporary.close()
    }

    @Test("A pin of a shared answer takes no entities that have no room")
    func noRoom() async throws {
        let fixture = try AnswerFixture { $0.pinsMaxBytes = ByteSize(bytes: 2_500) }
        try await fixture.put("feed", Self.feed, in: fixture.shared)
        guard case .tooLarge = try await fixture.pin("feed") else {
            Issue.record("it was pinned")
            return
        }
        #expect(fixture.store.pins.totals.bytes < 2_500)
        try await fixture.store.requireInvariants()
        try await fixture.temporary.close()
    }

    @Test("A larger shared answer for which another user pays is normalized, too")
    func otherPayer() async throws {
        let fixture = try AnswerFixture { $0.pinsMaxBytes = ByteSize(bytes: 20_000) }
        let pins = fixture.store.pins
        let other = fixture.store.key(for: .own(uid: 2_000, account: .default))
        try await fixture.put("feed", Self.alone, in: fixture.shared)
        for scope in [fixture.scope, other] {
            #expect(try await fixture.pin("feed", for: scope) == .held(isNew: true))
        }
        let own = NewEntry.blob(fixture.scope, named("b"), .pattern(7_000))
        _ = try await pins.put(own, now: .epoch)
        let receipt = try await fixture.put("feed", Self.feed, in: fixture.shared)
        #expect(receipt.isNormalized)
        #expect(try await pins.pin(fixture.scope, named("feed"))?.state == .tooLarge)
        #expect(try await pins.pin(other, named("feed"))?.state == .held)
        #expect(try fixture.payers() == [2_000, 2_000, 2_000])
        try await fixture.store.requireInvariants()
        try await fixture.temporary.close()
    }

    @Test("An entity of two shared answers is in the share of a user who keeps one of them")
    func twoAnswers() async throws {
        let fixture = try AnswerFixture()
        for id in ["feed", "again"] { try await fixture.put(id, Self.feed, in: fixture.shared) }
        let other = fixture.store.key(for: .own(uid: 2_000, account: .default))
        let one = try await fixture.temporary.accept("one", "feed", isOfSharedRow: true)
        try await fixture.temporary.accept("two", "again", isOfSharedRow: true, in: other)
        #expect(try fixture.bytes(1_000) > 3_000 && fixture.bytes(2_000) < 3_000)
        try await fixture.cancel(one)
        try await fixture.store.maintain()
        #expect(try fixture.payers() == [2_000, 2_000, 2_000])
        #expect(try fixture.bytes(1_000) == 0 && fixture.bytes(2_000) > 3_000)
        try await fixture.store.requireInvariants()
        try await fixture.temporary.close()
    }

    @Test("An entity that its user targets counts for that user, then for who keeps its answer")
    func targetedEntity() async throws {
        let fixture = try AnswerFixture()
        try await fixture.put("feed", Self.feed, in: fixture.shared)
        let other = fixture.store.key(for: .own(uid: 2_000, account: .default))
        try await fixture.temporary.accept("one", "feed", isOfSharedRow: true)
        let entity = EntryID(try fixture.name("B:1")).text
        let two = try await fixture.temporary.accept("two", entity, isOfSharedRow: true, in: other)
        #expect(try fixture.bytes(1_000) < 3_000 && fixture.bytes(2_000) > 3_000)
        try await fixture.store.requireInvariants()
        try await fixture.cancel(two)
        #expect(try fixture.payers() == [1_000, 1_000, 1_000])
        #expect(try fixture.bytes(1_000) > 3_000 && fixture.bytes(2_000) == 0)
        try await fixture.store.requireInvariants()
        try await fixture.temporary.close()
    }
}

extension AnswerFixture {
    fileprivate var shared: ScopeKey { store.key(for: .shared) }

    /// The payers of the shared rows of `state.db`.
    fileprivate func payers() throws -> [Int64] {
        let file = try SQLiteConnection(path: temporary.statePath, mode: .readOnly)
        return try file.prepare("SELECT payer FROM claim WHERE scope = 'shared' ORDER BY claim")
            .all { $0.integer(.only) }
    }

    /// What a user has in the queue.
    fileprivate func bytes(_ uid: UInt32) throws -> Int64 {
        try QueueUsage(reading: SQLiteConnection(path: temporary.statePath, mode: .readOnly))[uid]
            .bytes
    }

    fileprivate func pin(_ id: String, for user: ScopeKey? = nil) async throws -> PinOutcome {
        try await store.pins.pin(
            user ?? scope,
            named(id),
            origin: origin,
            adoptsShared: true,
            now: .epoch
        )
    }

    fileprivate func cancel(_ number: ModifierNumber) async throws {
        let settlement = Settlement(number: number, outcome: .cancelled)
        try await store.modifiers.settle([settlement], now: .epoch)
    }
}
