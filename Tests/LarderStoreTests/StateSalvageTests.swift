import Foundation
import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("Salvage of a damaged state.db")
struct StateSalvageTests {
    private static let pins: Int64 = 400

    /// A closed store whose state.db has pins with overflowing bytes and names of origins.
    private func prepared() async throws -> TemporaryStore {
        let temporary = try TemporaryStore()
        try await temporary.put("a", [1])
        try await temporary.close()
        try temporary.changeState(
            """
            BEGIN;
            INSERT INTO claim (scope, id, kind, stored_at, rev, status, headers, bytes, json,
                digest_high, digest_low, data, size, targeted, shared, pinned_at, state, wanted)
            WITH RECURSIVE number(n) AS (
                SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < \(Self.pins))
            SELECT '1000:default', 'pin-' || n, 0, 0, 1, 200, '', 9000, 0, n, n, zeroblob(9000),
                9500, 0, 0, 0, 0, 0
            FROM number;
            INSERT INTO offline_origin (name) VALUES ('one'), ('two');
            COMMIT
            """
        )
        return temporary
    }

    private func count(_ temporary: TemporaryStore, _ table: String) throws -> Int64 {
        try temporary.count(table) ?? -1
    }

    private func damage(_ temporary: TemporaryStore, _ page: Int64) throws {
        let pages = StatePages(path: temporary.statePath)
        try pages.write(.noise(StatePages.bytes), at: Int(page))
    }

    private func pages(_ temporary: TemporaryStore) throws -> Int64 {
        try temporary.stateInteger("PRAGMA page_count") ?? 0
    }

    @Test("With one page gone, all rows but a few are there, and the old file is kept")
    func onePage() async throws {
        var lost: [Int64] = []
        for part in [3, 4, 5, 6, 7] as [Int64] {
            let temporary = try await prepared()
            try damage(temporary, try pages(temporary) * part / 9)
            let damaged = try Data(contentsOf: URL(filePath: temporary.statePath))
            try temporary.open()
            #expect(temporary.store.files.findings.count == 1, "\(temporary.store.files.findings)")
            let left = try count(temporary, "claim")
            lost.append(Self.pins - left)
            #expect(left < Self.pins + 1 && left > Self.pins * 8 / 10, "\(left) left")
            #expect(try count(temporary, "offline_origin") == 2)
            let aside = try Data(contentsOf: URL(filePath: temporary.statePath + ".aside"))
            #expect(aside == damaged)
            try await temporary.put("b", [1])
            try await temporary.reopen()
            #expect(temporary.store.files.findings == [])
            #expect(try count(temporary, "claim") == left)
        }
        #expect(lost.contains { $0 > 0 })
    }

    @Test("With several pages gone, what lies before the first and after the last is there")
    func severalPages() async throws {
        let temporary = try await prepared()
        let pages = try pages(temporary)
        for part in 4...6 as ClosedRange<Int64> { try damage(temporary, pages * part / 10) }
        try temporary.open()
        #expect(temporary.store.files.findings.count == 1)
        #expect(try count(temporary, "claim") > Self.pins / 3)
    }

    @Test(
        "A file of noise gives no rows, and the store starts with an empty state.db and its cache"
    )
    func noise() async throws {
        let temporary = try await prepared()
        try Data.noise(80_000).write(to: URL(filePath: temporary.statePath))
        try temporary.open()
        #expect(temporary.store.files.findings.count == 1)
        #expect(try count(temporary, "claim") == 0)
        #expect(try await temporary.bytes("a") == [1])
        #expect(try await temporary.put("b", [1]).revision.number > Limits.skippedRevisions)
    }

    @Test(
        "Of a file whose first page is lost, or says that texts are UTF-16, all rows are saved",
        arguments: [false, true]
    )
    func firstPage(isLost: Bool) async throws {
        let temporary = try await prepared()
        let pages = StatePages(path: temporary.statePath)
        var page = try pages.read(1)
        if isLost { page = .noise(StatePages.bytes) } else { page[59] = 2 }
        try pages.write(page, at: 1)
        try temporary.open()
        #expect(temporary.store.files.findings.count == 1)
        #expect(temporary.store.files.findings.allSatisfy { $0.count < 400 && !$0.contains("\n") })
        #expect(try count(temporary, "claim") == Self.pins)
        #expect(try count(temporary, "offline_origin") == 2)
        let folder = (temporary.statePath as NSString).deletingLastPathComponent
        let left = try FileManager.default.contentsOfDirectory(atPath: folder)
            .filter { $0.contains("remains") }
        #expect(left == [])
    }

    @Test("Of a file that has lost a page of its list of tables all rows are saved, its WAL's too")
    func listingPage() async throws {
        let temporary = try await prepared()
        let listed = StatePages(path: temporary.statePath)
        for page in try listed.children(of: 1) {
            let temporary = try await prepared()
            try temporary.open()
            // So that the first page stands in the WAL, too.
            for number in 0..<40 { try await temporary.accept("m\(number)", "a\(number)") }
            try temporary.crash { folder in
                let pages = StatePages(path: folder.path("state/state.db"))
                try pages.write(.noise(StatePages.bytes), at: page)
            }
            #expect(temporary.store.files.findings.count == 1)
            #expect(try count(temporary, "claim") == Self.pins + 40)
            #expect(try await temporary.store.modifiers.unsettled(after: nil).count == 40)
        }
    }

    @Test("Of a file that was cut off, what lies before its end is saved")
    func cut() async throws {
        for cut in [1, 2, 3] as [Int64] {
            let temporary = try await prepared()
            let size = (try pages(temporary) - cut) * 4_096
            try FileHandle(forWritingTo: URL(filePath: temporary.statePath))
                .truncate(atOffset: UInt64(size))
            try temporary.open()
            #expect(temporary.store.files.findings.count == 1)
            let left = try count(temporary, "claim")
            #expect(left >= Self.pins - 4 && left <= Self.pins, "\(left) left of \(Self.pins)")
        }
        let temporary = try await prepared()
        let half = try pages(temporary) / 2 * 4_096
        try FileHandle(forWritingTo: URL(filePath: temporary.statePath))
            .truncate(atOffset: UInt64(half))
        try temporary.open()
        #expect(try count(temporary, "claim") > Self.pins / 4)
    }

    @Test("Revisions go on where the damaged file says")
    func revisions() async throws {
        let temporary = try await prepared()
        try temporary.changeState("UPDATE revision_block SET next_rev = 1000000")
        try damage(temporary, try pages(temporary) / 2)
        try temporary.open()
        #expect(try await temporary.put("b", [1]).revision.number >= 1_000_000)
    }

    @Test("A process that ends at any step of it loses nothing: the next start does it again")
    func killed() async throws {
        // Each row is some operations, so the later ones are only sampled.
        var n = 1
        while true {
            defer { n += max(1, n / 3) }
            let temporary = try await prepared()
            let faults = temporary.faults
            try damage(temporary, try pages(temporary) / 2)
            faults.arm(n, .forGood)
            let isOpen = (try? temporary.open()) != nil
            faults.disarm()
            if !isOpen { try temporary.open() }
            #expect(try count(temporary, "claim") > Self.pins * 8 / 10, "n \(n)")
            if faults.failures == 0 { return }
        }
    }

    /// P-02: what was accepted does not go silently.
    @Test("Of the queue everything that can be read is there, and what is missing is a dead letter")
    func queue() async throws {
        let temporary = try TemporaryStore()
        var numbers: [ModifierNumber] = []
        for number in 0..<6 {
            numbers.append(try await temporary.accept("m\(number)", "a\(number)", "b"))
        }
        try await temporary.close()
        try temporary.changeState(
            """
            DELETE FROM modifier WHERE number = \(numbers[1]);
            DELETE FROM change WHERE modifier = \(numbers[2]) AND position = 1;
            DELETE FROM claim WHERE id = 'a3';
            """
        )
        // A page of an index is damaged, and nothing that the salvage reads.
        let page = try StatePages(path: temporary.statePath).root(of: "claim_pinned")
        try damage(temporary, Int64(page))
        try temporary.open()
        #expect(temporary.store.files.findings.count == 3, "\(temporary.store.files.findings)")
        let found = try await temporary.store.modifiers.unsettled(after: nil)
        #expect(found.map(\.number) == [0, 2, 3, 4, 5].map { numbers[$0] })
        #expect(found[1] == .unreadable(numbers[2]))
        #expect(temporary.store.modifiers.totals.failed == 1)
        #expect(try temporary.target("b")?.1 == ["m0", "m3", "m4", "m5"])
        #expect(try temporary.target("a3")?.1 == ["m3"])
        #expect(try await temporary.accept("next", "a") > numbers[5])
    }

    // MARK: Lost parts

    /// Opens the store again after a change of its file, which is salvaged as it lacks its counter.
    private func salvage(_ temporary: TemporaryStore, _ sql: String) async throws {
        try await temporary.close()
        try temporary.changeState(sql + "; DELETE FROM revision_block")
        try temporary.open()
        #expect(temporary.store.files.findings.count == 1, "\(temporary.store.files.findings)")
    }

    private func salvage(_ fixture: AnswerFixture, _ sql: String) async throws {
        try await salvage(fixture.temporary, sql)
        fixture.store.setOrigins(OriginNames(rules: [fixture.origin: fixture.rules]))
    }

    private func expectPin(
        _ id: String,
        of temporary: TemporaryStore,
        _ state: PinState
    ) async throws {
        let pin = try await temporary.store.pins.pin(temporary.scope, named(id))
        #expect(pin?.state == state, "\(id)")
        #expect(pin?.isWanted == (state == .waiting), "\(id)")
    }

    /// P-14.
    @Test("Revisions go on far above all others where the counter is lost")
    func lostCounter() async throws {
        let temporary = try await prepared()
        try temporary.open()
        let last = try await temporary.put("b", [1]).revision
        try await salvage(temporary, "")
        let next = try await temporary.put("b", [2]).revision
        #expect(next.number > last.number + Limits.skippedRevisions)
        try await temporary.reopen()
        #expect(temporary.store.files.findings == [])
        #expect(try await temporary.put("b", [3]).revision > next)
    }

    @Test(
        "Numbers of lost skeletons and bodies are not given again, and their pins are waiting",
        arguments: ["", "DELETE FROM sqlite_sequence"]
    )
    func lostBytes(sql: String) async throws {
        let fixture = try AnswerFixture()
        let temporary = fixture.temporary
        let long = "\"" + String(repeating: "x", count: 150_000) + "\""
        try await fixture.put("feed", #"[{"type":"A","id":1,"x":1}]"#)
        try await temporary.answer("large", long)
        for id in ["feed", "large"] { try await temporary.pin(id) }
        let lost = "DELETE FROM skeleton; DELETE FROM body; DELETE FROM chunk; "
        try await salvage(fixture, lost + sql)
        for id in ["feed", "large"] {
            try await expectPin(id, of: temporary, .waiting)
            let pin = try await temporary.store.pins.pin(temporary.scope, named(id))
            #expect(pin?.entry == nil, "\(id)")
        }
        try await fixture.put("other", #"{"type":"B","id":1,"n":"Ann"}"#)
        try await temporary.answer("more", long)
        for id in ["other", "more"] {
            try await temporary.pin(id)
            try await expectPin(id, of: temporary, .held)
        }
        #expect(try temporary.stateInteger("SELECT min(skeleton) FROM claim") ?? 0 > 1)
        #expect(try temporary.stateInteger("SELECT min(body) FROM claim") ?? 0 > 1)
    }

    @Test("A pinned answer of which an entity is lost is fetched again, and others are held")
    func lostEntity() async throws {
        let fixture = try AnswerFixture()
        let temporary = fixture.temporary
        let feed = #"[{"type":"A","id":1,"x":1,"by":{"type":"B","id":1,"n":"Ann"}}]"#
        try await fixture.put("feed", feed)
        try await fixture.put("whole", #"{"type":"C","id":1,"x":1}"#)
        for id in ["feed", "whole"] { try await temporary.pin(id) }
        let lost = EntryID(try fixture.name("B:1")).text
        try await salvage(fixture, "DELETE FROM claim WHERE id = '\(lost)'")
        try await expectPin("feed", of: temporary, .waiting)
        try await expectPin("whole", of: temporary, .held)
        #expect(try temporary.count("reference") == 3)
        try await fixture.put("feed", feed)
        try await expectPin("feed", of: temporary, .held)
        #expect(try await fixture.shown("feed") == feed)
    }

    @Test(
        "Lost references are found again, so that the entities of a pinned answer stay with it",
        arguments: [false, true]
    )
    func lostReferences(isEntityLost: Bool) async throws {
        let fixture = try AnswerFixture()
        let feed = #"[{"type":"A","id":1,"x":1,"by":{"type":"B","id":1,"n":"Ann"}}]"#
        try await fixture.put("feed", feed)
        try await fixture.temporary.pin("feed")
        // The cache has no copies from then on.
        try await fixture.store.maintain()
        let lost = EntryID(try fixture.name("B:1")).text
        let entity = isEntityLost ? "DELETE FROM claim WHERE id = '\(lost)'; " : ""
        try await salvage(fixture, entity + "DELETE FROM reference")
        #expect(try fixture.temporary.count("reference") == 2)
        try await expectPin("feed", of: fixture.temporary, isEntityLost ? .waiting : .held)
        try await fixture.store.maintain()
        #expect(try fixture.temporary.count("claim") == 3)
        try fixture.loseCache()
        #expect(try await fixture.shown("feed") == (isEntityLost ? "missing" : feed))
        try await fixture.put("feed", feed)
        #expect(try await fixture.shown("feed") == feed)
        try await expectPin("feed", of: fixture.temporary, .held)
        try await fixture.store.requireInvariants()
    }

    @Test(
        "Lost references are found again if cache.db fails then, and no row leaves if all fails",
        arguments: [
            // The first is where the statement is prepared.
            ("recency USING (key)\nWHERE key = :key", 2), ("ON CONFLICT (child, parent)", 1),
        ]
    )
    func lostReferencesAndFailure(step: String, n: Int) async throws {
        let fixture = try AnswerFixture()
        let feed = #"[{"type":"A","id":1,"x":1,"by":{"type":"B","id":1,"n":"Ann"}}]"#
        try await fixture.put("feed", feed)
        try await fixture.temporary.answer("whole", "[1]")
        for id in ["feed", "whole"] { try await fixture.temporary.pin(id) }
        try await fixture.store.maintain()
        let faults = fixture.temporary.faults
        faults.arm(n, of: step, .forGood)
        try await salvage(fixture, "DELETE FROM reference")
        #expect(faults.failures > 0)
        faults.disarm()
        try await fixture.store.maintain()
        #expect(try fixture.temporary.count("claim") == 4)
        // The next start does what is left.
        try await fixture.reopen()
        #expect(try fixture.temporary.count("reference") == 2)
        try fixture.loseCache()
        #expect(try await fixture.shown("feed") == feed)
        try await fixture.store.requireInvariants()
    }

    @Test("A pin whose shared row is lost is fetched again")
    func lostSharedRow() async throws {
        let temporary = try TemporaryStore()
        try await temporary.answer("a", "[1]", in: temporary.store.key(for: .shared))
        #expect(try await temporary.pin("a", adoptsShared: true) == .held(isNew: true))
        try await salvage(temporary, "DELETE FROM claim WHERE scope = 'shared'")
        try await expectPin("a", of: temporary, .waiting)
        try await temporary.answer("a", "[2]", in: temporary.store.key(for: .shared))
        try await expectPin("a", of: temporary, .held)
    }

    @Test("A shared answer of which an entity is lost is held by no pin before its next fetch")
    func lostSharedEntity() async throws {
        let fixture = try AnswerFixture()
        let temporary = fixture.temporary
        let shared = temporary.store.key(for: .shared)
        let feed = #"[{"type":"A","id":1,"x":1}]"#
        try await fixture.put("feed", feed, in: shared)
        #expect(try await temporary.pin("feed", adoptsShared: true) == .held(isNew: true))
        let lost = EntryID(try fixture.name("A:1")).text
        try await salvage(fixture, "DELETE FROM claim WHERE id = '\(lost)'")
        try await expectPin("feed", of: temporary, .waiting)
        let trouble = PinTrouble(problem: "origin-status", reason: "403")
        try await fixture.store.pins.setTrouble(temporary.scope, named("feed"), .failed, trouble)
        try await expectPin("feed", of: temporary, .failed)
        try await fixture.put("feed", feed, in: shared)
        try await expectPin("feed", of: temporary, .held)
    }
}
