import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

/// Sets of entries in `state.db` (S42 to S45).
@Suite("Sets in their file", .timeLimit(.minutes(5)))
struct PrefetchTests {
    private let temporary = TemporaryStore.new()

    private func put(
        _ name: String,
        _ ids: [EntryID],
        definition: [UInt8] = [],
        refresh: Duration? = nil
    ) async throws {
        let new = NewPrefetchSet(
            try PrefetchName(name),
            definition: definition,
            expiresAt: Timestamp(milliseconds: 100_000),
            refresh: refresh,
            estimatedBytes: 0,
            unknownSizes: 0
        )
        try await temporary.store.prefetches
            .put(new, ids.map { NewPrefetchItem($0) }, temporary.scope, now: .epoch)
    }

    private func pin(_ id: EntryID, for reason: PinReason = .set) async throws -> PinOutcome {
        try await temporary.store.pins.pin(
            temporary.scope,
            id,
            origin: OriginName("host"),
            for: reason,
            now: .epoch
        )
    }

    private var sets: [PrefetchSet] {
        get async throws { try await temporary.store.prefetches.sets(.all) }
    }

    private var pins: [String] {
        get async throws {
            try await temporary.store.pins.page(of: temporary.scope, after: nil, limit: 100)
                .map { "\($0.id) \($0.isChosen) \($0.sets.map(\.text))" }
        }
    }

    private func release() async throws {
        while try await !temporary.store.prefetches.release().isEmpty {}
    }

    @Test("Pins that a set has left are released after a restart, and a client can unpin them")
    func leftBehind() async throws {
        let ids = [named("a"), named("b")]
        try await put("one", ids)
        for id in ids { _ = try await pin(id) }
        #expect(try await pins == [#"a false ["one"]"#, #"b false ["one"]"#])
        _ = try await temporary.store.prefetches.remove(.all)
        try await temporary.reopen()
        #expect(temporary.store.pins.totals.hadSets)
        #expect(temporary.store.pins.totals.sets == 0)
        #expect(try await temporary.store.pins.unpin(temporary.scope, named("a"), now: .epoch))
        try await release()
        #expect(try await pins == [])
        try await temporary.reopen()
        #expect(!temporary.store.pins.totals.hadSets)
    }

    @Test("An entry stays as long as a client or a set keeps it")
    func reasons() async throws {
        let id = named("a")
        try await put("one", [id])
        try await put("two", [id])
        _ = try await pin(id)
        _ = try await pin(id, for: .client)
        #expect(try await pins == [#"a true ["one", "two"]"#])
        _ = try await pin(id, for: .itself)
        #expect(try await pins == [#"a true ["one", "two"]"#])
        #expect(try await temporary.store.pins.unpin(temporary.scope, id, now: .epoch))
        #expect(try await !temporary.store.pins.unpin(temporary.scope, id, now: .epoch))
        for (name, left) in [("one", [#"a false ["two"]"#]), ("two", [])] {
            let set = try PrefetchName(name)
            _ = try await temporary.store.prefetches.remove(.all) { $0.name == set }
            try await release()
            #expect(try await pins == left)
        }
        #expect(try await pin(id) == .miss, "no set has it in its list")
        #expect(try await pin(id, for: .itself) == .miss, "no one has it pinned")
        #expect(try await pins == [])
    }

    @Test("The old list leaves in one step, once nothing of the new one waits")
    func replaced() async throws {
        for name in ["a", "b"] { try await temporary.put(name, [1]) }
        try await put("one", [named("a"), named("b")])
        for name in ["a", "b"] { #expect(try await pin(named(name)) == .held(isNew: true)) }
        try await put("one", [named("b"), named("c")])
        let set = try #require(try await sets.first)
        #expect(try await temporary.store.prefetches.endOldList(of: set) == [])
        _ = try await pin(named("c"))
        #expect(try await temporary.store.prefetches.counts(set).waitingCount == 1)
        #expect(try await temporary.store.prefetches.endOldList(of: set) == [])
        try await release()
        #expect(try await pins.count == 3)
        try await temporary.put("c", [3])
        #expect(try await temporary.store.prefetches.counts(set).held == 2)
        #expect(try await temporary.store.prefetches.endOldList(of: set) == [named("a")])
        try await release()
        #expect(try await pins == [#"b false ["one"]"#, #"c false ["one"]"#])
        #expect(try await temporary.bytes("a") == [1])
        // An entry of an old list that was not held leaves with the command.
        try await put("one", [named("c")])
        try await put("one", [named("d")])
        try await put("one", [named("b")])
        #expect(try await temporary.store.prefetches.ids(set).map(\.text).sorted() == ["b", "c"])
    }

    @Test("A user has a bounded number of sets and of entries in them (S45)")
    func bounds() async throws {
        let many = (0..<Limits.prefetchItemsMax).map { named("\($0)") }
        try await put("0", many)
        try await put("1", many)
        await #expect(throws: StoreError.tooManySets) { try await put("2", [named("a")]) }
        try await put("1", [])
        for number in 2..<Limits.prefetchSetsPerUserMax { try await put("\(number)", []) }
        await #expect(throws: StoreError.tooManySets) { try await put("more", []) }
        try await put("1", [named("a")])
        #expect(try await sets.count == Limits.prefetchSetsPerUserMax)
        #expect(temporary.store.pins.totals.sets == Int64(Limits.prefetchSetsPerUserMax))
    }

    @Test(
        "Entries that a set still holds for its old list count in the bound of their user (S45)"
    )
    func oldLists() async throws {
        let many = (0..<Limits.prefetchItemsMax).map { named("\($0)") }
        try await temporary.put("a", [1])
        try await put("0", many)
        try await put("1", [named("a")])
        #expect(try await pin(named("a")) == .held(isNew: true))
        try await put("1", Array(many.dropFirst()))
        await #expect(throws: StoreError.tooManySets) { try await put("2", [named("b")]) }
        try await put("1", [named("a")])
        try await put("2", [named("b")])
        #expect(try await sets.count == 3)
    }

    @Test("A query without room for its result leaves the list of its set as it is")
    func queryBesideOldLists() async throws {
        let many = (0..<Limits.prefetchItemsMax).map { named("\($0)") }
        try await temporary.put("a", [1])
        try await put("0", many)
        try await put("1", [named("a")])
        #expect(try await pin(named("a")) == .held(isNew: true))
        try await put("2", [named("b")])
        try await put("1", Array(many.dropFirst()))
        let set = try #require(try await sets.first { $0.name.text == "2" })
        let found = [NewPrefetchItem(named("c"))]
        try await temporary.store.prefetches.queried(set, found, now: .epoch)
        #expect(try await temporary.store.prefetches.ids(set) == [named("b")])
    }

    @Test("The JSON of a user's sets has a bounded size, and a new list replaces the old one's")
    func listBytes() async throws {
        let list = [UInt8](repeating: 0x20, count: Limits.prefetchCommandBytesMax)
        for number in 0..<4 { try await put("\(number)", [], definition: list) }
        await #expect(throws: StoreError.tooManySets) { try await put("4", [], definition: [1]) }
        try await put("3", [], definition: Array(list.dropFirst()))
        try await put("4", [], definition: [1])
        await #expect(throws: StoreError.tooManySets) { try await put("3", [], definition: list) }
        #expect(try await sets.count == 5)
    }

    @Test("A set's time goes on with a clock that was set")
    func clockStep() async throws {
        try await put("one", [named("a")])
        try await temporary.store.commits.submit { writer throws(StoreError) in
            let now = Timestamp(milliseconds: 1_000_000)
            try writer.state.shiftMoments(by: .seconds(900), now: now)
        }
        #expect(try await sets.first?.expiresAt == Timestamp(milliseconds: 1_000_000))
    }

    @Test("The shortest interval of a client and of sets counts")
    func intervals() async throws {
        let id = named("a")
        for (name, seconds) in [("one", 90), ("two", 60)] {
            try await put(name, [id], refresh: .seconds(seconds))
        }
        _ = try await pin(id)
        #expect(try await temporary.store.pins.pin(temporary.scope, id)?.refresh == .seconds(60))
        let two = try PrefetchName("two")
        _ = try await temporary.store.prefetches.remove(.all) { $0.name == two }
        #expect(try await temporary.store.pins.pin(temporary.scope, id)?.refresh == .seconds(90))
    }
}
