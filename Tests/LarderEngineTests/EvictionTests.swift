import LarderAPI
import LarderModel
import LarderStore
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

/// Evicting by hand: each selection, and that a dry run says what the real one does.
@Suite(.timeLimit(.minutes(5)), .engine)
struct EvictionTests {
    private let fixture = EngineFixture.running

    enum Selection: CaseIterable {
        case ids
        case prefix
        case origin
        case olderThan
        case toBytes
        case all

        /// Of what `fill` puts.
        func selection(leaving bytes: Int64) throws -> EvictOrder.Selection {
            switch self {
            case .ids:
                .ids([try EntryID("b"), try EntryID("none"), try EntryID("b"), try EntryID("c")])
            case .prefix: .prefix("b")
            case .origin: .origin(try OriginName("example"))
            case .olderThan: .olderThan(.seconds(15))
            case .toBytes: .toBytes(ByteSize(bytes: bytes))
            case .all: .all
            }
        }

        /// In the order in which they go: as given, or of ids; down to a size the least recently
        /// used first.
        var evicted: [String] {
            switch self {
            case .ids: ["b", "c"]
            case .prefix: ["b", "bb"]
            case .origin: ["https://api.example.com/a"]
            case .olderThan: ["a", "b"]
            case .toBytes: ["b", "bb", "c"]
            case .all: ["a", "b", "bb", "c", "https://api.example.com/a"]
            }
        }
    }

    /// Four blobs and an answer, of which `a` is the first put and the last used, each ten seconds
    /// after the one before.
    private func fill() async throws {
        for id in ["a", "b", "bb", "c"] {
            try await fixture.put(id, "x")
            fixture.clock.advance(by: .seconds(id == "b" ? 10 : 0))
        }
        fixture.clock.advance(by: .seconds(10))
        try await fixture.cache(fixture.url("/a"), .json("[1]"))
        _ = try fixture.read("a")
        try await fixture.engine.store.flushTouches()
    }

    @Test("A selection evicts its rows, as a dry run foretells", arguments: Selection.allCases)
    func selections(selection: Selection) async throws {
        try await fill()
        let rows = try await fixture.ids()
        let before = fixture.engine.store.totals
        // The answer, `a`, and half of another stay.
        var largest = EntryListQuery()
        (largest.sort, largest.page.limit) = (.size, 2)
        let sizes = try await fixture.engine.entries.list(largest, .one(fixture.scope)).items
            .map(\.accountedBytes)
        let stays = sizes[0] + sizes[1] * 3 / 2
        var command = EvictOrder(try selection.selection(leaving: stays))
        command.isDryRun = true
        let foretold = try await fixture.engine.eviction.evict(command, .one(fixture.scope))
        #expect(fixture.engine.store.totals == before)
        #expect(foretold.ids == selection.evicted)
        command.isDryRun = false
        let report = try await fixture.engine.eviction.evict(command, .one(fixture.scope))
        #expect(report == foretold)
        #expect(report.evicted == selection.evicted.count)
        #expect(report.skipped == 0)
        #expect(try await fixture.ids() == rows.filter { !selection.evicted.contains($0) })
        #expect(fixture.engine.store.totals.bytes == before.bytes - report.accountedBytes)
    }

    @Test("Named rows go in the order of their names, whichever file has them")
    func named() async throws {
        let ids = try ["a", "c", "b", "d"].map { try EntryID($0) }
        for id in ids {
            try await fixture.put(id.text, "x")
            guard id.text > "b" else { continue }
            _ = try await fixture.engine.pins.pin(id, fixture.scope)
        }
        var command = EvictOrder(.ids(ids))
        command.includesPinned = true
        command.isDryRun = true
        let foretold = try await fixture.engine.eviction.evict(command, .one(fixture.scope))
        #expect(foretold.ids == ids.map(\.text))
        command.isDryRun = false
        let report = try await fixture.engine.eviction.evict(command, .one(fixture.scope))
        #expect(report.ids == ids.map(\.text))
        #expect(fixture.engine.store.totals.entries == 0)
    }

    @Test("Eviction skips and counts a row that a flight needs", arguments: [true, false])
    func protected(isDryRun: Bool) async throws {
        let url = try fixture.url("/a")
        try await fixture.cache(url, .json("[1]"))
        try await fixture.put("b", "x")
        let gate = Gate()
        fixture.upstream.answer(url, with: .json("[1]").held(by: gate))
        let fetch = fixture.start(url)
        _ = try await fixture.upstream.asked.element(1)
        for selection in [EvictOrder.Selection.toBytes(ByteSize(bytes: 0)), .all] {
            try await fixture.put("b", "x")
            var command = EvictOrder(selection)
            command.isDryRun = isDryRun
            let report = try await fixture.engine.eviction.evict(command, .one(fixture.scope))
            #expect(report.ids == ["b"])
            #expect(report.skipped == 1)
        }
        gate.open()
        #expect(try await fetch.result().shape == ["cache", "unchanged 200", "end unchanged"])
    }

    @Test("More rows than one batch go, all of them counted")
    func manyRows() async throws {
        let count = Limits.evictionBatchRowsMax + 1
        for number in 0..<count { try await fixture.put("\(number)", "") }
        var command = EvictOrder(.all)
        command.isDryRun = true
        let foretold = try await fixture.engine.eviction.evict(command, .one(fixture.scope))
        #expect(foretold.evicted == count)
        command.isDryRun = false
        #expect(try await fixture.engine.eviction.evict(command, .one(fixture.scope)) == foretold)
        #expect(fixture.engine.store.totals.entries == 0)
    }
}
