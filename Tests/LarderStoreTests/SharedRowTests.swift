import Glibc
import LarderModel
import LarderNormalize
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("Shared rows that users keep")
struct SharedRowTests {
    private static func temporary(
        pinsMaxBytes: Int64 = 1 << 20,
        _ faults: FaultInjection? = nil
    ) throws -> TemporaryStore {
        try TemporaryStore(configure: {
            $0.pinsMaxBytes = ByteSize(bytes: pinsMaxBytes)
            $0.faults = faults
        })
    }

    private static let origin = try? OriginName("host")

    @Test("A modifier has the shared row moved as it is, and no row of its user's has its bytes")
    func promoted() async throws {
        let temporary = try Self.temporary()
        let (store, shared) = (temporary.store, temporary.shared)
        let put = try await temporary.answer("a", "[1]", in: shared)
        let number = try await temporary.accept("one", "a", isOfSharedRow: true)
        #expect(try temporary.rows() == ["1000:default a - shared", "shared a [1]"])
        #expect(try temporary.target("a")?.base == "[1]")
        #expect(try temporary.revision("a", in: shared) == put.revision, "others see no change")
        #expect(try await temporary.text("a") == nil, "it has no row of its own")
        #expect(try await temporary.answer("a", "[2]", in: shared).isSame == false)
        #expect(try temporary.target("a")?.base == "[2]")
        try await temporary.store.requireInvariants()
        try await temporary.cancel(number)
        #expect(try temporary.rows() == ["shared a [2]"])
        try await store.maintain()
        #expect(try temporary.rows() == [])
        #expect(try await temporary.text("a", in: shared) == "[2]")
        try await temporary.store.requireInvariants()
    }

    @Test("No kill between the commits of both files leaves a shared row at an old revision")
    func killed() async throws {
        let faults = FaultInjection()
        let temporary = try Self.temporary(faults)
        let shared = temporary.shared
        try await temporary.answer("a", "[1]", in: shared)
        try await temporary.accept("one", "a", isOfSharedRow: true)
        try await temporary.answer("a", "[2]", in: shared)
        // The cache's part of that is lost, as it is not synced.
        try temporary.crash()
        #expect(try await temporary.text("a", in: shared) == "[2]")
        #expect(try temporary.target("a")?.base == "[2]")
        try temporary.dropCache()
        #expect(try await temporary.text("a", in: temporary.shared) == "[2]")
        try await temporary.store.requireInvariants()
    }

    @Test("A write in the commit of its user's own answer counts for that answer's row alone")
    func acceptedWithOwnAnswer() async throws {
        let temporary = try Self.temporary()
        let (queue, scope, gate) = (temporary.store.commits, temporary.scope, WriterGate())
        try await temporary.answer("a", "[1]", in: temporary.shared)
        try await temporary.accept("one", "a", isOfSharedRow: true)
        let own = NewEntry.fetched(scope, named("a"), "[2]")
        let write = NewModifier.changing(["a"], "two", scope, isOfSharedRow: true)
        queue.post { _ throws(StoreError) in gate.hold() }
        try await gate.waitUntilHeld()
        queue.post { writer throws(StoreError) in
            _ = try writer.entries.put(own, fence: nil, now: .epoch)
        }
        queue.post { writer throws(StoreError) in
            _ = try writer.accepting.accept([write], now: .epoch)
        }
        gate.letGo()
        try await temporary.store.settle()
        #expect(try temporary.target("a")?.1 == ["one", "two"])
        try await temporary.store.requireInvariants()
    }

    @Test("A confirmed write of a shared row waits for an answer, also over a start, and no longer")
    func answered() async throws {
        let temporary = try Self.temporary()
        let shared = temporary.shared
        try await temporary.answer("a", "[1]", in: shared)
        try await temporary.answer("mine", "[1]")
        let number = try await temporary.accept("one", "a", "mine", isOfSharedRow: true)
        #expect(try temporary.target("mine")?.base == "[1]")
        try await temporary.confirm(number, "[9]")
        #expect(try await temporary.text("a", in: shared) == "[1]", "a 2xx changes no shared row")
        #expect(try await temporary.text("mine") == "[9]", "and its user's own rows immediately")
        #expect(try temporary.target("mine") == nil, "nothing applies twice")
        #expect(try temporary.target("a")?.1 == ["one"])
        try temporary.crash()
        #expect(try temporary.target("a")?.1 == ["one"])
        let found = try await temporary.store.modifiers.unsettled(after: nil)
        #expect(found.first?.readable?.isAnswered == true)
        try await temporary.store.requireInvariants()
        let before = try #require(try temporary.revision("a", in: shared))
        try await temporary.answer("a", "[1]", in: shared)
        #expect(try temporary.target("a") == nil)
        #expect(try #require(try temporary.revision("a", in: shared)) > before)
        #expect(try await temporary.store.modifiers.settled(number, of: temporary.scope) != nil)
        #expect(try temporary.count("change") == 0)
        try await temporary.store.requireInvariants()
    }

    @Test("A second confirmation of a write that waits for an answer does not end its wait")
    func confirmedTwice() async throws {
        let temporary = try Self.temporary()
        try await temporary.answer("a", "[1]", in: temporary.shared)
        let number = try await temporary.accept("one", "a", isOfSharedRow: true)
        try await temporary.confirm(number, "[9]")
        // A later write has confirmed it, and its own limit ends at the same moment.
        try await temporary.confirm(number, "[9]")
        #expect(try temporary.target("a")?.1 == ["one"])
        #expect(try await temporary.store.modifiers.settled(number, of: temporary.scope) == nil)
        var given = Settlement(number: number, outcome: .confirmed { _, _ in .keep })
        given.endsWait = true
        try await temporary.store.modifiers.settle([given], now: .epoch)
        #expect(try temporary.target("a") == nil, "a person has given it up")
        try await temporary.store.requireInvariants()
    }

    @Test("A covered answer settles nothing, as its request may have started before the 2xx")
    func fenced() async throws {
        let temporary = try Self.temporary()
        let shared = temporary.shared
        try await temporary.answer("a", "[1]", in: shared)
        try await temporary.confirm(try await temporary.accept("one", "a", isOfSharedRow: true))
        let fence = AnswerFence(touched: { _, _ in .all }, used: { _ in })
        try await temporary.answer("a", "[0]", in: shared, fence: fence)
        #expect(try temporary.target("a")?.1 == ["one"])
        try await temporary.answer("a", "[2]", in: shared)
        #expect(try temporary.target("a") == nil)
    }

    @Test("A mix settles nothing, and is shown to no user who has seen a newer row (cases 8, 29)")
    func mix() async throws {
        let temporary = try Self.temporary()
        let (shared, start) = (temporary.shared, temporary.store.changes.published)
        try await temporary.answer("a", #"{"n":0}"#, in: shared)
        try await temporary.confirm(try await temporary.accept("one", "a", isOfSharedRow: true))
        let fence = AnswerFence(
            touched: { _, _ in .counted },
            used: { _ in }
        )
        try await temporary.answer("a", #"{"n":9,"m":1}"#, in: shared, fence: fence)
        #expect(try await temporary.text("a", in: shared) == #"{"n":0,"m":1}"#)
        #expect(try temporary.target("a")?.1 == ["one"])
        #expect(temporary.store.changes.published > start)
    }

    @Test("A pin that is too large leaves the row that was stored after a cancelled write")
    func storedAfterWrite() async throws {
        let temporary = try Self.temporary(pinsMaxBytes: 1_000)
        let (store, large) = (temporary.store, "\"\(String(repeating: "x", count: 2_000))\"")
        try await temporary.answer("a", "[1]", in: temporary.shared)
        let number = try await temporary.accept("one", "a", isOfSharedRow: true)
        try await temporary.end(number, .cancelled)
        try await temporary.answer("a", large)
        guard case .tooLarge = try await temporary.pin("a", from: Self.origin) else {
            Issue.record("the pin keeps it")
            return
        }
        try await store.maintain()
        #expect(try await temporary.text("a") == large)
        try await store.requireInvariants()
    }

    @Test("An answer that a write keeps out is not noted as a row of its user's own")
    func keptOutOwn() async throws {
        let temporary = try Self.temporary()
        for isTargeted in [false, true] {
            if isTargeted { try await temporary.accept("one", "a") }
            for isKeptOut in [true, false] {
                let stored = Recorder<EntryID>()
                let fence = AnswerFence(
                    touched: { _, _ in isKeptOut ? .all : .none },
                    storesOwn: { stored.record($1) },
                    used: { _ in }
                )
                var new = NewEntry.fetched(temporary.scope, named("a"), "[1]")
                new.hidesShared = true
                _ = try await temporary.store.take(new, fence: fence)
                #expect(stored.all == (isKeptOut ? [] : [named("a")]))
            }
        }
    }

    @Test(
        "The first answer of a URL or its variants settles a write, and hides the others' older rows"
    )
    func variants() async throws {
        let (url, german) = ("https://a.example/x", "https://a.example/x accept=de")
        for first in [url, german] {
            let temporary = try Self.temporary()
            let shared = temporary.shared
            let other = first == url ? german : url
            for id in [url, german] { try await temporary.answer(id, "[1]", in: shared) }
            try await temporary.confirm(try await temporary.accept("one", url, isOfSharedRow: true))
            _ = try await temporary.store.pins.pin(
                temporary.scope,
                named(url),
                origin: nil,
                adoptsShared: true,
                now: .epoch
            )
            try await temporary.answer(url + " vary", "[0]", in: shared, kind: .variants)
            #expect(try temporary.target(url)?.1 == ["one"], "a row of ours is no answer")
            try await temporary.answer(first, "[2]", in: shared)
            #expect(try temporary.target(url) == nil)
            let pin = try await temporary.store.pins.pin(temporary.scope, named(url))
            #expect(pin?.state == (first == url ? .held : .waiting))
            #expect(try temporary.isHidden(other) && !temporary.isHidden(first))
            #expect(try !temporary.isHidden(other, from: .own(uid: 2_000, account: .default)))
            #expect(try await temporary.text(other, in: shared) == "[1]")
            try await temporary.store.requireInvariants()
            try temporary.crash()
            #expect(try temporary.isHidden(other))
            try await temporary.store.maintain()
            #expect(try temporary.isHidden(other))
            try await temporary.answer(other, "[1]", in: temporary.shared)
            #expect(try !temporary.isHidden(other))
            try await temporary.store.requireInvariants()
            try await temporary.close()
        }
    }

    @Test("An answer of the user's own row settles what waited for the shared one")
    func ownAnswer() async throws {
        let temporary = try Self.temporary()
        let shared = temporary.shared
        try await temporary.answer("a", "[1]", in: shared)
        try await temporary.confirm(try await temporary.accept("one", "a", isOfSharedRow: true))
        try await temporary.accept("two", "a", isOfSharedRow: true)
        try await temporary.answer("a", "[7]")
        #expect(try temporary.target("a")?.base == "[7]")
        #expect(try temporary.target("a")?.1 == ["two"])
        #expect(try await temporary.text("a", in: shared) == "[1]")
        try await temporary.store.requireInvariants()
    }

    @Test("A pinned shared row without room for an answer leaves it in the cache for all users")
    func withoutRoom() async throws {
        let temporary = try Self.temporary(pinsMaxBytes: 4_096)
        let shared = temporary.shared
        try await temporary.answer("a", "[1]", in: shared)
        let outcome = try await temporary.store.pins.pin(
            temporary.scope,
            named("a"),
            origin: Self.origin,
            adoptsShared: true,
            now: .epoch
        )
        #expect(outcome == .held(isNew: true))
        let large = "\"" + String(repeating: "x", count: 8_000) + "\""
        try await temporary.answer("a", large, in: shared)
        #expect(try await temporary.text("a", in: shared) == large)
        #expect(try await temporary.store.pins.pin(temporary.scope, named("a"))?.state == .tooLarge)
        try await temporary.store.requireInvariants()
        try await temporary.store.pins.wantAgain([(scope: temporary.scope, id: named("a"))])
        #expect(try await temporary.store.pins.pin(temporary.scope, named("a"))?.state == .tooLarge)
        #expect(temporary.store.pins.totals.bytes <= 4_096, "the row is still in state.db")
        try await temporary.store.maintain()
        #expect(try await temporary.text("a", in: shared) == large)
        // There may be room now.
        try await temporary.store.pins.wantAgain([(scope: temporary.scope, id: named("a"))])
        #expect(try await temporary.store.pins.pin(temporary.scope, named("a"))?.state == .waiting)
        try await temporary.store.requireInvariants()
        try await temporary.reopen()
        #expect(temporary.store.files.findings.isEmpty)
        try await temporary.answer("a", "[2]", in: shared)
        let again = try await temporary.store.pins.pin(
            temporary.scope,
            named("a"),
            origin: Self.origin,
            adoptsShared: true,
            for: .itself,
            now: .epoch
        )
        #expect(again == .held(isNew: false))
        try await temporary.store.requireInvariants()
    }

    @Test("An answer without room in the share of one user stays pinned for another user")
    func withoutRoomOfPayer() async throws {
        let temporary = try Self.temporary(pinsMaxBytes: 20_000)
        let (shared, pins) = (temporary.shared, temporary.store.pins)
        let other = temporary.store.key(for: .own(uid: 2_000, account: .default))
        try await temporary.answer("a", "[1]", in: shared)
        for scope in [temporary.scope, other] {
            let outcome = try await pins.pin(
                scope,
                named("a"),
                origin: Self.origin,
                adoptsShared: true,
                now: .epoch
            )
            #expect(outcome == .held(isNew: true))
        }
        let own = NewEntry.blob(temporary.scope, named("b"), .pattern(8_000))
        _ = try await pins.put(own, now: .epoch)
        let large = "\"" + String(repeating: "x", count: 3_000) + "\""
        try await temporary.answer("a", large, in: shared)
        #expect(try await pins.pin(temporary.scope, named("a"))?.state == .tooLarge)
        #expect(try await pins.pin(other, named("a"))?.state == .held)
        #expect(pins.isPinned(shared, named("a")))
        #expect(try await temporary.text("a", in: shared) == large)
        let bytes = pins.totals.users.mapValues(\.bytes)
        try await pins.wantAgain([(scope: temporary.scope, id: named("a"))])
        #expect(try await pins.pin(temporary.scope, named("a"))?.state == .held)
        #expect(pins.totals.users.mapValues(\.bytes) == bytes, "the other user pays for the row")
        try await temporary.store.requireInvariants()
    }

    @Test("A pin that waits for a shared row is held once any client's fetch stores it")
    func waitingPin() async throws {
        let temporary = try Self.temporary()
        let shared = temporary.shared
        let outcome = try await temporary.store.pins.pin(
            temporary.scope,
            named("a"),
            origin: Self.origin,
            adoptsShared: true,
            now: .epoch
        )
        #expect(outcome == .waiting(isNew: true))
        try await temporary.answer("a", "[1]", in: shared)
        let pin = try #require(try await temporary.store.pins.pin(temporary.scope, named("a")))
        #expect(pin.state == .held && pin.entry?.body.byteCount == 3 && !pin.isWanted)
        try await temporary.store.requireInvariants()
        try temporary.dropCache()
        #expect(try await temporary.text("a", in: temporary.shared) == "[1]")
    }

    @Test(
        "A kept row counts once, in the share of its first keeper, and moves with the last reason"
    )
    func shares() async throws {
        let temporary = try Self.temporary()
        let (store, shared) = (temporary.store, temporary.shared)
        let other = store.key(for: .own(uid: 2_000, account: .default))
        try await temporary.answer("a", "[\(String(repeating: "1,", count: 2_000))1]", in: shared)
        let one = try await temporary.accept("one", "a", isOfSharedRow: true)
        let two = try await temporary.accept("two", "a", isOfSharedRow: true, in: other)
        func bytes(_ uid: UInt32) throws -> Int64 { try temporary.usage()[uid].bytes }
        #expect(try bytes(1_000) > 4_000 && bytes(2_000) < 2_000)
        try await temporary.cancel(one)
        #expect(try bytes(1_000) == 0 && bytes(2_000) > 4_000)
        _ = try await store.pins.pin(
            temporary.scope,
            named("a"),
            origin: nil,
            adoptsShared: true,
            now: .epoch
        )
        #expect(try bytes(2_000) < 2_000)
        #expect(store.pins.totals.count == 1)
        #expect(store.pins.totals.users[1_000]?.bytes ?? 0 > 4_000)
        #expect(store.pins.totals.bytes == store.pins.totals.users[1_000]?.bytes)
        let totals = store.pins.totals
        try temporary.crash()
        #expect(temporary.store.pins.totals == totals)
        _ = try await temporary.store.pins.unpin(temporary.scope, named("a"), now: .epoch)
        #expect(try bytes(2_000) > 4_000)
        #expect(temporary.store.pins.totals.bytes == 0)
        try await temporary.cancel(two)
        #expect(try bytes(2_000) > 4_000, "it is in state.db until it has moved")
        try await temporary.store.maintain()
        #expect(try bytes(2_000) == 0)
        try await temporary.store.requireInvariants()
    }

    @Test("No delete or evict removes a shared row that a user keeps")
    func kept() async throws {
        let temporary = try Self.temporary()
        let (store, shared) = (temporary.store, temporary.shared)
        for id in ["a", "b"] { try await temporary.answer(id, "[1]", in: shared) }
        try await temporary.accept("one", "a", isOfSharedRow: true)
        _ = try await store.pins.pin(
            temporary.scope,
            named("b"),
            origin: nil,
            adoptsShared: true,
            now: .epoch
        )
        for id in ["a", "b"] {
            #expect(try await !store.pins.evict(shared, named(id)))
            await #expect(throws: StoreError.self) { _ = try await store.delete(shared, named(id)) }
            #expect(try await temporary.text(id, in: shared) == "[1]")
        }
        try await store.requireInvariants()
    }

    @Test("The log of a shared row does not name a user who was forgotten")
    func forgotten() async throws {
        let temporary = try Self.temporary()
        try await temporary.answer("a", "[1]", in: temporary.shared)
        let number = try await temporary.accept("one", "a", isOfSharedRow: true)
        try await temporary.answer("a", "[2]", in: temporary.shared)
        let hidden = "change_log WHERE hidden_from = '1000:default'"
        #expect(try temporary.count(hidden) == 1)
        try await temporary.cancel(number)
        try await temporary.store.forget(.user(1_001))
        #expect(try temporary.count(hidden) == 1)
        try await temporary.store.forget(.user(1_000))
        #expect(try temporary.count("change_log WHERE hidden_from IS NOT NULL") == 0)
        #expect(try temporary.count(hidden) == 0)
    }

    @Test("A copy of version 13 becomes its user's own row, and no revision goes back")
    func migrated() async throws {
        let temporary = try Self.temporary()
        try await temporary.answer("a", "[1]")
        try await temporary.accept("one", "a")
        let before = try temporary.revision("a")
        try await temporary.close()
        try SQLiteConnection(path: temporary.statePath, mode: .readWrite).execute(
            """
            DROP TABLE hidden;
            ALTER TABLE change ADD COLUMN inapplicable TEXT;
            DROP INDEX claim_keeper;
            ALTER TABLE claim DROP COLUMN payer;
            ALTER TABLE modifier DROP COLUMN answered;
            ALTER TABLE change_log DROP COLUMN hidden_from;
            UPDATE claim SET shared = 1;
            PRAGMA user_version=13
            """
        )
        try temporary.open()
        #expect(try temporary.target("a")?.base == "[1]")
        #expect(try temporary.revision("a") == before)
        try await temporary.answer("a", "[2]", in: temporary.shared)
        #expect(try temporary.target("a")?.base == "[1]", "it is what its user has seen")
        try await temporary.answer("a", "[3]")
        #expect(try temporary.target("a")?.base == "[3]")
        try await temporary.store.requireInvariants()
    }
}

extension TemporaryStore {
    fileprivate var shared: ScopeKey { store.key(for: .shared) }

    /// Stores a row of a kind that is no answer.
    fileprivate func answer(
        _ id: String,
        _ text: String,
        in scope: ScopeKey,
        kind: EntryKind
    ) async throws {
        var new = NewEntry.fetched(scope, named(id), text)
        new.entry.kind = kind
        _ = try await store.put(new, now: .epoch)
    }

    fileprivate func isHidden(_ id: String, from scope: Scope = .first) throws -> Bool {
        let reader = try store.makeReader()
        defer { reader.endTransaction() }
        return reader.isHidden(named(id), in: shared, from: store.key(for: scope))
    }

    /// The rows of `state.db`: scope, id, body, and whether it keeps the shared one.
    fileprivate func rows() throws -> [String] {
        let file = try SQLiteConnection(path: statePath, mode: .readOnly)
        return try file.prepare(
            """
            SELECT scope || ' ' || id || ' ' || coalesce(CAST(data AS TEXT), '-')
                || iif(shared, ' shared', '') FROM claim ORDER BY scope
            """
        ).all { $0.text(.only) }
    }

    fileprivate func revision(_ id: String, in scope: ScopeKey? = nil) throws -> Revision? {
        let reader = try store.makeReader()
        defer { reader.endTransaction() }
        return try reader.entry(scope ?? self.scope, named(id), now: .epoch)?.revision
    }

    fileprivate func cancel(_ number: ModifierNumber) async throws {
        let settlement = Settlement(number: number, outcome: .cancelled)
        try await store.modifiers.settle([settlement], now: .epoch)
    }

    fileprivate func usage() throws -> QueueUsage {
        try QueueUsage(reading: SQLiteConnection(path: statePath, mode: .readOnly))
    }

    /// A start without what the cache had.
    fileprivate func dropCache() throws {
        drop()
        for end in ["", "-wal", "-shm"] { unlink(cachePath + end) }
        try open()
    }
}
