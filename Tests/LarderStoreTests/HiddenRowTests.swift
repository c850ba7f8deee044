import Glibc
import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("Shared rows that are hidden from users")
struct HiddenRowTests {
    private let temporary = TemporaryStore.new()
    private var shared: ScopeKey { temporary.store.key(for: .shared) }

    // MARK: Marks

    @Test("A user's own answer hides the shared row, if there is one, from that user alone")
    func marked() async throws {
        let old = try await temporary.answer("a", "[1]", in: shared)
        #expect(try await temporary.shown("a") == "[1]")
        let own = try await temporary.answerOwn("a", "[2]")
        #expect(own.revision > old.revision)
        #expect(try await temporary.marks() == 1)
        for id in ["a", "b"] { try await temporary.answerOwn(id, "[3]") }
        #expect(try await temporary.marks() == 1)
        _ = try await temporary.store.delete(temporary.scope, named("a"))
        #expect(try await temporary.shown("a") == nil)
        #expect(try await temporary.shown("a", to: Scope.several[2]) == "[1]")
        #expect(try FileAudit(temporary.cachePath).bytes == temporary.store.totals.bytes)
        try await temporary.reopen()
        #expect(try await temporary.shown("a") == nil)
        try temporary.crash()
        #expect(try await temporary.shown("a") == nil)
    }

    @Test("A mark goes with new content, the same bytes said again, and the row; nothing else")
    func unmarked() async throws {
        let store = temporary.store
        let shared = store.key(for: .shared)
        try await temporary.answer("a", "[1]", in: shared)
        let seen = try await temporary.answerOwn("a", "[2]").revision
        _ = try await store.delete(temporary.scope, named("a"))
        var entry = NewEntry.fetched(shared, named("a"), "[1]").entry
        entry.headers.set("X-Confirmed", "yes")
        guard case .refreshed = try await store.refresh(entry, in: shared) else {
            Issue.record("it was not confirmed")
            return
        }
        try await store.commits.submit { writer throws(StoreError) in
            try writer.cache.rows.raise(shared, named("a"), to: try writer.revisions.next())
        }
        #expect(try await temporary.shown("a") == nil)
        let again = try await temporary.answer("a", "[1]", in: shared)
        #expect(!again.isSame && again.revision > seen)
        #expect(try await temporary.shown("a") == "[1]")
        #expect(try await temporary.answer("a", "[1]", in: shared).isSame)
        try await temporary.answerOwn("a", "[2]")
        try await temporary.answer("a", "[3]", in: shared)
        #expect(try await temporary.marks() == 0)
        try await temporary.answerOwn("a", "[4]")
        _ = try await store.delete(shared, named("a"))
        #expect(try await temporary.marks() == 0)
        _ = try await store.delete(temporary.scope, named("a"))
        try await temporary.answer("a", "[1]", in: shared)
        #expect(try await temporary.shown("a") == "[1]")
        #expect(try FileAudit(temporary.cachePath).bytes == store.totals.bytes)
    }

    @Test("An answer whose request started before a pinned own row was stored leaves its mark")
    func lateUnderPin() async throws {
        let store = temporary.store
        try await temporary.answerOwn("a", "[1]")
        try await temporary.pin("a")
        try await temporary.answer("a", "[0]", in: shared)
        var late = NewEntry.fetched(shared, named("a"), "[00]")
        late.start = store.changes.published
        try await temporary.answerOwn("a", "[2]")
        #expect(try await temporary.marks() == 1)
        _ = try await store.put(late, now: .epoch)
        #expect(try await temporary.marks() == 1)
    }

    @Test("A shared row is hidden, too, once the own row has a later revision without new content")
    func raised() async throws {
        let (store, scope) = (temporary.store, temporary.scope)
        try await temporary.answer("a", "[1]", in: shared)
        try await temporary.answerOwn("a", "[2]")
        try await temporary.answer("a", "[3]", in: shared)
        try await store.commits.submit { writer throws(StoreError) in
            try writer.cache.rows.raise(scope, named("a"), to: try writer.revisions.next())
        }
        _ = try await store.delete(scope, named("a"))
        #expect(try await temporary.shown("a") == nil)
    }

    @Test("Whichever commit fails, the own row and its mark are both stored, or neither is")
    func failing() async throws {
        for n in 1...8 {
            let temporary = try TemporaryStore()
            try await temporary.answer("a", "[1]", in: shared)
            temporary.faults.arm(n, of: n % 2 == 0 ? "COMMIT" : "INSERT")
            let isStored = (try? await temporary.answerOwn("a", "[2]")) != nil
            temporary.faults.disarm()
            try temporary.crash()
            #expect(try await temporary.marks() == (isStored ? 1 : 0), "operation \(n)")
            #expect(try await temporary.shown("a") == (isStored ? "[2]" : "[1]"))
            #expect(try FileAudit(temporary.cachePath).entries == (isStored ? 2 : 1))
        }
    }

    // MARK: state.db

    @Test(
        "A pinned own row that goes leaves a miss, also where the commit that marked it has failed",
        arguments: 1...4,
        [false, true]
    )
    func pinned(n: Int, isCrash: Bool) async throws {
        let (scope, id) = (temporary.scope, named("a"))
        try await temporary.answer("a", "[1]", in: shared)
        try await temporary.pin("a", from: OriginName("host"))
        try await temporary.upgradePin("a")
        temporary.faults.arm(n, of: "COMMIT")
        let isStored = (try? await temporary.answerOwn("a", "[2]")) != nil
        temporary.faults.disarm()
        guard isStored else { return }
        if isCrash {
            // What power may cost: the commits of cache.db that were not synced.
            try temporary.crash()
            try await temporary.removeMarks()
        }
        #expect(try await temporary.shown("a") == "[2]")
        #expect(try await temporary.unpin("a"))
        try await temporary.store.maintain()
        #expect(!temporary.store.isDurable(scope, id))
        #expect(try await temporary.shown("a") == "[2]")
        _ = try await temporary.store.delete(scope, id)
        #expect(try await temporary.shown("a") == nil)
        #expect(try await temporary.shown("a", to: Scope.several[2]) == "[1]")
    }

    @Test(
        "A pinned own row that is evicted leaves a miss, whichever commit fails",
        arguments: 1...6
    )
    func evicted(n: Int) async throws {
        let (scope, id) = (temporary.scope, named("a"))
        try await temporary.answer("a", "[1]", in: shared)
        try await temporary.answerOwn("a", "[2]")
        try await temporary.pin("a")
        try await temporary.removeMarks()
        temporary.faults.arm(n, of: "COMMIT")
        let isDone = (try? await temporary.store.pins.evict(scope, id)) ?? false
        temporary.faults.disarm()
        #expect(try await temporary.shown("a") == (isDone ? nil : "[2]"))
        try temporary.crash()
        #expect(try await temporary.shown("a") == (isDone ? nil : "[2]"))
    }

    @Test("A pin does not adopt a hidden row, and a write has no base in it")
    func adopted() async throws {
        let store = temporary.store
        for id in ["a", "b"] {
            try await temporary.answer(id, "[1]", in: shared)
            try await temporary.answerOwn(id, "[2]")
            _ = try await store.delete(temporary.scope, named(id))
        }
        let pin = try await temporary.pin("a", from: OriginName("host"), adoptsShared: true)
        #expect(pin == .waiting(isNew: true))
        try await temporary.accept("one", "b", isOfSharedRow: true)
        #expect(try temporary.target("b")?.base == nil)
        try await temporary.answer("b", "[3]", in: shared)
        #expect(try temporary.target("b")?.base == "[3]")
        try await store.requireInvariants()
    }

    @Test("A pin of a shared row that is hidden later shows the own row, and then a miss")
    func hiddenUnderPin() async throws {
        let (store, id) = (temporary.store, named("a"))
        let other = store.key(for: Scope.several[2])
        try await temporary.answer("a", "[1]", in: shared)
        for scope in [temporary.scope, other] {
            let pin = try await temporary.pin("a", of: scope, adoptsShared: true)
            #expect(pin == .held(isNew: true))
        }
        try await temporary.answerOwn("a", "[2]")
        #expect(try await temporary.shown("a") == "[2]")
        #expect(try await store.pins.pin(temporary.scope, id)?.entry?.body.byteCount == 3)
        try await store.requireInvariants()
        #expect(try await store.pins.evict(temporary.scope, id))
        #expect(try await temporary.shown("a") == nil)
        #expect(try await temporary.shown("a", to: Scope.several[2]) == "[1]")
        try temporary.loseCache()
        #expect(try await temporary.shown("a") == nil)
        #expect(try await temporary.shown("a", to: Scope.several[2]) == "[1]")
        try await temporary.store.requireInvariants()
    }

    @Test("A hidden entity stays hidden in a shared answer that another user's write moves")
    func entities() async throws {
        let fixture = try AnswerFixture()
        let (temporary, scope) = (fixture.temporary, fixture.scope)
        func shown(to viewer: ScopeKey) async throws -> String {
            let shared = fixture.store.key(for: .shared)
            return try await fixture.store.read { reader throws(StoreError) in
                try reader.shownText(shared, named("feed"), to: viewer)
            }
        }
        let feed = #"[{"type":"A","id":1,"by":{"type":"B","id":1,"n":"Ann"}}]"#
        try await fixture.put("feed", feed, in: fixture.store.key(for: .shared))
        let own = #"{"type":"B","id":1,"n":"Bea"}"#
        let new = try fixture.answer("mine", own, hidesShared: true)
        _ = try await fixture.store.put(new, now: .epoch)
        let other = fixture.store.key(for: Scope.several[2])
        let before = try await shown(to: scope)
        #expect(before != feed)
        let number = try await temporary.accept("one", "feed", isOfSharedRow: true, in: other)
        #expect(try await shown(to: scope) == before)
        #expect(try await shown(to: other) == feed)
        #expect(try temporary.count("hidden") == 1)
        try await fixture.store.requireInvariants()
        try temporary.loseCache()
        fixture.store.setOrigins(OriginNames(rules: [fixture.origin: fixture.rules]))
        #expect(try await shown(to: fixture.scope) != feed)
        #expect(try await shown(to: fixture.store.key(for: Scope.several[2])) == feed)
        try await temporary.end(number, .cancelled)
        try await fixture.store.maintain()
        #expect(try temporary.count("hidden") == 0 && temporary.count("claim") == 0)
        #expect(try await shown(to: fixture.scope) != feed, "the mark has gone back with its row")
        try await fixture.put("feed", feed, in: fixture.store.key(for: .shared))
        #expect(try await shown(to: fixture.scope) == feed)
        try await fixture.store.requireInvariants()
    }

    @Test("A mark of state.db counts in the queue of its user, until it goes in whatever way")
    func counted() async throws {
        let store = temporary.store
        let other = store.key(for: Scope.several[2])
        func bytes() throws -> Int64 {
            let file = try SQLiteConnection(path: temporary.statePath, mode: .readOnly)
            return try QueueUsage(reading: file)[1_000].bytes
        }
        for id in ["a", "b", "c"] { try await temporary.answer(id, "[1]", in: shared) }
        let number =
            try await temporary.accept("one", "a", "b", "c", isOfSharedRow: true, in: other)
        for id in ["a", "b", "c", "a"] { try await temporary.answerOwn(id, "[2]") }
        #expect(try bytes() == 3 * 64)
        try await store.requireInvariants()
        try await temporary.answer("a", "[3]", in: shared)
        #expect(try bytes() == 2 * 64)
        try await temporary.end(number, .cancelled)
        try await store.maintain()
        #expect(try bytes() == 0 && store.modifiers.totals.bytes == 0)
        #expect(try await temporary.marks() == 2)
        try await store.requireInvariants()
    }

    @Test("A user who is forgotten leaves no mark in either file")
    func forgotten() async throws {
        let store = temporary.store
        let other = store.key(for: Scope.several[2])
        for id in ["a", "b"] { try await temporary.answer(id, "[1]", in: shared) }
        try await temporary.accept("one", "a", isOfSharedRow: true, in: other)
        for id in ["a", "b"] {
            try await temporary.answerOwn(id, "[2]")
            _ = try await store.delete(temporary.scope, named(id))
        }
        try await store.forget(.user(2_000))
        #expect(try await temporary.marks() != 0)
        #expect(try temporary.count("hidden") == 1)
        try await store.forget(.user(1_000))
        #expect(try await temporary.marks() == 0)
        #expect(try temporary.count("hidden") == 0)
        #expect(try FileAudit(temporary.cachePath).bytes == store.totals.bytes)
        try await store.requireInvariants()
    }

    // MARK: Shared rows of state.db

    @Test("A mark comes with a shared row that another user's write moves, and goes back with it")
    func moved() async throws {
        let (store, other) = (temporary.store, temporary.store.key(for: Scope.several[2]))
        try await temporary.answer("a", "[1]", in: shared)
        let seen = try await temporary.answerOwn("a", "[2]").revision
        _ = try await store.delete(temporary.scope, named("a"))
        let number = try await temporary.accept("one", "a", isOfSharedRow: true, in: other)
        #expect(store.isDurable(shared, named("a")))
        try await temporary.store.maintain()
        #expect(try await temporary.marks() == 0, "the row of cache.db has gone with its mark")
        #expect(try await temporary.shown("a") == nil)
        #expect(try temporary.target("a", in: other)?.base == "[1]")
        try await temporary.end(number, .cancelled)
        try await store.maintain()
        #expect(!store.isDurable(shared, named("a")))
        #expect(try await temporary.marks() == 1)
        #expect(try await temporary.shown("a") == nil)
        #expect(try FileAudit(temporary.cachePath).bytes == store.totals.bytes)
        let again = try await temporary.answer("a", "[1]", in: shared)
        #expect(!again.isSame && again.revision > seen)
        #expect(try await temporary.shown("a") == "[1]")
    }

    @Test("An own row of the cache hides a shared row of state.db, also once the cache is lost")
    func durable() async throws {
        let other = temporary.store.key(for: Scope.several[2])
        try await temporary.answer("a", "[1]", in: shared)
        try await temporary.accept("one", "a", isOfSharedRow: true, in: other)
        let start = temporary.store.changes.published
        let seen = try await temporary.answerOwn("a", "[2]").revision
        #expect(try await temporary.shown("a") == "[2]")
        try temporary.loseCache()
        let again = temporary.store.key(for: .shared)
        #expect(try await temporary.shown("a") == nil)
        #expect(
            try temporary.target("a", in: temporary.store.key(for: Scope.several[2]))?.base == "[1]"
        )
        var late = NewEntry.fetched(again, named("a"), "[1]")
        late.start = start
        #expect(try await temporary.store.put(late, now: .epoch).isSame)
        #expect(try await temporary.shown("a") == nil)
        late.start = temporary.store.changes.published
        let newer = try await temporary.store.put(late, now: .epoch)
        #expect(!newer.isSame && newer.revision > seen)
        #expect(try await temporary.shown("a") == "[1]")
        #expect(try temporary.count("hidden") == 0)
        try await temporary.store.requireInvariants()
    }

    // MARK: Stamps

    @Test("A kept read of a shared row does not count once the row is hidden, nor while it is")
    func stamps() async throws {
        let (scope, other) = (temporary.scope, temporary.store.key(for: Scope.several[2]))
        let reader = try temporary.store.makeReader()
        func read() -> (text: String?, stamp: ReadVersion?) {
            defer { reader.endTransaction() }
            let (text, stamp) = reader.stamping { try? reader.sharedText("a", scope) }
            return (text ?? nil, stamp)
        }
        func counts(_ stamp: ReadVersion?) -> Bool { stamp.map(reader.stillSays) ?? false }
        try await temporary.answer("a", "[1]", in: shared)
        let before = read()
        #expect(before.text == "[1]" && counts(before.stamp))
        var new = NewEntry.fetched(other, named("a"), "[2]")
        new.hidesShared = true
        _ = try await temporary.store.put(new, now: .epoch)
        try await temporary.answerOwn("a", "[2]")
        #expect(!counts(before.stamp))
        _ = try await temporary.store.delete(scope, named("a"))
        let hidden = read()
        #expect(hidden.text == nil && counts(hidden.stamp))
        try await temporary.answer("a", "[1]", in: shared)
        #expect(!counts(hidden.stamp))
        let after = read()
        #expect(after.text == "[1]" && counts(after.stamp))
    }

    // MARK: Versions

    @Test("Own rows of version 5 of cache.db hide older shared rows after the migration")
    func migrated() async throws {
        try await temporary.answer("old", "[1]", in: shared)
        for id in ["old", "new", "alone"] { try await temporary.answer(id, "[2]") }
        try await temporary.answer("new", "[3]", in: shared)
        try await temporary.close()
        try SQLiteConnection(path: temporary.cachePath, mode: .readWrite)
            .execute(
                """
                DROP TABLE hidden; ALTER TABLE entry DROP COLUMN request; PRAGMA user_version=5
                """
            )
        try temporary.open()
        #expect(temporary.store.files.findings == [])
        #expect(try FileAudit(temporary.cachePath).bytes == temporary.store.totals.bytes)
        for id in ["old", "new", "alone"] {
            _ = try await temporary.store.delete(temporary.scope, named(id))
        }
        #expect(try await temporary.shown("old") == nil)
        #expect(try await temporary.shown("new") == "[3]")
        #expect(try await temporary.marks() == 1)
    }
}

extension TemporaryStore {
    /// Puts an answer that is the user's own, at an origin whose answers are shared.
    @discardableResult
    fileprivate func answerOwn(_ id: String, _ text: String) async throws -> PutReceipt {
        var new = NewEntry.fetched(scope, named(id), text)
        new.hidesShared = true
        return try await store.put(new, now: .epoch)
    }

    /// Gives a pin that was adopted from the shared row an own answer to keep.
    fileprivate func upgradePin(_ id: String) async throws {
        try await answerOwn(id, "[0]")
        try await removeMarks()
    }

    /// What a user sees under an id: the own row, else the shared one; nil for a miss.
    fileprivate func shown(_ id: String, to user: Scope = .first) async throws -> String? {
        let scope = store.key(for: user)
        return try await store.read { reader throws(StoreError) in
            try reader.sharedText(id, scope)
        }
    }

    fileprivate func marks() async throws -> Int64? {
        try await store.commits.submit { writer throws(StoreError) in
            try writer.cache.connection.integer("SELECT count(*) FROM hidden")
        }
    }

    /// Loses the marks, as a crash may lose the last commits of `cache.db`.
    fileprivate func removeMarks() async throws {
        let shared = store.key(for: .shared)
        try await store.commits.submit { writer throws(StoreError) in
            _ = try writer.cache.hiding.unhide(RowKey(shared, named("a")))
        }
    }
}

extension StoreReader {
    /// What a user sees under an id: the own row, else the shared one; nil for a miss.
    fileprivate func sharedText(_ id: String, _ scope: ScopeKey) throws(StoreError) -> String? {
        try inConsistentSnapshot { () throws(StoreError) in
            for place in places(of: scope) {
                let shown = try answers.shownRow(
                    place,
                    named(id),
                    for: .view(of: scope),
                    now: .epoch
                ) {
                    $0.withBody { String(decoding: $0, as: UTF8.self) }
                }
                if case .whole(let text)? = shown { return text }
            }
            return nil
        }
    }
}
