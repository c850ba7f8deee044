import LarderModel
import LarderNormalize
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("Pages, reads and refetches cost by what they show and change")
struct ShownCostTests {
    private let fixture = AnswerFixture.new()
    private let temporary = TemporaryStore.new()

    // MARK: Pages of the queue

    @Test("An index finds the modifiers of an id, for one user and for all")
    func plans() throws {
        let file = try SQLiteConnection(path: temporary.statePath, mode: .readOnly)
        for scopes: RowScopes in [.one(temporary.scope), .user(1_000), .all] {
            for state: ModifierState? in [nil, .queued, .failed] {
                var filter = ModifierFilter(scopes)
                filter.target = named("a")
                filter.state = state
                let plan = try file.prepare("EXPLAIN QUERY PLAN \(filter.sql)")
                let steps = try plan.all { $0.text("detail") }
                #expect(steps.contains { $0.contains("INTEGER PRIMARY KEY (rowid=?)") })
                #expect(steps.contains { $0.contains("COVERING INDEX change_target (id=?") })
                #expect(!steps.contains { $0.contains("SCAN") || $0.contains("TEMP B-TREE") })
            }
        }
    }

    @Test("A list by id has open ones and dead letters, of each user where all are asked for")
    func byTarget() async throws {
        let store = temporary.store
        let other = store.key(for: .own(uid: 1_001, account: .default))
        let dead = try await temporary.accept("failed", "a")
        try await temporary.end(dead, .refused)
        try await temporary.accept("both", "b", "a")
        try await temporary.accept("b", "b")
        try await temporary.accept("theirs", "a", in: other)
        func found(_ filter: ModifierFilter) async throws -> [String] {
            try await store.modifiers.page(filter, after: nil, limit: 9)
                .compactMap { $0.readable?.id.text }
        }
        var filter = ModifierFilter(.one(temporary.scope))
        filter.target = named("a")
        #expect(try await found(filter) == ["failed", "both"])
        filter.state = .failed
        #expect(try await found(filter) == ["failed"])
        filter.state = .queued
        #expect(try await found(filter) == ["both"])
        filter.state = nil
        filter.isUnsettled = true
        #expect(try await found(filter) == ["both"])
        filter.scopes = .all
        #expect(try await found(filter) == ["both", "theirs"])
        filter.scopes = .user(1_001)
        #expect(try await found(filter) == ["theirs"])
        filter.target = nil
        filter.scopes = .all
        #expect(try await found(filter) == ["both", "b", "theirs"])
        filter.isUnsettled = false
        filter.state = .failed
        #expect(try await found(filter) == ["failed"])
        filter.scopes = .one(temporary.scope)
        #expect(try await found(filter) == ["failed"])
    }

    // MARK: Dead letters

    @Test("A read of an answer counts the dead letters of what it shows, and of nothing else")
    func deadLetters() async throws {
        let faults = fixture.temporary.faults
        let (store, scope) = (fixture.store, fixture.scope)
        try await fixture.put("feed", #"[{"type":"A","id":1,"x":1},{"type":"A","id":2,"x":2}]"#)
        func kill(_ name: String, _ key: String) async throws {
            let id = EntryID(try fixture.name(key))
            let new = NewModifier.changing([], name, scope)
            let changing = NewModifier(
                id: new.id,
                scope: scope,
                origin: fixture.origin,
                request: new.request,
                changes: [NewChange(id: id, effect: Array("{}".utf8), isOfSharedRow: false)],
                digest: new.digest
            )
            let number = try await store.modifiers.accept([changing], now: .epoch)[0].number
            try await fixture.temporary.end(number, .refused)
        }
        func failed() async throws -> Int {
            let id = try EntryID("feed")
            return try await store.read { reader throws(StoreError) in
                let shown = try reader.answers.shownRow(
                    scope,
                    id,
                    for: .view(of: scope),
                    now: .epoch
                ) {
                    _ in ()
                }
                guard case .normalized(.shown(let shown), _)? = shown else { return -1 }
                return shown.pending.failed
            }
        }
        func cost() async throws -> Int {
            try await store.settle()
            let before = faults.operations
            _ = try await failed()
            return faults.operations - before
        }
        try await kill("first", "A:1")
        try await kill("second", "A:1")
        try await kill("third", "A:2")
        #expect(try await failed() == 3)
        let few = try await cost()
        for number in 0..<50 { try await kill("m\(number)", "B:\(number)") }
        #expect(try await failed() == 3)
        #expect(try await cost() == few)
    }

    // MARK: References

    @Test("A feed that comes again writes no reference, and one that has changed those that differ")
    func references() async throws {
        let faults = fixture.temporary.faults
        func feed(_ last: Int) -> String {
            let items = (Array(0..<99) + [last]).map { #"{"type":"A","id":\#($0),"x":1}"# }
            return "[\(items.joined(separator: ","))]"
        }
        func changes(_ text: String) async throws -> Int64 {
            let queue = fixture.store.commits
            let before = try await queue.submit { writer throws(StoreError) in
                try writer.cache.connection.totalChanges
            }
            #expect(try await fixture.put("feed", text).isNormalized)
            return try await queue.submit { writer throws(StoreError) in
                try writer.cache.connection.totalChanges - before
            }
        }
        _ = try await changes(feed(99))
        #expect(try await fixture.count("reference") == 100)
        faults.arm(1, of: "INTO reference", .forGood)
        let equal = try await changes(feed(99))
        faults.arm(1, of: "DELETE FROM reference", .forGood)
        #expect(try await changes(feed(99)) == equal)
        faults.disarm()
        // An entity is two rows, written with each fetch as it was said again; beside that a few.
        #expect(equal < 3 * 100, "\(equal)")
        // One reference goes and one comes, and so does an entity.
        #expect(try await changes(feed(100)) <= equal + 30)
        #expect(try await fixture.count("reference") == 100)
        #expect(try await fixture.shown("feed") == feed(100))
        #expect(try await fixture.count("skeleton") == 1)
    }
}
