import Glibc
import LarderModel
import LarderNormalize
import LarderTestSupport
import Testing

@testable import LarderStore

/// P-07: a pinned or targeted answer is in state.db with its entities and its variants.
@Suite("Answers in state.db")
struct DurableAnswerTests {
    private let fixture = AnswerFixture.new()

    private static let feed = #"[{"type":"A","id":1,"x":1,"by":{"type":"B","id":1,"n":"Ann"}}]"#
    private static let renamed = #"[{"type":"A","id":1,"x":1,"by":{"type":"B","id":1,"n":"Bea"}}]"#

    /// Another answer says that B:1 is called Bea.
    private func rename(_ fixture: AnswerFixture, _ name: String = "Bea") async throws {
        try await fixture.put("author", #"{"type":"B","id":1,"n":"\#(name)"}"#)
    }

    private func pin(_ fixture: AnswerFixture, _ id: String) async throws {
        #expect(try await fixture.temporary.pin(id) == .held(isNew: true))
    }

    private func rows(_ fixture: AnswerFixture) throws -> [Int64?] {
        try ["claim", "reference", "skeleton"].map { try fixture.temporary.count($0) }
    }

    @Test("A pinned answer shows the newest state of its entities once cache.db is lost")
    func pinnedAndLost() async throws {
        try await fixture.put("feed", Self.feed)
        try await pin(fixture, "feed")
        #expect(try rows(fixture) == [3, 2, 1])
        try await rename(fixture)
        #expect(try await fixture.shown("feed") == Self.renamed)
        try fixture.loseCache()
        #expect(try await fixture.shown("feed") == Self.renamed)
        #expect(try await fixture.shown("author") == "miss")
        // What comes next is merged there, too.
        try await rename(fixture, "Cleo")
        #expect(try await fixture.shown("feed").contains("Cleo"))
        try fixture.loseCache()
        #expect(try await fixture.shown("feed").contains("Cleo"))
    }

    @Test("An answer that a pending write changes keeps its entities once cache.db is lost")
    func targetedAndLost() async throws {
        try await fixture.put("feed", Self.feed)
        try await fixture.temporary.accept("one", "feed")
        try await rename(fixture)
        try fixture.loseCache()
        #expect(try fixture.temporary.target("feed")?.base == Self.renamed)
    }

    @Test("A write to an answer that lacks an entity has no base, also once the entity is back")
    func targetedWithoutEntity() async throws {
        try await fixture.put("feed", Self.feed)
        #expect(try await fixture.evict(EntryID(fixture.name("B:1"))))
        #expect(try await fixture.shown("feed") == "missing")
        try await fixture.temporary.accept("one", "feed")
        try await rename(fixture)
        #expect(try await fixture.shown("feed") == "miss")
        try fixture.audit()
    }

    @Test(
        "Changes of rows of which one refers to another are accepted in any order",
        arguments: [["A:1", "B:1"], ["B:1", "A:1"], ["feed", "B:1"], ["B:1", "feed"]],
        [true, false]
    )
    func related(names: [String], isOneWrite: Bool) async throws {
        try await fixture.put("feed", Self.feed)
        let ids = try names.map { name in
            name == "feed" ? name : EntryID(try fixture.name(name)).text
        }
        let writes = isOneWrite ? [ids] : ids.map { [$0] }
        let new = writes.enumerated().map { number, ids in
            NewModifier.changing(ids, "write-\(number)", fixture.scope)
        }
        let accepted = try await fixture.store.modifiers.accept(new, now: .epoch)
        #expect(accepted.count == writes.count)
        for id in ids { #expect(try fixture.temporary.target(id)?.1.count == 1, "\(id)") }
        // A failed write of these targets can be sent again.
        for number in accepted.map(\.number) {
            try await fixture.temporary.end(number, .refused)
        }
        try await fixture.store.commits.settle()
        for number in accepted.map(\.number) { _ = try await fixture.temporary.retry(number) }
    }

    @Test("The first write to a normalized answer counts as a change, as it is not compared")
    func firstWrite() async throws {
        let fixture = try AnswerFixture { configuration in
            configuration.viewChange = { _, _, _, _ in nil }
        }
        try await fixture.put("feed", Self.feed)
        _ = fixture.store.changes.take()
        try await fixture.temporary.accept("one", "feed")
        let events = fixture.store.changes.take().changes
        let isPut = events.contains { change in
            if case .put(let id, _) = change.event { id.text == "feed" } else { false }
        }
        #expect(isPut)
    }

    @Test("An entity to which a pinned answer comes to refer is in state.db from then on")
    func newReference() async throws {
        try await rename(fixture, "Dora")
        try await fixture.put("feed", #"[{"type":"A","id":1,"x":1}]"#)
        try await pin(fixture, "feed")
        #expect(try rows(fixture) == [2, 1, 1])
        let next = #"[{"type":"A","id":1,"x":1,"by":{"type":"B","id":1}}]"#
        try await fixture.put("feed", next)
        #expect(try rows(fixture) == [3, 2, 1])
        try fixture.loseCache()
        let scope = fixture.scope
        let id = EntryID(try fixture.name("B:1"))
        let held = try await fixture.store.read { reader throws(StoreError) in
            try reader.answers.entity(scope, id, for: .view(of: scope), now: .epoch)
        }
        let bytes = try #require(held?.held.stored)
        #expect(String(decoding: bytes, as: UTF8.self).contains("Dora"))
    }

    @Test(
        "A URL and the entity whose own URL it is are deleted together, whichever operation fails"
    )
    func buried() async throws {
        for n in 1... {
            let fixture = try AnswerFixture()
            let (store, scope, name) = (fixture.store, fixture.scope, try fixture.name("B:1"))
            try await rename(fixture)
            try await fixture.temporary.accept("one", EntryID(name).text)
            let (fetch, cause) = (try store.nextRevision(), ChangeCause(.network))
            let removal = EntityRemoval(of: name, in: scope, fetch: fetch, cause: cause)
            fixture.temporary.faults.arm(n, with: .full)
            _ = try? await store.writeTombstone(
                .tombstone(scope, named("author")),
                with: removal,
                fence: nil,
                now: .epoch
            )
            fixture.temporary.faults.disarm()
            let held = try await store.read { reader throws(StoreError) in
                let sight = EntityLookup.base(of: scope)
                return try reader.answers.entity(scope, EntryID(name), for: sight, now: .epoch)?
                    .held
            }
            let isEntityGone = if case .deleted? = held { true } else { false }
            #expect(try await (fixture.shown("author") == "deleted") == isEntityGone, "\(n)")
            guard fixture.temporary.faults.failures > 0 else { return #expect(isEntityGone) }
        }
    }

    @Test("An entity for which the cache has no room leaves no earlier deletion at its URL (P-14)")
    func lostEntity() async throws {
        let fixture = try AnswerFixture(configure: { $0.maxBytes = ByteSize(bytes: 4_096) })
        let (store, scope, name) = (fixture.store, fixture.scope, try fixture.name("B:1"))
        store.setOrigins(
            OriginNames(rules: [fixture.origin: fixture.rules], ownID: { _ in named("author") })
        )
        _ = try await store.put(.tombstone(scope, named("author")), now: .epoch)
        let number = try await fixture.temporary.accept("one", EntryID(name).text)
        let large = String(repeating: "x", count: 8_000)
        let answer = try fixture.answer("feed", #"[{"type":"B","id":1,"name":"\#(large)"}]"#)
        try await store.put(answer.entities, now: .epoch)
        #expect(try await fixture.shown("author") == "deleted")
        try await fixture.temporary.end(number, .cancelled)
        try await store.maintain()
        #expect(!store.shared.residency.covers(scope, EntryID(name)))
        #expect(try await fixture.shown("author") == "miss")
    }

    @Test("An unpinned answer goes back to the cache with its entities, also those of a cycle")
    func unpinned() async throws {
        let circle = #"{"type":"A","id":1,"next":{"type":"A","id":2,"next":{"type":"A","id":1}}}"#
        try await fixture.put("feed", circle)
        let shown = try await fixture.shown("feed")
        try await pin(fixture, "feed")
        #expect(try rows(fixture) == [3, 3, 1])
        let bytes = fixture.store.pins.totals.bytes
        #expect(bytes > 0 && fixture.store.modifiers.totals.bytes == 0)
        try await fixture.store.maintain()
        #expect(try rows(fixture) == [3, 3, 1] && fixture.store.pins.totals.bytes == bytes)
        #expect(try await fixture.count("entry") == 0)
        #expect(try await fixture.temporary.unpin("feed"))
        try await fixture.store.maintain()
        #expect(try rows(fixture) == [0, 0, 0])
        #expect(fixture.store.pins.totals.bytes == 0 && fixture.store.modifiers.totals.bytes == 0)
        #expect(try await fixture.shown("feed") == shown)
        #expect(try await fixture.count("reference") == 3)
        try await fixture.store.requireInvariants()
    }

    @Test("A cached answer whose entity is in state.db can be written to and pinned")
    func entityIsDurable() async throws {
        try await fixture.put("feed", Self.feed)
        try await fixture.temporary.accept("one", EntryID(try fixture.name("B:1")).text)
        try await pin(fixture, "feed")
        let shown = try await fixture.shown("feed")
        #expect(try await fixture.temporary.unpin("feed"))
        try await fixture.store.maintain()
        #expect(try await fixture.shown("feed") == shown)
        try await fixture.temporary.accept("two", "feed")
        #expect(try await fixture.shown("feed") == shown)
        try fixture.loseCache()
        #expect(try await fixture.shown("feed") == shown)
    }

    @Test("An entity of two pinned answers stays until the second one is unpinned")
    func twoAnswers() async throws {
        try await fixture.put("feed", Self.feed)
        try await rename(fixture, "Ann")
        for id in ["feed", "author"] { try await pin(fixture, id) }
        #expect(try await fixture.temporary.unpin("feed"))
        try await fixture.store.maintain()
        #expect(try rows(fixture) == [2, 1, 1])
        try fixture.loseCache()
        #expect(try await fixture.shown("author").contains("Ann"))
        #expect(try await fixture.shown("feed") == "miss")
    }

    @Test("A pinned answer in which an entity is found damaged is fetched again")
    func damagedEntity() async throws {
        try await fixture.put("feed", Self.feed)
        try await pin(fixture, "feed")
        // The copy of the entity in the cache is not damaged.
        try await fixture.store.maintain()
        let id = EntryID(try fixture.name("B:1")).text
        try fixture.temporary.changeState(
            "UPDATE claim SET data = randomblob(length(data)) WHERE id = '\(id)'"
        )
        #expect(try await fixture.shown("feed") == "missing")
        try await fixture.store.settle()
        let (pins, scope, feed) = (fixture.store.pins, fixture.scope, named("feed"))
        let waiting = try await pins.pin(scope, feed)
        #expect(waiting?.state == .waiting && waiting?.isWanted == true)
        // An attempt without an answer leaves a reason, and a later one is made.
        let trouble = PinTrouble(problem: "origin-status", reason: "403")
        try await pins.setTrouble(scope, feed, .failed, trouble)
        #expect(try await pins.pin(scope, feed)?.trouble == trouble)
        let again = try await fixture.temporary.pin("feed", from: fixture.origin)
        #expect(again == .waiting(isNew: false))
        try await fixture.put("feed", Self.feed)
        let held = try await pins.pin(scope, feed)
        #expect(held?.state == .held && held?.isWanted == false)
        #expect(try await fixture.shown("feed") == Self.feed)
        try await fixture.store.requireInvariants()
    }

    // MARK: Answers without room

    /// Entities that need much more room than the bytes of their answer.
    private static let many =
        "[" + (1...100).map { #"{"type":"A","id":\#($0),"x":1}"# }.joined(separator: ",") + "]"
    private static let long = String(repeating: "x", count: 30_000)

    /// Pins have room for a few entities.
    private static func small(_ configuration: inout StoreConfiguration) {
        configuration.pinsMaxBytes = ByteSize(bytes: 20_000)
    }

    @Test(
        "A pinned answer keeps what it has if its new entities have no room, and its pin says so",
        arguments: [false, true]
    )
    func noRoom(isLong: Bool) async throws {
        let next = isLong ? Self.feed.replacing("Ann", with: Self.long) : Self.many
        let fixture = try AnswerFixture(configure: Self.small)
        let pins = fixture.store.pins
        try await fixture.put("feed", Self.feed)
        try await pin(fixture, "feed")
        let bytes = pins.totals.bytes
        await #expect(throws: StoreError.self) { try await fixture.put("feed", next) }
        #expect(try await fixture.shown("feed") == Self.feed)
        let refused = try await pins.pin(fixture.scope, named("feed"))
        #expect(refused?.state == .tooLarge && refused?.trouble?.problem == "pins-full")
        #expect(try rows(fixture) == [3, 2, 1] && pins.totals.bytes == bytes)
        try await fixture.put("feed", Self.renamed)
        #expect(try await fixture.shown("feed") == Self.renamed)
        #expect(try await pins.pin(fixture.scope, named("feed"))?.state == .held)
        try await fixture.store.requireInvariants()
    }

    @Test("A pin that waits leaves an answer without room to the cache, with its entities")
    func leftToCache() async throws {
        let fixture = try AnswerFixture(configure: Self.small)
        let outcome = try await fixture.temporary.pin("feed", from: fixture.origin)
        #expect(outcome == .waiting(isNew: true))
        #expect(try await fixture.put("feed", Self.many).isNormalized)
        #expect(try await fixture.shown("feed") == Self.many)
        #expect(try rows(fixture) == [1, 0, 0])
        let pin = try await fixture.store.pins.pin(fixture.scope, named("feed"))
        #expect(pin?.state == .tooLarge)
        try await fixture.store.requireInvariants()
    }

    @Test("The answer of another id, a variant and a base are stored though pins have no room")
    func othersHaveRoom() async throws {
        let fixture = try AnswerFixture(configure: Self.small)
        let (url, temporary) = ("https://a.example/x", fixture.temporary)
        try await fixture.put("feed", Self.feed)
        try await pin(fixture, "feed")
        try await temporary.answer(url, "[1]")
        try await temporary.pin(url)
        try await rename(fixture, Self.long)
        let grown = Self.feed.replacing("Ann", with: Self.long)
        #expect(try await fixture.shown("feed") == grown)
        try await temporary.answer(url + " accept=b", "\"\(Self.long)\"")
        #expect(try await temporary.text(url + " accept=b") == "\"\(Self.long)\"")
        try await temporary.accept("one", "feed")
        try await fixture.put("feed", Self.many)
        #expect(try temporary.target("feed")?.base == Self.many)
        try await fixture.store.requireInvariants()
    }

    @Test("A row of state.db that was made for an entity and that nothing refers to does not stay")
    func unreferred() async throws {
        try await rename(fixture)
        let (scope, id) = (fixture.scope, EntryID(try fixture.name("B:1")))
        try await fixture.store.commits.submit { writer throws(StoreError) in
            try writer.state.rows.makeRow(TargetName(scope, id))
            try writer.promotion.fill(now: .epoch)
        }
        #expect(try rows(fixture) == [1, 0, 0])
        try await fixture.store.maintain()
        #expect(try rows(fixture) == [0, 0, 0])
        #expect(try await fixture.shown("author").contains("Bea"))
    }

    @Test("The variants of a pinned URL are with it, those that come later too")
    func variants() async throws {
        let temporary = try TemporaryStore()
        let url = "https://a.example/x"
        for id in [url, url + " accept=b", url + " vary"] { try await temporary.answer(id, "[1]") }
        try await temporary.pin(url)
        try await temporary.answer(url + " accept=c", "[2]")
        try await temporary.answer("https://a.example/xy", "[3]")
        #expect(try temporary.count("claim") == 4)
        try temporary.loseCache()
        for id in [url, url + " accept=b", url + " vary"] {
            #expect(try await temporary.text(id) == "[1]", "\(id)")
        }
        #expect(try await temporary.text(url + " accept=c") == "[2]")
        #expect(try await temporary.text("https://a.example/xy") == nil)
        let again = temporary.store
        #expect(try await temporary.unpin(url))
        try await again.maintain()
        #expect(try temporary.count("claim") == 0)
        #expect(try await temporary.text(url + " accept=c") == "[2]")
        // The same where the pin goes with its row.
        try await temporary.pin(url)
        #expect(try temporary.count("claim") == 4)
        #expect(try await again.pins.evict(temporary.scope, named(url)))
        try await again.maintain()
        #expect(try temporary.count("claim") == 0)
        #expect(try await temporary.text(url) == nil)
        try await again.requireInvariants()
    }

    /// As version 12 had it: the answer whole in state.db, and normalized in cache.db.
    @Test(
        "A pinned answer of version 12 shows its entities as they are, also without the cache later",
        arguments: [false, true]
    )
    func migrated(isKilledAfterMigration: Bool) async throws {
        try await fixture.put("feed", Self.feed)
        try await rename(fixture)
        try await pin(fixture, "feed")
        try await fixture.temporary.close()
        do {
            let state = try SQLiteConnection(path: fixture.temporary.statePath, mode: .readWrite)
            let whole = try state.prepare("UPDATE claim SET data = :data WHERE id = 'feed'")
            try whole.run((":data", Array(Self.feed.utf8)))
            try state.execute(
                """
                DROP TABLE hidden;
                ALTER TABLE change ADD COLUMN inapplicable TEXT;
                DROP INDEX claim_keeper;
                ALTER TABLE claim DROP COLUMN payer; ALTER TABLE claim DROP COLUMN request;
                DROP TABLE prefetch_item; DROP TABLE prefetch; DROP INDEX claim_prefetched;
                ALTER TABLE claim DROP COLUMN prefetched;
                DROP INDEX claim_refresh;
                ALTER TABLE claim DROP COLUMN refresh;
                DROP INDEX modifier_joined;
                ALTER TABLE modifier DROP COLUMN joined_into;
                ALTER TABLE modifier DROP COLUMN joined_method;
                ALTER TABLE modifier DROP COLUMN joined_media_type;
                ALTER TABLE modifier DROP COLUMN joined_body;
                ALTER TABLE history DROP COLUMN joined_into;
                ALTER TABLE modifier DROP COLUMN if_match;
                ALTER TABLE modifier DROP COLUMN on_conflict;
                ALTER TABLE modifier DROP COLUMN etag;
                ALTER TABLE modifier DROP COLUMN conflicts;
                ALTER TABLE modifier DROP COLUMN denied;
                ALTER TABLE change DROP COLUMN seen;
                ALTER TABLE change DROP COLUMN seen_view;
                ALTER TABLE change DROP COLUMN theirs;
                DROP TABLE temporary_use;
                DROP TABLE temporary_id;
                ALTER TABLE change_log DROP COLUMN real_id;
                DROP TABLE reading;
                ALTER TABLE change DROP COLUMN sent;
                ALTER TABLE change DROP COLUMN implied;
                ALTER TABLE change DROP COLUMN parents;
                DROP TABLE credential;
                ALTER TABLE modifier DROP COLUMN credential;
                ALTER TABLE history DROP COLUMN answer_headers;
                ALTER TABLE history DROP COLUMN answer_body;
                ALTER TABLE change_log DROP COLUMN answer;
                ALTER TABLE modifier DROP COLUMN perhaps_applied;
                ALTER TABLE modifier DROP COLUMN answered;
                ALTER TABLE change_log DROP COLUMN hidden_from;
                DROP TABLE reference;
                DROP TABLE skeleton;
                DELETE FROM claim WHERE id <> 'feed';
                ALTER TABLE claim DROP COLUMN skeleton;
                ALTER TABLE claim DROP COLUMN checksum;
                ALTER TABLE claim DROP COLUMN held;
                ALTER TABLE claim DROP COLUMN in_pins;
                ALTER TABLE revision_block DROP COLUMN takes_along;
                PRAGMA user_version=12
                """
            )
            if isKilledAfterMigration { try Schema.state.migrate(state, from: 12) }
        }
        try fixture.temporary.open()
        fixture.store.setOrigins(OriginNames(rules: [fixture.origin: fixture.rules]))
        #expect(fixture.store.files.findings == [])
        #expect(try await fixture.shown("feed") == Self.renamed)
        try await fixture.store.maintain()
        #expect(try rows(fixture) == [3, 2, 1])
        try fixture.loseCache()
        #expect(try await fixture.shown("feed") == Self.renamed)
    }
}
